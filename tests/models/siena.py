"""`siena` on a shared tree as a model: the real code of routers' schemes, and what must hold of them.

Where nothing is under way, a router has been asked by each neighbour for just what is wanted beyond it, but
for what something else covers that is wanted there (ADR 3.5), and digests agree.

**No interest is lost on the way** (E15): where all links stay, what a neighbour has asked for and somebody
beyond it wants all the time, it goes on asking for, itself or by a cover, whatever else is withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from fastpath import cover
from nodes.routing.effects import Reason
from nodes.routing.schemes.siena import Siena
from nodes.routing.schemes.siena_messages import read
from nodes.routing.schemes.siena_poset import Node, Poset
from nodes.routing.schemes.siena_relations import Clients
from nodes.routing.schemes.siena_table import Table
from nodes.scheme_catalog import complete
from nodes.wire.packets import Kind
from tests.models.host import HOST_LEFT_OUT, Host, HostAdapter
from tests.models.interest import InterestJudge, wanted
from tests.models.machines import Input
from tests.models.network import Change, Payload
from tests.models.scenario import Scenario

CLIENTS = (7, 8)
"""The interfaces of each router to its clients."""
SienaHost = Host[Siena]
LEFT_OUT = frozenset(
    {
        *HOST_LEFT_OUT,
        *((Siena, name) for name in ("_talk", "_basis", "names_version", "_learned", "_offers")),
        *((Table, name) for name in ("relation", "_changes")),  # the second is for those who make tables
        (Clients, "_relation"),
    }
)
WRITERS: Mapping[type, Callable[..., object]] = {
    Poset: lambda poset: {filter_: _written(node) for filter_, node in poset.nodes.items()},
}


def _written(node: Node) -> tuple[object, ...]:
    """What stands for a node, without those that it points to."""
    covers = frozenset(each.filter for each in node.above)
    return node.subscribers, node.open, node.reach, node.forwards, covers


class Look(NamedTuple):
    """What is looked at from outside."""

    node: int
    known: frozenset[tuple[int, bytes]]
    """By neighbour, what it has asked us for."""
    accounts: frozenset[tuple[int, tuple[str, str]]]
    """By neighbour: digests of what was sent, and of what was received."""
    own: frozenset[bytes]
    """What our clients want."""
    disagreements: int
    """How often a neighbour withdrew what it had not asked for."""


class SienaAdapter(HostAdapter[Siena]):
    """Routers of `siena` as machines (`machines.Adapter`).

    Args:
        make: A scheme as it is to be tried.
    """

    left_out = LEFT_OUT
    writers = WRITERS

    def __init__(self, make: Callable[[], Siena] | None = None) -> None:
        self._make = make or (lambda: Siena(complete("siena", {})))

    def make(self, name: Hashable) -> SienaHost:
        """A router; its name is (id, how often it has been started again)."""
        assert isinstance(name, tuple)
        node, life = name
        return Host(node, life, self._make, {Reason.UNKNOWN_SUBSCRIPTION}, CLIENTS)

    def look(self, core: SienaHost) -> Hashable:
        """As `Look`."""
        scheme = core.scheme
        links, accounts = scheme._links, scheme.accounts()
        held = {interface: account.filters for interface, account in scheme.table.accounts.items()}
        asked = [
            (links[interface], filter_)
            for interface in links
            for filters in held.get(interface, {}).values()
            for filter_ in filters
        ]
        own = [
            filter_ for client in CLIENTS for filters in held.get(client, {}).values() for filter_ in filters
        ]
        both = ((links[interface], digests) for interface, digests in accounts.items())
        return Look(core.node, frozenset(asked), frozenset(both), frozenset(own), core.disagreements)


class SienaJudge(InterestJudge):
    """What must hold (`network.Judge`)."""

    def describe(self, payload: Payload) -> str:
        """A payload for people."""
        _, kind, data = payload
        verb = "asks for" if kind == Kind.SIENA_SUBSCRIBE else "withdraws"
        return f"{verb} {', '.join(map(repr, read(data)[1]))}"

    def about_step(
        self,
        given: Input,
        before: Hashable,
        after: Hashable,
        sent: Sequence[Payload],
        looks: Sequence[Hashable],
    ) -> str:
        """Nobody withdraws what was not asked for; and what all interest has to obey."""
        assert isinstance(before, Look)
        assert isinstance(after, Look)
        if after.disagreements > before.disagreements:
            return f"r{after.node} is to withdraw what it was not asked for"
        return super().about_step(given, before, after, sent, looks)

    def about_quiet(self, looks: Sequence[Hashable], up: Sequence[bool]) -> Iterator[str]:
        """What was asked for, and digests."""
        found = {look.node: look for look in looks if isinstance(look, Look)}
        for a, b, live in self.directions(up):
            if dict(found[a].accounts)[b][0] != dict(found[b].accounts)[a][1]:
                yield f"r{a} has sent something else to r{b} than r{b} has of it"
            beyond = wanted(looks, live, a, b)
            roots = {f for f in beyond if not any(cover.covers(g, f) for g in beyond - {f})}
            asked = {filter_ for neighbour, filter_ in found[a].known if neighbour == b}
            if asked != roots:
                yield f"r{b} has asked r{a} for {sorted(asked)}, and {sorted(roots)} is wanted there"


def _hold(router: int, client: int, text: str) -> Change:
    return Change("give", router, ("hold", "subscribe", client, text))


WIDE, MIDDLE, NARROW, WIDER = "a > 0", "a > 1", "a > 2", "a > -1"
LINE = ((0, 1), (1, 2))
BEGIN = (_hold(0, 7, WIDE), _hold(0, 8, MIDDLE), _hold(2, 7, NARROW))
_scenario = partial(Scenario[SienaHost, Siena], SienaAdapter, SienaJudge)
SIENA: Mapping[str, Scenario[SienaHost, Siena]] = {
    "siena-covers": _scenario(
        "on a line of three, what covers the others is withdrawn, and others come and go on both sides",
        LINE,
        BEGIN,
        (
            (_hold(0, 7, ""), _hold(0, 7, WIDER)),
            (_hold(0, 8, NARROW), _hold(0, 8, "")),
            (_hold(2, 7, MIDDLE), _hold(2, 8, WIDER)),
        ),
    ),
    "siena-flap": _scenario(
        "a cover is withdrawn and another filter comes, and a link is lost and comes back",
        LINE,
        BEGIN,
        ((_hold(0, 7, ""),), (_hold(2, 7, MIDDLE),), (Change("cut", 0), Change("mend", 0))),
    ),
    "siena-restart": _scenario(
        "the same, and the router in the middle starts again",
        LINE,
        BEGIN,
        ((_hold(0, 7, ""),), (_hold(2, 7, MIDDLE),), (Change("restart", 1),)),
    ),
}
