"""What is owed: which client wants, must get, and may get, each message.

Truth is `nodes.model`, in the plainest Python: every subscription against every publication.
The one definition for the analysis, the experiments and the test harnesses that judge a run in
memory. The analysis asks for all messages at once (`dues`) and holds what it finds to this on a
sample. Neither Spark nor run directories are known here.

A change of subscriptions takes up to `settle_ns` to be known everywhere, and a
message up to `settle_ns` to arrive; in between either outcome is right. For a
subscription in force from `a` until `b`, with the scenario's time zero `start`
(when all subscriptions made before it have converged), a message published at
`t` is

- wanted, if `a <= t <= b`, whatever the network does;
- owed, if `a < start <= t` or `start <= a + settle <= t`, and `t <= b - settle`;
- allowed, if `a - settle <= t <= b + settle`;
- else none of these. What is owed is wanted.

A subscription never withdrawn has no `b`. In a run that was cut short, nothing
published less than `settle` before its end is owed; in one whose network never
became ready, nothing is. A `subscribe` that repeats a predicate under the same
number changes nothing; with another predicate it ends one subscription and
begins the next. Where something failed or was repaired within `settle` of `b`, the
subscription allows deliveries until the network has converged again (`Oracle`): a node
that was cut off or paused learns of its end no sooner. Each subscription is judged by
itself: of two that adjoin, or overlap by less than `2 x settle`, neither need carry a
message at the seam.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from analysis.counts import ARRIVED, Counts, counts_of
from analysis.history import FOREVER, History, SettledPeriod, history_of, network_change
from nodes.model import Predicate, PredicateSyntaxError, Value, matches, parse_message, parse_predicate
from testbed.plan.model import Plan

NEVER = -(2**63)


@lru_cache(maxsize=1 << 16)
def predicate_of(text: str) -> Predicate:
    """What a text says, parsed once however many subscriptions have it.

    Raises:
        PredicateSyntaxError: It is no predicate.
    """
    return parse_predicate(text)


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A client subscribes (with a predicate) or unsubscribes (without); or the same of an advertisement."""

    time_ns: int
    client: str
    subscription: int
    predicate: str | None


def subscription_change(event: Mapping[str, Any]) -> SubscriptionChange | None:
    """What a client's event changes about its subscriptions; None of any other event."""
    return _change(event, "subscribe", "subscription")


def advertisement_change(event: Mapping[str, Any]) -> SubscriptionChange | None:
    """The same about its advertisements, which have numbers and predicates alike."""
    return _change(event, "advertise", "advertisement")


def _change(event: Mapping[str, Any], verb: str, number: str) -> SubscriptionChange | None:
    if event["event"] not in {verb, f"un{verb}"}:
        return None
    predicate = str(event["predicate"]) if event["event"] == verb else None
    return SubscriptionChange(int(event["time_ns"]), str(event["node"]), int(event[number]), predicate)


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of a run that claims depend on."""

    start_ns: int
    settle_ns: int
    owed_until_ns: int = FOREVER

    def claim(self, subscriber: int, predicate: str, from_ns: int, until_ns: int | None) -> Claim:
        """The claim of a subscription in force from `from_ns` until `until_ns`."""
        ends_ns = FOREVER if until_ns is None else until_ns - self.settle_ns
        return Claim(
            subscriber,
            predicate,
            from_ns,
            FOREVER if until_ns is None else until_ns,
            allowed_from_ns=from_ns - self.settle_ns,
            owed_from_ns=self.start_ns if from_ns < self.start_ns else from_ns + self.settle_ns,
            owed_until_ns=min(self.owed_until_ns, ends_ns),
            allowed_until_ns=FOREVER if until_ns is None else until_ns + self.settle_ns,
            clock=self,
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A client's claim to the messages of a predicate; all bounds are inclusive."""

    subscriber: int
    predicate: str
    from_ns: int
    until_ns: int
    """FOREVER: it was not withdrawn."""
    allowed_from_ns: int
    owed_from_ns: int
    owed_until_ns: int
    allowed_until_ns: int
    clock: Clock

    def wants(self, published_ns: int) -> bool:
        """Whether the subscription is in force then."""
        return self.from_ns <= published_ns <= self.until_ns

    def owes(self, published_ns: int) -> bool:
        """Whether a matching message published then must be delivered."""
        return self.owed_from_ns <= published_ns <= self.owed_until_ns

    def allows(self, published_ns: int, held_until_ns: int | None = None) -> bool:
        """Whether a matching message published then may be delivered.

        One that a paused node may have held back is as good as published at any time until then.
        """
        latest_ns = published_ns if held_until_ns is None else held_until_ns
        return self.allowed_from_ns <= latest_ns and published_ns <= self.allowed_until_ns

    def bounds(self) -> Iterator[int]:
        """What the methods here compare times of publication with."""
        yield from (self.from_ns, self.until_ns, self.owed_from_ns, self.owed_until_ns)
        yield from (self.allowed_from_ns, self.allowed_until_ns, self.clock.start_ns)
        yield self.until_ns - self.clock.settle_ns

    def reason(self, published_ns: int) -> str:
        """Why it does not owe what it wants, where a path leads to the client (`counts.REASONS`)."""
        if published_ns < self.clock.start_ns:
            return "start"
        if self.owes(published_ns):
            return "network"
        ends_ns = FOREVER if self.until_ns == FOREVER else self.until_ns - self.clock.settle_ns
        return "end" if self.owed_from_ns <= published_ns <= ends_ns else "subscription"


