"""What was different between two runs before they began: plan, versions, machine, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.rundir import Run
from nodes.records import to_plain
from testbed.plan.model import Fault, Plan
from topologies.quantities import duration_text, listed

SHOWN = 8
"""Differences of one kind that are told one by one."""

Plain = Mapping[str, Any]

_SETTINGS = ("name", "seed", "scheme", "scheme_options", "hop_limit", "timing", "timers", "limits", "record")
_MANIFEST = ("world", "overrides", "kernel", "machine", "versions", "implementation", "dilate")


def plan_differences(before: Plan, after: Plan) -> list[str]:
    """What the two plans differ in."""
    first, second = to_plain(before), to_plain(after)
    said = [text for key in _SETTINGS for text in _values(key, first[key], second[key])]
    for kind in ("nodes", "links"):
        said += _shown(_members(kind[:-1], _named(first[kind]), _named(second[kind])))
    said += _shown(_scripts(before, after))
    said += _shown(_lists("fault", *([_fault(f) for f in plan.faults] for plan in (before, after))))
    return said


def manifest_differences(before: Run, after: Run) -> list[str]:
    """Worlds, versions, machines; and runs that did not end well."""
    first, second = before.manifest, after.manifest
    said = [text for key in _MANIFEST for text in _values(key, first.get(key), second.get(key))]
    for which, run in (("before", before), ("after", after)):
        if not run.complete:
            said.append(f"the run {which} is {run.manifest['outcome']}: {run.manifest.get('message')}")
    return said


def _values(key: str, before: Any, after: Any) -> Iterator[str]:
    """Differences down to the single key."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _values(f"{key}.{name}", before.get(name), after.get(name))
    elif before != after:
        yield f"{key}: {_told(key, before)} before, {_told(key, after)} after"


def _told(key: str, value: Any) -> str:
    if value is None or value in ({}, []):
        return "none"
    return duration_text(value) if key.endswith("_ns") and isinstance(value, int) else str(value)


def _named(entries: Iterable[Plain]) -> dict[str, Plain]:
    return {str(entry["name"]): entry for entry in entries}


def _members(kind: str, before: Mapping[str, Plain], after: Mapping[str, Plain]) -> Iterator[str]:
    yield from _lists(kind, list(before), list(after))
    ignored = ("script", "interfaces", "node_id", "a_interface", "b_interface")
    for name in (n for n in before if n in after):
        for key in (k for k in before[name] if k not in ignored):
            yield from _values(f"{kind} {name}: {key}", before[name].get(key), after[name].get(key))


def _lists(kind: str, before: list[str], after: list[str]) -> Iterator[str]:
    gone, new = [n for n in before if n not in after], [n for n in after if n not in before]
    if gone:
        yield f"{kind} before alone: {listed(gone, SHOWN)}"
    if new:
        yield f"{kind} after alone: {listed(new, SHOWN)}"


def _scripts(before: Plan, after: Plan) -> Iterator[str]:
    earlier = {client.name: client.script for client in before.clients}
    for client in after.clients:
        scripts = (earlier.get(client.name, client.script), client.script)
        if scripts[0] == scripts[1]:
            continue
        for do in ("subscribe", "unsubscribe", "publish"):
            first, second = ([action for action in script if action.do == do] for script in scripts)
            if first != second:
                counts = f"{len(first)} times {do} before, {len(second)} after"
                yield f"client {client.name}: {counts}, not the same"


def _fault(fault: Fault) -> str:
    after = "" if fault.after == "start" else f" after {fault.after}"
    return f"{fault.do} {fault.target} at {duration_text(fault.at_ns)}{after}"


def _shown(said: Iterable[str]) -> list[str]:
    found = list(said)
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"and {more} more of the kind"] if more > 0 else [])


def loses_by_plan(plan: Plan) -> bool:
    """Whether chance or faults decide what arrives, so that two runs of the plan may differ."""
    ways = [way for link in plan.links for way in (link.impairment, link.impairment_back)]
    return bool(plan.faults) or any(way.loss or way.corrupt or way.rate_bps for way in ways)
