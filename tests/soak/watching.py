"""Samples of what processes hold: memory, and open descriptors.

Not here: whether that grows (`trend`).
"""

from __future__ import annotations

import csv
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from nodes.processes import RUN_MARK, environment_of
from tests.soak.trend import Bound, Sample, Trend, trend

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MB = 1e6
COLUMNS = ("process", "pid", "seconds", "memory_mb", "descriptors")
CONTROLLER = "controller"
"""The process that conducts the run, and watches."""


@dataclass
class Series:
    """What one process held over time."""

    name: str
    memory: list[Sample] = field(default_factory=list)
    descriptors: list[Sample] = field(default_factory=list)

    def add(self, at_s: float, memory_mb: float, descriptors: float) -> None:
        """One more sample."""
        self.memory.append((at_s, memory_mb))
        self.descriptors.append((at_s, descriptors))

    @property
    def span_s(self) -> float:
        """From the first sample to the last."""
        return self.memory[-1][0] - self.memory[0][0] if self.memory else 0.0

    @property
    def memory_trend(self) -> Trend | None:
        """None: it did not last long enough."""
        return trend(self.memory)


class Samples:
    """A file that samples are written to while something runs: what watches must not grow by itself.

    A row is a process by its name and number, the seconds, and what it held.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("w", encoding="utf-8") as file:
            file.write(",".join(COLUMNS) + "\n")

    def take(self, at_s: float, processes: Iterable[tuple[str, int]]) -> None:
        """Write down what processes hold now, by name and number; who has ended meanwhile is left out."""
        rows = [(name, pid, held_by(pid)) for name, pid in processes]
        with self._path.open("a", encoding="utf-8") as file:
            for name, pid, held in rows:
                if held is not None:
                    file.write(f"{name},{pid},{at_s:.3f},{held[0]:.6f},{held[1]}\n")

    def series(self) -> list[Series]:
        """All that was written, a series for each life of each process."""
        found: dict[tuple[str, str], Series] = {}
        with self._path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                name, at_s, memory, descriptors = (row[each] for each in (COLUMNS[0], *COLUMNS[2:]))
                series = found.setdefault((name, row["pid"]), Series(name))
                series.add(float(at_s), float(memory), float(descriptors))
        return list(found.values())


def held_by(pid: int) -> tuple[float, int] | None:
    """The resident memory of a process in MB, and its open descriptors; None: it has ended."""
    folder = Path("/proc") / str(pid)
    try:
        pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
        return pages * PAGE_BYTES / MB, sum(1 for _ in (folder / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


class Watcher:
    """Samples all processes of a run, and this one, again and again, in a thread of its own."""

    def __init__(self, run_id: str, every_s: float, samples: Samples) -> None:
        self._run_id = run_id
        self._every_s = every_s
        self._samples = samples
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._defect: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what went wrong while watching is raised here."""
        self._over.set()
        self._thread.join()
        if self._defect is not None:
            raise self._defect

    def look(self, at_s: float) -> None:
        """Take one sample of all."""
        named = ((name_of(pid), pid) for pid in processes_of(self._run_id))
        self._samples.take(at_s, [*((name, pid) for name, pid in named if name), (CONTROLLER, os.getpid())])

    def _watch(self) -> None:
        began_s = time.monotonic()
        try:
            while not self._over.wait(self._every_s):
                self.look(time.monotonic() - began_s)
        except BaseException as defect:
            self._defect = defect


def processes_of(run_id: str) -> list[int]:
    """The processes that carry a run's mark, but this one."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and environment_of(pid).get(RUN_MARK) == run_id]


def name_of(pid: int) -> str:
    """A node's name by its settings' file, or the program's."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    for word in words:
        if word.endswith(".toml"):
            return Path(word).stem
    modules = [after for word, after in pairwise(words) if word == "-m"]
    return modules[0].rpartition(".")[2] if modules else Path(words[0]).name


@dataclass(frozen=True)
class Bounds:
    """What growth of a process is noise."""

    memory: Bound
    descriptors: Bound


def lasting(series: Sequence[Series]) -> list[Series]:
    """Those that lasted for half of the time at least: of the others, the begin would count for too much."""
    longest_s = max((each.span_s for each in series), default=0.0)
    return [each for each in series if each.span_s >= longest_s / 2 and each.memory_trend is not None]


def grown(series: Sequence[Series], bounds_of: Callable[[str], Bounds]) -> list[str]:
    """What grows that must not, a line each."""
    found = []
    for each in lasting(series):
        bounds = bounds_of(each.name)
        for what, samples, bound, unit in (
            ("memory grows", each.memory, bounds.memory, " MB"),
            ("descriptors grow", each.descriptors, bounds.descriptors, ""),
        ):
            line = trend(samples)
            if line is not None and line.grows(bound):
                found.append(
                    f"{each.name}: {what} by {line.slope_a_day:.3g}{unit} a day, "
                    f"from {line.first:.6g} to {line.last:.6g}{unit}; {bound.a_day:g}{unit} a day, "
                    f"or {bound.in_all:g}{unit} in all, would be noise"
                )
    return found
