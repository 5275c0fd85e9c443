"""Checks a scenario against the published JSON Schema, and keeps what is in shape.

Here: the schema's verdicts as located problems. Not here: what needs more than
one value to see (`topology`, `workload`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.library import SCHEMA

_Error = Any
"""A `jsonschema.ValidationError`; its declared types allow for more than a validator ever raises."""

_Complaint = tuple[Key, str, str, str, bool]
"""Key, message, what was expected, hint, and whether the key itself is at fault."""

_PLAIN_NAMES = {
    "string": "a text", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "object": "a mapping", "array": "a list", "null": "nothing",
}  # fmt: skip


def check_shape(source: Source, schema: Path = SCHEMA) -> Any:
    """Note all that is out of shape, a scenario's if no other schema is named; return the data without it.

    In lists, None takes the place of what is left out, so that positions stay.
    """
    return _check(source, _validator(schema))


def check_part(source: Source, name: str) -> Any:
    """The same for data that one definition of the scenario's schema describes, such as `back`."""
    whole = _validator()
    part = {"$ref": f"#/$defs/{name}", "$defs": whole.schema["$defs"]}
    return _check(source, whole.evolve(schema=part))


def _check(source: Source, validator: Any) -> Any:
    bad: set[Key] = set()
    seen: set[tuple[Key, str]] = set()
    for error in validator.iter_errors(source.value):
        for key, message, expected, hint, at_key in _complaints(error):
            if (key, message) not in seen:
                seen.add((key, message))
                source.complain(key, message, expected, hint, at_key)
        if error.validator != "required":
            bad.update(key for key, *_ in _complaints(error))
    return _without(source.value, bad, ())


def known_keys() -> list[str]:
    """The keys that a scenario may have at its top."""
    return list(_validator().schema["properties"])


@cache
def _validator(schema: Path = SCHEMA) -> Any:
    base = jsonschema.Draft202012Validator
    # To JSON 1.0 is an integer; to us it is a float (M3).
    checker = base.TYPE_CHECKER.redefine("integer", lambda _checker, value: type(value) is int)
    strict: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
        base, type_checker=checker
    )
    return strict(json.loads(schema.read_text(encoding="utf-8")))


def _complaints(error: _Error) -> Iterator[_Complaint]:
    key: Key = tuple(error.absolute_path)
    rule = _RULES.get(str(error.validator))
    if "propertyNames" in error.absolute_schema_path:
        yield from _bad_name(error, key)
    elif rule is not None:
        yield from rule(error, key)
    else:
        yield key, f"{_shown(error.instance)} does not fit", _expected(error), "", False


def _unknown_keys(error: _Error, key: Key) -> Iterator[_Complaint]:
    known = _schema(error).get("properties", {})
    for name in error.instance:
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "no key at all"
            yield (*key, name), "unknown key", expected, did_you_mean(name, known), True


def _missing_keys(error: _Error, key: Key) -> Iterator[_Complaint]:
    for name in error.validator_value:
        if name not in error.instance:
            about = _schema(error).get("properties", {}).get(name, {})
            yield key, f"the key {name} is missing", f"{name}: {_describe(about)}", "", bool(key)


def _wrong_type(error: _Error, key: Key) -> Iterator[_Complaint]:
    kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    expected = _schema(error).get("errorMessage") or " or ".join(_PLAIN_NAMES[k] for k in kinds)
    yield key, f"found {_shown(error.instance)}", expected, _type_hint(error, kinds), False


def _not_in_list(error: _Error, key: Key) -> Iterator[_Complaint]:
    choices = [str(c) for c in error.validator_value]
    hint = did_you_mean(error.instance, choices)
    shown = _shown(error.instance).removeprefix("the text ")
    yield key, f"unknown {_title(error)} {shown}", f"one of {', '.join(choices)}", hint, False


def _bad_text(error: _Error, key: Key) -> Iterator[_Complaint]:
    yield key, f"{_shown(error.instance)} is no {_title(error)}", _expected(error), "", False


def _bad_name(error: _Error, key: Key) -> Iterator[_Complaint]:
    # The instance of an error in a property's name is the name.
    yield (
        (*key, str(error.instance)),
        f"{_shown(error.instance)} is no {_title(error)}",
        _expected(error),
        "",
        True,
    )


def _out_of_bounds(error: _Error, key: Key) -> Iterator[_Complaint]:
    side = "less than the least" if error.validator == "minimum" else "more than the greatest"
    bound = error.validator_value
    yield key, f"{_shown(error.instance)} is {side}, {bound}", _expected(error), "", False


def _bad_count(error: _Error, key: Key) -> Iterator[_Complaint]:
    count = len(error.instance)
    yield key, f"found {count} item{'s' * (count != 1)}", _expected(error), "", False


_RULES: Mapping[str, Callable[[_Error, Key], Iterator[_Complaint]]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "type": _wrong_type,
    "enum": _not_in_list,
    "pattern": _bad_text,
    "maxLength": _bad_text,
    "minimum": _out_of_bounds,
    "maximum": _out_of_bounds,
    "minItems": _bad_count,
    "maxItems": _bad_count,
    "minProperties": _bad_count,
    "maxProperties": _bad_count,
}


def _schema(error: _Error) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, dict) else {}


def _expected(error: _Error) -> str:
    schema = _schema(error)
    if "errorMessage" in schema:
        return str(schema["errorMessage"])
    for low, high in (("minimum", "maximum"), ("minItems", "maxItems"), ("minProperties", "maxProperties")):
        if low in schema and high in schema:
            return f"{schema[low]} to {schema[high]}"
        if low in schema:
            return f"at least {schema[low]}"
    return _describe(schema)


def _describe(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found = {**_validator().schema["$defs"].get(name, {}), **schema}
    return str(found.get("description") or found.get("errorMessage", ""))


def _title(error: _Error) -> str:
    title = str(_schema(error).get("title", "value"))
    return title[0].lower() + title[1:]


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = ascii(value) if isinstance(value, str) else str(value)
    kind = "the text " if isinstance(value, str) else ""
    return kind + (text if len(text) <= 50 else text[:47] + "...")


def _type_hint(error: _Error, kinds: list[str]) -> str:
    value, pattern = error.instance, _schema(error).get("pattern", "")
    if kinds == ["string"] and type(value) in (bool, int, float) and re.search(pattern, str(value)):
        return "put it in quotes"
    if kinds == ["integer"] and isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    return ""


def _without(value: Any, bad: set[Key], key: Key) -> Any:
    if isinstance(value, dict):
        return {n: _without(v, bad, (*key, n)) for n, v in value.items() if (*key, n) not in bad}
    if isinstance(value, list):
        return [None if (*key, i) in bad else _without(v, bad, (*key, i)) for i, v in enumerate(value)]
    return value
