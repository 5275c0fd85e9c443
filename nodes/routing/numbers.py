"""Numbers that only their owner raises, and the way round their end.

The records that a router announces of itself (links, interest, the record of an era)
are numbered, and of two the one with the higher number is newer. A number has 63 bits,
so an honest router never comes to the end, but a forged record may name any number. A
total order has an end behind which the owner cannot go. If numbers were compared on a
circle, three of them could each be newer than another, and records with these would
follow each other through the network for ever. So there are two classes:

    ordinary    below 2^62
    last        from 2^62 to 2^63 - 1; newer than every ordinary number from 2^61 on

- *Forward.* An owner that receives a record in its name answers with a number above
  it, with its true content; in the last class as well, up to the highest number there
  is. Of two records with the same number the one with the greater bytes is newer.
- *Closed.* Nobody needs the last class before ordinary numbers have come far (2^61).
  Who holds a lower one does not take a number of the last class, and answers with what
  it holds. So a single forged record does nothing, and a late copy ends where it arrives.
- *Back.* A router that has held a number of the last class for `renumber_ms`, which is
  longer than flooding takes, takes the next ordinary number as newer, whatever it is;
  one that arrives earlier is asked for again. The owner goes back after twice that
  time: by then everybody holds the last class for long enough.
- *Both ways at once.* Two routers may each take the other's record, one going back and one
  not. So who goes back sends the record to all neighbours, also to the one it came from.
- A router that is not connected with the origin deletes a record of the last class
  after that time (`records.Ageing`), so that none comes back out of a partition.

Not here: what is kept under the numbers (`records`, `interest`, `schemes.cbcb_era`).
"""

from __future__ import annotations

from enum import Enum

from nodes.config import MICROSECOND_NS, MILLISECOND_NS

LAST = (1 << 63) - 1
LAST_CLASS = 1 << 62
FAR = 1 << 61
"""An ordinary number from here on may need the last class."""
OWNER_WAITS = 2
"""So many times `renumber_ms` the owner stays in the last class."""
Mark = tuple[int, bytes]
"""A number, and what decides between two that are equal: bytes of the content, or its digest."""


class Order(Enum):
    """What a record that arrived is to the one that is held."""

    NEWER = "newer"
    SAME = "same"
    OLDER = "older"
    STALE = "older, and not because the two have crossed: its sender is to be sent what we hold"
    EARLY = "ordinary, while the last class has not been held long enough: to be asked for again"


def of_last_class(number: int) -> bool:
    """Whether nothing ordinary is above it."""
    return number >= LAST_CLASS


class Numbering:
    """The numbers of all other origins of one kind of record."""

    def __init__(self, renumber_ms: int) -> None:
        self._hold_ns = renumber_ms * MILLISECOND_NS
        self._since: dict[int, int] = {}
        self._returned: set[int] = set()
        self._early: dict[int, int] = {}

    @property
    def settled(self) -> bool:
        """Whether no record is known that is not taken yet."""
        return not self._early

    def compare(self, now_ns: int, origin: int, held: Mark | None, arrived: Mark) -> Order:
        """Compare a record with the one that is held of its origin."""
        if held is None:
            return Order.NEWER
        if of_last_class(held[0]) is of_last_class(arrived[0]):
            return _plain(held, arrived)
        if of_last_class(arrived[0]):
            return Order.STALE if held[0] < FAR else Order.NEWER
        open_at = self._since.get(origin, now_ns) + self._hold_ns
        if now_ns < open_at:
            self._early[origin] = open_at
            return Order.EARLY
        return Order.NEWER

    def store(self, now_ns: int, origin: int, before: int | None, number: int) -> bool:
        """A record is held from now on; whether its origin went back to ordinary numbers by it."""
        self._early.pop(origin, None)
        if of_last_class(number):
            self._since.setdefault(origin, now_ns)
            return False
        self._since.pop(origin, None)
        if before is None or not of_last_class(before):
            return False
        self._returned.add(origin)
        return True

    def is_unusual(self, origin: int) -> bool:
        """Whether an origin uses or has used the last class: its older records may not have crossed ours."""
        return origin in self._since or origin in self._returned

    def last_class(self) -> set[int]:
        """The origins whose numbers are of the last class."""
        return set(self._since)

    def forget(self, origin: int) -> None:
        """Nothing is held of an origin any more."""
        self._since.pop(origin, None)
        self._early.pop(origin, None)
        self._returned.discard(origin)

    def take_due(self, now_ns: int) -> list[int]:
        """The origins whose ordinary record came early and would be taken now: to be asked for."""
        due = sorted(origin for origin, at in self._early.items() if now_ns >= at)
        for origin in due:
            del self._early[origin]
        return due

    def next_deadline(self) -> int | None:
        """When `take_due` gives something."""
        return min(self._early.values()) if self._early else None


