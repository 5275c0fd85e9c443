"""A plan as a run kept it, read back to be run again.

Here: `plan.yaml`, which people may have edited, into a Plan, with the line of
whatever is wrong. Not here: what a plan must hold together for (`soundness`),
nor the scenario it was made of, which is not needed any more.
"""

from __future__ import annotations

import re
from pathlib import Path

from nodes.records import RecordError, from_plain
from testbed.plan.model import Plan
from testbed.plan.problems import Key, Problem, ScenarioError
from testbed.plan.reading import OWN_VALUES_MAX, read_source
from testbed.plan.soundness import check_soundness
from testbed.plan.source import Source, Unreadable

PLAN_BYTES_MAX = 1 << 30
"""Plans hold every single action; they are far larger than scenarios."""

_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def load_recorded(path: str | Path) -> Plan:
    """The plan of a file that `plan_to_yaml` wrote, as it is now.

    Raises:
        ScenarioError: It is not a plan, or one that no world could carry out.
    """
    try:
        source = read_source(
            Path(path), "a plan, as a run keeps it", "name, nodes, links", PLAN_BYTES_MAX, OWN_VALUES_MAX
        )
    except Unreadable as error:
        raise ScenarioError([error.problem]) from None
    plan = None if source.problems else _plan(source)
    if plan is not None:
        check_soundness(source, plan)
    if plan is None or source.problems:
        raise ScenarioError(source.problems)
    return plan


def _plan(source: Source) -> Plan | None:
    """The plan, or None and a note of the first thing that is of another shape."""
    try:
        return from_plain(Plan, source.value)
    except RecordError as error:
        key, _, message = str(error).partition(": ")
        source.problems.append(_problem(source, _steps(source, key), key, message))
        return None


def _problem(source: Source, at: Key, key: str, message: str) -> Problem:
    found, _, expected = message.partition("; known are ")
    place = source.place(at, at_key=bool(expected))
    return Problem(place.path, place.line, place.column, key, found, f"one of {expected}" if expected else "")


def _steps(source: Source, key: str) -> Key:
    """A record's `nodes[0].name` as positions; keys with dots in them end at what holds them."""
    steps: Key = ()
    for number, name in _STEP.findall(key):
        longer = (*steps, int(number) if number else name)
        if longer not in source.values and longer not in source.keys:
            break
        steps = longer
    return steps
