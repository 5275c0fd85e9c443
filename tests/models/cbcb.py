"""`cbcb` as a model: advertisements, requests and replies that cross, by the real code of routers' schemes.

Timers fire as late as they like: what is gathered before a router asks, or says that its links changed. A
reply is not waited for in vain, as channels lose nothing.

Where nothing is under way a router has learned of each neighbour just what is wanted beyond it (E7).
**No interest is lost on the way**: where all links stay, what a router has learned of a neighbour, and
somebody beyond it wants all the time, it goes on knowing, whatever replies and advertisements cross.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from nodes.routing.effects import Reason
from nodes.routing.pending import Pending
from nodes.routing.predicates import filters_of, predicate_of, reduced_union
from nodes.routing.records import Records
from nodes.routing.schemes.base import learned, of_router
from nodes.routing.schemes.cbcb import Cbcb
from nodes.routing.schemes.cbcb_era import Eras, _Link
from nodes.routing.schemes.cbcb_pull import Timers, Unions
from nodes.scheme_catalog import OptionValue, complete
from nodes.wire.packets import Kind
from nodes.wire.scheme_payloads import Advertisement, Reply, Request
from tests.models.host import GIVEN_TO_ALL, HOST_LEFT_OUT, Host, HostAdapter
from tests.models.interest import InterestJudge, wanted
from tests.models.network import Change, Payload
from tests.models.scenario import Scenario

CbcbHost = Host[Cbcb]
OPTIONS: Mapping[str, OptionValue] = {
    "sr_on_change": True,
    "sr_timeout_ms": 0,
    "sr_period_ms": 0,
    "ra_period_ms": 0,
}
LEFT_OUT = frozenset(
    {
        *HOST_LEFT_OUT,
        (Host, "now_ns"),  # times are left out, and when a timer is set
        *((Cbcb, name) for name in ("_talk", "_handlers", "_options", "_view")),
        *((Eras, name) for name in ("_talk", "_seen")),
        (Records, "version"),
        *((_Link, name) for name in ("sent", "received")),  # digests of all that was said
        *((Timers, name) for name in ("_timeout_ns", "_retry_ns")),
    }
)


class Numbers(random.Random):
    """Draws numbers that no router has drawn before, and no jitter."""

    def __init__(self, node: int, life: int) -> None:
        super().__init__(0)
        self.drawn = (node * 100 + life) * 1000

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """The next number, or no jitter."""
        if start < 1 << 64:
            return 0
        self.drawn += 1
        return self.drawn


WRITERS: Mapping[type, Callable[..., object]] = {
    Pending: lambda pending: pending.at is not None,
    Numbers: lambda numbers: numbers.drawn,
    Unions: lambda _: None,
}


class Look(NamedTuple):
    """What is looked at from outside."""

    node: int
    due: tuple[str, ...]
    """The timers that are set."""
    settled: bool
    known: frozenset[tuple[int, bytes]]
    """By neighbour, the filters wanted beyond it."""
    own: frozenset[bytes]
    """What our clients want."""


def _timers(host: CbcbHost) -> dict[str, Pending]:
    timers = host.scheme._timers
    return {"renew": timers.renew, "ask": timers.ask}


def _timer(host: CbcbHost, name: object) -> None:
    """A timer fires now; if there is another one it fires later."""
    for each, timer in _timers(host).items():
        if timer.at is not None:
            timer.at = host.now_ns if each == name else host.now_ns + 1
    host.scheme.handle_timer(host.now_ns)


GIVEN: Mapping[str, Callable[..., None]] = {**GIVEN_TO_ALL, "timer": _timer}


class CbcbAdapter(HostAdapter[Cbcb]):
    """Routers of `cbcb` as machines (`machines.Adapter`).

    Args:
        make: A scheme as it is to be tried.
    """

    given = GIVEN
    left_out = LEFT_OUT
    writers = WRITERS

    def __init__(self, make: Callable[[], Cbcb] | None = None) -> None:
        self._make = make or (lambda: Cbcb(complete("cbcb", OPTIONS)))

    def make(self, name: Hashable) -> CbcbHost:
        """A router; its name is (id, how often it has been started again)."""
        assert isinstance(name, tuple)
        node, life = name
        return Host(node, life, self._make, set[Reason](), rng=Numbers(node, life))

    def look(self, core: CbcbHost) -> Hashable:
        """As `Look`."""
        scheme, store = core.scheme, core.store
        neighbours = {scheme._links.neighbour(interface) for interface in scheme._links}
        found = [(n, f) for n in neighbours for f in filters_of(store.predicate(learned(n)))]
        own = filters_of(store.predicate(of_router(core.node)))
        due = [name for name, timer in _timers(core).items() if timer.at is not None]
        return Look(core.node, tuple(due), scheme.settled, frozenset(found), frozenset(own))


class CbcbJudge(InterestJudge):
    """What must hold (`network.Judge`)."""

    def describe(self, payload: Payload) -> str:
        """A payload for people."""
        _, kind, data = payload
        if kind == Kind.CBCB_RA:
            said = Advertisement.decode(data)
            return f"advertisement {said.revision} of r{said.origin}"
        if kind == Kind.CBCB_SR:
            asked = Request.decode(data)
            return f"request {asked.number} of r{asked.origin}"
        if kind == Kind.CBCB_UR:
            told = Reply.decode(data)
            return f"reply to request {told.number} of r{told.origin}"
        return "records of eras"

    def about_quiet(self, looks: Sequence[Hashable], up: Sequence[bool]) -> Iterator[str]:
        """What was learned."""
        found = {look.node: look for look in looks if isinstance(look, Look)}
        for node, look in found.items():
            if not look.settled:
                yield f"r{node} waits for what will not come"
        for a, b, live in self.directions(up):
            beyond = predicate_of(wanted(looks, live, a, b))
            expected = {*filters_of(reduced_union([beyond]))}
            known = {filter_ for neighbour, filter_ in found[a].known if neighbour == b}
            if known != expected:
                yield f"r{a} has learned {sorted(known)} of r{b}, and {sorted(expected)} is wanted there"


def _want(router: int, text: str) -> Change:
    return Change("give", router, ("hold", "want", router + 1, text))


LINE = ((0, 1), (1, 2))
_scenario = partial(Scenario[CbcbHost, Cbcb], CbcbAdapter, CbcbJudge)
CBCB: Mapping[str, Scenario[CbcbHost, Cbcb]] = {
    "cbcb-cross": _scenario(
        "on a line of three, both ends come to want more and less, so that requests and replies cross",
        LINE,
        (_want(0, "a > 1"), _want(2, "b > 1")),
        (
            (_want(0, "a > 1 or c > 1"), _want(0, "c > 1")),
            (_want(1, "d > 1"),),
            (_want(2, "b > 2"), _want(2, "b > 2 or e > 1")),
        ),
    ),
    "cbcb-star": _scenario(
        "one of three around a router wants less, which makes the others ask, while another wants more",
        ((0, 1), (1, 2), (1, 3)),
        (_want(0, "a > 1"), _want(2, "b > 1"), _want(3, "d > 1 or e > 1")),
        ((_want(2, "b > 1 or c > 1"),), (_want(3, "d > 1"),)),
    ),
    "cbcb-flap": _scenario(
        "an end comes to want something else, and a link is lost and comes back",
        ((0, 1),),
        (_want(0, "a > 1"), _want(1, "b > 1")),
        ((_want(0, "c > 1"),), (Change("cut", 0), Change("mend", 0))),
    ),
    "cbcb-restart": _scenario(
        "an end comes to want something else, and the other router starts again",
        ((0, 1),),
        (_want(0, "a > 1"), _want(1, "b > 1")),
        ((_want(0, "c > 1"),), (Change("restart", 1),)),
    ),
}
