"""What each node of a run took of the machine: `logs/resources.json`.

Processor seconds, peak memory and context switches are the kernel's account of
a process at its end: exact, and nothing is sampled. The memory that a process
shares with none is looked up once, when the run's traffic has come to rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from testbed.live.registry import unique_bytes
from testbed.runs.directory import RunDirectory

RESOURCES = "logs/resources.json"
SUMMED = ("user_s", "system_s", "waits", "preemptions")
"""What adds up over the lives of a router that crashed and started anew."""


class Resources:
    """Gathers what nodes took, over all lives of each."""

    def __init__(self) -> None:
        self._lives: Counter[str] = Counter()
        self._used: dict[str, Counter[str]] = {}
        self._peak: dict[str, int] = {}
        self._unique: dict[str, int] = {}

    def note_end(self, name: str, usage: Mapping[str, int | float]) -> None:
        """A process of this node has ended."""
        if usage:
            self._lives[name] += 1
            used = self._used.setdefault(name, Counter())
            used.update({key: usage[key] for key in SUMMED})
            self._peak[name] = max(self._peak.get(name, 0), int(usage["peak_resident_bytes"]))

    def note_memory(self, name: str, pid: int) -> None:
        """See what its process has for itself alone now."""
        self._unique[name] = unique_bytes(pid)

    def write(self, directory: RunDirectory, names: Iterable[str]) -> None:
        """Write the account of these nodes, in this order; of those of which anything is known."""
        rows = [self._row(name) for name in names if name in self._used]
        if rows:
            directory.write_json(RESOURCES, {"nodes": rows})

    def _row(self, name: str) -> dict[str, object]:
        used = self._used[name]
        return {
            "name": name,
            "lives": self._lives[name],
            **{key: round(used[key], 6) for key in SUMMED},
            "peak_resident_bytes": self._peak[name],
            "unique_bytes": self._unique.get(name),
        }
