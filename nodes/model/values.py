"""Values, their types, and what may stand in a message (M1, M3).

Here: the five types and the bounds the wire format puts on values and names.
Not here: constraints on values (`constraints`) and their text (`syntax`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1
NAME_BYTES_MAX = 255
STRING_BYTES_MAX = 65_535
ATTRIBUTES_MAX = 65_535


class UsageError(ValueError):
    """Something was asked of the model that it has no meaning for."""


class Type(IntEnum):
    """The type of a value; the number is the one on the wire."""

    STRING = 1
    INTEGER = 2
    FLOAT = 3
    BOOLEAN = 4
    TIME = 5

    @property
    def text(self) -> str:
        """The type's name as written in predicates and errors."""
        return self.name.lower()


@dataclass(frozen=True, order=True, slots=True)
class Time:
    """A point in time: nanoseconds since 1970-01-01 UTC."""

    ns: int


Value = str | int | float | bool | Time

_TYPES: dict[type, Type] = {
    str: Type.STRING,
    int: Type.INTEGER,
    float: Type.FLOAT,
    bool: Type.BOOLEAN,
    Time: Type.TIME,
}


def type_of(value: Value) -> Type:
    """The type of a value, by its exact Python class: nothing is coerced (M3).

    Raises:
        UsageError: The class is none of the five.
    """
    found = _TYPES.get(type(value))
    if found is None:
        raise UsageError(f"{value!r} is a {type(value).__name__}; a value is a str, int, float, bool or Time")
    return found


def check_value(value: Value) -> Value:
    """The value itself, with 0.0 for -0.0, if the network can carry it.

    Raises:
        UsageError: It cannot.
    """
    kind = type_of(value)
    if kind is Type.STRING:
        _check_string(str(value))
    elif kind is Type.INTEGER:
        _check_integer(value, "an integer")
    elif isinstance(value, Time):
        _check_integer(value.ns, "a time in nanoseconds")
    elif kind is Type.FLOAT:
        return _checked_float(float(value))
    return value


def check_name(name: str) -> str:
    """The name itself, if it is a valid attribute name.

    Raises:
        UsageError: It is not.
    """
    if type(name) is not str:
        raise UsageError(f"{name!r} is a {type(name).__name__}; an attribute's name is a str")
    size = len(_utf8(name, "a name"))
    if not 1 <= size <= NAME_BYTES_MAX:
        raise UsageError(f"a name has 1 to {NAME_BYTES_MAX} bytes of UTF-8; {_short(name)} has {size}")
    return name


def check_message(message: Mapping[str, Value]) -> dict[str, Value]:
    """The message with checked names and values, ordered by name.

    Raises:
        UsageError: A name or a value is not one the network can carry.
    """
    if len(message) > ATTRIBUTES_MAX:
        raise UsageError(f"a message has at most {ATTRIBUTES_MAX} attributes; this has {len(message)}")
    checked = {}
    for name in sorted(check_name(name) for name in message):
        try:
            checked[name] = check_value(message[name])
        except UsageError as error:
            raise UsageError(f"attribute {_short(name)}: {error}") from None
    return checked


def _check_string(value: str) -> None:
    size = len(_utf8(value, "a string"))
    if size > STRING_BYTES_MAX:
        raise UsageError(
            f"a string has at most {STRING_BYTES_MAX} bytes of UTF-8; {_short(value)} has {size}"
        )


def _check_integer(value: object, what: str) -> None:
    if type(value) is not int:
        raise UsageError(f"{what} is an int, not {value!r}")
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        raise UsageError(f"{what} has 64 bits: {INTEGER_MIN} to {INTEGER_MAX}; this has {value.bit_length()}")


def _checked_float(value: float) -> float:
    if math.isnan(value):
        raise UsageError("a float may not be NaN: it is equal to nothing, not even itself")
    return value + 0.0  # -0.0 + 0.0 is 0.0; everything else stays as it is


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is UTF-8; {_short(text)} holds a lone surrogate") from None


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
