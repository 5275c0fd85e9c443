"""What is wrong with a scenario: located, collected, reported all at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Key = tuple[str | int, ...]
"""Where in the scenario: mapping keys and list positions from the top."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    path: str
    """The file, or the `--set` option that brought the value in."""
    line: int
    """From 1; 0 where there is no line."""
    column: int
    key: str
    """As in `clients.alice.at`; empty for the file as a whole."""
    message: str
    expected: str = ""
    hint: str = ""
    excerpt: str = ""
    """The text that is wrong with a caret under the place, if that helps."""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        head = f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"
        lines = [head, *(f"    {line}" for line in self.excerpt.splitlines())]
        if self.expected:
            lines.append(f"    expected: {self.expected}")
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)


class ScenarioError(Exception):
    """A scenario cannot become a Plan; `problems` says everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in order of their place in the file."""
        self.problems = sorted(problems, key=lambda p: (p.path, p.line, p.column))
        super().__init__("\n".join(str(p) for p in self.problems))


def key_text(key: Key) -> str:
    """A key path as people write it, and as `--set` takes it."""
    return ".".join(str(part) for part in key)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint with the nearest known word; empty if none is near."""
    near = difflib.get_close_matches(str(word), sorted(known), n=1)
    return f"did you mean {near[0]}?" if near else ""
