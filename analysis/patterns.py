"""Matches of patterns, judged: which of them a client was owed, and what it was told (decision 30).

Computed from what was published, by the reference of the model. Recognisers, arrival and memory are not
known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from analysis.advertising import Advertising, advertising_in, restricted
from analysis.history import FOREVER, History, history_of, network_change
from analysis.matching import Matcher
from analysis.network import lossy_links
from analysis.oracle import Claim, Clock, Oracle, SubscriptionChange, subscription_change, until_known
from analysis.pattern_calm import Calm, calm_of
from analysis.pattern_choice import Chosen, Published
from analysis.pattern_counts import Ids, PatternCounts, shown
from analysis.pattern_providers import lacking
from analysis.policy import Policy
from analysis.rundir import Run, read_events, refused_patterns
from nodes.model import (
    Occurrence,
    Pattern,
    PredicateSyntaxError,
    format_expression,
    parse_message,
    parse_pattern,
)
from nodes.model.patterns import TooManyMatchesError
from nodes.scheme_catalog import factors_patterns
from testbed.plan.model import Plan


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
    time_ns: int = 0


@dataclass(frozen=True, slots=True)
class PatternEvents:
    """What the events say of patterns."""

    sought: Sequence[Sought] = ()
    told: Sequence[Told] = ()
    refused: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """By client and number why its router did not seek a pattern, by the client's log."""
    problems: Sequence[str] = ()


def pattern_events(run: Run) -> PatternEvents:
    """The events about patterns, and what was wrong with any."""
    sought, odd_sought = read_events(run, '"subscribe_pattern"', _sought)
    # Where routers recognise patterns, one that the events lack may have been captured.
    if not sought and not factors_patterns(run.plan.scheme_options):
        return PatternEvents(problems=odd_sought)
    found, odd_told = read_events(run, '"deliver_match"', _told)
    refused = {
        (client, number): reason
        for client in dict.fromkeys(each.client for each in sought)
        for number, reason in refused_patterns(run, client)
    }
    return PatternEvents(sought, found, refused, [*odd_sought, *odd_told])


