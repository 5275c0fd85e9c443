"""Where the analysis says how far it is; the same shape as the worlds' progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Drawn as bars by the command line."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins: `spark`, `ingest`, `tables`, `report`."""

    def advance(self, done: int) -> None:
        """`done` of the phase's total are done."""

    def say(self, text: str) -> None:
        """A line worth a person's attention."""


class Silence:
    """Progress for programs."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, done: int) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""
