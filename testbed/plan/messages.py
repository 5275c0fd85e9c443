"""Messages of a scenario: written as text, or drawn attribute by attribute (`draws`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from nodes.model import PredicateSyntaxError, UsageError, Value, check_message, check_name, parse_message
from testbed.plan.draws import DrawValue, how_drawn, out_of_shape
from testbed.plan.problems import Key
from testbed.plan.source import Source

Draw = Callable[[int], "dict[str, Value] | None"]
"""The n-th message; None if it cannot be had."""


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


def read_draws(source: Source, told: Mapping[str, Any], key: Key, rng: Random) -> dict[str, DrawValue] | None:
    """How each of several values is drawn; None, and a note in the source, if one cannot be."""
    draws: dict[str, DrawValue] = {}
    for name, how in told.items():
        if out_of_shape(how):
            continue
        try:
            draws[check_name(name)] = how_drawn(how, rng)
        except UsageError as error:
            source.complain((*key, name), str(error))
    return draws if len(draws) == len(source.written(key)) else None


def _drawn(source: Source, told: Mapping[str, Any], key: Key, rng: Random) -> Draw | None:
    draws = read_draws(source, told, key, rng)
    if draws is None:
        return None

    def draw(n: int) -> dict[str, Value] | None:
        try:
            return check_message({name: value(n) for name, value in draws.items()})
        except UsageError as error:
            source.complain(key, str(error))
            return None

    return draw
