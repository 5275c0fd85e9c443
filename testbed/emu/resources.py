"""What each node of a run took of the machine: `logs/resources.json`.

Processor seconds, peak memory and context switches are the kernel's account of
a process at its end: exact, and nothing is sampled. The memory that a process
shares with none is looked up once, when the run's traffic has come to rest.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from testbed.live.fabric import ProcessRow
from testbed.live.registry import unique_bytes
from testbed.runs.directory import RunDirectory

RESOURCES = "logs/resources.json"
SUMMED = ("user_s", "system_s", "waits", "preemptions")
"""What adds up over the lives of a router that crashed and started anew."""

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def process_row(pid: int) -> ProcessRow:
    """Processor time and memory of a process now."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        resident = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return {"pid": pid, "cpu_s": None, "resident_bytes": None}
    busy = int(fields[11]) + int(fields[12])
    return {"pid": pid, "cpu_s": busy / TICKS_A_SECOND, "resident_bytes": int(resident) * PAGE_BYTES}


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
