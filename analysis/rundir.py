"""What a run directory says about its run: manifest, plan, captures, subscriptions.

Reads the layout of `docs/run-directory.md` and checks it; packets are read in
`analysis.ingest`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from analysis.calm import History, NetworkChange, history_of
from analysis.errors import AnalysisError
from topologies.fault_kinds import APPLIED

CLIENT_ROLES = ("2", "client")


@dataclass(frozen=True, slots=True)
class Node:
    """A router or a client."""

    name: str
    node_id: int
    is_client: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A link and the names of the nodes at its ends."""

    name: str
    a: str
    b: str
    cost: int
    delay_ns: int | None = None
    """By the plan, the lesser of both directions; None if it does not say one."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A captured router interface, as `captures/index.json` names it."""

    files: tuple[str, ...]
    """One after the other."""
    interface: str
    node: str
    node_id: int
    mac: str
    peer: str
    peer_id: int
    peer_is_client: bool
    link: str
    packets: int
    drops: int


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A client's `subscribe` (with a predicate) or `unsubscribe` (without)."""

    time_ns: int
    client: str
    subscription: int
    predicate: str | None


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the scenario's time, from its start."""

    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Expected:
    """What the scenario expects: `quantity operator value`, of the whole run or a part of it."""

    text: str
    quantity: str
    operator: str
    value: float
    scope: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run, as its directory tells it."""

    path: Path
    manifest: Mapping[str, Any]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    interfaces: tuple[Interface, ...]
    settle_ns: int
    description: str
    phases: tuple[Phase, ...] = ()
    expect: tuple[Expected, ...] = ()
    faulty: bool = False
    """Whether the plan has faults."""

    @property
    def complete(self) -> bool:
        """Whether the run ended as planned."""
        return bool(self.manifest["outcome"] == "complete")

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
    def names(self) -> dict[int, str]:
        """Name by node id."""
        return {n.node_id: n.name for n in self.nodes}

    @property
    def client_ids(self) -> dict[str, int]:
        """Node id by client name."""
        return {n.name: n.node_id for n in self.nodes if n.is_client}


def load_run(path: Path) -> Run:
    """Read what a run directory says about its run.

    Raises:
        AnalysisError: it is not a run directory, or its documents are damaged.
    """
    manifest = _manifest(path)
    plan = _plan(path / "plan.yaml")
    try:
        return Run(
            path,
            manifest,
            tuple(_node(n) for n in plan["nodes"]),
            tuple(_link(k, _open_delay_ns(manifest, plan)) for k in plan["links"]),
            _interfaces(path / "captures" / "index.json", str(manifest["outcome"])),
            int(plan["timing"]["settle_ns"]),
            str(plan.get("description") or ""),
            tuple(_phase(p) for p in plan.get("phases") or ()),
            tuple(_expected(e) for e in plan.get("expect") or ()),
            bool(plan.get("faults")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnalysisError(f"{path / 'plan.yaml'}: not a plan of this version ({_what(error)})") from error


def subscription_changes(run: Run) -> tuple[list[SubscriptionChange], list[str]]:
    """The `subscribe` and `unsubscribe` events in their order, and what was wrong with any."""
    changes, problems = [], []
    for number, line in _lines(run.path / "events.jsonl"):
        if not line.endswith("}\n"):
            problems.append(f"events.jsonl:{number}: damaged or cut off; the line was skipped")
            continue
        if 'subscribe"' not in line:  # saves parsing the millions of deliveries
            continue
        try:
            change = subscription_change(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"events.jsonl:{number}: not an event ({_what(error)}); the line was skipped")
            continue
        if change is not None:
            changes.append(change)
    return changes, problems


def subscription_change(event: Mapping[str, Any]) -> SubscriptionChange | None:
    """What a client's event changes about its subscriptions; None of any other event."""
    if event["event"] not in {"subscribe", "unsubscribe"}:
        return None
    predicate = str(event["predicate"]) if event["event"] == "subscribe" else None
    return SubscriptionChange(
        int(event["time_ns"]), str(event["node"]), int(event["subscription"]), predicate
    )


