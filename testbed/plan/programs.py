"""`run`: programs that are clients, and how long they may take.

Here: reading both. Not here: starting a program, which is the emulated world's (`testbed.emu.programs`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.quantities import duration_ns


def read_programs(source: Source, data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The program of each client that is one, as its words; what is wrong is noted in the source."""
    programs = {}
    for name, client in (data.get("clients") or {}).items():
        if "run" in client:
            programs[name] = _words(source, client, ("clients", name))
    return programs


def _words(source: Source, client: Mapping[str, Any], key: Key) -> tuple[str, ...]:
    for other in ("subscribe", "patterns", "advertise", "publish", "entities"):
        if other in client:
            message = f"run and {other} both say what the client does"
            expected = "one of them: a program subscribes and publishes by itself"
            source.complain((*key, other), message, expected)
    try:
        words = tuple(shlex.split(client["run"]))
    except ValueError as error:
        source.complain((*key, "run"), f"it cannot be split into words: {error}", "quotes in pairs")
        return ()
    if not words:
        source.complain((*key, "run"), "it names no program", "a program and its arguments, as python app.py")
    return words


def read_duration(source: Source, data: Mapping[str, Any], programs: Mapping[str, object]) -> int:
    """How long programs may take; a run must not wait for ever for one that never ends."""
    if programs and "duration" not in data:
        key: Key = ("clients", next(iter(programs)), "run")
        expected = "duration: 10s, or another time, at the top of the scenario"
        source.complain(key, "nothing says how long the program may take", expected)
    if not programs and "duration" in data:
        message = "no client runs a program; the others end with their last action"
        source.complain(("duration",), message, "no duration", at_key=True)
    return duration_ns(data["duration"]) if "duration" in data else 0
