"""The Plan as `plan.yaml` and back, exactly.

Here: writing YAML a person can read: block style, and one line for what has
only scalars inside. Every text is quoted, so that none is taken for a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodes.records import RecordError, from_plain, to_plain
from testbed.plan.model import Plan
from testbed.plan.reading import read_text
from testbed.plan.source import Unreadable

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PRINTABLE = re.compile(
    "[^ !#-\\[\\]-~\xa0-\u167f\u1681-\u1fff\u2070-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_HEADER = "# The plan of a run, in full; the keys are the fields of testbed/plan/model.py.\n"


def plan_to_yaml(plan: Plan) -> str:
    """The plan's text; `plan_from_yaml` reads back an equal plan."""
    return _HEADER + "\n".join(_block(to_plain(plan), "")) + "\n"


def plan_from_yaml(text: str) -> Plan:
    """The plan of a text that `plan_to_yaml` wrote.

    Raises:
        ValueError: The text is not a plan.
    """
    try:
        return from_plain(Plan, read_text(text, "plan.yaml"))
    except (Unreadable, RecordError) as error:
        raise ValueError(f"not a plan: {error}") from None


def _block(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, list) and item:
            yield f"{indent}{_key(key)}:"
            yield from _items(item, indent)
        elif isinstance(item, Mapping) and item:
            yield f"{indent}{_key(key)}:"
            yield from _block(item, indent + "  ")
        else:
            yield f"{indent}{_key(key)}: {_flow(item)}"


def _items(items: list[Any], indent: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping) and any(isinstance(v, list) and v for v in item.values()):
            lines = list(_block(item, indent + "  "))
            yield f"{indent}- {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield f"{indent}- {_flow(item)}"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(repr(value), repr(value))
    return "null" if value is None else str(value) if isinstance(value, int) else _quoted(value)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return '"' + _PRINTABLE.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(char)
    return named or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
