"""What became of the matches of patterns, by docs/analysis.md, "Matches of patterns"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.judge.judging.calm import Calm
from tests.judge.judging.overlapping import overlap
from tests.judge.judging.owed import Rules, Subscription, subscriptions_of
from tests.judge.judging.pattern_texts import (
    PatternText,
    Seen,
    all_matches,
    longest_ns,
    paired,
    predicates_of,
    read_pattern,
)
from tests.judge.judging.permitted import Policy
from tests.judge.judging.run import FOREVER, Event, Run
from tests.judge.judging.subscribing import advertised_changes_of, changes_of, unlogged_patterns
from tests.judge.judging.tables import Publication
from tests.judge.judging.texts import Message

Id = tuple[int, int]
Match = tuple[Id, ...]


@dataclass
class Candidate:
    """A message that may be part of a match."""

    seen: Seen
    published_ns: int
    message: Message
    sure: bool


@dataclass
class Found:
    """The matches of one pattern of one client."""

    owed: set[Match] = field(default_factory=set)
    allowed: set[Match] = field(default_factory=set)
    disturbed: set[Match] = field(default_factory=set)


def sought(run: Run, calm: Calm, publications: Mapping[Id, Publication]) -> dict[str, int] | None:
    """The key `patterns` of the verdict."""
    begun: dict[tuple[str, int], list[Event]] = {}
    for event in _begun(run):
        begun.setdefault((event["node"], event["subscription"]), []).append(event)
    if not begun:
        return None
    judge = _Judge(run, calm, publications)
    total = Counter({"sought": len(begun)})
    for (client, number), events in begun.items():
        found = judge.found(client, number, events)
        told = Counter(
            tuple((source, sequence) for source, sequence, _ in event["components"])
            for event in run.of("deliver_match")
            if (event["node"], event["subscription"]) == (client, number)
        )
        total.update(
            owed=len(found.owed),
            delivered=len(found.allowed & told.keys()),
            missing=len(found.owed - told.keys()),
            duplicate=sum(told[each] > 1 for each in found.allowed & told.keys()),
            spurious=len(told.keys() - found.allowed),
            lost=len(found.disturbed - found.owed - told.keys()),
        )
    return dict(total)


def _begun(run: Run) -> list[Event]:
    """The events `subscribe_pattern`, and what was captured and should have been one."""
    names = {number: name for name, number in run.clients.items()}
    captured = [
        {"time_ns": c.time_ns, "node": names[c.client], "subscription": c.number, "pattern": c.pattern}
        for c in unlogged_patterns(run)
        if c.pattern
    ]
    return sorted([*run.of("subscribe_pattern"), *captured], key=lambda event: event["time_ns"])


def refused_patterns(run: Run) -> int:
    """How many patterns the policy did not permit."""
    return sum(not _permitted(run, event) for event in _begun(run))


def _permitted(run: Run, event: Event) -> bool:
    """Whether a client may subscribe to all parts of a pattern."""
    policy, client = Policy(run), run.clients[event["node"]]
    parts = predicates_of(read_pattern(event["pattern"]).root)
    return all(policy.may_subscribe(client, part) for part in parts)


class _Judge:
    def __init__(self, run: Run, calm: Calm, publications: Mapping[Id, Publication]) -> None:
        self._run = run
        self._calm = calm
        self._rules = Rules(run, calm)
        self._publications = publications
        withdrawn = [c for c in changes_of(run) if c.predicate is None]
        withdrawn += [c for c in unlogged_patterns(run) if not c.pattern]
        self._ends = [(c.client, c.number, c.time_ns) for c in withdrawn]
        options = run.plan["scheme_options"]
        self._factored = options.get("patterns") == "factored"
        self._advertised = subscriptions_of(advertised_changes_of(run)) if self._factored else []
        self._lossy = any(map(_loses, _characters(run.plan)))

    def found(self, client: str, number: int, events: list[Event]) -> Found:
        found = Found()
        for at, event in enumerate(events):
            ends = [t for c, n, t in self._ends if (c, n) == (self._run.clients[client], number)]
            ends += [later["time_ns"] for later in events[at + 1 : at + 2]]
            until_ns = min((t for t in ends if t >= event["time_ns"]), default=None)
            if not _permitted(self._run, event):
                continue
            pattern = read_pattern(event["pattern"])
            held = Subscription(self._run.clients[client], frozenset(), event["time_ns"], until_ns)
            self._look(found, pattern, list(self._candidates(pattern, held)))
        return found

    def _candidates(self, pattern: PatternText, held: Subscription) -> Iterator[Candidate]:
        """What the client may get of what parts match."""
        anything = frozenset(f for each in predicates_of(pattern.root) for f in each)
        held = Subscription(held.client, anything, held.from_ns, held.until_ns)
        ends_ns = min(self._run.manifest["end_ns"], FOREVER if held.until_ns is None else held.until_ns)
        way_ns = pattern.wait_ns + (self._run.settle_ns if self._factored else 0)
        for (source, sequence), p in self._publications.items():
            if p.content is None or source == held.client:
                continue
            answer = self._rules.answers_of(source, p.published_ns, p.content, [held]).get(held.client)
            if answer is None or answer.owed is None:
                continue
            time_ns = p.published_ns if p.publish_time_ns is None else p.publish_time_ns
            sure = answer.owed and not self._lossy and time_ns + way_ns <= ends_ns
            yield Candidate(Seen(time_ns, source, sequence), p.published_ns, p.content, sure)

    def _look(self, found: Found, pattern: PatternText, candidates: list[Candidate]) -> None:
        candidates.sort(key=lambda each: each.seen)
        changes = list(self._changes(pattern))
        for group in _groups(candidates, longest_ns(pattern.root)):
            by_seen = {each.seen: each for each in group}
            every = all_matches(pattern.root, [(each.seen, each.message) for each in group])
            told = paired(pattern.pairing, every)
            for match in every:
                # Of `first` and `once` it takes all of the group to know what is told.
                of = [by_seen[seen] for seen in match] if pattern.pairing == "every" else group
                sure = all(each.sure for each in of)
                calm = not self._factored or self._undisturbed(of, changes, pattern.wait_ns)
                ids = tuple((source, sequence) for _, source, sequence in match)
                if match in told or not (sure and calm):
                    found.allowed.add(ids)
                if match in told and sure:
                    (found.owed if calm else found.disturbed).add(ids)

    def _undisturbed(self, of: list[Candidate], changes: list[int], wait_ns: int) -> bool:
        first_ns = min(each.published_ns for each in of)
        ends_ns = max(each.published_ns for each in of) + wait_ns + self._run.settle_ns
        period = self._calm.period(first_ns)
        if period is None or ends_ns > period.until_ns:
            return False
        return not any(first_ns - self._run.settle_ns <= change_ns <= ends_ns for change_ns in changes)

    def _changes(self, pattern: PatternText) -> Iterator[int]:
        """When advertisements came and went that some part overlaps."""
        parts = [filter_ for each in predicates_of(pattern.root) for filter_ in each]
        for each in self._advertised:
            if any(overlap(one, part) for one in each.predicate for part in parts):
                times = (each.from_ns, each.until_ns)
                yield from (t for t in times if t is not None and t >= self._run.start_ns)


def _groups(candidates: list[Candidate], pause_ns: int) -> list[list[Candidate]]:
    groups: list[list[Candidate]] = []
    for each in candidates:
        if not groups or each.seen.time_ns - groups[-1][-1].seen.time_ns > pause_ns:
            groups.append([])
        groups[-1].append(each)
    return groups


def _characters(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | None]:
    """What links do to packets, at any time."""
    for each in (*plan["links"], *plan["faults"], *plan["traces"]):
        yield each.get("impairment")
        yield each.get("back")


def _loses(character: Mapping[str, Any] | None) -> bool:
    return character is not None and any(character[what] for what in ("loss", "corrupt", "rate_bps"))
