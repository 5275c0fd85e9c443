"""What a run directory records about its run: manifest, plan, captures, subscriptions.

Reads the layout of `docs/run-directory.md` and checks it; packets are read in
`analysis.ingest`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from analysis import AnalysisError
from analysis.history import FOREVER, NetworkChange, network_change
from analysis.oracle import (
    NEVER,
    Clock,
    SubscriptionChange,
    advertisement_change,
    subscription_change,
)
from nodes.wire.packets import Role
from testbed.plan.model import InterfacePlan, NodePlan, Plan
from testbed.plan.recorded import (
    ClockReading,
    MachineRecord,
    RecordedRunError,
    read_json,
    read_manifest,
    read_plan,
)
from topologies.fault_kinds import APPLIED


@dataclass(frozen=True, slots=True)
class Capture:
    """What was captured on one interface of a router: its row in `captures/index.json`."""

    node: NodePlan
    interface: InterfacePlan
    peer: NodePlan
    files: tuple[str, ...]
    """One after the other."""
    frames: int
    drops: int
    bytes: int
    decoded: str = ""
    """The machine of a cluster that has decoded it: there is no file, then (`analysis.decoded`)."""

    @property
    def peer_is_client(self) -> bool:
        """Whether it is on an access link."""
        return self.peer.role is Role.CLIENT


@dataclass(frozen=True, slots=True)
class Run:
    """One run, as recorded in its directory."""

    path: Path
    manifest: Mapping[str, Any]
    plan: Plan
    captures: tuple[Capture, ...]
    machines: Mapping[str, MachineRecord] = field(default_factory=dict)
    """On which it took place, by name, if there were several."""

    @property
    def hosts(self) -> dict[int, str] | None:
        """Whose clock each node reads, by node id; None: it is not known."""
        of = {name: machine for machine, record in self.machines.items() for name in record.nodes}
        return {n.node_id: of.get(n.name, n.name) for n in self.plan.nodes} if of else None

    @property
    def readings(self) -> dict[str, Sequence[ClockReading]]:
        """Of the clocks of machines by the controller."""
        return {name: machine.clock for name, machine in self.machines.items()}

    @property
    def shared_path(self) -> Path:
        """The path by which Spark's processes find it, whose working folders are others."""
        return self.path.absolute()

    @property
    def complete(self) -> bool:
        """Whether the run ended as planned."""
        return bool(self.manifest["outcome"] == "complete")

    @property
    def carried_out(self) -> bool:
        """Whether all that the plan has should have happened."""
        return self.complete and not self.manifest.get("live", False)

    @property
    def started(self) -> bool:
        """Whether the network ever became ready."""
        return self.start_ns > 0

    @property
    def start_ns(self) -> int:
        """The scenario's time zero."""
        return int(self.manifest["start_ns"])

    @property
    def end_ns(self) -> int:
        """When the run ended."""
        return int(self.manifest["end_ns"])

    @property
    def clock(self) -> Clock:
        """The clock by which the run's subscriptions are judged."""
        settle_ns = self.plan.timing.settle_ns
        if not self.started:
            return Clock(FOREVER, settle_ns, NEVER)
        return Clock(self.start_ns, settle_ns, FOREVER if self.complete else self.end_ns - settle_ns)

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The fidelity certificate; None: the run has none, since it did not get through its workload."""
        certificate = self.manifest.get("fidelity")
        if not isinstance(certificate, Mapping) or not isinstance(certificate.get("verdict"), str):
            return None
        empty = {"reasons": [], "affected": [], "dilate": 1, "figures": {}, "links": []}
        return {**empty, **certificate}

    @property
    def names(self) -> dict[int, str]:
        """Name by node id."""
        return {n.node_id: n.name for n in self.plan.nodes}

    @property
    def client_ids(self) -> dict[str, int]:
        """Node id by client name."""
        return {n.name: n.node_id for n in self.plan.clients}

    @property
    def router_ids(self) -> dict[str, int]:
        """Node id by router name."""
        return {n.name: n.node_id for n in self.plan.routers}


def load_run(path: Path, plan: Plan | None = None) -> Run:
    """Read what a run directory records about its run.

    Args:
        path: The directory.
        plan: The recorded plan, where it is known already: it is not read again.

    Raises:
        AnalysisError: it is not a run directory, or its documents are damaged.
    """
    try:
        manifest = read_manifest(path)
        plan = plan or read_plan(path, manifest)
        captures = _captures(path / "captures" / "index.json", manifest, plan)
        return Run(path, manifest, plan, captures, _machines(path, manifest))
    except RecordedRunError as error:
        raise AnalysisError(str(error)) from None


T = TypeVar("T")
_CUT_OFF = "damaged or cut off; the line was skipped"


def subscription_changes(run: Run) -> tuple[list[SubscriptionChange], list[str]]:
    """The `subscribe` and `unsubscribe` events in their order, and what was wrong with any."""
    return _read_events(run, 'subscribe"', subscription_change)


def advertisement_changes(run: Run) -> tuple[list[SubscriptionChange], list[str]]:
    """The `advertise` and `unadvertise` events in their order, and what was wrong with any."""
    return read_events(run, 'advertise"', advertisement_change)


def read_events(run: Run, sign: str, read: Callable[[Any], T | None]) -> tuple[list[T], list[str]]:
    """What a function makes of the events whose lines have a sign in them, and what was wrong with any.

    Lines that are cut off are told of by `subscription_changes`, whatever was in them.
    """
    found, problems = _read_events(run, sign, read)
    return found, [problem for problem in problems if _CUT_OFF not in problem]


def _read_events(run: Run, sign: str, read: Callable[[Any], T | None]) -> tuple[list[T], list[str]]:
    changes: list[T] = []
    problems = []
    for number, line in _lines(run.path / "events.jsonl"):
        if not line.endswith("}\n"):
            problems.append(f"events.jsonl:{number}: {_CUT_OFF}")
            continue
        if sign not in line:  # saves parsing the millions of deliveries
            continue
        try:
            change = read(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"events.jsonl:{number}: not an event ({_what(error)}); the line was skipped")
            continue
        if change is not None:
            changes.append(change)
    return changes, problems


def refused_patterns(run: Run, client: str) -> Iterator[tuple[int, str]]:
    """The patterns that the router of a client refused to seek, and why, by its log; none without one."""
    path = run.path / "logs" / f"{client}.jsonl"
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if '"refused"' in line and '"pattern"' in line:
                with suppress(ValueError, KeyError, TypeError):  # damaged lines are told of by `logs`
                    event = json.loads(line)
                    yield int(event["pattern"]), str(event["reason"])


def network_changes(run: Run) -> tuple[list[NetworkChange], list[str]]:
    """The `fault` and `converged` events in their order, and what was wrong with any."""
    changes, problems = [], []
    for number, line in _lines(run.path / "events.jsonl"):
        if '"event":"fault"' not in line and '"event":"converged"' not in line:
            continue
        try:
            change = network_change(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"events.jsonl:{number}: not an event ({_what(error)}); the line was skipped")
            continue
        if change and change.do and change.do not in APPLIED:
            known = ", ".join(APPLIED)
            raise AnalysisError(
                f"{run.path / 'events.jsonl'}:{number}: unknown fault {change.do!r}; known are {known}"
            )
        changes += [change] if change else []
    return changes, problems


def attacked_events(run: Run) -> list[tuple[str, str, int, int]]:
    """Of each attack that has ended: what it was, of whom or what, when it began, and its acts."""
    found, _ = _read_events(run, '"event":"attacked"', _attacked)  # odd ones are told of before
    return found


def _attacked(event: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return str(event["do"]), str(event["target"]), int(event["began_ns"]), int(event["acts"])


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield from enumerate(lines, 1)
    except OSError as error:
        raise AnalysisError(f"{path}: {error.strerror}; a run directory needs its events") from error


def _captures(path: Path, manifest: Mapping[str, Any], plan: Plan) -> tuple[Capture, ...]:
    if not path.exists():
        outcome = manifest["outcome"]
        why = (
            "the scenario records none (set `record: {captures: true}` and run it again)"
            if outcome == "complete"
            else f"the run ({outcome}) ended before it could write its captures' index; run it again"
        )
        raise AnalysisError(f"{path}: missing; without captures there is nothing to analyse: {why}")
    return captures_in(path, plan)


def captures_in(path: Path, plan: Plan) -> tuple[Capture, ...]:
    """What an index of captures lists of routers.

    Raises:
        AnalysisError: it is none.
    """
    nodes = {node.name: node for node in plan.nodes}
    captured = {i.name: (node, i, nodes[i.peer]) for node in plan.routers for i in node.interfaces}
    try:
        return tuple(
            Capture(
                *captured[row["interface"]],
                tuple(row["files"]),
                int(row["frames"]),
                int(row["drops"]),
                int(row.get("bytes", 0)),
                str(row.get("decoded", "")),
            )
            for row in read_json(path)["interfaces"]
            if row["role"] != "client"
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnalysisError(f"{path}: not an index of captures ({_what(error)})") from error


def _machines(path: Path, manifest: Mapping[str, Any]) -> dict[str, MachineRecord]:
    try:
        return {
            str(name): MachineRecord(
                tuple(map(str, record["nodes"])),
                tuple(ClockReading(**{key: int(ns) for key, ns in each.items()}) for each in record["clock"]),
            )
            for name, record in manifest.get("machines", {}).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"machines are not described as they are written ({_what(error)})"
        raise AnalysisError(f"{path / 'manifest.json'}: {what}") from error


def _what(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
