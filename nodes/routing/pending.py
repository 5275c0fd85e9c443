"""Work that waits a little, so that many causes make it once."""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from nodes.config import MILLISECOND_NS

QUIET = 8
"""After so many delays without work, the next work waits the shortest delay again."""


def earlier(one: int | None, other: int | None) -> int | None:
    """The earlier of two times; None: never."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


@mypyc_attr(allow_interpreted_subclasses=True)
class Pending:
    """One piece of work and when it is due; in a storm of causes it waits longer and longer.

    Args:
        delay_ms: How long it waits.
        longest_factor: How many times as long it waits at most.
        noted: Called when it is wanted.
    """

    def __init__(
        self, delay_ms: int, longest_factor: int = 1, noted: Callable[[], None] = lambda: None
    ) -> None:
        self.at: int | None = None
        self._shortest_ns = delay_ms * MILLISECOND_NS
        self._longest_ns = self._shortest_ns * longest_factor
        self._delay_ns = self._shortest_ns
        self._done_at: int | None = None
        self._noted = noted

    def want(self, now_ns: int) -> None:
        """There is cause to do the work."""
        if self.at is not None:
            return
        quiet = self._done_at is None or now_ns - self._done_at > QUIET * self._delay_ns
        self._delay_ns = self._shortest_ns if quiet else min(2 * self._delay_ns, self._longest_ns)
        self.at = now_ns + self._delay_ns
        self._noted()

    def want_soon(self, now_ns: int) -> None:
        """There is cause to do the work at once, unless it was done a short while ago."""
        quiet = self.at is None and (self._done_at is None or now_ns - self._done_at > QUIET * self._delay_ns)
        self.want(now_ns)
        if quiet:
            self.at = now_ns

    def take(self, now_ns: int) -> bool:
        """Whether the work is to be done now; it then counts as done."""
        if self.at is None or now_ns < self.at:
            return False
        self.at, self._done_at = None, now_ns
        return True