def network_history(run: Run) -> tuple[History, list[str]]:
    """When the network stood still, by the `fault` and `converged` events, and what was wrong with any."""
    changes, problems = [], []
    for number, line in _lines(run.path / "events.jsonl"):
        if '"event":"fault"' not in line and '"event":"converged"' not in line:
            continue
        try:
            event = json.loads(line)
            do, target = (str(event[key]) if event["event"] == "fault" else "" for key in ("do", "target"))
            changes.append(NetworkChange(int(event["time_ns"]), do, target))
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"events.jsonl:{number}: not an event ({_what(error)}); the line was skipped")
            continue
        if do and do not in APPLIED:
            known = ", ".join(APPLIED)
            raise AnalysisError(
                f"{run.path / 'events.jsonl'}:{number}: unknown fault {do!r}; known are {known}"
            )
    ids = {n.name: n.node_id for n in run.nodes}
    links = [(link.name, link.a, link.b) for link in run.links]
    return history_of(ids, links, changes, run.start_ns, run.settle_ns), problems


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield from enumerate(lines, 1)
    except OSError as error:
        raise AnalysisError(f"{path}: {error.strerror}; a run directory needs its events") from error


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise AnalysisError(f"{path}: no such directory; name one that `cbn run` has written")
    if not (path / "manifest.json").exists():
        raise AnalysisError(f"{path}: not a run directory (it has no manifest.json); `cbn run` makes one")
    manifest = _json(path / "manifest.json")
    if manifest.get("format") != 1:
        raise AnalysisError(
            f"{path / 'manifest.json'}: format is {manifest.get('format')!r};"
            " this version of the analysis reads format 1"
        )
    for key, kind in (("world", str), ("outcome", str), ("start_ns", int), ("end_ns", int)):
        if not isinstance(manifest.get(key), kind):
            raise AnalysisError(
                f"{path / 'manifest.json'}: {key} must be {_KINDS[kind]}, not {manifest.get(key)!r}"
            )
    return manifest


_KINDS = {str: "a string", int: "an integer"}


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AnalysisError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise AnalysisError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise AnalysisError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _plan(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as lines:
            plan = YAML(typ="safe").load(_without_scripts(lines))
    except OSError as error:
        raise AnalysisError(f"{path}: {error.strerror}; a run directory needs its plan") from error
    except (YAMLError, ValueError) as error:
        raise AnalysisError(f"{path}: not YAML: {error}") from error
    if not isinstance(plan, dict):
        raise AnalysisError(f"{path}: expected a plan, found {type(plan).__name__}")
    return plan


def _without_scripts(lines: Iterable[str]) -> str:
    """A plan less what clients do, which is most of it, in events.jsonl anyway, and long to parse."""
    return "".join(line for line in lines if not line.startswith("  - {at_ns: "))


def _phase(phase: Mapping[str, Any]) -> Phase:
    return Phase(str(phase["name"]), int(phase["start_ns"]), int(phase["end_ns"]))


def _expected(told: Mapping[str, Any]) -> Expected:
    words = [str(told[key]) for key in ("text", "quantity", "operator")]
    return Expected(words[0], words[1], words[2], float(told["value"]), str(told.get("scope") or ""))


def _node(node: Mapping[str, Any]) -> Node:
    return Node(str(node["name"]), int(node["node_id"]), str(node["role"]).lower() in CLIENT_ROLES)


def _link(link: Mapping[str, Any], open_delay_ns: int | None) -> Link:
    ways = [way for way in (link.get("impairment"), link.get("back")) if way]
    delays = [open_delay_ns if way.get("delay_ns") is None else int(way["delay_ns"]) for way in ways]
    known = [delay for delay in delays if delay is not None]
    delay_ns = min(known) if known and len(known) == len(ways) else None
    return Link(str(link["name"]), str(link["a"]), str(link["b"]), int(link.get("cost", 1)), delay_ns)


def _open_delay_ns(manifest: Mapping[str, Any], plan: Mapping[str, Any]) -> int | None:
    """Of links without a delay of their own: the simulator gives them one, other worlds what they have."""
    told = plan["timing"].get("hop_delay_ns") if manifest["world"] == "sim" else None
    return None if told is None else int(told)


def _interfaces(path: Path, outcome: str) -> tuple[Interface, ...]:
    if not path.exists():
        why = (
            "the scenario records none (set `record: {captures: true}` and run it again)"
            if outcome == "complete"
            else f"the run ({outcome}) ended before it could write its captures' index; run it again"
        )
        raise AnalysisError(f"{path}: missing; without captures there is nothing to analyse: {why}")
    try:
        rows = _json(path)["interfaces"]
        return tuple(_interface(row) for row in rows if row.get("role") != "client")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AnalysisError(f"{path}: not an index of captures ({_what(error)})") from error


def _interface(entry: Mapping[str, Any]) -> Interface:
    return Interface(
        tuple(str(name) for name in entry.get("files") or [entry["file"]]),
        str(entry["interface"]),
        str(entry["node"]),
        int(entry["node_id"]),
        str(entry["mac"]),
        str(entry["peer"]),
        int(entry["peer_id"]),
        entry["peer_role"] == "client",
        str(entry["link"]),
        int(entry["packets"]),
        int(entry["drops"]),
    )


def _what(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
