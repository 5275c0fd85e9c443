"""What each neighbour knows of everybody's interest, and what it is told next.

For every link up and every origin we know which state the neighbour holds at
least: the last that we told it or that it told us. What it is to be told is
promised to the channel and made when its turn comes: nothing if it knows by
then, the next step if it holds the state before, else the whole record. So a
queue holds a promise an origin however fast interest changes, a slow neighbour
is told the sum of what it missed, and a step always fits (docs/protocols.md).

Not here: what is taken from neighbours (`exchange`), records of links (`flooding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nodes.routing.interest import InterestDatabase, State
from nodes.routing.link import Link
from nodes.routing.outbound import Made
from nodes.wire.packets import Kind, Role


class Telling:
    """The links to routers as a medium for interest."""

    def __init__(self, links: Sequence[Link], database: InterestDatabase) -> None:
        self._links = [link for link in links if link.interface.peer_role is Role.ROUTER]
        self._database = database
        self._known: dict[int, dict[int, State]] = {link.interface.index: {} for link in self._links}

    def joined(self, now_ns: int, link: Link) -> None:
        """A new session: the neighbour is promised everything."""
        self._known[link.interface.index].clear()
        for origin in self._database.origins:
            self._promise(now_ns, link, origin)

    def spread(self, now_ns: int, origin: int) -> None:
        """An origin's interest has changed: all neighbours are to know."""
        for link in self._links:
            if link.up:
                self._promise(now_ns, link, origin)

    def heard(self, link: Link, origin: int, state: State) -> None:
        """A neighbour shows which state it holds."""
        known = self._known[link.interface.index]
        known[origin] = max(state, known.get(origin, state))

    def again(self, now_ns: int, link: Link, origin: int) -> None:
        """A neighbour turned out not to hold what we thought: it is told all of it."""
        self._known[link.interface.index].pop(origin, None)
        if self._database.state(origin) is not None:
            self._promise(now_ns, link, origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        for known in self._known.values():
            known.pop(origin, None)

    def _promise(self, now_ns: int, link: Link, origin: int) -> None:
        link.promise(now_ns, (Kind.INTEREST, origin), partial(self._next, link.interface.index, origin))

    def _next(self, interface: int, origin: int) -> Made | None:
        held, known = self._database.state(origin), self._known[interface]
        if held is None or (origin in known and known[origin] >= held):
            return None
        step = self._database.step_after(origin, known[origin]) if origin in known else None
        if step is None:
            known[origin] = held
            return Made(Kind.INTEREST, self._database.payload(origin), more=False)
        known[origin] = step.after
        return Made(Kind.INTEREST_CHANGE, step.payload, more=step.after != held)
