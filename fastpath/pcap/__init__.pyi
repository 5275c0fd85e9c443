"""Decode pcap and pcapng files of CBN traffic into columns."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

class PcapError(ValueError):
    """Not a pcap or pcapng file this reader knows."""

class RangeEdges(NamedTuple):
    """Whether a range is one of several that together are the file.

    Ranges that follow on one another hold what the whole file holds exactly if each but the first
    starts and each but the last ends clean, and none is `late`: by induction, since the first starts
    where the records do.
    """

    starts_clean: bool
    """The first record is no fragment of a datagram."""
    ends_clean: bool
    """A record ends where the range ends, and is no fragment of a datagram."""
    late: bool
    """It says how what follows is to be read: a section or an interface of pcapng behind the first packet."""

SCHEMA: pa.Schema
"""The columns of what is decoded: a packet a row."""

def decode_pcap(
    path: str | os.PathLike[str], start: int = 0, end: int | None = None, mac: str = ""
) -> tuple[pa.RecordBatch, dict[str, int]]:
    """One row per CBN packet of the file's records that start in [start, end), and counts.

    Reads pcap in either byte order with micro- and nanoseconds; pcapng with any number of
    sections and interfaces; Ethernet (with VLAN tags), SLL2 and RAW; IPv4 and IPv6, also
    fragmented; super-datagrams of segmentation offload. `start` is 0 or comes from `index_pcap`.

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
    `bad_checksum` (damaged on the way: whoever receives them drops them). Of pcapng
    alone: `damaged_file` (blocks' lengths contradict each other: what follows is not
    read), `bad_block` (contradicts itself, or names an interface that is not there),
    `untimed` (simple packets bear no time), `unknown_link` (of an interface of
    another kind), `unknown_block` (none of those that hold packets).

    The file is read, not mapped: one that becomes shorter meanwhile has a truncated end.

    Raises:
        PcapError: Not a pcap file, or of a link type not known here.
        OSError: The file cannot be read.
    """

def decode_range(
    path: str | os.PathLike[str], start: int, end: int | None, mac: str = ""
) -> tuple[pa.RecordBatch, dict[str, int], RangeEdges]:
    """As `decode_pcap`; and whether the range's edges are where they should be."""

def index_pcap(path: str | os.PathLike[str], target_bytes: int) -> list[tuple[int, int]]:
    """Exact split points: [start, end) byte ranges of about `target_bytes`, whole records each.

    Together they hold every record once. Consecutive fragments of a datagram stay together.
    """

def merge_captures(
    captures: Iterable[tuple[str, Sequence[str | os.PathLike[str]]]],
    path: str | os.PathLike[str],
    snap_bytes: int = 262_144,
) -> dict[str, int]:
    """All captures (name of the interface, its files) as one pcapng file, in order of time.

    Of Ethernet alone. Stamps within a capture may cross by some hundred records, as those of
    several processors do. Counts: `packets`, and `truncated`, files whose end is not whole.

    Raises:
        PcapError: one of the files is no capture.
        OSError: one cannot be read, or `path` cannot be written; then it is not whole.
    """
