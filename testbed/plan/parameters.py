"""`parameters`: names for values, and `${name}` in their place.

Here: putting the values in. Not here: many runs with different ones (`matrix`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source

_HOLE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_APART = ("parameters", "matrix")
"""What is read before any value is put in."""


def fill_in(source: Source) -> None:
    """Put parameters' values where the scenario names them.

    A text that is nothing but `${name}` becomes the value itself; within a
    longer text the value stands as it is written.
    """
    if not isinstance(source.value, dict):
        return
    values = _values(source)
    used: set[str] = set()
    for name in [n for n in source.value if n not in _APART]:
        source.value[name] = _filled(source, source.value[name], (name,), values, used)
    for name in values:
        if name not in used:
            source.complain(
                ("parameters", name), "the scenario does not use it", f"${{{name}}} somewhere", at_key=True
            )


def _values(source: Source) -> dict[str, Any]:
    spec = source.value.get("parameters")
    return {
        name: value
        for name, value in (spec.items() if isinstance(spec, dict) else ())
        if _NAME.fullmatch(str(name)) and isinstance(value, str | int | float | bool)
    }


def _filled(source: Source, value: Any, key: Key, values: Mapping[str, Any], used: set[str]) -> Any:
    if isinstance(value, dict):
        return {k: _filled(source, v, (*key, k), values, used) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(source, v, (*key, i), values, used) for i, v in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value
    known = list(_named(source, value, key, values))
    used.update(known)
    whole = _HOLE.fullmatch(value)
    if whole and whole[1] in values:
        return values[whole[1]]
    return _HOLE.sub(lambda hole: _text(values[hole[1]]) if hole[1] in values else hole[0], value)


def _named(source: Source, text: str, key: Key, values: Mapping[str, Any]) -> Iterator[str]:
    for hole in _HOLE.finditer(text):
        if hole[1] in values:
            yield hole[1]
            continue
        expected = f"one of {', '.join(values)}" if values else "a name that `parameters` gives a value"
        source.complain(key, f"there is no parameter {hole[1]}", expected, did_you_mean(hole[1], values))


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
