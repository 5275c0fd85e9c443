"""What was different between two runs before they began: plan, versions, machine, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.compare.latencies import duration
from analysis.rundir import Run

SHOWN = 8
"""Differences of one kind that are told one by one."""

Plain = Mapping[str, Any]

_SETTINGS = ("name", "seed", "scheme", "scheme_options", "hop_limit", "timing", "timers", "limits", "record")
_MANIFEST = ("world", "overrides", "kernel", "machine", "versions", "implementation", "dilate")


def plan_differences(before: Plain, after: Plain) -> list[str]:
    """What the two plans differ in."""
    said = [text for key in _SETTINGS for text in _values(key, before.get(key), after.get(key))]
    for kind in ("nodes", "links"):
        said += _shown(_members(kind[:-1], _named(before[kind]), _named(after[kind])))
    said += _shown(_scripts(_named(before["nodes"]), _named(after["nodes"])))
    faults = [[_fault(f) for f in plan.get("faults") or ()] for plan in (before, after)]
    said += _shown(_lists("fault", *faults))
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
    return duration(value) if key.endswith("_ns") and isinstance(value, int) else str(value)


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
        yield f"{kind} before alone: {_joined(gone)}"
    if new:
        yield f"{kind} after alone: {_joined(new)}"


def _joined(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _scripts(before: Mapping[str, Plain], after: Mapping[str, Plain]) -> Iterator[str]:
    for name in (n for n in before if n in after):
        first, second = (node[name].get("script") or [] for node in (before, after))
        if first == second:
            continue
        for do in ("subscribe", "unsubscribe", "publish"):
            lines = [[a for a in script if a.get("do") == do] for script in (first, second)]
            if lines[0] != lines[1]:
                yield f"client {name}: {len(lines[0])} times {do} before, {len(lines[1])} after, not the same"


def _fault(fault: Plain) -> str:
    after = "" if fault.get("after", "start") == "start" else f" after {fault['after']}"
    return f"{fault['do']} {fault['target']} at {duration(fault['at_ns'])}{after}"


def _shown(said: Iterable[str]) -> list[str]:
    found = list(said)
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"and {more} more of the kind"] if more > 0 else [])


def loses_by_plan(plan: Plain) -> bool:
    """Whether chance or faults decide what arrives, so that two runs of the plan may differ."""
    ways = [way for link in plan["links"] for way in (link.get("impairment"), link.get("back")) if way]
    chancy = ("loss", "corrupt", "rate_bps")
    return bool(plan.get("faults")) or any(way.get(key) for way in ways for key in chancy)
