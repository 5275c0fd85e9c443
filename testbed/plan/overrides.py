"""`--set KEY=VALUE`: replaces scalars of a scenario before it is checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from testbed.plan.problems import Key, Problem
from testbed.plan.reading import read_scalar
from testbed.plan.source import Place, Source

SHORT_FORMS = {("scheme",): "name"}
"""Where a text may stand for a mapping, and the key in it that the text is the value of."""


def apply_overrides(
    source: Source, overrides: Iterable[tuple[str, str]], option_name: str = "--set "
) -> None:
    """Put the values in; what cannot be put in is noted as a problem of its option."""
    for key, text in overrides:
        option = f"{option_name}{key}={text}"
        try:
            _put(source, key.split("."), read_scalar(text), Place(option))
        except ValueError as error:
            source.problems.append(
                Problem(option, 0, 0, key, str(error), "KEY=VALUE, as in timing.hop_delay=1ms")
            )


def _put(source: Source, parts: list[str], value: Any, place: Place) -> None:
    if not all(parts):
        raise ValueError("the key has an empty part")
    holder = source.value
    key: Key = ()
    for part in parts[:-1]:
        index = _index(holder, part)
        key = (*key, index)
        if isinstance(holder, dict) and holder.get(index) is None:
            holder[index] = {}
            source.values[key] = source.keys[key] = place
        elif isinstance(holder, dict) and key in SHORT_FORMS and isinstance(holder[index], str):
            holder[index] = {SHORT_FORMS[key]: holder[index]}
        holder = holder[index]
    index = _index(holder, parts[-1])
    holder[index] = value
    _forget(source, (*key, index))
    source.values[(*key, index)] = source.keys[(*key, index)] = place


def _index(holder: Any, part: str) -> str | int:
    if isinstance(holder, dict):
        return part
    if not isinstance(holder, list):
        raise ValueError(f"there is nothing inside a single value that {part} could name")
    if not part.isdecimal() or int(part) >= len(holder):
        raise ValueError(f"{part} is no position in this list of {len(holder)}; they count from 0")
    return int(part)


def _forget(source: Source, key: Key) -> None:
    """What stood below a replaced value stands nowhere any more."""
    for places in (source.values, source.keys):
        for gone in [k for k in places if k[: len(key)] == key]:
            del places[gone]
