"""In which ways a compromised node attacks, by the kind of attack (`topologies.fault_kinds` has the same)."""

from __future__ import annotations

from collections.abc import Mapping

LASTING: Mapping[str, tuple[str, ...]] = {
    "mute": ("hello", "control", "ack", "message"),
    "lie": ("attract", "drop", "duplicate", "rewrite", "slander"),
}
"""Of routers, until they are to behave."""
FLOODS = ("filters", "changes", "messages", "records")
"""Of routers and clients, so many times."""
