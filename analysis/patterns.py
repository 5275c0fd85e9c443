"""Matches of patterns, judged: which of them a client was owed, and what it was told (decision 30).

Computed from what was published, by the reference of the model. Recognisers, arrival and memory are not
known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from analysis.advertising import Advertising, restricted
from analysis.history import FOREVER, History
from analysis.oracle import Claim, Clock, Oracle, SubscriptionChange, until_known
from analysis.rundir import Run, read_events
from nodes.model import (
    Components,
    Occurrence,
    Pairing,
    Pattern,
    PredicateSyntaxError,
    Value,
    every_match,
    format_predicate,
    matches,
    parse_pattern,
    told,
)
from nodes.model.patterns import longest_ns

Ids = tuple[tuple[int, int], ...]
"""A match, by the ids of its components."""


class Sought(NamedTuple):
    """A client begins to seek a pattern."""

    time_ns: int
    client: str
    subscription: int
    pattern: str


class Told(NamedTuple):
    """A client was told of a match."""

    client: str
    subscription: int
    components: Ids


class Published(NamedTuple):
    """A message."""

    occurrence: Occurrence
    """With the publish time that it carries."""
    time_ns: int
    """By which it is judged what was owed of it."""
    content: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class PatternEvents:
    """What the events say of patterns."""

    sought: Sequence[Sought] = ()
    told: Sequence[Told] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PatternCounts:
    """What became of the matches of one pattern of one client."""

    client: str
    pattern: str
    owed: int = 0
    delivered: int = 0
    """Those that were owed, and those that were allowed."""
    missing: int = 0
    duplicate: int = 0
    """Matches that were told more than once."""
    spurious: int = 0
    """What was told and is no match that may be told."""


COUNTED = ("owed", "delivered", "missing", "duplicate", "spurious")


def as_verdict(counts: Sequence[PatternCounts] | None) -> dict[str, int] | None:
    """The value of the key `patterns`; None: no pattern was sought."""
    if counts is None:
        return None
    rows = [asdict(each) for each in counts]
    return {"sought": len(rows), **{name: sum(row[name] for row in rows) for name in COUNTED}}


def are_wrong(counts: Sequence[PatternCounts] | None) -> bool:
    """Whether something is missing, or was told that should not have been."""
    return any(each.missing or each.duplicate or each.spurious for each in counts or ())


def pattern_events(run: Run) -> PatternEvents:
    """The events about patterns, and what was wrong with any."""
    sought, odd_sought = read_events(run, '"subscribe_pattern"', _sought)
    if not sought:
        return PatternEvents(problems=odd_sought)
    found, odd_told = read_events(run, '"deliver_match"', _told)
    return PatternEvents(sought, found, [*odd_sought, *odd_told])


def _sought(event: Mapping[str, Any]) -> Sought | None:
    if event["event"] != "subscribe_pattern":
        return None
    return Sought(
        int(event["time_ns"]), str(event["node"]), int(event["subscription"]), str(event["pattern"])
    )


def _told(event: Mapping[str, Any]) -> Told | None:
    if event["event"] != "deliver_match":
        return None
    components = tuple((int(source), int(sequence)) for source, sequence, _ in event["components"])
    return Told(str(event["node"]), int(event["subscription"]), components)


@dataclass(frozen=True, slots=True)
class PatternJudge:
    """Judges matches.

    Args:
        events: What clients sought and were told.
        changes: Of subscriptions, in order: the withdrawal of one ends its pattern.
        clients: Ids by name.
        clock: When what is owed.
        end_ns: When the run ended.
        history: When the network was settled.
        advertising: None: nobody has to advertise.
        lossy: Clients that may lose messages by plan; nothing is owed to them.
    """

    events: PatternEvents
    changes: Sequence[SubscriptionChange]
    clients: Mapping[str, int]
    clock: Clock
    end_ns: int
    history: History
    advertising: Advertising | None
    lossy: bool

    def counts(self, published: Callable[[], Iterable[Published]]) -> tuple[PatternCounts, ...] | None:
        """What became of each pattern; None: none was sought."""
        if not self.events.sought:
            return None
        messages = sorted(published(), key=lambda each: each.occurrence)
        told_of: dict[tuple[str, int], Counter[Ids]] = {}
        for each in self.events.told:
            told_of.setdefault((each.client, each.subscription), Counter())[each.components] += 1
        seekers: dict[tuple[str, int], list[Sought]] = {}
        for sought in self.events.sought:
            seekers.setdefault((sought.client, sought.subscription), []).append(sought)
        return tuple(
            self._of_client(rows, told_of.get(key, Counter()), messages) for key, rows in seekers.items()
        )

    def _of_client(
        self, rows: Sequence[Sought], told_of: Counter[Ids], messages: Sequence[Published]
    ) -> PatternCounts:
        owed: set[Ids] = set()
        allowed: set[Ids] = set()
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            of_row = self._matches(row, None if following is None else following.time_ns, messages)
            owed |= of_row[0]
            allowed |= of_row[1]
        return PatternCounts(
            rows[0].client,
            rows[-1].pattern,
            owed=len(owed),
            delivered=sum(each in allowed for each in told_of),
            missing=sum(each not in told_of for each in owed),
            duplicate=sum(count > 1 for each, count in told_of.items() if each in allowed),
            spurious=sum(each not in allowed for each in told_of),
        )

    def _matches(
        self, row: Sought, next_ns: int | None, messages: Sequence[Published]
    ) -> tuple[set[Ids], set[Ids]]:
        """Which matches are owed, and which are allowed."""
        try:
            pattern = parse_pattern(row.pattern)
        except PredicateSyntaxError:
            return set(), set()  # named in `problems_of`
        until_ns = self._until(row, next_ns)
        client = self.clients.get(row.client, 0)
        text = format_predicate(pattern.union)
        (claim,) = until_known([self.clock.claim(client, text, row.time_ns, until_ns)], self.history)
        oracle = Oracle([claim], self.history)
        usable: list[Published] = []
        doubtful: set[Occurrence] = set()
        ends_ns = min(self.end_ns, FOREVER if until_ns is None else until_ns)
        for each in messages:
            if not matches(pattern.union, each.content):
                continue
            owed = self._owed(oracle, claim, each)
            if owed is None:
                continue
            usable.append(each)
            if not owed or self.lossy or each.occurrence.time_ns + pattern.wait_ns > ends_ns:
                doubtful.add(each.occurrence)
        return self._chosen(pattern, usable, doubtful)

    def _until(self, row: Sought, next_ns: int | None) -> int | None:
        """When it is sought no longer; None: it is to the end."""
        ends = (
            change.time_ns
            for change in self.changes
            if (change.client, change.subscription) == (row.client, row.subscription)
            and change.predicate is None
            and change.time_ns >= row.time_ns
        )
        found = [each for each in (next(ends, None), next_ns) if each is not None]
        return min(found, default=None)

    def _owed(self, oracle: Oracle, claim: Claim, message: Published) -> bool | None:
        """As `Due.owed`: None: the client must not get it."""
        source = message.occurrence.source
        due = oracle.moment(message.time_ns).due(source, claim)
        if due is not None and self.advertising is not None:
            due = restricted(due, self.advertising.standing(source, message.time_ns, message.content))
        return None if due is None else due.owed

    def _chosen(
        self, pattern: Pattern, usable: Sequence[Published], doubtful: set[Occurrence]
    ) -> tuple[set[Ids], set[Ids]]:
        owed: set[Ids] = set()
        allowed: set[Ids] = set()
        # No match reaches across a pause that is longer than its window, so what is chosen on one side
        # of it does not depend on the other.
        for run in _without_pause(usable, longest_ns(pattern.expression)):
            every = every_match(pattern.expression, [(each.occurrence, each.content) for each in run])
            unsure = any(each.occurrence in doubtful for each in run)
            if pattern.pairing is Pairing.EVERY or not unsure:
                every = told(pattern.pairing, every)
            allowed |= set(map(_ids, every))
            if pattern.pairing is Pairing.EVERY:
                owed |= {_ids(match) for match in every if doubtful.isdisjoint(match)}
            elif not unsure:
                owed |= set(map(_ids, every))
        return owed, allowed


def problems_of(events: PatternEvents) -> list[str]:
    """What was odd about the events."""
    problems = list(events.problems)
    for sought in events.sought:
        try:
            parse_pattern(sought.pattern)
        except PredicateSyntaxError as error:
            problems.append(f"events.jsonl: {sought.client} seeks what is no pattern: {error.reason}")
    return problems


def _ids(match: Components) -> Ids:
    return tuple((each.source, each.sequence) for each in match)


def _without_pause(messages: Sequence[Published], pause_ns: int) -> list[list[Published]]:
    runs: list[list[Published]] = []
    for each in messages:
        if not runs or each.occurrence.time_ns - runs[-1][-1].occurrence.time_ns > pause_ns:
            runs.append([])
        runs[-1].append(each)
    return runs
