"""What the run tells the process that carries its wires: at the start, and while it goes on.

ORDERS.json    the wires to make
standard input   one command a line, as JSON: {"do": "cut", "link": "r1-r2"}
standard output  one answer a line: {"ready": ...}, {"ok": ...} or {"error": "..."}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from testbed.plan.model import Impairment

MEMORY_BYTES = 512 << 20
"""For frames on their way; what does not fit is counted as an overrun."""
TAP_QUEUE_FRAMES = 10_000
"""How many frames wait in a tap for the process to take them."""


@dataclass(frozen=True, slots=True)
class TapOrder:
    """An interface to make."""

    pid: int
    """The process that holds its namespace."""
    name: str
    mac: str


@dataclass(frozen=True, slots=True)
class WireOrder:
    """A link to make."""

    name: str
    a: TapOrder
    b: TapOrder
    mtu: int
    impairment: Impairment
    back: Impairment


@dataclass(frozen=True, slots=True)
class Orders:
    """All that the process is told at its start."""

    seed: int
    dilate: int
    wires: tuple[WireOrder, ...]
    memory_bytes: int = MEMORY_BYTES
    tap_queue_frames: int = TAP_QUEUE_FRAMES

    def to_json(self) -> str:
        """As `from_json` reads it."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Orders:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else; the text says what.
        """
        try:
            raw = json.loads(text)
            wires = tuple(_wire(each) for each in raw.pop("wires"))
            if not wires:
                raise ValueError("there are no wires in them")
            return cls(wires=wires, **raw)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"these are no orders for wires: {error}") from None


def read_impairment(raw: Mapping[str, Any]) -> Impairment:
    """Read what `asdict` made of an impairment.

    Raises:
        ValueError: it is something else.
    """
    try:
        return Impairment(**raw)
    except TypeError as error:
        raise ValueError(f"this is no impairment: {error}") from None


def _wire(raw: Mapping[str, Any]) -> WireOrder:
    a, b = (TapOrder(**raw[end]) for end in ("a", "b"))
    there, back = (read_impairment(raw[way]) for way in ("impairment", "back"))
    return WireOrder(raw["name"], a, b, raw["mtu"], there, back)
