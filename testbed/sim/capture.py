"""Whoever looks on while frames pass an interface of the simulator."""

from __future__ import annotations

from typing import Protocol


class Tap(Protocol):
    """Whoever is shown the frames that pass an interface."""

    def record(self, time_ns: int, frame: bytes) -> None:
        """Note that `frame` passed at `time_ns`."""
