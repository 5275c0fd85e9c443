"""What a compromised router that is a process can do, of the ways of attacks (`topologies.fault_kinds`)."""

from __future__ import annotations

from collections.abc import Mapping

OF_PROCESSES: Mapping[str, tuple[str, ...]] = {
    "mute": ("hello", "control", "ack", "message"),
    "lie": ("attract", "drop", "slander"),
}
