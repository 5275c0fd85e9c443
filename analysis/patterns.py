"""Matches of patterns, judged: which of them a client was owed, and what it was told (decision 30).

Computed from what was published, by the reference of the model. Recognisers, arrival and memory are not
known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from analysis import pattern_counts
from analysis.advertising import Advertising, restricted
from analysis.history import FOREVER, History
from analysis.matching import Matcher
from analysis.oracle import Claim, Clock, Oracle, SubscriptionChange, until_known
from analysis.pattern_counts import PatternCounts
from analysis.rundir import Run, read_events
from nodes.model import (
    Components,
    Occurrence,
    Pairing,
    Pattern,
    PredicateSyntaxError,
    Value,
    every_match,
    parse_pattern,
    told,
)
from nodes.model.patterns import TooManyMatchesError, longest_ns

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


def pattern_events(run: Run) -> PatternEvents:
    """The events about patterns, and what was wrong with any."""
    sought, odd_sought = read_events(run, '"subscribe_pattern"', _sought)
    if not sought:
        return PatternEvents(problems=odd_sought)
    found, odd_told = read_events(run, '"deliver_match"', _told)
    return PatternEvents(sought, found, [*odd_sought, *odd_told])


def carried_times(run: Run) -> dict[tuple[int, int], int]:
    """The publish times that messages carry, by id: those of the events, which are not corrected."""
    found, _ = read_events(run, '"publish"', _carried)
    return dict(found)


def _carried(event: Mapping[str, Any]) -> tuple[tuple[int, int], int] | None:
    if event["event"] != "publish":
        return None
    return (int(event["source"]), int(event["sequence"])), int(event["time_ns"])


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
        lossy: Whether links lose packets by plan: then nothing is owed.
        carried_ns: The publish times that messages carry, by id, where clocks were corrected: clients go
            by these, and not by the right ones.
    """

    events: PatternEvents
    changes: Sequence[SubscriptionChange]
    clients: Mapping[str, int]
    clock: Clock
    end_ns: int
    history: History
    advertising: Advertising | None
    lossy: bool
    carried_ns: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def counts(self, published: Callable[[], Iterable[Published]]) -> tuple[PatternCounts, ...] | None:
        """What became of each pattern; None: none was sought."""
        if not self.events.sought:
            return None
        messages = sorted(map(self._as_carried, published()), key=lambda each: each.occurrence)
        concerning = self._concerning(messages)
        told_of: dict[tuple[str, int], Counter[Ids]] = {}
        for each in self.events.told:
            told_of.setdefault((each.client, each.subscription), Counter())[each.components] += 1
        seekers: dict[tuple[str, int], list[Sought]] = {}
        for sought in self.events.sought:
            seekers.setdefault((sought.client, sought.subscription), []).append(sought)
        ends: dict[tuple[str, int], list[int]] = {}
        for change in self.changes:
            if change.predicate is None:
                ends.setdefault((change.client, change.subscription), []).append(change.time_ns)
        return tuple(
            self._of_client(rows, told_of.get(key, Counter()), concerning, ends.get(key, ()))
            for key, rows in seekers.items()
        )

    def _as_carried(self, message: Published) -> Published:
        _, source, sequence = message.occurrence
        carried_ns = self.carried_ns.get((source, sequence))
        if carried_ns is None:
            return message
        return message._replace(occurrence=Occurrence(carried_ns, source, sequence))

    def _concerning(self, messages: Sequence[Published]) -> dict[str, list[Published]]:
        """By pattern the messages that some part of it matches."""
        texts = [text for text in dict.fromkeys(each.pattern for each in self.events.sought) if _read(text)]
        unions = [pattern.union for text in texts if (pattern := _read(text))]
        found: dict[str, list[Published]] = {text: [] for text in texts}
        matching = Matcher(unions).pairs([each.content for each in messages])
        for message, union in zip(*(column.tolist() for column in matching), strict=True):
            found[texts[union]].append(messages[message])
        return found

    def _of_client(
        self,
        rows: Sequence[Sought],
        told_of: Counter[Ids],
        concerning: Mapping[str, Sequence[Published]],
        ends_ns: Sequence[int],
    ) -> PatternCounts:
        owed: set[Ids] = set()
        allowed: set[Ids] = set()
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            pattern = _read(row.pattern)
            if pattern is None:
                continue  # named in `problems_of`
            ends = [each for each in ends_ns if each >= row.time_ns]
            ends += [] if following is None else [following.time_ns]
            try:
                of_row = self._matches(row, pattern, min(ends, default=None), concerning[row.pattern])
            except TooManyMatchesError:
                return PatternCounts(row.client, row.pattern, judged=False)
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
        self, row: Sought, pattern: Pattern, until_ns: int | None, messages: Sequence[Published]
    ) -> tuple[set[Ids], set[Ids]]:
        """Which matches are owed, and which are allowed."""
        client = self.clients.get(row.client, 0)
        claimed = self.clock.claim(client, "", row.time_ns, until_ns)
        (claim,) = until_known([claimed], self.history)
        usable: list[Published] = []
        doubtful: set[Occurrence] = set()
        ends_ns = min(self.end_ns, FOREVER if until_ns is None else until_ns)
        for each in messages:
            owed = self._owed(claim, each)
            if owed is None:
                continue
            usable.append(each)
            if not owed or self.lossy or each.occurrence.time_ns + pattern.wait_ns > ends_ns:
                doubtful.add(each.occurrence)
        return self._chosen(pattern, usable, doubtful)

    def _owed(self, claim: Claim, message: Published) -> bool | None:
        """As `Due.owed`: None: the client must not get it."""
        source = message.occurrence.source
        due = Oracle((), self.history).moment(message.time_ns).due(source, claim)
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
            contents = [(each.occurrence, each.content) for each in run]
            every = every_match(pattern.expression, contents, pattern_counts.MOST_MATCHES)
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
    odd = [
        f"events.jsonl: {each.client} seeks what is no pattern: {each.pattern}"
        for each in events.sought
        if _read(each.pattern) is None
    ]
    return [*events.problems, *odd]


@lru_cache(maxsize=1 << 16)
def _read(text: str) -> Pattern | None:
    try:
        return parse_pattern(text)
    except PredicateSyntaxError:
        return None


def _ids(match: Components) -> Ids:
    return tuple((each.source, each.sequence) for each in match)


def _without_pause(messages: Sequence[Published], pause_ns: int) -> list[list[Published]]:
    runs: list[list[Published]] = []
    for each in messages:
        if not runs or each.occurrence.time_ns - runs[-1][-1].occurrence.time_ns > pause_ns:
            runs.append([])
        runs[-1].append(each)
    return runs
