"""Errors in maps, as people read them: what is wrong, where, what was expected, what to do."""

from __future__ import annotations


class MapError(ValueError):
    """A map cannot be read or used."""

    def __init__(
        self, message: str, path: str = "", line: int = 0, *, expected: str = "", hint: str = ""
    ) -> None:
        """Keep the parts; `line` counts from 1, 0 where there is none."""
        self.message, self.path, self.line, self.expected, self.hint = message, path, line, expected, hint
        super().__init__(message)

    def __str__(self) -> str:
        where = (
            f"{self.path}:{self.line}: " if self.path and self.line else f"{self.path}: " * bool(self.path)
        )
        lines = [f"{where}{self.message}"]
        lines += [f"    expected: {self.expected}"] * bool(self.expected)
        lines += [f"    hint: {self.hint}"] * bool(self.hint)
        return "\n".join(lines)
