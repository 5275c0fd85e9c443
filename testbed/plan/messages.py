"""Messages of a scenario: written as text, or drawn attribute by attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from nodes.model import (
    PredicateSyntaxError,
    Time,
    UsageError,
    Value,
    check_message,
    check_name,
    check_value,
    parse_message,
)
from testbed.plan.problems import Key
from testbed.plan.source import Source

Draw = Callable[[int], "dict[str, Value] | None"]
"""The n-th message; None if it cannot be had."""
_DrawValue = Callable[[int], Value]


def read_message(source: Source, told: str | Mapping[str, Any], key: Key, rng: Random) -> Draw | None:
    """How to make the messages of one publication; None, and a note in the source, if there is no way."""
    if isinstance(told, str):
        try:
            message = parse_message(told)
        except PredicateSyntaxError as error:
            source.complain_text(key, error)
            return None
        return lambda _n: message
    return _drawn(source, told, key, rng)


def _drawn(source: Source, told: Mapping[str, Any], key: Key, rng: Random) -> Draw | None:
    draws: dict[str, _DrawValue] = {}
    for name, how in told.items():
        if _out_of_shape(how):
            continue
        try:
            draws[check_name(name)] = _attribute(how, rng)
        except UsageError as error:
            source.complain((*key, name), str(error))
    if len(draws) < len(source.written(key)):
        return None

    def draw(n: int) -> dict[str, Value] | None:
        try:
            return check_message({name: value(n) for name, value in draws.items()})
        except UsageError as error:
            source.complain(key, str(error))
            return None

    return draw


def _out_of_shape(how: Any) -> bool:
    """Whether the check of the shape has left a hole in this, and has said so."""
    if not isinstance(how, dict):
        return False
    return not how or any(isinstance(given, list) and None in given for given in how.values())


def _attribute(how: Any, rng: Random) -> _DrawValue:
    """How one attribute comes about.

    Raises:
        UsageError: In no way.
    """
    if not isinstance(how, dict):
        value = check_value(how)
        return lambda _n: value
    kind, given = next(iter(how.items()))
    return _KINDS[kind](given, rng)


def _choice(values: list[Any], rng: Random) -> _DrawValue:
    checked = [check_value(value) for value in values]
    return lambda _n: rng.choice(checked)


def _uniform(bounds: list[Any], rng: Random) -> _DrawValue:
    low, high = (check_value(bound) for bound in bounds)
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if not low <= high:
        raise UsageError(f"uniform: {low} is greater than {high}")
    if type(low) is int and type(high) is int:
        return lambda _n: rng.randint(low, high)
    return lambda _n: rng.uniform(low, high)


def _count(first: int, _rng: Random) -> _DrawValue:
    return lambda n: first + n


def _time(given: str | list[str], rng: Random) -> _DrawValue:
    if isinstance(given, str):
        moment = _moment(given)
        return lambda _n: moment
    low, high = (_moment(text) for text in given)
    if low > high:
        raise UsageError(f"time: {given[0]} is after {given[1]}")
    return lambda _n: Time(rng.randint(low.ns, high.ns))


def _moment(text: str) -> Time:
    try:
        value = parse_message(f"time = @{text.removeprefix('@')}")["time"]
    except PredicateSyntaxError as error:
        raise UsageError(f"{text!r}: {error.reason}; {error.hint}") from None
    assert isinstance(value, Time)
    return value


_KINDS: Mapping[str, Callable[[Any, Random], _DrawValue]] = {
    "choice": _choice,
    "uniform": _uniform,
    "count": _count,
    "time": _time,
}