def claims_of(
    changes: Iterable[SubscriptionChange], clients: Mapping[str, int], clock: Clock
) -> tuple[list[Claim], list[str]]:
    """Every claim that the changes make, in order of their ends, and what was odd about any."""
    claims: list[Claim] = []
    problems: list[str] = []
    live: dict[tuple[str, int], tuple[str, int]] = {}
    for change in changes:
        if change.client not in clients:
            problems.append(f"events.jsonl: {change.client!r} acts, but the plan has no such client")
            continue
        key = (change.client, change.subscription)
        held = live.get(key)
        if held is not None and held[0] == change.predicate:
            continue
        if held is not None:
            claims.append(clock.claim(clients[change.client], *live.pop(key), change.time_ns))
        if change.predicate is not None:
            live[key] = (change.predicate, change.time_ns)
    claims += [clock.claim(clients[client], *held, None) for (client, _), held in live.items()]
    return claims, problems


Pair = tuple[int, int, int]
"""A message by source and sequence, and a subscriber."""


class Due(NamedTuple):
    """What a client is due of a message that it wants or may get."""

    owed: bool | None
    """True: it must come; False: it may; None: it must not, though it is wanted."""
    wanted: bool
    reason: str = ""
    """Why it is not owed though wanted, one of `counts.REASONS`; else empty."""

    def joined(self, other: Due) -> Due:
        """Of two subscriptions of one client: what owes outweighs what allows."""
        owed = None if self.owed is other.owed is None else bool(self.owed or other.owed)
        if owed:
            return Due(True, True)
        reasons = [each.reason for each in (self, other) if each.reason]
        reason = next((each for each in reasons if each != "subscription"), reasons[0] if reasons else "")
        return Due(owed, self.wanted or other.wanted, reason)


class Moment(NamedTuple):
    """A time of publication, and what the network was like."""

    time_ns: int
    period: SettledPeriod | None
    settled: bool
    held_until_ns: int

    def due(self, source: int, claim: Claim) -> Due | None:
        """What a claim that matches comes to; None: nothing, as for the publisher's own."""
        if claim.subscriber == source:
            return None
        connected = self.period is None or self.period.connects(source, claim.subscriber)
        wanted = claim.wants(self.time_ns)
        allowed = connected and claim.allows(self.time_ns, self.held_until_ns)
        if not (wanted or allowed):
            return None
        owed = (self.settled and claim.owes(self.time_ns)) if allowed else None
        reason = "" if owed or not wanted else claim.reason(self.time_ns) if connected else "cut_off"
        return Due(owed, wanted, reason)


