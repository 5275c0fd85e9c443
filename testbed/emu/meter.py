"""Measures what runs on one machine from outside, while the workload runs: the machine, nodes and links.

Here: asking whoever knows, twice, and taking the difference. Not here: what the
sampler does (`measure`), whole runs (`measuring`), what follows (`testbed.runs.judgement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodes.daemon.lateness import since
from testbed.emu.children import Child, start_helper
from testbed.emu.nodes import Nodes
from testbed.live.fabric import ProcessDiedError, Status
from testbed.runs.measures import (
    LINK_COUNTERS,
    InterfaceMeasure,
    LinkMeasure,
    MachineMeasure,
    Measured,
    NodeMeasure,
)

ANSWER_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Turns:
    """How often a process was given a processor, how long it waited for that, how long it ran."""

    turns: int
    waited_ns: int
    ran_ns: int


@dataclass(frozen=True, slots=True)
class _Moment:
    """What everybody said at one time."""

    statuses: Mapping[str, Status]
    links: Sequence[LinkMeasure]
    turns: Mapping[str, Turns]


class Meter:
    """The measurements of one machine; make it, `start` it, and tell it when the workload begins and ends."""

    def __init__(self) -> None:
        self._sampler: Child | None = None
        self._began: _Moment | None = None

    def start(self, environment: Mapping[str, str], logs: Path) -> None:
        """Start the sampler."""
        self._sampler = start_helper(
            "the sampler", "testbed.emu.measure", [], environment, logs / "sampler.log", options=["-S"]
        )

    def begin(self, nodes: Nodes, links: Sequence[LinkMeasure]) -> None:
        """The workload begins: what happened before counts no more; how late links were is counted anew."""
        self._began = _moment(nodes, links)
        self._sample("begin")

    def end(self, nodes: Nodes, links: Sequence[LinkMeasure]) -> Measured:
        """The workload is over and everything has arrived."""
        assert self._began is not None, "it has begun before it ends"
        machine = self._sample("end")
        now = _moment(nodes, links)
        return Measured(machine, _nodes(self._began, now), _links(self._began.links, now.links))

    def stop(self) -> list[str]:
        """End the sampler; what went wrong, for people."""
        return self._sampler.stop(STOP_TIMEOUT_S) if self._sampler is not None else []

    def _sample(self, do: str) -> MachineMeasure | None:
        """A sampler that is not there any more is a reason to doubt, not to fail."""
        assert self._sampler is not None
        try:
            return MachineMeasure(**self._sampler.ask(do, ANSWER_TIMEOUT_S))
        except ProcessDiedError:
            return None


def read_turns(pid: int) -> Turns | None:
    """Of all threads of a process; None: it has ended, or the kernel does not count.

    What the main thread alone has is not enough: a router forwards in another.
    """
    turns = waited_ns = ran_ns = 0
    try:
        for task in (Path("/proc") / str(pid) / "task").iterdir():
            ran, waited, count = (task / "schedstat").read_text(encoding="ascii").split()
            turns, waited_ns, ran_ns = turns + int(count), waited_ns + int(waited), ran_ns + int(ran)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Turns(turns, waited_ns, ran_ns)


def _moment(nodes: Nodes, links: Sequence[LinkMeasure]) -> _Moment:
    children = {name: child.process.pid for name, child in nodes.children.items()}
    turns = {name: found for name, pid in children.items() if (found := read_turns(pid)) is not None}
    return _Moment(nodes.statuses(), links, turns)


def _nodes(before: _Moment, after: _Moment) -> tuple[NodeMeasure, ...]:
    """Of the nodes that answered at the end."""
    return tuple(
        _node(name, before.statuses.get(name), status, before.turns.get(name), after.turns.get(name))
        for name, status in after.statuses.items()
    )


def _node(
    name: str, before: Status | None, after: Status, turned: Turns | None, turns: Turns | None
) -> NodeMeasure:
    earlier: Mapping[str, Any] = before or {"lateness": {}, "interfaces": []}
    rows = {row["name"]: row for row in earlier["interfaces"]}
    measured = NodeMeasure(
        name,
        since(after["lateness"], earlier["lateness"]),
        tuple(_interface(row, rows.get(row["name"], {})) for row in after["interfaces"]),
    )
    if turned is None or turns is None or turns.turns < turned.turns:
        return measured
    return replace(
        measured,
        turns=turns.turns - turned.turns,
        waited_ns=turns.waited_ns - turned.waited_ns,
        ran_ns=turns.ran_ns - turned.ran_ns,
    )


def _interface(after: Mapping[str, Any], before: Mapping[str, Any]) -> InterfaceMeasure:
    def grown(*keys: str) -> int:
        """Since then; all of it if the node began anew."""
        old, new = (sum(row.get(key, 0) or 0 for key in keys) for row in (before, after))
        return new - old if new >= old else new

    return InterfaceMeasure(
        after["name"],
        sent_messages=grown("tx_messages"),
        received_messages=grown("rx_messages"),
        overflows=grown("rx_overflows", "control_overflows"),
        refused=grown("tx_errors"),
    )


def _links(before: Sequence[LinkMeasure], after: Sequence[LinkMeasure]) -> tuple[LinkMeasure, ...]:
    """What was counted between; how late frames were was counted anew at the first."""
    known = {measure.source: measure for measure in before}
    return tuple(_link(known.get(measure.source), measure) for measure in after)


def _link(before: LinkMeasure | None, after: LinkMeasure) -> LinkMeasure:
    if before is None:
        return after
    return replace(after, **{name: getattr(after, name) - getattr(before, name) for name in LINK_COUNTERS})
