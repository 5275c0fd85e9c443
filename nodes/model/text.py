"""Values, filters, predicates and messages as canonical text.

Here: writing. Reading it back is `syntax`; what is written here reads back as
the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from nodes.model.constraints import Constraint, Op
from nodes.model.filters import Filter, Predicate
from nodes.model.values import Time, Value

KEYWORDS = frozenset({"and", "or", "any", "all", "none", "true", "false", "inf"})
BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")

_NS_PER_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1)
_NAMED_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}
# Control characters, and those that reorder or hide the text around them.
_UNSAFE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def format_name(name: str) -> str:
    """An attribute's name, in backquotes where it needs them."""
    if BARE_NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    return _quoted(name, "`")


def format_value(value: Value) -> str:
    """A value as a literal."""
    if isinstance(value, str):
        return _quoted(value, '"')
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Time):
        return format_time(value)
    return repr(value)


def format_time(time: Time) -> str:
    """A time in UTC with as many fractional digits as it needs."""
    seconds, fraction = divmod(time.ns, _NS_PER_SECOND)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"@{(_EPOCH + timedelta(seconds=seconds)).isoformat()}{digits}Z"


def format_constraint(constraint: Constraint) -> str:
    """One constraint; the type is written only if there is no value that shows it."""
    name = format_name(constraint.name)
    if constraint.op is Op.ANY or constraint.value is None:
        return f"{name} any {constraint.type.text}"
    return f"{name} {constraint.op.text} {format_value(constraint.value)}"


def format_filter(filter_: Filter) -> str:
    """A filter; `all` if it has no constraint."""
    return " and ".join(format_constraint(c) for c in filter_.constraints) or "all"


def format_predicate(predicate: Predicate) -> str:
    """A predicate; `none` if it has no filter."""
    return " or ".join(format_filter(f) for f in predicate.filters) or "none"


def format_message(message: Mapping[str, Value]) -> str:
    """A message, ordered by name; `none` if it has no attribute."""
    return ", ".join(f"{format_name(n)} = {format_value(message[n])}" for n in sorted(message)) or "none"


def _quoted(text: str, quote: str) -> str:
    escaped = _UNSAFE.sub(lambda m: _NAMED_ESCAPES.get(m[0], f"\\u{{{ord(m[0]):x}}}"), text)
    return quote + escaped.replace(quote, "\\" + quote) + quote
