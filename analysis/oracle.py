"""What is owed: which client must get, and which may get, each message.

Truth is `nodes.model`, in the plainest Python: every subscription against every publication.
The one definition for the analysis (`expected`), the experiments and the test harnesses that
judge a run in memory. Neither Spark nor run directories are known here.

A change of subscriptions takes up to `settle_ns` to be known everywhere, and a
message up to `settle_ns` to arrive; in between either outcome is right. For a
subscription in force from `a` until `b`, with the scenario's time zero `start`
(when all subscriptions made before it have converged), a message published at
`t` is

- owed, if `a < start <= t` or `start <= a + settle <= t`, and `t <= b - settle`;
- allowed, if `a - settle <= t <= b + settle`;
- else neither.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.history import FOREVER, History, history_of, network_change
from nodes.model import Predicate, PredicateSyntaxError, Value, matches, parse_message, parse_predicate
from testbed.plan.model import Plan

NEVER = -(2**63)


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A client's `subscribe` (with a predicate) or `unsubscribe` (without)."""

    time_ns: int
    client: str
    subscription: int
    predicate: str | None


def subscription_change(event: Mapping[str, Any]) -> SubscriptionChange | None:
    """What a client's event changes about its subscriptions; None of any other event."""
    if event["event"] not in {"subscribe", "unsubscribe"}:
        return None
    predicate = str(event["predicate"]) if event["event"] == "subscribe" else None
    return SubscriptionChange(
        int(event["time_ns"]), str(event["node"]), int(event["subscription"]), predicate
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """A client's claim to the messages of a predicate; all bounds are inclusive."""

    subscriber: int
    predicate: str
    allowed_from_ns: int
    owed_from_ns: int
    owed_until_ns: int
    allowed_until_ns: int

    def owes(self, published_ns: int) -> bool:
        """Whether a matching message published then must be delivered."""
        return self.owed_from_ns <= published_ns <= self.owed_until_ns

    def allows(self, published_ns: int, held_until_ns: int | None = None) -> bool:
        """Whether a matching message published then may be delivered.

        One that a paused node may have held back is as good as published at any time until then.
        """
        latest_ns = published_ns if held_until_ns is None else held_until_ns
        return self.allowed_from_ns <= latest_ns and published_ns <= self.allowed_until_ns


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
            allowed_from_ns=from_ns - self.settle_ns,
            owed_from_ns=self.start_ns if from_ns < self.start_ns else from_ns + self.settle_ns,
            owed_until_ns=min(self.owed_until_ns, ends_ns),
            allowed_until_ns=FOREVER if until_ns is None else until_ns + self.settle_ns,
        )


def claims_of(
    changes: Iterable[SubscriptionChange], clients: Mapping[str, int], clock: Clock
) -> tuple[list[Claim], list[str]]:
    """Every claim that the changes make, in order of their ends, and what was odd about any."""
    claims: list[Claim] = []
    problems: list[str] = []
    live: dict[tuple[str, int], tuple[str, int]] = {}
    for change in changes:
        if change.client not in clients:
            problems.append(f"events.jsonl: {change.client!r} subscribes, but the plan has no such client")
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


class Oracle:
    """Decides which clients are owed a message, and which may get it.

    Args:
        claims: What the subscriptions claim.
        history: When the network was settled; None: it always was, in one piece.
    """

    def __init__(self, claims: Iterable[Claim], history: History | None = None) -> None:
        self._claims: dict[str, list[Claim]] = {}
        for claim in claims if history is None else _known(claims, history):
            self._claims.setdefault(claim.predicate, []).append(claim)
        self._predicates: list[tuple[Predicate, list[Claim]]] = [
            (parse_predicate(text), held) for text, held in self._claims.items()
        ]
        self._history = history

    def wanting(self, attributes: Mapping[str, Value]) -> list[Claim]:
        """The claims of all predicates that match, whenever they hold."""
        return [c for predicate, claims in self._predicates if matches(predicate, attributes) for c in claims]

    def judge(self, source: int, time_ns: int, wanting: Sequence[Claim]) -> dict[int, bool]:
        """Owed (true) or allowed (false) by subscriber; no other client may get it, nor the publisher."""
        verdict: dict[int, bool] = {}
        history = self._history
        held_until_ns = time_ns if history is None else history.held_until(time_ns)
        for claim in wanting:
            subscriber = claim.subscriber
            if subscriber == source or not claim.allows(time_ns, held_until_ns):
                continue
            if history is not None and not history.allows(source, subscriber, time_ns):
                continue
            owed = claim.owes(time_ns) and (history is None or history.owes(source, subscriber, time_ns))
            verdict[subscriber] = verdict.get(subscriber, False) or owed
        return dict(sorted(verdict.items()))

    def expected(self, source: int, time_ns: int, attributes: Mapping[str, Value]) -> dict[int, bool]:
        """`judge` for a message."""
        return self.judge(source, time_ns, self.wanting(attributes))


def _known(claims: Iterable[Claim], history: History) -> Iterator[Claim]:
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
            parse_predicate(claim.predicate)
            readable.append(claim)
        except PredicateSyntaxError as error:
            problems.append(
                f"events.jsonl: node {claim.subscriber} subscribes to what is no predicate: {error}"
            )
    return readable, problems


def oracle_of(plan: Plan, events: Sequence[Mapping[str, Any]], start_ns: int) -> Oracle:
    """The oracle of a complete run whose events are held in memory, in order of time."""
    subscriptions = filter(None, map(subscription_change, events))
    clients = {node.name: node.node_id for node in plan.clients}
    claims, _ = claims_of(subscriptions, clients, Clock(start_ns, plan.timing.settle_ns))
    return Oracle(claims, history_of(plan, filter(None, map(network_change, events)), start_ns))


@dataclass(slots=True)
class Judged:
    """What became of a run's messages."""

    owed: int = 0
    """Pairs of message and subscriber."""
    allowed: int = 0
    """Delivered though not owed."""
    missing: list[Pair] = field(default_factory=list)
    duplicate: list[Pair] = field(default_factory=list)
    """Of what was owed, one for each copy too many."""
    spurious: list[Pair] = field(default_factory=list)


def judge_events(oracle: Oracle, events: Iterable[Mapping[str, Any]], ids: Mapping[str, int]) -> Judged:
    """Judge a run by its clients' events, which are held in memory; `ids` are the nodes' by name."""
    judged, events = Judged(), list(events)
    got = Counter((e["source"], e["sequence"], ids[e["node"]]) for e in events if e["event"] == "deliver")
    wanting: dict[str, list[Claim]] = {}
    for event in events:
        if event["event"] != "publish":
            continue
        source, sequence, text = event["source"], event["sequence"], event["message"]
        if text not in wanting:
            wanting[text] = oracle.wanting(parse_message(text))
        for subscriber, owed in oracle.judge(source, event["time_ns"], wanting[text]).items():
            pair = (source, sequence, subscriber)
            copies = got.pop(pair, 0)
            if not owed:
                judged.allowed += copies > 0
                continue
            judged.owed += 1
            judged.missing += [pair] * (copies == 0)
            judged.duplicate += [pair] * (copies - 1)
    judged.spurious += got
    return judged
