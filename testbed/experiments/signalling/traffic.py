"""Counts what routers send each other in a simulated network, by windows of time.

Not here: what becomes of the messages (`paths`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nodes.wire.codec import decode
from nodes.wire.packets import Kind, Message, PacketType
from testbed.experiments.signalling.paths import Paths

SECOND_NS = 1_000_000_000
CONTROL, MESSAGE = PacketType.CONTROL, PacketType.MESSAGE
KIND_AT = 5
"""Where a CONTROL packet has the kind of its payload."""
OTHER = frozenset(map(int, (Kind.LINK_STATE, Kind.RECORD_REQUEST, Kind.REFUSED)))
"""What tells of neither interest nor advertisements."""
MARKING = frozenset(map(int, (Kind.COST_ANNOUNCE, Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY)))
"""What decides how links are marked."""


@dataclass(slots=True)
class Window:
    """What crosses all links between routers in a window of time."""

    signals: int = 0
    signal_bytes: int = 0
    marking: int = 0
    marking_bytes: int = 0


@dataclass(slots=True)
class Traffic:
    """What crosses them in a run, once it has begun."""

    window_ns: int
    windows: dict[int, Window] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)
    start_ns: int = 0
    """Before the start nothing counts."""

    def window(self, time_ns: int) -> Window:
        """The window at a time."""
        at = (time_ns - self.start_ns) // self.window_ns
        found = self.windows.get(at)
        if found is None:
            found = self.windows[at] = Window()
        return found

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """A packet that one router sends to another."""
        if not 0 < self.start_ns <= time_ns:
            return
        if type_ is CONTROL:
            kind = packet[KIND_AT]
            if kind in OTHER:
                return
            window = self.window(time_ns)
            window.signals += 1
            window.signal_bytes += len(packet)
            if kind in MARKING:
                window.marking += 1
                window.marking_bytes += len(packet)
        elif type_ is MESSAGE:
            message = decode(packet)
            assert isinstance(message, Message)
            at = (message.publish_time_ns - self.start_ns) // self.window_ns
            self.paths.crossed((message.source, message.sequence), at, *ends)
