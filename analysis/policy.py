"""What clients were permitted by the policy of a plan, and what of theirs was refused for it (decision 38).

The policy stands in the plan and does not change, so each question has one answer for the whole run
(`nodes.policy`).

Not here: messages (`publishing`), what is owed of what was permitted (`oracle`, `advertising`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.oracle import SubscriptionChange, predicate_of
from analysis.publishing import Publishing
from nodes.model import Predicate, PredicateSyntaxError, parse_pattern
from nodes.policy import ANYTHING, may_advertise, may_subscribe
from testbed.plan.model import Plan


class Policy:
    """What the clients of a plan may do.

    Args:
        plan: Of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._of = {node.name: node.policy or ANYTHING for node in plan.clients}
        self.publishing = Publishing(plan)
        self.there_is = any(node.policy is not None for node in plan.clients)
        """Whether some client may not do anything it likes."""

    def may_subscribe(self, client: str, wanted: Predicate) -> bool:
        """Whether a client may subscribe to a predicate."""
        return may_subscribe(self._of.get(client, ANYTHING), wanted)

    def may_advertise(self, client: str, offered: Predicate) -> bool:
        """Whether a client may advertise what is within a predicate's filters."""
        return may_advertise(self._of.get(client, ANYTHING), offered)

    def may_seek(self, client: str, pattern: str) -> bool:
        """Whether a client may have a pattern sought; what is no pattern is named elsewhere."""
        try:
            return self.may_subscribe(client, parse_pattern(pattern).union)
        except PredicateSyntaxError:
            return True

    def subscriptions(self, changes: Iterable[SubscriptionChange]) -> Permitted:
        """What is left of the changes of subscriptions."""
        return _permitted(changes, self.may_subscribe)

    def advertisements(self, changes: Iterable[SubscriptionChange]) -> Permitted:
        """What is left of the changes of advertisements."""
        return _permitted(changes, self.may_advertise)


@dataclass(frozen=True, slots=True)
class Permitted:
    """Changes of subscriptions or advertisements, as far as they were permitted."""

    changes: Sequence[SubscriptionChange]
    """One that was not is a withdrawal: what the client held by the number before is held no longer."""
    refused: Sequence[SubscriptionChange]
    """Those that were not."""


def _permitted(changes: Iterable[SubscriptionChange], may: Callable[[str, Predicate], bool]) -> Permitted:
    left: list[SubscriptionChange] = []
    refused: list[SubscriptionChange] = []
    held: dict[tuple[str, int], str | None] = {}
    for change in changes:
        key, text = (change.client, change.subscription), change.predicate
        permitted = text is None or _unreadable(text) or may(change.client, predicate_of(text))
        if not permitted and held.get(key) != text:
            refused.append(change)
        held[key] = text
        left.append(change if permitted else replace(change, predicate=None))
    return Permitted(left, refused)


def _unreadable(text: str) -> bool:
    """Whether it is no predicate; that is named where claims are made."""
    try:
        predicate_of(text)
    except PredicateSyntaxError:
        return True
    return False
