"""The mark of one link in each direction, and how its two ends change it (MM 5.3; K7, K8; decision 31).

The upstream end decides. While a change is under way both sorts of descriptors are held over the link:

    s becomes p: CHANGE_MARKING carries the PCDs, the SCDs that are held stay until the reply
    p becomes s: PCDs go on, the reply carries the SCDs

Not here: which mark it is to be (`matchmaker_marks`), what is held (`fastpath.meeting`).
"""

from __future__ import annotations

from dataclasses import dataclass

from fastpath.meeting import Meeting

NUMBERS = (1 << 32) - 1
"""Changes are numbered from 1 to this, and then from 1 again."""


@dataclass(slots=True)
class Link:
    """A link that has joined, as one of its ends has it; what is held goes by its marks."""

    interface: int
    neighbour: int
    is_p_out: bool
    """The mark away from us, which we decide; the one asked for while `asked_ns` is set."""
    is_p_in: bool
    """The mark towards us."""
    meeting: Meeting
    number: int = 0
    """Of the last change away from us."""
    asked_ns: int | None = None
    """Since when a reply is awaited."""
    answered: int = NUMBERS
    """The number of the last change towards us; one that no first change has before there was any."""
    doubted_ns: int | None = None
    """Since when the mark towards us is not what announced causes make it, or since we said so."""

    def join(self) -> None:
        """Nothing has gone over it yet."""
        self.meeting.join(self.interface)
        self.show()

    def ask(self, now_ns: int, is_p: bool) -> None:
        """Begin a change."""
        self.is_p_out = is_p
        self.number = self.number % NUMBERS + 1
        self.asked_ns = now_ns
        self.show()

    def end_change(self) -> None:
        """The other end has replied."""
        self.asked_ns = None
        self.show()

    def change(self, number: int, is_p: bool) -> None:
        """The other end has changed the mark towards us."""
        self.is_p_in, self.answered = is_p, number
        self.show()

    def show(self) -> None:
        """Which sorts it carries now: both that a change of ours is about, while it is under way."""
        changing = self.asked_ns is not None
        published_out, wanted_in = self.is_p_out or changing, not self.is_p_out or changing
        self.meeting.mark(self.interface, published_out, not self.is_p_in, self.is_p_in, wanted_in)

    def doubt(self, now_ns: int, is_wrong: bool) -> None:
        """Note whether the mark towards us is another than it should be."""
        if not is_wrong:
            self.doubted_ns = None
        elif self.doubted_ns is None:
            self.doubted_ns = now_ns

    def state(self) -> tuple[int, bool, bool, bool]:
        """The neighbour, the marks away from us and towards us, and whether ours is changing."""
        return self.neighbour, self.is_p_out, self.is_p_in, self.asked_ns is not None

    def marks(self) -> tuple[str, str]:
        """For the digests of both ends: (away from us, towards us)."""
        waiting = "?" if self.asked_ns is not None else ""
        return f"{int(self.is_p_out)}{waiting}", f"{int(self.is_p_in)}"
