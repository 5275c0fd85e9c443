"""The program `python -m testbed.emu.measure`: a sleeper that notes how late it is woken.

It is asked on its standard input (`nodes.daemon.json_lines`) to `begin` anew, and to `end`:
the result is what there is since. It ends when its input does, which comes when the run's
main process is gone. A process of its own, since the run's main process has a lock to
wait for; and it loads next to nothing, so that it costs a few thousandths of a processor.

What is late here is the machine, or somebody who has the right to be first:
all processes of the run are late by at least as much, and those that do more
than sleep by more (docs/fidelity.md).
"""

from __future__ import annotations

import json
import os
import select
import time
from pathlib import Path

from nodes.daemon.lateness import Lateness

PERIOD_S = 0.005
SECOND = 1_000_000_000
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
THROTTLING = (
    ("/sys/fs/cgroup/cpu.stat", "throttled_usec", 1e-6),
    ("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time", 1e-9),
    ("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "throttled_time", 1e-9),
)
"""Where the kernel says how long a control group was held back: file, name, seconds a unit."""


class Sample:
    """What was measured since it was made."""

    def __init__(self) -> None:
        self._lateness = Lateness()
        self._lag_max_ns = 0
        self._began_ns = self._second_ns = time.monotonic_ns()
        self._cpu = self._second_cpu = read_processors()
        self._busy_peak = 0.0
        self._pressure_us = read_pressure_us()
        self._throttled_s = read_throttled_s()

    def note(self, late_ns: int) -> None:
        """One sleep was so much too long."""
        self._lateness.add(max(0, late_ns))
        self._lag_max_ns = max(self._lag_max_ns, late_ns)
        if time.monotonic_ns() - self._second_ns >= SECOND:
            self._end_second()

    def result(self) -> dict[str, object]:
        """JSON-ready: the fields of `testbed.runs.fidelity.MachineMeasure`."""
        seconds = (time.monotonic_ns() - self._began_ns) / SECOND
        cpu = read_processors()
        busy, stolen = shares(self._cpu, cpu)
        pressure_us, throttled_s = read_pressure_us(), read_throttled_s()
        return {
            "seconds": round(seconds, 3),
            "lag": self._lateness.status(),
            "lag_max_ns": self._lag_max_ns,
            "busy": busy,
            "busy_peak": max(busy, self._busy_peak),
            "stolen": stolen,
            "pressure": _per_second(self._pressure_us, pressure_us, seconds * 1e6),
            "throttled_s": _difference(self._throttled_s, throttled_s),
        }

    def _end_second(self) -> None:
        cpu = read_processors()
        self._busy_peak = max(self._busy_peak, shares(self._second_cpu, cpu)[0])
        self._second_ns, self._second_cpu = time.monotonic_ns(), cpu


def main() -> None:
    """Sleep and note until standard input ends."""
    sample = Sample()
    while True:
        due_ns = time.monotonic_ns() + round(PERIOD_S * SECOND)
        readable, _, _ = select.select([0], [], [], PERIOD_S)
        if not readable:
            sample.note(time.monotonic_ns() - due_ns)
            continue
        lines = os.read(0, 4096).splitlines()
        if not lines:
            return
        for line in lines:
            if json.loads(line)["do"] == "begin":
                sample = Sample()
            reply = {"ok": True, "result": sample.result()}
            os.write(1, json.dumps(reply).encode() + b"\n")


def read_processors() -> dict[str, int]:
    """What all processors together have done so far, in ticks."""
    line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    return dict(zip(CPU_FIELDS, map(int, line.split()[1:]), strict=False))


def shares(before: dict[str, int], after: dict[str, int]) -> tuple[float, float]:
    """(busy, stolen): the shares of the time between, waiting for discs being idle.

    Who is nice counts as busy too: where the kernel groups processes by session, nice is no help to others.
    """
    spent = {name: after[name] - before[name] for name in after}
    total = sum(spent.values())
    if total <= 0:
        return 0.0, 0.0
    idle = spent["idle"] + spent["iowait"]
    return round(1 - idle / total, 4), round(spent.get("steal", 0) / total, 4)


def read_pressure_us() -> int | None:
    """For how long somebody has waited for a processor so far; None: the kernel does not tell."""
    path = Path("/proc/pressure/cpu")
    if not path.exists():
        return None
    return int(path.read_text(encoding="ascii").partition("total=")[2].split()[0])


def read_throttled_s() -> float | None:
    """For how long a quota has held our control group back so far; None: not to be found out."""
    for name, field, unit in THROTTLING:
        path = Path(name)
        rows = path.read_text(encoding="ascii").split() if path.exists() else []
        if field in rows:
            return int(rows[rows.index(field) + 1]) * unit
    return None


def _per_second(before: int | None, after: int | None, span: float) -> float | None:
    if before is None or after is None or not span:
        return None
    return round(min(1.0, (after - before) / span), 4)


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else round(after - before, 4)


if __name__ == "__main__":
    main()
