"""Sender requests and update replies (FWD 2.1, P3), without the sending.

`Asking` is the issuer's part. It asks the neighbours that are its children in
its own tree, each for its branch; a branch can be asked alone. Of each
neighbour at most one answer is awaited, so what has cause to be asked anew in
the meantime is asked when the answer is there, and churn cannot starve it.

`Relay` is the part of a router on the way: it waits for the branches below it.

Not here: advertisements, timers (`cbcb`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nodes.routing.predicates import NOTHING, reduced_union
from nodes.wire.scheme_payloads import Request

REMEMBERED_BYTES = 4 * 1024 * 1024
PARTS_MAX = 64
"""So many predicates wait to be united in a reply; the next unites them."""


class Asking:
    """Our own requests of one era."""

    def __init__(self, era: int, branches: Iterable[int]) -> None:
        self.awaited: dict[int, Request] = {}
        """By neighbour, the request that it has not answered yet."""
        self._era = era
        self._number = 0
        self._branches = sorted(branches)
        self._wanted: dict[int, bool] = {}
        for branch in self._branches:
            self.want(branch)

    @property
    def wanted(self) -> bool:
        """Whether there is anything that can be asked now."""
        return any(branch not in self.awaited for branch in self._wanted)

    @property
    def settled(self) -> bool:
        """Whether nothing is to be asked or answered, periodic requests apart."""
        waiting = [*self._wanted.values(), *(request.periodic for request in self.awaited.values())]
        return all(waiting)

    def want(self, branch: int, periodic: bool = False) -> None:
        """There is cause to ask a neighbour."""
        self._wanted[branch] = periodic and self._wanted.get(branch, True)

    def want_all(self) -> None:
        """It is time to ask all neighbours again."""
        for branch in self._branches:
            self.want(branch, periodic=True)

    def ask(self, issuer: int) -> dict[int, Request]:
        """What to send now, by neighbour."""
        branches = [branch for branch in sorted(self._wanted) if branch not in self.awaited]
        if not branches:
            return {}
        self._number += 1
        requests = {
            branch: Request(issuer, self._era, self._number, self._wanted.pop(branch)) for branch in branches
        }
        self.awaited |= requests
        return requests

    def answer(self, branch: int, number: int) -> bool:
        """Take note of a reply; whether it is the one awaited."""
        request = self.awaited.get(branch)
        if request is None or request.number != number:
            return False
        del self.awaited[branch]
        return True


@dataclass(slots=True)
class Relay:
    """A request on its way through us, and what has come back so far."""

    request: Request
    back: int
    """The neighbour it came from and the reply goes to."""
    waiting: set[int]
    """The neighbours that have not replied."""
    replied: set[int] = field(default_factory=set)
    parts: list[bytes] = field(default_factory=list)

    def reply(self, branch: int, predicate: bytes) -> None:
        """A neighbour has replied."""
        self.waiting.remove(branch)
        self.replied.add(branch)
        self.parts.append(predicate)

    def overtaken_by(self, branch: int) -> bool:
        """Whether what a neighbour sends now comes after its reply, and goes on before ours.

        If it is an advertisement on its way to the request's origin, our reply
        will replace what it widens there. So it belongs to the reply.
        """
        return branch in self.replied

    def add(self, predicate: bytes) -> None:
        """Let it be part of our reply."""
        if predicate != NOTHING and predicate not in self.parts:
            self.parts.append(predicate)
            if len(self.parts) > PARTS_MAX:
                self.parts = [reduced_union(self.parts)]


class Unions:
    """Unions of predicates, remembered: the requests of many issuers ask for the same ones."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], bytes] = {}
        self._bytes = 0

    def of(self, predicates: Iterable[bytes]) -> bytes:
        """The reduced union."""
        parts = tuple(sorted({p for p in predicates if p != NOTHING}))
        if not parts:
            return NOTHING
        found = self._known.get(parts)
        return self._make(parts) if found is None else found

    def _make(self, parts: tuple[bytes, ...]) -> bytes:
        made = reduced_union(parts)
        self._bytes += len(made) + sum(map(len, parts))
        if self._bytes > REMEMBERED_BYTES:
            self._known.clear()
            self._bytes = 0
        else:
            self._known[parts] = made
        return made
