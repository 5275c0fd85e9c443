"""Faults in one line: `at 5s: crash one of core for 2s`, as the same fault in full.

Here: the words. Not here: what is meant by them (`faults`), which reads the full form alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from testbed.plan.impairment import KEYS
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.reading import read_scalar
from testbed.plan.source import Place, Source
from topologies.fault_kinds import KINDS, FaultKind

_WHEN = re.compile(r"(?P<word>at|when) +(?P<moment>.+)")
_FOR = re.compile(r"(?P<rest>.*\S) +for +(?P<for>\S+)")
_REPEAT = re.compile(
    r"(?P<what>.+?) +(?P<times>[0-9]+) +times +every +(?P<every>\S+)(?: +(?P<word>[a-z]+) +(?P<lasting>\S+))?"
)
_COUNTED = re.compile(r"(?P<what>.+?) +(?P<times>[0-9]+) +times +every +(?P<every>\S+)(?: +by +(?P<by>.+))?")
_LASTING = re.compile(r"(?P<what>.+?)(?: +by +(?P<by>.+?))?(?: +share +(?P<share>[0-9.]+))?")
_IMPAIRMENT = re.compile(rf" +(?P<key>{'|'.join(sorted(KEYS, key=len, reverse=True))})\b")


def write_out(source: Source) -> None:
    """Put the full form in the place of each fault that is given in one line."""
    given = source.value.get("faults") if isinstance(source.value, dict) else None
    if not isinstance(given, list):
        return
    for position, fault in enumerate(given):
        if isinstance(fault, dict) and len(fault) == 1:
            [(when, what)] = fault.items()
            found = _WHEN.fullmatch(when) if isinstance(when, str) else None
            if found is not None:
                given[position] = _full(source, found, what, ("faults", position), when)


def _full(source: Source, when: re.Match[str], what: Any, key: Key, name: str) -> dict[str, Any] | None:
    here: Key = (*key, name)
    expected = f"a text that begins with one of {', '.join(KINDS)}"
    if not isinstance(what, str):
        source.complain(here, "what happens is no text", expected)
        return None
    verb, _, rest = what.strip().partition(" ")
    kind = KINDS.get(verb)
    if kind is None:
        source.complain(here, f"nothing is called {verb or 'nothing'}", expected, did_you_mean(verb, KINDS))
        return None
    full = _moment(when)
    lasting = None if kind.repeat else _FOR.fullmatch(rest)
    if lasting is not None:
        full["for"], rest = lasting["for"], lasting["rest"]
    full[verb] = _ARGUMENTS[kind.argument](kind, rest.strip())
    if full[verb] is None:
        expected = kind.example or f"{verb} and who or what, as in {verb} one of core"
        source.complain(here, f"{what.strip()} does not say it all", expected)
        return None
    for part, value in full.items():
        at_line = source.place(here, at_key=part in ("at", "when", "after"))
        _place(source, (*key, part), value, at_line)
    return full


def _moment(when: re.Match[str]) -> dict[str, Any]:
    if when["word"] == "at":
        return {"at": when["moment"]}
    word, _, after = when["moment"].partition("+")
    return {"when": word.strip(), "after": after.strip()} if after else {"when": word.strip()}


def _groups(_: FaultKind, rest: str) -> list[str] | None:
    return [side.strip() for side in rest.split("|")] if rest else None


def _repeat(kind: FaultKind, rest: str) -> dict[str, Any] | None:
    found, repeat = _REPEAT.fullmatch(rest), kind.repeat
    assert repeat is not None
    if found is None or found["word"] not in (None, repeat.lasting):
        return None
    full = {repeat.of: found["what"], "times": int(found["times"]), "every": found["every"]}
    return full if found["lasting"] is None else {**full, repeat.lasting: found["lasting"]}


def _impairment(_: FaultKind, rest: str) -> dict[str, Any] | None:
    keys = list(_IMPAIRMENT.finditer(rest))
    if not keys:
        return None
    full: dict[str, Any] = {"link": rest[: keys[0].start()].strip()}
    ends = [found.start() for found in keys[1:]] + [len(rest)]
    for found, end in zip(keys, ends, strict=True):
        try:
            full[found["key"]] = read_scalar(rest[found.end() : end].strip(" ,"))
        except ValueError:
            return None
    return full


def _attack(kind: FaultKind, rest: str) -> dict[str, Any] | None:
    assert kind.attacking is not None
    found = (_COUNTED if kind.attacking.counted else _LASTING).fullmatch(rest)
    if found is None:
        return None
    said = {name: value for name, value in found.groupdict().items() if value is not None}
    full: dict[str, Any] = {kind.target: said.pop("what"), **said}
    if "times" in said:
        full["times"] = int(said["times"])
    if "share" in said:
        full["share"] = read_scalar(said["share"])
    return full


_ARGUMENTS: Mapping[str, Callable[[FaultKind, str], Any]] = {
    "selection": lambda _, rest: rest or None,
    "groups": _groups,
    "flag": lambda _, rest: None if rest else True,
    "repeat": _repeat,
    "impairment": _impairment,
    "attack": _attack,
}
"""What the key of the full form holds; None if the text does not say it."""


def _place(source: Source, key: Key, value: Any, at: Place) -> None:
    """What was made stands where the line stands that it was made of."""
    source.values[key] = source.keys[key] = at
    for name in value if isinstance(value, dict) else ():
        _place(source, (*key, name), value[name], at)
