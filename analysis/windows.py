"""When a subscription makes a delivery owed, and when merely allowed.

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
begins the next. Where the network broke or was mended within `settle` of `b`, the
subscription allows deliveries until the network has converged again (`Oracle`): who was
cut off or stood still hears of its end no sooner. Each subscription is judged by
itself: of two that adjoin, or overlap by less than `2 x settle`, neither need carry a
message at the seam.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.rundir import Run, SubscriptionChange

NEVER = -(2**63)
FOREVER = 2**63 - 1


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

        One that somebody may have held back is as good as published at any time until then.
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


def clock_of(run: Run) -> Clock:
    """The clock by which a run's subscriptions are judged."""
    if not run.started:
        return Clock(FOREVER, run.plan.timing.settle_ns, NEVER)
    if not run.complete:
        return Clock(run.start_ns, run.plan.timing.settle_ns, run.end_ns - run.plan.timing.settle_ns)
    return Clock(run.start_ns, run.plan.timing.settle_ns)


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
