"""Sender requests and update replies (FWD 2.1, P3), and when a router sends what; without the sending.

`Asking` is the issuer's part. It asks the neighbours that are its children in
its own tree, each for its branch; a branch can be asked alone. Of each
neighbour at most one answer is awaited, so what has cause to be asked anew in
the meantime is asked when the answer is there, and churn cannot starve it.

`Relay` is the part of a router on the way: it waits for the branches below it.
`Timers` are the delays with jitter, the periods, and when to ask again.

Not here: advertisements, eras (`cbcb`, `cbcb_era`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from nodes.config import MILLISECOND_NS
from nodes.routing.pending import Pending
from nodes.routing.predicates import NOTHING, reduced_union
from nodes.routing.schemes.base import Options
from nodes.wire.scheme_payloads import Request

REMEMBERED_BYTES = 4 * 1024 * 1024
PARTS_MAX = 64
"""So many predicates wait to be united in a reply; the next unites them."""
DELAY_MS = 10
"""How long causes are gathered before a router asks, or announces that its links changed."""
ASK_STORM_FACTOR = 16
RENEW_STORM_FACTOR = 128
"""How much longer it waits at most while causes keep coming."""
RETRY_FACTOR = 16


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
        self._number = (self._number + 1) % (1 << 32)
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

    def has_reply_from(self, branch: int) -> bool:
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


class Jittered(Pending):
    """Pending work that also waits a random time, lest all routers send at once."""

    def __init__(self, delay_ms: int, longest_factor: int, rng: random.Random) -> None:
        super().__init__(delay_ms, longest_factor)
        self._jitter_ns = delay_ms * MILLISECOND_NS
        self._rng = rng

    def want(self, now_ns: int) -> None:
        """There is cause to do the work."""
        if self.at is None:
            super().want(now_ns)
            assert self.at is not None
            self.at += self._rng.randrange(self._jitter_ns + 1)


class Once:
    """A time that comes once."""

    def __init__(self) -> None:
        self.at: int | None = None

    def take(self, now_ns: int) -> bool:
        """Whether it has come; it is then over."""
        if self.at is None or now_ns < self.at:
            return False
        self.at = None
        return True


class Period:
    """A time that comes again and again, each time up to a quarter early at random; never if 0."""

    def __init__(self, period_ms: int, rng: random.Random) -> None:
        self.at: int | None = None
        self._period_ns = period_ms * MILLISECOND_NS
        self._rng = rng

    def begin(self, now_ns: int) -> None:
        """Let it first come a period from now."""
        if self._period_ns:
            self.at = now_ns + self._period_ns - self._rng.randrange(self._period_ns // 4 + 1)

    def take(self, now_ns: int) -> bool:
        """Whether it has come; the next is then set."""
        if self.at is None or now_ns < self.at:
            return False
        self.begin(now_ns)
        return True


class Timers:
    """All timers of one router."""

    def __init__(self, options: Options, rng: random.Random) -> None:
        self.renew = Jittered(DELAY_MS, RENEW_STORM_FACTOR, rng)
        """Say that our links changed."""
        self.ask = Jittered(DELAY_MS, ASK_STORM_FACTOR, rng)
        """Send the requests there is cause for."""
        self.retry = Once()
        """Send again the requests that are not answered."""
        self.refresh = Period(int(options["sr_period_ms"]), rng)
        """Ask for no cause but time."""
        self.repeat = Period(int(options["ra_period_ms"]), rng)
        """Advertise for no cause but time."""
        self._timeout_ns = int(options["sr_timeout_ms"]) * MILLISECOND_NS
        self._retry_ns = self._timeout_ns

    def begin(self, now_ns: int) -> None:
        """A new era: ask soon; periods and retries begin anew."""
        self.ask.want(now_ns)
        self.retry.at, self._retry_ns = None, self._timeout_ns
        self.refresh.begin(now_ns)
        self.repeat.begin(now_ns)

    def await_replies(self, now_ns: int) -> None:
        """Replies are awaited, or keep coming."""
        if self._retry_ns:
            self.retry.at = now_ns + self._retry_ns

    def retry_later(self, now_ns: int) -> None:
        """There was no reply: wait twice as long for the next."""
        self._retry_ns = min(2 * self._retry_ns, RETRY_FACTOR * self._timeout_ns)
        self.await_replies(now_ns)

    def next_deadline(self) -> int | None:
        """The earliest."""
        all_ = (self.renew, self.ask, self.retry, self.refresh, self.repeat)
        return min((timer.at for timer in all_ if timer.at is not None), default=None)
