"""Frozen dataclasses as plain mappings and back, strictly.

Here: what all files that hold our dataclasses (node.toml, scripts, plan.json)
have in common. Not here: any file format. Reading refuses unknown keys,
missing keys and wrong types, and names the key.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_SCALARS = frozenset((int, str, float, bool, types.NoneType))


class RecordError(ValueError):
    """Plain data is not what the dataclass says; the message begins with the key."""


def to_plain(value: Any) -> Any:
    """Mappings, lists and scalars; an enum member becomes its name in lower case."""
    if type(value) in _SCALARS:  # first, for nearly all values of a large plan are
        return value
    if dataclasses.is_dataclass(value):
        return {name: to_plain(getattr(value, name)) for name in _hints(value.__class__)}
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], value: object, key: str = "") -> T:
    """The dataclass that plain data describes.

    Raises:
        RecordError: A key is unknown, missing, or its value of the wrong type.
    """
    made: T = _read(kind, value, key)
    return made


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The type of each field, in their order."""
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


@cache
def _required(kind: type) -> tuple[str, ...]:
    missing = dataclasses.MISSING
    return tuple(
        f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing
    )


def _read(kind: Any, value: object, key: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, key)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), value, key)
    if origin is tuple:
        return _read_tuple(get_args(kind), value, key)
    if origin is Literal:
        return _chosen(value, {str(a): a for a in get_args(kind)}, key)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(get_args(kind), value, key)
    if issubclass(kind, IntEnum):
        return _chosen(value, {member.name.lower(): member for member in kind}, key)
    # bool is an int to Python, not to us.
    if type(value) is not kind:
        raise _wrong(key, kind.__name__, value)
    return value


def _read_record(kind: Any, value: object, key: str) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong(key, "a table of keys", value)
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise RecordError(f"{_join(key, name)}: unknown key; known are {', '.join(hints)}")
    for name in _required(kind):
        if name not in value:
            raise RecordError(f"{_join(key, name)}: missing")
    return kind(
        **{
            name: item if type(item) is hints[name] else _read(hints[name], item, _join(key, name))
            for name, item in value.items()
        }
    )


def _read_union(kinds: tuple[Any, ...], value: object, key: str) -> Any:
    for kind in kinds:
        if type(value) is kind:
            return value
    rest = [k for k in kinds if dataclasses.is_dataclass(k)]
    if rest and value is not None:
        return _read(rest[0], value, key)
    raise _wrong(key, " or ".join("nothing" if k is types.NoneType else k.__name__ for k in kinds), value)


def _read_tuple(kinds: tuple[Any, ...], value: object, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(key, "a list", value)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise RecordError(f"{key}: expected {len(kinds)} items, found {len(value)}")
    return tuple(_read(k, item, f"{key}[{i}]") for i, (k, item) in enumerate(zip(kinds, value, strict=True)))


def _read_mapping(kinds: tuple[Any, ...], value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(key, "a table of keys", value)
    return {str(name): _read(kinds[1], item, _join(key, str(name))) for name, item in value.items()}


def _chosen(value: object, choices: Mapping[str, Any], key: str) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise _wrong(key, " or ".join(choices), value)
    return choices[value]


def _join(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _wrong(key: str, expected: str, value: object) -> RecordError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return RecordError(f"{key or 'the whole'}: expected {expected}, found {shown}")
