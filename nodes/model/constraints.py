"""One constraint on one attribute (M2, M3).

Here: the operators, which types they are for, and what they mean. Not here:
conjunctions and disjunctions (`filters`), implication (`covering`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from nodes.model.values import Type, UsageError, Value, check_name, check_value, type_of


class Op(IntEnum):
    """A comparison; the number is the one on the wire."""

    EQ = 1
    NE = 2
    LT = 3
    GT = 4
    LE = 5
    GE = 6
    PREFIX = 7
    SUFFIX = 8
    SUBSTRING = 9
    ANY = 10

    @property
    def text(self) -> str:
        """The operator as written in predicates, e.g. `>*`."""
        return _TEXTS[self]


_TEXTS = {
    Op.EQ: "=",
    Op.NE: "!=",
    Op.LT: "<",
    Op.GT: ">",
    Op.LE: "<=",
    Op.GE: ">=",
    Op.PREFIX: ">*",
    Op.SUFFIX: "*<",
    Op.SUBSTRING: "*",
    Op.ANY: "any",
}

# Strings compare by code points, which is the order of their UTF-8 bytes.
_MEANINGS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.GT: operator.gt,
    Op.LE: operator.le,
    Op.GE: operator.ge,
    Op.PREFIX: str.startswith,
    Op.SUFFIX: str.endswith,
    Op.SUBSTRING: operator.contains,
    Op.ANY: lambda _value, _none: True,
}

_EVERY_TYPE = {Op.EQ, Op.NE, Op.ANY}
_STRING_ONLY = {Op.PREFIX, Op.SUFFIX, Op.SUBSTRING}


def allows(op: Op, kind: Type) -> bool:
    """Whether an operator is defined for a type."""
    if op in _STRING_ONLY:
        return kind is Type.STRING
    return op in _EVERY_TYPE or kind is not Type.BOOLEAN


@dataclass(frozen=True, slots=True)
class Constraint:
    """(type, name, op, value): checked when made. `any` has no value."""

    name: str
    type: Type
    op: Op
    value: Value | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "type", Type(self.type))
        object.__setattr__(self, "op", Op(self.op))
        if not allows(self.op, self.type):
            raise UsageError(f"operator {self.op.text} is not defined for type {self.type.text}")
        self._check_value()

    @classmethod
    def on(cls, name: str, op: Op, value: Value) -> Constraint:
        """A constraint whose type is its value's."""
        return cls(name, type_of(value), op, value)

    def matches(self, value: Value) -> bool:
        """Whether a value satisfies this: the type must be equal, then the operator must hold (M3)."""
        return type_of(value) is self.type and _MEANINGS[self.op](value, self.value)

    def _check_value(self) -> None:
        if self.op is Op.ANY:
            if self.value is not None:
                raise UsageError(f"operator any takes no value, not {self.value!r}")
            return
        if self.value is None:
            raise UsageError(f"operator {self.op.text} needs a value")
        if type_of(self.value) is not self.type:
            raise UsageError(
                f"a constraint on {self.type.text} has a value of that type, not {self.value!r} (M3)"
            )
        object.__setattr__(self, "value", check_value(self.value))