class OwnNumber:
    """The number of what we announce, which nobody else may raise."""

    def __init__(self, renumber_ms: int, from_clock: bool = False) -> None:
        self.value = 0
        """The highest that was used in our name."""
        self.returns_at: int | None = None
        """When we go back to ordinary numbers."""
        self.contradicted = False
        """Whether something else may stand in our name, and we cannot go above it yet."""
        self._hold_ns = renumber_ms * MILLISECOND_NS
        self._ordinary = 0
        self._from_clock = from_clock
        """Whether the first number is the time in microseconds, above all that were used before a restart."""

    def take_next(self, now_ns: int) -> int:
        """The number of what we announce now."""
        if self._from_clock:
            self._from_clock = False
            self.value = max(self.value, min(now_ns // MICROSECOND_NS, FAR - 1))
        self.contradicted |= self.value == LAST
        self._go_to(now_ns, min(self.value + 1, LAST))
        return self.value

    def go_above(self, now_ns: int, number: int) -> None:
        """What we announce next is to be above this, as far as possible."""
        self._go_to(now_ns, max(self.value, number))

    def receive(self, now_ns: int, held: Mark | None, arrived: Mark) -> Order:
        """A record in our name arrived; if it is newer, we are to announce what is true anew."""
        number = arrived[0]
        if of_last_class(number) and not of_last_class(self.value):
            if self.value < FAR:
                return Order.NEWER if held is None else Order.STALE
        elif of_last_class(self.value) and not of_last_class(number):
            return self._receive_ordinary(now_ns, number)
        elif number == LAST == self.value and held is not None:
            self.contradicted |= arrived > held
            return Order.OLDER if arrived > held else _behind(held, arrived)
        elif number < self.value or arrived == held:
            return _behind(held, arrived)
        self._go_to(now_ns, number)
        return Order.NEWER

    def go_back(self, now_ns: int) -> bool:
        """Use ordinary numbers again if it is time; whether it is."""
        if self.returns_at is None or now_ns < self.returns_at:
            return False
        self.value = self._ordinary
        self.returns_at, self.contradicted = None, False
        return True

    def _receive_ordinary(self, now_ns: int, number: int) -> Order:
        """While we are in the last class: we shall go back above it, at once if others may have already."""
        assert self.returns_at is not None
        others_back = now_ns >= self.returns_at - (OWNER_WAITS - 1) * self._hold_ns
        if others_back:
            self.returns_at = now_ns
        if others_back or number < FAR:
            self._ordinary = max(self._ordinary, number)
        return Order.OLDER

    def _go_to(self, now_ns: int, number: int) -> None:
        if not of_last_class(self.value):
            self._ordinary = self.value if self.value < FAR else 0
        self.value = number
        if of_last_class(number) and self.returns_at is None:
            self.returns_at = now_ns + OWNER_WAITS * self._hold_ns


def _behind(held: Mark | None, arrived: Mark) -> Order:
    """What our own record is answered with, if it is not above ours."""
    return Order.SAME if arrived == held else Order.STALE


def _plain(held: Mark, arrived: Mark) -> Order:
    if arrived == held:
        return Order.SAME
    return Order.NEWER if arrived > held else Order.OLDER
