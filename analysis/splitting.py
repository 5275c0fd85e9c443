"""Where a large capture can be split, so that several tasks read it.

The index that capturing leaves beside a file (`docs/captures.md`) says so at once;
where there is none, or none that can be right, every record's header is read. An
index is never believed: who reads a range checks its edges (`analysis.decode`), and
one that lied costs time, not truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fastpath.pcap import index_pcap

SUFFIX = ".idx"
HEADER = "cbn capture index 1\n"
LONGEST = 64 * 1024 * 1024
Range = tuple[int, int]


def split(path: Path, split_bytes: int, *, believe: bool = True) -> tuple[list[Range], str]:
    """Ranges of about `split_bytes` that together are the file, and where they come from.

    That is `whole` (it is small), `indexed`, `scanned` (there is no index) or `distrusted` (there
    is one that cannot be right, or is not to be believed).

    Raises:
        OSError: the file cannot be read.
        PcapError: it is no capture.
    """
    size = path.stat().st_size
    if size <= split_bytes:
        return [(0, size)], "whole"
    index = path.with_name(path.name + SUFFIX)
    if not index.exists():
        return index_pcap(path, split_bytes), "scanned"
    places = read_index(index, size) if believe else None
    if places is None:
        return index_pcap(path, split_bytes), "distrusted"
    return list(ranges(places, size, split_bytes)), "indexed"


def read_index(path: Path, size: int) -> list[int] | None:
    """Where records begin, by the index of a capture of `size` bytes; None if it cannot be right.

    A last line that is cut off is left out.
    """
    try:
        if path.stat().st_size > LONGEST:
            return None
        text = path.read_text(encoding="ascii")
        places = [_place(line) for line in _lines(text)]
    except (OSError, ValueError):
        return None
    rising = all(low < high for low, high in zip([0, *places], [*places, size], strict=True))
    return places if text.startswith(HEADER) and rising else None


def ranges(places: Sequence[int], size: int, split_bytes: int) -> Iterator[Range]:
    """Ranges of at least `split_bytes` between these places; the last may be shorter."""
    start = 0
    for place in places:
        if place - start >= split_bytes:
            yield start, place
            start = place
    yield start, size


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines(keepends=True)[1:] if line.endswith("\n"))


def _place(line: str) -> int:
    place, _packet, _time_ns = (int(word) for word in line.split())
    return place
