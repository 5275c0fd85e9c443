"""`amsp` as a model: the real code of routers' schemes, what they are given, and what must hold of them.

A router here is its scheme with its predicates, without links and tables: what it is asked is what
`nodes.routing.router` asks. Time stands still; what a timer would do is given: `measure` says how often
descriptors change, `late` that a reply has not come in time.

Where nothing is under way there must be (decision 31):

- every match that descriptors of both ends make, at every router on the path, and no other;
- marks alike at both ends, valid, and those of top-down marking from the announced rates;
- nobody who waits for a reply, and digests that agree.

A change of a marking, and what is told of costs, must remove no match at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from fastpath import cover
from fastpath.meeting import OURS, Meeting
from nodes.config import MILLISECOND_NS
from nodes.matchmaker.marking import is_valid
from nodes.matchmaker.problem import Problem
from nodes.matchmaker.topdown import top_down
from nodes.model.meeting import Key
from nodes.routing.effects import Reason
from nodes.routing.records import Records
from nodes.routing.schemes.amsp import Amsp
from nodes.routing.schemes.base import Source
from nodes.routing.schemes.matchmaker import Matchmaker
from nodes.routing.schemes.matchmaker_costs import Costs
from nodes.routing.schemes.matchmaker_links import Link
from nodes.routing.schemes.matchmaker_marks import Shape
from nodes.routing.schemes.matchmaker_own import Own
from nodes.routing.schemes.matchmaker_rates import Rates
from nodes.routing.schemes.siena_relations import Clients
from nodes.scheme_catalog import OptionValue, complete
from nodes.wire.matchmaker_payloads import CostAnnounce, DescriptorUpdate, MarkingChange
from nodes.wire.packets import Kind
from tests.models.host import GIVEN_TO_ALL, HOST_LEFT_OUT, LIFE_NS, Host, HostAdapter
from tests.models.machines import Input
from tests.models.network import Payload

LATE_NS = 10_000 * MILLISECOND_NS
MILLION = 1_000_000
MatchmakerHost = Host[Matchmaker]
OPTIONS: Mapping[str, OptionValue] = {
    "advertisements": True,
    "alpha": 1.0,
    "announce_deviations": 0.0,
    "restart_deviations": 0.0,
}


class Look(NamedTuple):
    """What is looked at from outside."""

    node: int
    settled: bool
    marks: frozenset[tuple[int, tuple[str, str]]]
    """By neighbour: away from us, towards us."""
    accounts: frozenset[tuple[int, tuple[str, str]]]
    """By neighbour: digests of what was sent, and of what was received."""
    own: frozenset[tuple[Key, bytes]]
    """Our own descriptors."""
    forwarded: frozenset[tuple[int, bytes]]
    """By subscriber, the filters by which messages are forwarded to it."""
    rates: tuple[int, int]
    """As announced."""
    disagreements: int
    """How often a neighbour seemed to have marked a link otherwise."""


LEFT_OUT = frozenset(
    {
        # Time stands still, and what is measured is given.
        *HOST_LEFT_OUT,
        (Amsp, "_rates"),
        # Follow from the rest, and count what was done.
        *((Matchmaker, name) for name in ("_basis", "_network", "names_version", "_talk", "_handlers")),
        *((Costs, name) for name in ("_talk", "version")),
        (Records, "version"),
        *((Own, name) for name in ("_key",)),
        *((Clients, name) for name in ("_relation",)),
        # Of its state, which is looked at elsewhere.
        (Link, "meeting"),
    }
)
WRITERS: Mapping[type, Callable[..., object]] = {
    Meeting: lambda meeting: meeting.state(),
    Shape: lambda shape: (shape._topology, shape.publishers, shape.subscribers),
}


def _measure(host: MatchmakerHost, published: object, wanted: object) -> None:
    """An interval ends, and our descriptors change so often a second."""
    scheme = host.scheme
    assert isinstance(scheme, Amsp)
    rates: Rates = scheme._rates
    rates._counts = [int(str(each)) for each in (published, wanted)]
    rates.at, rates._began = host.now_ns, host.now_ns - LIFE_NS
    scheme.handle_timer(host.now_ns)


def _late(host: MatchmakerHost, times: object) -> None:
    """Replies that are awaited have not come in time, so often; no interval ends, which is given apart."""
    assert isinstance(host.scheme, Amsp)
    host.scheme._rates.at = None
    host.scheme.handle_timer(host.now_ns + int(str(times)) * LATE_NS)


GIVEN: Mapping[str, Callable[..., None]] = {
    **GIVEN_TO_ALL,
    "measure": _measure,
    "late": _late,
}


class MatchmakerAdapter(HostAdapter[Matchmaker]):
    """Routers of `amsp` as machines (`machines.Adapter`).

    Args:
        make: A scheme as it is to be tried.
    """

    given = GIVEN
    left_out = LEFT_OUT
    writers = WRITERS

    def __init__(self, make: Callable[[], Matchmaker] | None = None) -> None:
        self._make = make or (lambda: Amsp(complete("amsp", OPTIONS)))

    def make(self, name: Hashable) -> MatchmakerHost:
        """A router; its name is (id, how often it has been started again)."""
        assert isinstance(name, tuple)
        node, life = name
        return Host(node, life, self._make, {Reason.MARKING_DISAGREES})

    def look(self, core: MatchmakerHost) -> Hashable:
        """As `Look`."""
        scheme, store = core.scheme, core.store
        links, accounts = scheme._links, scheme.accounts()
        own = [
            (key, held[OURS])
            for fields, held in scheme._meeting.held().items()
            for key in [Key(*fields)]
            if OURS in held and not key.is_match and held[OURS] is not None
        ]
        forwarded = [
            (name.number, filter_)
            for name in store._predicates
            if isinstance(name, Source) and name.kind == "learned"
            for filter_ in store.filters(name)
        ]
        announced = scheme._costs.of(core.node)
        rates = (0, 0) if announced is None else (announced.publication_rate, announced.subscription_rate)
        return Look(
            core.node,
            scheme.settled,
            frozenset((link.neighbour, link.marks()) for link in links.values()),
            frozenset((links[interface].neighbour, both) for interface, both in accounts.items()),
            frozenset(own),
            frozenset(forwarded),
            rates,
            core.disagreements,
        )


MARKING_KINDS = {Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY, Kind.COST_ANNOUNCE}


class MatchmakerJudge:
    """What must hold (`network.Judge`).

    Args:
        links: The two routers that each joins, by their places; a tree.
    """

    def __init__(self, links: Sequence[tuple[int, int]], *, stay: bool = False) -> None:
        del stay  # What holds of a marking that changes holds beside lost links, too.
        self._links = links

    def describe(self, payload: Payload) -> str:
        """A payload for people."""
        return _described(*payload[1:])

    def about_step(
        self,
        given: Input,
        before: Hashable,
        after: Hashable,
        sent: Sequence[Payload],
        looks: Sequence[Hashable],
    ) -> str:
        """A marking that changes removes no match; and nobody withdraws for good what its router holds."""
        assert isinstance(before, Look)
        assert isinstance(after, Look)
        withdrawn = _withdrawn_for_good(tuple(sent))
        for key in withdrawn:
            owner = after if key.owner == after.node else looks[key.owner - 1]
            assert isinstance(owner, Look)
            if not key.is_match and key in dict(owner.own):
                return f"r{after.node} withdraws {key}, which r{key.owner} holds"
        if after.disagreements > before.disagreements:
            return f"r{after.node} takes a link for marked otherwise at its other end"
        adapts = given[0] in ("measure", "late") or (given[0] == "take" and given[2] in MARKING_KINDS)
        if adapts and not before.forwarded <= after.forwarded:
            lost = sorted(before.forwarded - after.forwarded)
            return f"r{after.node} forwards to r{lost[0][0]} no longer, and only a marking has changed"
        if adapts and withdrawn:
            return f"r{after.node} withdraws {withdrawn[0]}, and only a marking has changed"
        return ""

    def about_quiet(self, looks: Sequence[Hashable], up: Sequence[bool]) -> Iterator[str]:
        """Matches, marks, digests."""
        found = {look.node: look for look in looks if isinstance(look, Look)}
        live = [(a + 1, b + 1) for (a, b), is_up in zip(self._links, up, strict=True) if is_up]
        for node, look in found.items():
            if not look.settled:
                yield f"r{node} waits for a reply, and none is under way"
        marks: dict[tuple[int, int], int] = {}
        for a, b in [*live, *((b, a) for a, b in live)]:
            (mark, far), (sent, received) = (
                (dict(getattr(found[a], what))[b][0], dict(getattr(found[b], what))[a][1])
                for what in ("marks", "accounts")
            )
            marks[a, b] = int(mark == "1")
            if mark != far:
                yield f"r{a} has marked the link to r{b} {mark}, and r{b} holds it for {far}"
            if sent != received:
                yield f"r{a} has sent something else to r{b} than r{b} has of it"
        yield from self._about_matches(found, live)
        yield from self._about_marks(found, live, marks)

    def _about_matches(self, found: Mapping[int, Look], live: Sequence[tuple[int, int]]) -> Iterator[str]:
        owed: dict[int, set[tuple[int, bytes]]] = {node: set() for node in found}
        for x in found:
            for y in found.keys() - {x}:
                for router in _path(live, x, y)[:-1]:
                    owed[router] |= {(y, filter_) for filter_ in _wanted_of(found[x], found[y])}
        for node, look in found.items():
            if lacking := sorted(owed[node] - look.forwarded):
                yield f"r{node} lacks a match of r{lacking[0][0]}: {lacking[0][1]!r}"
            if more := sorted(look.forwarded - owed[node]):
                yield f"r{node} has a match of r{more[0][0]} that nothing makes: {more[0][1]!r}"

    def _about_marks(
        self, found: Mapping[int, Look], live: Sequence[tuple[int, int]], marks: Mapping[tuple[int, int], int]
    ) -> Iterator[str]:
        f = {x: look.rates[0] for x, look in found.items() if _descriptors(look, published=True)}
        g = {y: look.rates[1] for y, look in found.items() if _descriptors(look, published=False)}
        trees = {x: {b: a for y in g for a, b in pairwise(_path(live, x, y))} for x in f}
        reachable = {y: rate for y, rate in g.items() if any(y in tree for tree in trees.values())}
        problem = Problem(f, reachable, trees)
        expected = top_down(problem)
        have = {link: marks[link] for link in expected}
        if have != expected:
            yield f"marks are {have}, and top-down marking says {dict(expected)}"
        elif not is_valid(problem, have):
            yield f"marks are not valid: {have}"


@cache
def _withdrawn_for_good(sent: tuple[Payload, ...]) -> list[Key]:
    """What is withdrawn but for what no longer goes over a link (KEPT)."""
    updates = [DescriptorUpdate.decode(data) for _, kind, data in sent if kind == Kind.CD_UPDATE]
    return [Key(u.publisher, u.pcd, u.subscriber, u.scd) for u in updates if u.withdrawn and not u.kept]


def _descriptors(look: Look, *, published: bool) -> list[bytes]:
    return [filter_ for key, filter_ in look.own if (key.publisher != 0) is published]


def _wanted_of(publisher: Look, subscriber: Look) -> set[bytes]:
    """The filters of a subscriber that something overlaps which a publisher advertises (E14)."""
    offers = _descriptors(publisher, published=True)
    wanted = _descriptors(subscriber, published=False)
    return {each for each in wanted if any(cover.advertisement_overlaps(offer, each) for offer in offers)}


def _path(links: Sequence[tuple[int, int]], source: int, target: int) -> list[int]:
    """The routers from one to another in a tree; none if there is no way."""
    ways = [[source]]
    for way in ways:
        if way[-1] == target:
            return way
        nexts = {b if a == way[-1] else a for a, b in links if way[-1] in (a, b)}
        ways += [[*way, each] for each in sorted(nexts - {*way})]
    return []


@cache
def _described(kind: int, data: bytes) -> str:
    if kind == Kind.CD_UPDATE:
        update = DescriptorUpdate.decode(data)
        name = "MCD" if update.publisher and update.subscriber else "PCD" if update.publisher else "SCD"
        numbers = f"{update.publisher}.{update.pcd} {update.subscriber}.{update.scd}"
        said = [w for w in ("withdrawn", "again", "kept") if getattr(update, w)]
        return " ".join([name, numbers, *said])
    if kind == Kind.COST_ANNOUNCE:
        record = CostAnnounce.decode(data)
        rates = f"f={record.publication_rate} g={record.subscription_rate}"
        flags = "P" * record.publishes + "S" * record.subscribes
        return f"COST_ANNOUNCE r{record.origin} #{record.sequence} {flags} {rates} causes {record.causes}"
    change = MarkingChange.decode(data)
    held = [f"{each.router}.{each.number}" for each in change.descriptors]
    return f"{Kind(kind).name} #{change.number} {'sp'[change.marking]} {held}"
