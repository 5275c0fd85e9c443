"""What the reader of a part of a capture says about the part's ends."""

from __future__ import annotations

from typing import NamedTuple


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
