"""Faults one after the other: what is broken cannot break, and only that can be mended.

Here: the walk along the timeline, which also says what a partition cuts. Not
here: reading the scenario's words (`faults`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from testbed.plan.graph import Graph
from testbed.plan.model import Fault
from testbed.plan.problems import Key
from testbed.plan.source import Source


@dataclass(frozen=True, slots=True)
class Step:
    """A fault as the scenario says it: one of `FAULT_KINDS`, or a partition or its end."""

    at_ns: int
    do: str
    target: str
    key: Key
    groups: Mapping[str, int] = field(default_factory=dict)
    """Of a partition: the group of each router that is named."""


def in_order(source: Source, graph: Graph, steps: Iterable[Step]) -> tuple[Fault, ...]:
    """All that happens, in order of time, and of the file where times are equal."""
    timeline = _Timeline(source, graph)
    return tuple(fault for step in sorted(steps, key=lambda s: s.at_ns) for fault in timeline.take(step))


class _Timeline:
    """What is broken at a moment, and since which entry."""

    def __init__(self, source: Source, graph: Graph) -> None:
        self._source = source
        self._graph = graph
        self._down: dict[str, Key] = {}
        self._crashed: dict[str, Key] = {}
        self._paused: dict[str, Key] = {}
        self._cut: list[str] = []
        self._partition: Key = ()

    def take(self, step: Step) -> list[Fault]:
        """What a step comes to; nothing, and a note in the source, if it makes no sense."""
        if step.do in ("partition", "heal"):
            links = self._cut_between(step) if step.do == "partition" else self._healed(step)
            do = "link_down" if step.do == "partition" else "link_up"
            return [Fault(step.at_ns, do, link) for link in links]
        wrong = self._wrong(step)
        if wrong:
            self._source.complain(step.key, wrong[0], wrong[1])
            return []
        self._note(step)
        return [Fault(step.at_ns, step.do, step.target)]

    def _wrong(self, step: Step) -> tuple[str, str] | None:
        """What is wrong with a step now, and what was expected."""
        name, link = step.target, " - ".join(step.target.split("--"))
        match step.do:
            case "link_down" if name in self._down:
                return f"{link} is down already{self._since(self._down[name])}", "link_up before it"
            case "link_up" if name not in self._down:
                return f"{link} is not down then", "link_down before it"
            case "crash" | "pause" if name in self._crashed:
                return f"{name} has crashed already{self._since(self._crashed[name])}", "start before it"
            case "start" if name not in self._crashed:
                return f"{name} has not crashed then", "crash before it"
            case "pause" if name in self._paused:
                return f"{name} is paused already{self._since(self._paused[name])}", "resume before it"
            case "resume" if name not in self._paused:
                return f"{name} is not paused then", "pause before it"
        return None

    def _note(self, step: Step) -> None:
        match step.do:
            case "link_down":
                self._down[step.target] = step.key
            case "link_up":
                del self._down[step.target]
            case "crash":
                self._crashed[step.target] = step.key
                self._paused.pop(step.target, None)
            case "start":
                del self._crashed[step.target]
            case "pause":
                self._paused[step.target] = step.key
            case "resume":
                del self._paused[step.target]

    def _cut_between(self, step: Step) -> list[str]:
        if self._partition:
            why = f"the network is partitioned already{self._since(self._partition)}"
            self._source.complain(step.key, why, "heal before it")
            return []
        self._partition = step.key
        self._cut = [
            name
            for wire in self._graph.wires
            for name in [f"{wire.a}--{wire.b}"]
            if wire.b in self._graph.routers
            and step.groups.get(wire.a, -1) != step.groups.get(wire.b, -1)
            and name not in self._down
        ]
        if not self._cut:
            self._source.complain(
                step.key, "no link leads from one group to another", "groups that are joined"
            )
        self._down.update(dict.fromkeys(self._cut, step.key))
        return self._cut

    def _healed(self, step: Step) -> list[str]:
        if not self._partition:
            self._source.complain(step.key, "the network is not partitioned then", "partition before it")
        # What was mended one by one meanwhile is up already.
        healed = [link for link in self._cut if self._down.get(link) == self._partition]
        for link in healed:
            del self._down[link]
        self._cut, self._partition = [], ()
        return healed

    def _since(self, key: Key) -> str:
        line = self._source.place(key).line
        return f" (line {line})" if line else ""
