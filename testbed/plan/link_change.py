"""What somebody wants changed of a link that is in use, in the words of scenarios.

Here: the words, over what the link does now, and what it does as words. Not
here: what the words mean (`impairment`) and which values they take (the
scenario's schema).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from testbed.plan.impairment import read_impairment
from testbed.plan.model import Impairment
from testbed.plan.problems import Problem, ScenarioError, did_you_mean
from testbed.plan.shape import check_part
from testbed.plan.source import Source
from topologies.quantities import rate_text

NOTHING = Impairment()
_NANOSECONDS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
_FIELDS = {field.name.removesuffix("_ns").removesuffix("_bps"): field.name for field in fields(Impairment)}
"""The scenario's word for a field -> the field."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What a link does to packets, there and back."""

    there: Impairment = NOTHING
    back: Impairment = NOTHING

    def turned(self) -> Ways:
        """The same link, looked at from its other end."""
        return Ways(self.back, self.there)


def changed(was: Ways, told: Mapping[str, Any], what: str = "the link") -> Ways:
    """What the link is to do from now on.

    Args:
        was: what it does now.
        told: as in a scenario: `{"delay": "30ms", "back": {"loss": 0.1}}`. What is told holds
            both ways, what `back` says for the way back alone; a value None takes that away.
        what: what to call the link in complaints.

    Raises:
        ScenarioError: a word or a value is none; the problems say all that is wrong.
    """
    both = {word: value for word, value in told.items() if word != "back"}
    back = told.get("back") or {}
    problems: list[Problem] = []
    there = _read(was.there, both, what, problems)
    if not problems:  # else it would be said twice
        ways = Ways(there, _read(was.back, {**both, **back}, f"{what}, on its way back", problems))
    if problems:
        raise ScenarioError(problems)
    return ways


def words(impairment: Impairment) -> dict[str, object]:
    """What a link does to packets, as a scenario would say it; empty if nothing."""
    found = ((word, name, getattr(impairment, name)) for word, name in _FIELDS.items())
    return {word: _said(name, value) for word, name, value in found if value != getattr(NOTHING, name)}


def _read(was: Impairment, told: Mapping[str, Any], what: str, problems: list[Problem]) -> Impairment:
    source = Source(what, "", "", {word: value for word, value in told.items() if value is not None})
    shaped = check_part(source, "back")
    away = [word for word, value in told.items() if value is None]
    for word in away:
        if word not in _FIELDS:
            source.complain(
                (word,), "unknown key", f"one of {', '.join(_FIELDS)}", did_you_mean(word, _FIELDS)
            )
    bare = replace(was, **{_FIELDS[w]: getattr(NOTHING, _FIELDS[w]) for w in away if w in _FIELDS})
    made = read_impairment(source, shaped, (), bare)
    problems += [replace(problem, line=0, column=0) for problem in source.problems]
    return made


def _said(name: str, value: Any) -> object:
    if name.endswith("_bps"):
        return rate_text(value)
    if not name.endswith("_ns"):
        return value
    unit, size = next((unit, size) for unit, size in _NANOSECONDS if value % size == 0)
    return f"{value // size}{unit}"
