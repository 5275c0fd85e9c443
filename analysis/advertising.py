"""Whether a message was within what its publisher had advertised when it was published (decision 29).

By the model's definition alone (M5): nothing of what routers do by is used. Not here: what is owed of a
message that was (`oracle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from analysis.history import FOREVER, History, history_of, network_change
from analysis.oracle import (
    Claim,
    Clock,
    Due,
    SubscriptionChange,
    advertisement_change,
    claims_of,
    predicate_of,
    readable_claims,
    until_known,
)
from nodes.model import Predicate, Value, advertised, advertisement_overlaps
from testbed.plan.model import Plan


class Standing(IntEnum):
    """Of a message."""

    ADVERTISED = 0
    """Within what its router is sure to have known."""
    UNSURE = 1
    """Within what its router may have known, or may not."""
    OUTSIDE = 2
    """The router takes it no further."""
    FORBIDDEN = 3
    """Nor does it take what the policy does not permit its publisher (`policy`)."""


NOTHING = Due(None, False)


class Advertising:
    """What was advertised, where clients have to advertise.

    Args:
        claims: Of publishers (`Claim.subscriber`) to what they advertised, with the times of subscriptions.
        history: When the network was settled.
    """

    def __init__(self, claims: Iterable[Claim], history: History) -> None:
        self._history = history
        self._held: dict[int, list[tuple[Predicate, Claim]]] = {}
        for claim in until_known(claims, history):
            self._held.setdefault(claim.subscriber, []).append((predicate_of(claim.predicate), claim))

    def standing(self, source: int, time_ns: int, content: Mapping[str, Value] | None) -> Standing:
        """Of a message of this publisher; content None: it is not known."""
        found = Standing.OUTSIDE
        held_ns = None if self._history.period_of(time_ns) else self._history.held_until(time_ns)
        for predicate, claim in self._held.get(source, ()):
            if claim.allows(time_ns, held_ns) and (content is None or advertised(predicate, content)):
                if claim.owes(time_ns) and content is not None:
                    return Standing.ADVERTISED
                found = Standing.UNSURE
        return found

    def provided(self, wanted: Predicate, client: int) -> bool:
        """Whether anybody but a client ever advertised something that overlaps what it wants."""
        return any(
            _overlaps(offered, wanted)
            for publisher, held in self._held.items()
            if publisher != client
            for offered, _ in held
        )

    def changes_concerning(self, wanted: Predicate) -> list[int]:
        """When, since the start, something was advertised or withdrawn that overlaps it; ascending."""
        found = {
            time_ns
            for held in self._held.values()
            for offered, claim in held
            if _overlaps(offered, wanted)
            for time_ns in (claim.from_ns, claim.until_ns)
            if claim.clock.start_ns <= time_ns < FOREVER
        }
        return sorted(found)

    def restrict(self, due: Due, source: int, time_ns: int, content: Mapping[str, Value]) -> Due:
        """What is due of a message where nobody had to advertise, as far as it was advertised."""
        return restricted(due, self.standing(source, time_ns, content))


def _overlaps(offered: Predicate, wanted: Predicate) -> bool:
    return any(advertisement_overlaps(a, f) for a in offered.filters for f in wanted.filters)


def advertising_in(plan: Plan, events: Iterable[Mapping[str, Any]], start_ns: int) -> Advertising | None:
    """What was advertised in a complete run whose events are held in memory; None: nobody had to."""
    events = list(events)
    changes = filter(None, map(advertisement_change, events))
    clients = {node.name: node.node_id for node in plan.clients}
    history = history_of(plan, filter(None, map(network_change, events)), start_ns)
    clock = Clock(start_ns, plan.timing.settle_ns)
    return advertising_of(plan, changes, clients, clock, history)[0]


def advertising_of(
    plan: Plan,
    changes: Iterable[SubscriptionChange],
    clients: Mapping[str, int],
    clock: Clock,
    history: History,
) -> tuple[Advertising | None, list[str]]:
    """What the clients of a run advertised (None: they need not), and what was odd about it."""
    if not plan.scheme_options.get("advertisements"):
        return None, []
    claims, odd = claims_of(changes, clients, clock)
    claims, unreadable = readable_claims(claims)
    return Advertising(claims, history), [*odd, *unreadable]


def restricted(due: Due, standing: Standing) -> Due:
    """What is due of a message that stands so, if this is due where nobody has to advertise."""
    if standing in (Standing.OUTSIDE, Standing.FORBIDDEN):
        return NOTHING
    if standing is Standing.UNSURE and due.owed:
        return Due(False, due.wanted, "advertisement")
    return due