class Oracle:
    """Decides which clients want a message, are owed it, and may get it.

    Args:
        claims: What the subscriptions claim.
        history: When the network was settled; None: it always was, in one piece.
    """

    def __init__(self, claims: Iterable[Claim], history: History | None = None) -> None:
        self._claims: dict[str, list[Claim]] = {}
        for claim in claims if history is None else until_known(claims, history):
            self._claims.setdefault(claim.predicate, []).append(claim)
        self._predicates: list[tuple[Predicate, list[Claim]]] = [
            (predicate_of(text), held) for text, held in self._claims.items()
        ]
        self._history = history

    def wanting(self, attributes: Mapping[str, Value]) -> list[Claim]:
        """The claims of all predicates that match, whenever they hold."""
        matching = (held for predicate, held in self._predicates if matches(predicate, attributes))
        return [claim for held in matching for claim in held]

    @property
    def predicates(self) -> list[tuple[Predicate, list[Claim]]]:
        """All that anybody subscribed to, each once, with its claims."""
        return self._predicates

    def bounds(self) -> list[int]:
        """The moments with which times of publication are compared, ascending.

        What is due of two messages of one publisher that match the same predicates is the same, if no
        bound lies between their times and neither was published at one.
        """
        of_claims = (
            bound for claims in self._claims.values() for claim in claims for bound in claim.bounds()
        )
        return sorted({*of_claims, *(self._history.bounds() if self._history else ())})

    def judge(self, source: int, time_ns: int, wanting: Sequence[Claim]) -> dict[int, Due]:
        """What is due to each subscriber that wants or may get it; never to the publisher."""
        moment = self.moment(time_ns)
        dues: dict[int, Due] = {}
        for claim in wanting:
            due = moment.due(source, claim)
            if due is not None:
                earlier = dues.get(claim.subscriber)
                dues[claim.subscriber] = due if earlier is None else due.joined(earlier)
        return dict(sorted(dues.items()))

    def alike(self, claim: Claim) -> Hashable:
        """Claims of one key come to the same, except for what their own clients publish."""
        return replace(claim, subscriber=0, predicate=""), self.place(claim.subscriber)

    def place(self, node: int) -> tuple[int | None, ...]:
        """In which part of the network a node is, period by period."""
        return tuple(period.part_of.get(node) for period in self._history.settled) if self._history else ()

    def moment(self, time_ns: int) -> Moment:
        """What the network was like for a message published then."""
        history = self._history
        period = history.period_of(time_ns) if history else None
        settled = history is None or period is not None
        held_until_ns = time_ns if settled or history is None else history.held_until(time_ns)
        return Moment(time_ns, period, settled, held_until_ns)

    def expected(self, source: int, time_ns: int, attributes: Mapping[str, Value]) -> dict[int, Due]:
        """`judge` for a message."""
        return self.judge(source, time_ns, self.wanting(attributes))


def until_known(claims: Iterable[Claim], history: History) -> Iterator[Claim]:
    """The claims; one that ends in an unsettled network lasts until every router knows of its end."""
    for claim in claims:
        if claim.allowed_until_ns == FOREVER:
            yield claim
        else:
            until_ns = history.known_by(claim.allowed_until_ns - history.settle_ns)
            yield replace(claim, allowed_until_ns=until_ns)


def readable_claims(claims: Iterable[Claim]) -> tuple[list[Claim], list[str]]:
    """The claims whose predicates parse, and what is wrong with the others."""
    readable: list[Claim] = []
    problems: list[str] = []
    for claim in claims:
        try:
            predicate_of(claim.predicate)
            readable.append(claim)
        except PredicateSyntaxError as error:
            problems.append(f"events.jsonl: node {claim.subscriber} names what is no predicate: {error}")
    return readable, problems


def oracle_of(plan: Plan, events: Sequence[Mapping[str, Any]], start_ns: int) -> Oracle:
    """The oracle of a complete run without a policy, whose events are held in memory, in order of time."""
    assert not any(node.policy for node in plan.clients), "runs with a policy are judged by their directories"
    subscriptions = filter(None, map(subscription_change, events))
    clients = {node.name: node.node_id for node in plan.clients}
    claims, _ = claims_of(subscriptions, clients, Clock(start_ns, plan.timing.settle_ns))
    return Oracle(claims, history_of(plan, filter(None, map(network_change, events)), start_ns))


