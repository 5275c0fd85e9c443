"""Decode pcap files of CBN traffic into columns."""

import pyarrow as pa

class PcapError(ValueError):
    """Not a pcap file this reader knows."""

def decode_pcap(path: str, start: int = 0, end: int | None = None) -> tuple[pa.RecordBatch, dict[str, int]]:
    """One row per CBN packet of the file's records that start in [start, end), and counts.

    Columns: see docs/run-directory.md, table `packets`. The counts say what was
    read and what was skipped, by reason: records, packets, truncated,
    not_cbn, malformed, ...
    """

def index_pcap(path: str, target_bytes: int) -> list[tuple[int, int]]:
    """Exact split points: [start, end) byte ranges of about `target_bytes`, whole records each."""
