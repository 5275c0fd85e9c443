"""Which matches of a pattern are owed and which are allowed, of messages that may be used.

By the reference of the model. Not here: which messages may be used, and what was told (`patterns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis import pattern_counts
from analysis.pattern_calm import Calm
from analysis.pattern_counts import Ids
from nodes.model import Components, Occurrence, Pairing, Pattern, Value, every_match, told
from nodes.model.patterns import longest_ns


class Published(NamedTuple):
    """A message."""

    occurrence: Occurrence
    """With the publish time that it carries."""
    time_ns: int
    """By which it is judged what was owed of it."""
    content: Mapping[str, Value]


@dataclass(slots=True)
class Chosen:
    """Of one pattern of one client."""

    owed: set[Ids] = field(default_factory=set)
    allowed: set[Ids] = field(default_factory=set)
    disturbed: set[Ids] = field(default_factory=set)
    """What would have been owed if nothing had changed meanwhile for those who recognise it."""

    def choose(
        self, pattern: Pattern, usable: Sequence[Published], doubtful: set[Occurrence], calm: Calm | None
    ) -> None:
        """Evaluate a pattern over what may be used, of which some may be lacking."""
        # No match reaches across a pause that is longer than its window, so what is chosen on one side
        # of it does not depend on the other.
        for run in _without_pause(usable, longest_ns(pattern.expression)):
            contents = [(each.occurrence, each.content) for each in run]
            every = every_match(pattern.expression, contents, pattern_counts.MOST_MATCHES)
            times = {each.occurrence: each.time_ns for each in run}
            if pattern.pairing is Pairing.EVERY:
                self._note_every(every, doubtful, calm, times)
            else:
                unsure = any(each.occurrence in doubtful for each in run)
                self._note_chosen(pattern, every, calm, times, unsure=unsure)

    def _note_every(
        self,
        every: Sequence[Components],
        doubtful: set[Occurrence],
        calm: Calm | None,
        times: Mapping[Occurrence, int],
    ) -> None:
        for match in every:
            ids = _ids(match)
            self.allowed.add(ids)
            if doubtful.isdisjoint(match):
                (self.owed if _undisturbed(calm, times, match) else self.disturbed).add(ids)

    def _note_chosen(
        self,
        pattern: Pattern,
        every: Sequence[Components],
        calm: Calm | None,
        times: Mapping[Occurrence, int],
        *,
        unsure: bool,
    ) -> None:
        """Of a group: which are told depends on all messages of it."""
        undisturbed = _undisturbed(calm, times, times)
        chosen = set() if unsure else set(map(_ids, told(pattern.pairing, every)))
        if unsure or not undisturbed:
            self.allowed |= set(map(_ids, every))
            self.disturbed |= chosen
        else:
            self.allowed |= chosen
            self.owed |= chosen


def _undisturbed(calm: Calm | None, times: Mapping[Occurrence, int], of: Iterable[Occurrence]) -> bool:
    if calm is None:
        return True
    published_ns = [times[each] for each in of]
    return calm.throughout(min(published_ns), max(published_ns))


def _ids(match: Components) -> Ids:
    return tuple((each.source, each.sequence) for each in match)


def _without_pause(messages: Sequence[Published], pause_ns: int) -> list[list[Published]]:
    runs: list[list[Published]] = []
    for each in messages:
        if not runs or each.occurrence.time_ns - runs[-1][-1].occurrence.time_ns > pause_ns:
            runs.append([])
        runs[-1].append(each)
    return runs