def with_unlogged(events: PatternEvents, captured: Iterable[SubscriptionChange]) -> PatternEvents:
    """The events, with patterns that were captured only."""
    more = [
        Sought(change.time_ns, change.client, change.subscription, change.predicate)
        for change in captured
        if change.predicate is not None
    ]
    return replace(events, sought=sorted([*events.sought, *more], key=lambda each: each.time_ns))


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
    return Told(str(event["node"]), int(event["subscription"]), components, int(event["time_ns"]))


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
        factored: Whether routers recognise the patterns, and clients have no messages of them.
        policy: What may be sought and published; None: anything.
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
    factored: bool = False
    policy: Policy | None = None

    def counts(self, published: Callable[[], Iterable[Published]]) -> tuple[PatternCounts, ...] | None:
        """What became of each pattern; None: none was sought."""
        if not self.events.sought:
            return None
        messages = sorted(map(self._as_carried, published()), key=lambda each: each.occurrence)
        concerning = self._concerning(messages)
        told_of: dict[tuple[str, int], dict[Ids, list[int]]] = {}
        for each in self.events.told:
            of_pattern = told_of.setdefault((each.client, each.subscription), {})
            of_pattern.setdefault(each.components, []).append(each.time_ns)
        seekers: dict[tuple[str, int], list[Sought]] = {}
        for sought in self.events.sought:
            seekers.setdefault((sought.client, sought.subscription), []).append(sought)
        ends: dict[tuple[str, int], list[int]] = {}
        for change in self.changes:
            if change.predicate is None:
                ends.setdefault((change.client, change.subscription), []).append(change.time_ns)
        return tuple(
            self._of_client(rows, told_of.get(key, {}), concerning, ends.get(key, ()))
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
        told_ns: Mapping[Ids, Sequence[int]],
        concerning: Mapping[str, Sequence[Published]],
        ends_ns: Sequence[int],
    ) -> PatternCounts:
        found = Chosen()
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            pattern = _read(row.pattern)
            if pattern is None:
                continue  # named in `problems_of`
            if self.policy is not None and not self.policy.may_seek(row.client, row.pattern):
                continue
            ends = [each for each in ends_ns if each >= row.time_ns]
            ends += [] if following is None else [following.time_ns]
            try:
                self._find(found, row, pattern, min(ends, default=None), concerning[row.pattern])
            except TooManyMatchesError:
                return PatternCounts(row.client, row.pattern, judged=False)
        lost = {each for each in found.disturbed - found.owed if each not in told_ns}
        return PatternCounts(
            rows[0].client,
            rows[-1].pattern,
            owed=len(found.owed),
            delivered=sum(each in found.allowed for each in told_ns),
            missing=sum(each not in told_ns for each in found.owed),
            duplicate=sum(len(times) > 1 for each, times in told_ns.items() if each in found.allowed),
            spurious=sum(each not in found.allowed for each in told_ns),
            lost=len(lost),
            shown=shown(told_ns, found.owed, found.allowed, lost),
            refused=self._refused(rows[-1]),
            lacking=self._lacking(rows[-1]) if not found.owed and not told_ns else (),
        )

    def _refused(self, row: Sought) -> str:
        """Why its router did not seek a pattern that it was permitted."""
        if self.policy is not None and not self.policy.may_seek(row.client, row.pattern):
            return ""
        return self.events.refused.get((row.client, row.subscription), "")

    def _lacking(self, row: Sought) -> list[str]:
        pattern = _read(row.pattern)
        if pattern is None:
            return []
        absent = lacking(pattern, self.clients.get(row.client, 0), self.advertising)
        return [format_expression(each) for each in absent]

    def _find(
        self,
        found: Chosen,
        row: Sought,
        pattern: Pattern,
        until_ns: int | None,
        messages: Sequence[Published],
    ) -> None:
        """Note which matches are owed, and which are allowed."""
        client = self.clients.get(row.client, 0)
        claimed = self.clock.claim(client, "", row.time_ns, until_ns)
        (claim,) = until_known([claimed], self.history)
        usable: list[Published] = []
        doubtful: set[Occurrence] = set()
        ends_ns = min(self.end_ns, FOREVER if until_ns is None else until_ns)
        # What a router recognises has a way to go until the client is told.
        under_way_ns = pattern.wait_ns + (self.clock.settle_ns if self.factored else 0)
        for each in messages:
            owed = self._owed(claim, each)
            if owed is None:
                continue
            usable.append(each)
            if not owed or self.lossy or each.occurrence.time_ns + under_way_ns > ends_ns:
                doubtful.add(each.occurrence)
        found.choose(pattern, usable, doubtful, self._calm(pattern))

    def _calm(self, pattern: Pattern) -> Calm | None:
        """None: a client that recognises its patterns is owed matches if it is owed their messages."""
        if not self.factored:
            return None
        return calm_of(self.history, self.advertising, pattern.union, pattern.wait_ns)

    def _owed(self, claim: Claim, message: Published) -> bool | None:
        """As `Due.owed`: None: the client must not get it."""
        source = message.occurrence.source
        due = Oracle((), self.history).moment(message.time_ns).due(source, claim)
        if due is not None and self.advertising is not None:
            due = restricted(due, self.advertising.standing(source, message.time_ns, message.content))
        if due is not None and self.policy is not None:
            due = restricted(due, self.policy.publishing.standing(source, message.content))
        return None if due is None else due.owed


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


def judge_patterns(
    plan: Plan, events: Iterable[Mapping[str, Any]], times_ns: tuple[int, int]
) -> tuple[PatternCounts, ...] | None:
    """What became of each pattern of a complete run without a policy, whose events are held in memory.

    Args:
        plan: Of the run.
        events: In order of time.
        times_ns: The scenario's time zero, and when the run ended.
    """
    assert not any(node.policy for node in plan.clients), "runs with a policy are judged by their directories"
    events, (start_ns, end_ns) = list(events), times_ns
    published = [
        Published(
            Occurrence(event["time_ns"], event["source"], event["sequence"]),
            event["time_ns"],
            parse_message(event["message"]),
        )
        for event in events
        if event["event"] == "publish"
    ]
    judge = PatternJudge(
        PatternEvents(list(filter(None, map(_sought, events))), list(filter(None, map(_told, events)))),
        list(filter(None, map(subscription_change, events))),
        {node.name: node.node_id for node in plan.clients},
        Clock(start_ns, plan.timing.settle_ns),
        end_ns,
        history_of(plan, filter(None, map(network_change, events)), start_ns),
        advertising_in(plan, events, start_ns),
        lossy=bool(lossy_links(plan)),
        factored=factors_patterns(plan.scheme_options),
    )
    return judge.counts(lambda: published)
