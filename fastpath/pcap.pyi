"""Decode pcap files of CBN traffic into columns."""

import os

import pyarrow as pa

class PcapError(ValueError):
    """Not a pcap file this reader knows."""

def decode_pcap(
    path: str | os.PathLike[str], start: int = 0, end: int | None = None, mac: str = ""
) -> tuple[pa.RecordBatch, dict[str, int]]:
    """One row per CBN packet of the file's records that start in [start, end), and counts.

    Reads Ethernet (with VLAN tags), SLL2 and RAW; either byte order; micro- and
    nanoseconds; IPv4 and IPv6, also fragmented; super-datagrams of
    segmentation offload. `start` is 0 or comes from `index_pcap`.

    Columns: those of docs/run-directory.md, table `packets`, that stand in the
    capture. `sent` says that the source address is `mac`, the capturing
    interface's own; it is null if no `mac` is given (with SLL2 the capture says
    it). `attributes` are those of a MESSAGE with hop count 0 that was not
    sent: of a publication, if the peer is a client.

    The counts: `records` and `packets` are what was read; the rest is what was
    passed over, by reason: `truncated_file` (the last record is cut short),
    `truncated` (frames captured in part; whole packets at their front are
    read), `not_cbn`, `ip_fragments` (whose datagram is not complete),
    `bad_frame` (headers that contradict themselves), `malformed` (CBN
    datagrams with bad framing, and well framed packets wrong inside),
    `bad_checksum` (damaged on the way: whoever receives them drops them).

    Raises:
        PcapError: Not a pcap file, or of a link type not known here.
        OSError: The file cannot be read.
    """

def index_pcap(path: str | os.PathLike[str], target_bytes: int) -> list[tuple[int, int]]:
    """Exact split points: [start, end) byte ranges of about `target_bytes`, whole records each.

    Together they hold every record once. Consecutive fragments of a datagram stay together.
    """
