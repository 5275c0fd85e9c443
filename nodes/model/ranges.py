"""The range of values that constraints on one attribute allow.

Values are positions on a line, so that all types are compared alike. A range may be
too wide (because of string operators and the bound on the length of strings) but never
too narrow: a value outside of it is certainly not allowed, which is what M7 and E14
need. Not here: filters and predicates (`covering`).

Positions are integers, and the next position is one more: an integer itself, a time
its nanoseconds, false 0 and true 1, a float the rank of its bits (without gaps, with one
zero). A string's position is its UTF-8 bytes, and the next one has a NUL appended; 0xFF
does not occur in UTF-8, so a prefix and 0xFF comes after all strings with that prefix.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodes.model.constraints import Constraint, Op
from nodes.model.values import INTEGER_MAX, INTEGER_MIN, Time, Type, Value

_RANK_OF_INFINITY = 0x7FF0_0000_0000_0000

_LIMITS: dict[Type, tuple[Any, Any]] = {
    Type.STRING: (b"", b"\xff"),
    Type.INTEGER: (INTEGER_MIN, INTEGER_MAX + 1),
    Type.FLOAT: (-_RANK_OF_INFINITY, _RANK_OF_INFINITY + 1),
    Type.BOOLEAN: (0, 2),
    Type.TIME: (INTEGER_MIN, INTEGER_MAX + 1),
}


@dataclass(frozen=True, slots=True)
class Range:
    """The positions from `low` up to, but not including, `end`."""

    low: Any
    end: Any

    @property
    def empty(self) -> bool:
        """Whether it has no position."""
        return bool(self.low >= self.end)

    @property
    def single(self) -> bool:
        """Whether it has one position."""
        return bool(_next(self.low) == self.end)

    def within(self, other: Range) -> bool:
        """Whether all of this lies in the other."""
        return bool(self.low >= other.low and self.end <= other.end)


def range_of(constraints: Sequence[Constraint]) -> Range:
    """What a conjunction allows; the constraints are on one name and type, at least one."""
    spans = [span_of(c) for c in constraints]
    low, end = max(s.low for s in spans), min(s.end for s in spans)
    return _without(Range(low, end), [_position(c.value) for c in constraints if c.op is Op.NE])


def span_of(constraint: Constraint) -> Range:
    """What one constraint allows, without holes and string patterns."""
    low, end = _LIMITS[constraint.type]
    if constraint.op in (Op.NE, Op.SUFFIX, Op.SUBSTRING, Op.ANY):
        return Range(low, end)
    at = _position(constraint.value)
    if constraint.op in (Op.EQ, Op.GE, Op.PREFIX):
        low = at
    if constraint.op is Op.GT:
        low = _next(at)
    if constraint.op in (Op.EQ, Op.LE):
        end = _next(at)
    if constraint.op is Op.LT:
        end = at
    if constraint.op is Op.PREFIX:
        end = at + b"\xff"
    return Range(low, end)


def _without(found: Range, holes: list[Any]) -> Range:
    """Move the ends of the range inward over holes there."""
    low, end = found.low, found.end
    for hole in sorted(holes):
        low = _next(hole) if hole == low else low
    for hole in sorted(holes, reverse=True):
        end = hole if _next(hole) == end else end
    return Range(low, end)


def _next(position: Any) -> Any:
    return position + b"\0" if isinstance(position, bytes) else position + 1


def _position(value: Value | None) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Time):
        return value.ns
    if isinstance(value, float):
        return _rank(value)
    return int(value or 0)


def _rank(value: float) -> int:
    bits: int = struct.unpack(">q", struct.pack(">d", value))[0]
    return bits if bits >= 0 else -(bits + 2**63)
