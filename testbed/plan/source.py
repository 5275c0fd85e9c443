"""A scenario as plain data that knows where it stood, and what is wrong with it so far.

Here: places and complaints. Not here: reading files (`reading`) and what the
keys mean (`shape`, `topology`, `workload`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nodes.model import PredicateSyntaxError
from testbed.plan.problems import Key, Problem, key_text


class Unreadable(Exception):  # noqa: N818
    """The file cannot be read as data at all; nothing more can be said about it."""

    def __init__(self, problem: Problem) -> None:
        """Carry the one problem."""
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Place:
    """Where something begins: line and column from 1, position in the text from 0."""

    path: str
    line: int = 0
    column: int = 0
    index: int = -1


@dataclass(slots=True)
class Source:
    """A scenario as plain data and the places of its parts."""

    path: str
    text: str
    sha256: str
    value: Any = None
    values: dict[Key, Place] = field(default_factory=dict)
    keys: dict[Key, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is not wrong, and a person should know; copies share them."""

    def place(self, key: Key, at_key: bool = False) -> Place:
        """Where a value (or its key) stands; where it is missing, what it is missing from."""
        places = self.keys if at_key else self.values
        while key and key not in places:
            key, places = key[:-1], self.values
        return places.get(key, Place(self.path, int(bool(self.values)), 1))

    def complain(
        self, key: Key, message: str, expected: str = "", hint: str = "", at_key: bool = False
    ) -> None:
        """Note a problem with the value at a key, or with the key itself."""
        self.complain_at(self.place(key, at_key), key, message, expected, hint)

    def complain_at(self, at: Place, key: Key, message: str, expected: str = "", hint: str = "") -> None:
        """Note a problem at a place of its own."""
        self.problems.append(Problem(at.path, at.line, at.column, key_text(key), message, expected, hint))

    def complain_text(self, key: Key, error: PredicateSyntaxError) -> None:
        """Note a mistake within a text, at its own column where the text stands as it is in the file."""
        at = self.place(key)
        value = self.written(key)
        for begin in (at.index, at.index + 1):  # bare or quoted
            if at.index >= 0 and "\n" not in value and self.text.startswith(value, begin):
                column = at.column + (begin - at.index) + error.column - 1
                at = Place(at.path, at.line, column)
                break
        excerpt = str(error).partition("\n")[2]
        message = f"column {error.column} of the text: {error.reason}"
        self.problems.append(
            Problem(at.path, at.line, at.column, key_text(key), message, hint=error.hint, excerpt=excerpt)
        )

    def written(self, key: Key) -> Any:
        """The value at a key as it was written, in shape or not."""
        value = self.value
        for part in key:
            value = value[part]
        return value
