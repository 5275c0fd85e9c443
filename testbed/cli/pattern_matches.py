"""The answer of `cbn match --pattern`: which messages make matches, and why there are none.

Not here: what a match is (`nodes.model.patterns`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nodes import model
from nodes.model.pattern_syntax import format_duration
from nodes.model.patterns import Composed, Expression, Occurrence, Pattern
from nodes.model.values import Value

_TIMED = re.compile(r"\s*(?P<number>[0-9]{1,12})(?P<unit>ns|us|ms|s|min|h)\s+(?P<message>.*)", re.DOTALL)
_UNITS_NS = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

Published = tuple[Occurrence, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is said of an expression within the pattern."""

    text: str
    matches: list[list[int]]
    """By the numbers of the messages, from 1."""
    reason: str = ""
    """Why there are none, where it is the expression itself that has none."""


def published(number: int, text: str) -> Published:
    """The message of an argument, as `2s price = 3`: the number-th, published at that time.

    Raises:
        UsageError: The argument has no time.
        PredicateSyntaxError: What follows the time is no message.
    """
    found = _TIMED.fullmatch(text)
    if not found:
        raise model.UsageError(f"{text!r} has no time; write when it is published before it: '2s price = 3'")
    time_ns = int(found["number"]) * _UNITS_NS[found["unit"]]
    return Occurrence(time_ns, 0, number), model.parse_message(found["message"])


def findings(pattern: Pattern, messages: Sequence[Published]) -> list[Finding]:
    """Of each expression in the pattern, those within it first."""
    return list(_findings(pattern.expression, messages))


def told(pattern: Pattern, messages: Sequence[Published]) -> list[list[int]]:
    """The matches that the pattern's pairing tells."""
    return _numbers(model.matches_of(pattern, messages))


def _findings(expression: Expression, messages: Sequence[Published]) -> list[Finding]:
    operands = expression.operands if isinstance(expression, Composed) else ()
    within = [_findings(each, messages) for each in operands]
    found = model.every_match(expression, messages)
    reason = "" if found else _reason(expression, messages, [each[-1] for each in within])
    own = Finding(model.format_expression(expression), _numbers(found), reason)
    return [*(finding for each in within for finding in each), own]


def _reason(expression: Expression, messages: Sequence[Published], operands: Sequence[Finding]) -> str:
    if not isinstance(expression, Composed):
        return "no message matches it"
    lacking = [finding.text for finding in operands if not finding.matches]
    if lacking and expression.joint is not model.Joint.OR:
        return f"{lacking[0]} has no match"
    unbounded = model.every_match(replace(expression, within_ns=None), messages)
    if unbounded and expression.within_ns is not None:
        apart_ns = min(max(match).time_ns - min(match).time_ns for match in unbounded)
        return f"its messages are {format_duration(apart_ns)} apart or more"
    return {
        model.Joint.THEN: "what matches the first was not published before what matches the next",
        model.Joint.AND_ANOTHER: "it takes different messages",
    }.get(expression.joint, "no operand has a match")


def _numbers(matches: Sequence[model.Components]) -> list[list[int]]:
    return [[occurrence.sequence for occurrence in match] for match in matches]
