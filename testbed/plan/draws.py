"""Messages, and how values are drawn, `{choice: [...]}`, `{zipf: 500}`, for them and for templates."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
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

DrawValue = Callable[[int], Value]
"""The n-th value."""
Draw = Callable[[int], "dict[str, Value] | None"]
"""The n-th message; None if it cannot be had."""


def read_message(source: Source, spec: str | Mapping[str, Any], key: Key, rng: Random) -> Draw | None:
    """How to make the messages of one publication; None, and a note in the source, if there is no way."""
    if isinstance(spec, str):
        try:
            message = parse_message(spec)
        except PredicateSyntaxError as error:
            source.complain_text(key, error)
            return None
        return lambda _n: message
    return _drawn(source, spec, key, rng)


def read_draws(source: Source, spec: Mapping[str, Any], key: Key, rng: Random) -> dict[str, DrawValue] | None:
    """How each of several values is drawn; None, and a note in the source, if one cannot be."""
    draws: dict[str, DrawValue] = {}
    for name, how in spec.items():
        if _out_of_shape(how):
            continue
        try:
            draws[check_name(name)] = _how_drawn(how, rng)
        except UsageError as error:
            source.complain((*key, name), str(error))
    return draws if len(draws) == len(source.written(key)) else None


def _drawn(source: Source, spec: Mapping[str, Any], key: Key, rng: Random) -> Draw | None:
    draws = read_draws(source, spec, key, rng)
    if draws is None:
        return None

    def draw(n: int) -> dict[str, Value] | None:
        try:
            return check_message({name: value(n) for name, value in draws.items()})
        except UsageError as error:
            source.complain(key, str(error))
            return None

    return draw


def _how_drawn(how: Any, rng: Random) -> DrawValue:
    """How one value comes about: as it stands, or drawn by a rule.

    Raises:
        UsageError: In no way.
    """
    if not isinstance(how, dict):
        value = check_value(how)
        return lambda _n: value
    kind, given = next(iter(how.items()))
    return _KINDS[kind](given, rng)


def _out_of_shape(how: Any) -> bool:
    """Whether the check of the shape has left a hole in this, and has said so."""
    if not isinstance(how, dict):
        return False
    return not how or any(isinstance(given, list) and None in given for given in how.values())


def zipf_index(size: int, exponent: float, rng: Random) -> Callable[[], int]:
    """Draws of a position from 0 on: the n-th has the weight 1/n^exponent."""
    ends = list(accumulate((n + 1) ** -exponent for n in range(size)))
    return lambda: min(bisect_left(ends, rng.random() * ends[-1]), size - 1)


def pareto(low: float, high: float, alpha: float, rng: Random) -> float:
    """A draw from the bounded Pareto distribution, by the inverse of its distribution function."""
    share = 1 - rng.random() * (1 - (low / high) ** alpha)
    return min(float(low * share ** (-1 / alpha)), float(high))


def _choice(values: list[Any], rng: Random) -> DrawValue:
    checked = [check_value(value) for value in values]
    return lambda _n: rng.choice(checked)


def _uniform(bounds: list[Any], rng: Random) -> DrawValue:
    low, high = (check_value(bound) for bound in bounds)
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if not low <= high:
        raise UsageError(f"uniform: {low} is greater than {high}")
    if type(low) is int and type(high) is int:
        return lambda _n: rng.randint(low, high)
    return lambda _n: rng.uniform(low, high)


def _zipf(given: Any, rng: Random) -> DrawValue:
    spec = given if isinstance(given, dict) else {"of": given}
    if "of" not in spec:
        raise UsageError("zipf: the key of is missing: a list of values, or how many numbers from 1 on")
    of, exponent = spec["of"], float(spec.get("exponent", 1))
    values = [check_value(v) for v in of] if isinstance(of, list) else range(1, of + 1)
    index = zipf_index(len(values), exponent, rng)
    return lambda _n: values[index()]


def _pareto(given: Any, rng: Random) -> DrawValue:
    low, high, alpha = given if len(given) == 3 else (*given, 1.0)
    if not 0 < low < high or not alpha > 0:
        raise UsageError(f"pareto: {given} is not from above zero to something greater, and alpha above zero")
    check_value(low), check_value(high)
    if type(low) is int and type(high) is int:
        return lambda _n: int(pareto(low, high, alpha, rng))
    return lambda _n: pareto(low, high, alpha, rng)


def _count(first: int, _rng: Random) -> DrawValue:
    return lambda n: first + n


def _time(given: str | list[str], rng: Random) -> DrawValue:
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


_KINDS: Mapping[str, Callable[[Any, Random], DrawValue]] = {
    "choice": _choice,
    "uniform": _uniform,
    "zipf": _zipf,
    "pareto": _pareto,
    "count": _count,
    "time": _time,
}
