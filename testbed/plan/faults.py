"""`faults`: what breaks and is repaired while a scenario runs, read and expanded into single steps.

Here: names that lead nowhere, and what stands for many steps (flap, churn). Not
here: whether the steps make sense one after the other, and who is drawn
(`fault_order`); faults in one line (`fault_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from nodes.config import SecurityConfig
from testbed.plan.fault_order import Entry, Step, in_order
from testbed.plan.graph import Graph
from testbed.plan.groups import Choice, Groups
from testbed.plan.model import Attack, Fault
from testbed.plan.moments import Times
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.fault_kinds import KINDS, FaultKind
from topologies.quantities import duration_ns

_CONDITIONS = ("at", "when", "after", "for")


def read_faults(
    source: Source,
    data: Mapping[str, Any],
    graph: Graph,
    groups: Groups,
    times: Times,
    *,
    security: SecurityConfig,
) -> tuple[Fault, ...]:
    """The scenario's faults in order of time; what is wrong with them is noted in the source."""
    reader = _Reader(source, groups, times, int(data.get("seed", 1)))
    entries = [
        entry
        for i, fault in enumerate(data.get("faults") or [])
        if fault is not None
        for entry in reader.entries(i, fault)
    ]
    return in_order(source, graph, entries, security)


class _Reader:
    """Reads one entry after the other."""

    def __init__(self, source: Source, groups: Groups, times: Times, seed: int) -> None:
        self._source = source
        self._groups = groups
        self._times = times
        self._seed = seed
        self._rng = Random()

    def entries(self, position: int, fault: Mapping[str, Any]) -> Iterator[Entry]:
        """What one entry comes down to: nothing, if it makes no sense."""
        key: Key = ("faults", position)
        written = self._source.written(key)
        what = [name for name in written if name not in _CONDITIONS]
        if len(what) != 1:
            message = "nothing says what happens" if not what else f"{' and '.join(what)} happen at once"
            self._source.complain(key, message, f"at, or when, and one of {', '.join(KINDS)}")
            return
        begin_ns = self._begin(fault, written, key)
        if begin_ns is None or what[0] not in fault:
            return
        self._rng = Random(f"{self._seed}/faults/{position}")
        kind = KINDS[what[0]]
        steps = list(_READERS[kind.argument](self, begin_ns, kind, fault[kind.name], key))
        steps += self._repairs(fault, kind, steps, key)
        yield Entry(key, "when" in fault, steps)

    def _begin(self, fault: Mapping[str, Any], written: Mapping[str, Any], key: Key) -> int | None:
        """When it happens: from the start, or from the fixpoint that is waited for."""
        if "at" in written and "when" in written:
            self._source.complain(key, "both at and when say when it happens", "one of them")
            return None
        if "when" not in written:
            if "after" in written:
                self._source.complain((*key, "after"), "after goes with when", "when: converged", at_key=True)
            if "at" not in written:
                self._source.complain(key, "nothing says when it happens", "at: 5s, or when: converged")
            return self._times.moment(fault["at"], (*key, "at")) if "at" in fault else None
        if "when" not in fault:
            return None
        return duration_ns(fault["after"]) if "after" in fault else 0

    def _repairs(
        self, fault: Mapping[str, Any], kind: FaultKind, steps: list[Step], key: Key
    ) -> Iterator[Step]:
        """The step that ends what `for` says has an end."""
        if "for" not in fault or not steps:
            return
        lasts_ns = duration_ns(fault["for"])
        if not kind.repaired_by:
            expected = f"for goes with {', '.join(k.name for k in KINDS.values() if k.repaired_by)}"
            self._source.complain((*key, "for"), f"{kind.name} does not end by itself", expected, at_key=True)
        elif lasts_ns == 0:
            self._source.complain((*key, "for"), "it would end as it begins", "a duration above zero")
        else:
            [step] = steps
            yield Step(step.at_ns + lasts_ns, KINDS[kind.repaired_by], key, step.choice)

    def _selection(self, at_ns: int, kind: FaultKind, given: Any, key: Key) -> Iterator[Step]:
        if choice := self._choice(given, kind, (*key, kind.name)):
            yield Step(at_ns, kind, key, choice)

    def _impairment(self, at_ns: int, kind: FaultKind, given: Mapping[str, Any], key: Key) -> Iterator[Step]:
        here = (*key, kind.name)
        if len(given) < 2:
            expected = "delay, loss, or another property of a link"
            self._source.complain(here, "nothing says what changes", expected)
        elif "link" in given and (choice := self._choice(given["link"], kind, (*here, "link"))):
            yield Step(at_ns, kind, key, choice, changes={k: v for k, v in given.items() if k != "link"})

    def _attacks(self, at_ns: int, kind: FaultKind, given: Mapping[str, Any], key: Key) -> Iterator[Step]:
        here = (*key, kind.name)
        attack = self._attack(kind, given, here)
        if attack and kind.target in given:
            choice = self._choice(given[kind.target], kind, (*here, kind.target))
            if choice:
                yield Step(at_ns, kind, key, choice, attack=attack)

    def _attack(self, kind: FaultKind, given: Mapping[str, Any], key: Key) -> Attack | None:
        """How somebody attacks; None, and a note in the source, if that makes no sense."""
        assert kind.attacking is not None
        known, by = kind.attacking.ways, given.get("by", kind.attacking.usual)
        ways = tuple(each.strip() for each in (by.split(",") if isinstance(by, str) else by))
        for way in ways:
            if way not in known:
                what = f"{kind.name} knows no way {way or 'without a name'}"
                self._source.complain(
                    (*key, "by"), what, f"one of {', '.join(known)}", did_you_mean(way, known)
                )
                return None
        every_ns = duration_ns(given["every"]) if "every" in given else 0
        if kind.attacking.counted and not every_ns:
            self._source.complain(
                (*key, "every"), "there is no time between two acts", "a duration above zero"
            )
            return None
        return Attack(ways, int(given.get("times", 0)), every_ns, float(given.get("share", 1.0)))

    def _sides(self, at_ns: int, kind: FaultKind, given: Any, key: Key) -> Iterator[Step]:
        side_of: dict[str, int] = {}
        for number, side in enumerate([given] if isinstance(given, str) else given):
            here: Key = (*key, kind.name) if isinstance(given, str) else (*key, kind.name, number)
            choice = None if side is None else self._choice(side, kind, here)
            for router in choice.draw() if choice else ():
                if side_of.get(router, number) != number or (
                    isinstance(side, list) and side.count(router) > 1
                ):
                    at = (*here, side.index(router)) if isinstance(side, list) and router in side else here
                    self._source.complain(at, f"{router} is in two groups", "each router in one group")
                side_of[router] = number
        if side_of:
            yield Step(at_ns, kind, key, sides=side_of)

    def _flag(self, at_ns: int, kind: FaultKind, given: bool, key: Key) -> Iterator[Step]:
        if given:
            yield Step(at_ns, kind, key)
        else:
            self._source.complain((*key, kind.name), f"nothing is {kind.name}ed", "true")

    def _repeated(self, at_ns: int, kind: FaultKind, given: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """Again and again the same ones, or each time others."""
        assert kind.repeat is not None
        of, anew, here = kind.repeat.of, kind.repeat.anew, (*key, kind.name)
        begins = KINDS[kind.applied_as]
        if anew and not self._groups.members(of):
            self._source.complain(here, f"there are no {of} that could {begins.name}")
            return
        if of not in given:
            return
        text = given[of]
        share = f"{text} of {of}" if anew and isinstance(text, str) and text.endswith("%") else text
        choice = self._choice(share, kind, (*here, of))
        for begin_ns, end_ns in self._periods(at_ns, given, kind.repeat.lasting, here):
            if choice:
                drawn = choice.anew() if anew else choice
                yield Step(begin_ns, begins, key, drawn)
                yield Step(end_ns, KINDS[begins.repaired_by], key, drawn)

    def _periods(
        self, at_ns: int, given: Mapping[str, Any], lasting: str, key: Key
    ) -> Iterator[tuple[int, int]]:
        """When each of several like things begins and ends."""
        if "every" not in given or "times" not in given:
            return
        every_ns = duration_ns(given["every"])
        lasts_ns = duration_ns(given[lasting]) if lasting in given else every_ns // 2
        if not 0 < lasts_ns < every_ns:
            at = lasting if lasting in given else "every"
            self._source.complain((*key, at), "there is no time between one and the next", "a longer period")
            return
        for n in range(given["times"]):
            yield at_ns + n * every_ns, at_ns + n * every_ns + lasts_ns

    def _choice(self, given: Any, kind: FaultKind, key: Key) -> Choice | None:
        return self._groups.choice(given, kind.target, key, self._rng, programs=kind.programs)


_READERS: Mapping[str, Callable[..., Iterator[Step]]] = {
    "selection": _Reader._selection,
    "groups": _Reader._sides,
    "flag": _Reader._flag,
    "repeat": _Reader._repeated,
    "impairment": _Reader._impairment,
    "attack": _Reader._attacks,
}