Restrict = Callable[[Due, int, int, Mapping[str, Value]], Due]
"""(What is due, the publisher, when it published, the message) -> what is due all the same."""


@dataclass(slots=True)
class Judged:
    """What became of a run's messages."""

    counts: Counts = field(default_factory=Counts)
    missing: list[Pair] = field(default_factory=list)
    duplicate: list[Pair] = field(default_factory=list)
    """One for each copy too many."""
    spurious: list[Pair] = field(default_factory=list)


def judge_events(
    oracle: Oracle,
    events: Iterable[Mapping[str, Any]],
    ids: Mapping[str, int],
    restrict: Restrict | None = None,
) -> Judged:
    """Judge a run by its clients' events, which are held in memory; `ids` are the nodes' by name.

    What a client reports counts as what its router sent it, for there are no captures.

    Args:
        oracle: Says what is due.
        events: In order of time.
        ids: The nodes', by name.
        restrict: What is left of that for a message; None: all.
    """
    judged, events = Judged(), list(events)
    got = Counter((e["source"], e["sequence"], ids[e["node"]]) for e in events if e["event"] == "deliver")
    wanting: dict[str, list[Claim]] = {}
    tally: Counter[str] = Counter()
    for event in events:
        if event["event"] != "publish":
            continue
        source, sequence, text = event["source"], event["sequence"], event["message"]
        if text not in wanting:
            wanting[text] = oracle.wanting(parse_message(text))
        for subscriber, wanted in oracle.judge(source, event["time_ns"], wanting[text]).items():
            at = source, event["time_ns"], parse_message(text)
            due = wanted if restrict is None else restrict(wanted, *at)
            pair = source, sequence, subscriber
            _note(judged, tally, pair, due, got.pop(pair, 0))
    for pair, copies in got.items():
        _note(judged, tally, pair, Due(None, False), copies)
    judged.counts = counts_of(tally)
    return judged


def _note(judged: Judged, tally: Counter[str], pair: Pair, due: Due, copies: int) -> None:
    verdict = verdict_of(due, copies)
    tally.update(counted_as(due, verdict, copies))
    if verdict == "duplicate":
        judged.duplicate += [pair] * (copies - 1)
    if verdict == "missing":
        judged.missing.append(pair)
    elif verdict == "spurious":
        judged.spurious.append(pair)


def verdict_of(due: Due, copies: int, reports: int = 0, *, unseen: bool = False) -> str:
    """What became of a pair; empty if it is none to count.

    Args:
        due: What was due.
        copies: How many left a router for the client.
        reports: How often the client reports it.
        unseen: Whether the capture of the client's access interface is incomplete.
    """
    if copies:
        return "spurious" if due.owed is None else "duplicate" if copies > 1 and due.owed else "delivered"
    if due.owed:
        return "unknown" if unseen else "missing"
    return "lost" if due.wanted and not reports else ""


def is_unreported(due: Due, copies: int, reports: int, *, lossy: bool) -> bool:
    """A copy left for the client, which does not report it, though nothing was wrong with the way there.

    Args:
        due: What was due.
        copies: How many left a router for the client.
        reports: How often the client reports it.
        lossy: Whether the client's access link loses packets by plan.
    """
    return bool(copies) and not reports and not lossy and due.reason not in ("network", "cut_off")


def counted_as(due: Due, verdict: str, copies: int) -> Iterator[str]:
    """Under what a pair counts: names of `Counts`, and `not_owed` or `lost_by` with a reason."""
    yield from ["wanted"] * due.wanted
    yield from ["owed"] * bool(due.owed)
    yield from ["duplicate_allowed" if due.owed is False else "duplicate"] * max(copies - 1, 0)
    if verdict in ARRIVED:
        yield "delivered"
        yield from ["allowed"] * (not due.owed)
    elif verdict:
        yield verdict
    if due.reason:
        yield f"not_owed {due.reason}"
        yield from [f"lost_by {due.reason}"] * (verdict == "lost")
