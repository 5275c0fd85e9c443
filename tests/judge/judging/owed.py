"""Which client must get a message, may get it, or wants it in vain, by docs/analysis.md, "What is owed"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.judge.judging.calm import Calm
from tests.judge.judging.permitted import Policy
from tests.judge.judging.run import FOREVER, Run
from tests.judge.judging.subscribing import Change, advertised_changes_of, changes_of
from tests.judge.judging.texts import Message, Predicate, admits, matches


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client wanted from one moment until another."""

    client: int
    predicate: Predicate
    from_ns: int
    until_ns: int | None

    def in_force(self, time_ns: int) -> bool:
        """Whether the client wants what is published then."""
        return self.from_ns <= time_ns and (self.until_ns is None or time_ns <= self.until_ns)


def subscriptions_of(changes: Iterable[Change]) -> list[Subscription]:
    """All that changes make."""
    open_: dict[tuple[int, int], tuple[Predicate, int]] = {}
    found = []
    for change in changes:
        key = change.client, change.number
        if key in open_ and open_[key][0] == change.predicate:
            continue
        if key in open_:
            found.append(Subscription(change.client, *open_.pop(key), change.time_ns))
        if change.predicate is not None:
            open_[key] = change.predicate, change.time_ns
    return found + [Subscription(client, *held, None) for (client, _), held in open_.items()]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be said of a message and one client."""

    wanted: bool
    owed: bool | None
    """False: allowed; None: neither."""
    reason: str | None
    """Why it is wanted and not owed."""


class Rules:
    """Decides about messages."""

    def __init__(self, run: Run, calm: Calm) -> None:
        self._calm = calm
        self._start_ns = run.start_ns or FOREVER
        self._settle_ns = run.settle_ns
        complete = run.manifest["outcome"] == "complete"
        self._end_ns = FOREVER if complete else run.manifest["end_ns"] - run.settle_ns
        self.subscriptions = subscriptions_of(changes_of(run))
        self._policy = Policy(run)
        must = run.plan["scheme_options"].get("advertisements", False)
        self._advertised = subscriptions_of(advertised_changes_of(run)) if must else None

    def answers(self, publisher: int, time_ns: int, message: Message) -> dict[int, Answer]:
        """By client, of a message that was published then."""
        return self.answers_of(publisher, time_ns, message, self.subscriptions)

    def answers_of(
        self, publisher: int, time_ns: int, message: Message, subscriptions: Iterable[Subscription]
    ) -> dict[int, Answer]:
        """The same to these subscriptions."""
        known, possible = self.advertised(publisher, time_ns, message)
        if not possible:
            return {}
        answers = self._wanted(publisher, time_ns, message, subscriptions)
        if known:
            return answers
        return {
            client: Answer(answer.wanted, False, "advertisement") if answer.owed else answer
            for client, answer in answers.items()
        }

    def permitted(self, publisher: int, message: Message | None) -> bool:
        """Whether the policy permits a message to its publisher."""
        return self._policy.may_publish(publisher, message)

    def advertised(self, publisher: int, time_ns: int, message: Message | None) -> tuple[bool, bool]:
        """Whether a message is surely within what was advertised, and whether it may be; None: any.

        One that is not permitted is not.
        """
        if not self.permitted(publisher, message):
            return False, False
        if self._advertised is None:
            return True, True
        within = [
            s
            for s in self._advertised
            if s.client == publisher
            and (message is None or any(admits(filter_, message) for filter_ in s.predicate))
        ]
        known = any(self._owes(s, time_ns) and time_ns <= self._end_ns for s in within)
        return known, any(self._allows(s, time_ns) for s in within)

    def _wanted(
        self, publisher: int, time_ns: int, message: Message, subscriptions: Iterable[Subscription]
    ) -> dict[int, Answer]:
        matching: dict[int, list[Subscription]] = {}
        for s in subscriptions:
            if s.client != publisher and matches(s.predicate, message):
                matching.setdefault(s.client, []).append(s)
        return {client: self._answer(publisher, client, time_ns, held) for client, held in matching.items()}

    def _answer(self, publisher: int, client: int, time_ns: int, held: list[Subscription]) -> Answer:
        wanted = any(s.in_force(time_ns) for s in held)
        steady = any(self._owes(s, time_ns) for s in held)
        period = self._calm.period(time_ns)
        apart = period is not None and not period.connects(publisher, client)
        if period is not None and not apart and steady and time_ns <= self._end_ns:
            return Answer(wanted, True, None)
        allowed = not apart and any(self._allows(s, time_ns) for s in held)
        reason = self._reason(time_ns, apart, steady, period is not None) if wanted else None
        return Answer(wanted, False if allowed else None, reason)

    def _reason(self, time_ns: int, apart: bool, steady: bool, settled: bool) -> str:
        if apart:
            return "cut_off"
        if time_ns < self._start_ns:
            return "start"
        if steady and settled:
            return "end"
        return "network" if steady else "subscription"

    def _owes(self, s: Subscription, time_ns: int) -> bool:
        """Whether it would be owed if nothing happened to the network."""
        begins_ns = self._start_ns if s.from_ns < self._start_ns else s.from_ns + self._settle_ns
        return begins_ns <= time_ns and (s.until_ns is None or time_ns <= s.until_ns - self._settle_ns)

    def _allows(self, s: Subscription, time_ns: int) -> bool:
        ends_ns = FOREVER if s.until_ns is None else self._calm.known_by(s.until_ns)
        return s.from_ns - self._settle_ns <= self._calm.held_until(time_ns) and time_ns <= ends_ns
