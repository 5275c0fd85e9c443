"""`python -m tests.emu.soak_kill`: runs that are killed with SIGKILL at random moments leave nothing.

Each run has links of both kinds, captures, faults and a limited node. After the
kill nothing is done for it but what `cbn clean` does. `RUNS` (20) and `SEED` (1)
from the environment; ends with 1 if anything was left.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from nodes.processes import RUN_MARK, environment_of
from testbed.emu import cgroups
from testbed.emu.cleanup import clean
from testbed.live.registry import registry_root

ROOT = Path(__file__).resolve().parents[2]
LATEST_S = 3.0
"""By then a run of this scenario is in the middle of its workload."""
SCENARIO = """
name: soak
topology:
  routers: [r1, r2, r3, r4]
  links: [{between: [r1, r2], delay: 5ms}, r2 - r3, r3 - r4, r4 - r1]
clients:
  a: {at: r1, publish: [{every: 5ms, count: 2000, message: {n: 1}}]}
  b: {at: r3, subscribe: ['n = 1']}
timers: {hello_ms: 50, hold_ms: 500}
faults:
  - {at: 100ms, link_down: r2 - r3}
  - {at: 300ms, crash: r4}
  - {at: 600ms, start: r4}
  - {at: 900ms, pause: r2}
"""


@dataclass(frozen=True)
class Trial:
    """One run and what was left of it."""

    killed_after_s: float
    phase: str
    cleaned: int
    """Processes that `cbn clean` still had to end."""
    left: tuple[str, ...]


def try_once(folder: Path, run_id: str, after_s: float) -> Trial:
    """Start a run, kill it after that time, clean, and look."""
    scenario = folder / "soak.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    before = host_interfaces()
    command = [sys.executable, str(ROOT / "tests" / "emu" / "run_in_process.py")]
    printed = folder / "said"
    with printed.open("w") as output:
        process = subprocess.Popen(
            [*command, str(scenario), str(folder / "run"), run_id],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + after_s
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(min(0.01, max(0.0, deadline - time.monotonic())))
        process.kill()
        process.wait()
    report = clean()
    cleaned = sum(found.run_id == run_id for found in report.processes)
    phases = [line.split()[1] for line in printed.read_text().splitlines() if line.startswith("phase ")]
    return Trial(after_s, phases[-1] if phases else "start", cleaned, tuple(leftovers(run_id, before)))


def leftovers(run_id: str, interfaces_before: set[str]) -> list[str]:
    """All there is of a run still."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    found = [f"process {pid}" for pid in pids if environment_of(pid).get(RUN_MARK) == run_id]
    found += [str(folder) for folder in registry_root().glob(f"*{run_id}*")]
    groups = cgroups.hierarchy()
    if groups is not None and (groups.root / cgroups.OURS / run_id).exists():
        found.append(f"control group {run_id}")
    return found + [f"interface {name}" for name in sorted(host_interfaces() - interfaces_before)]


def host_interfaces() -> set[str]:
    return {entry.name for entry in Path("/sys/class/net").iterdir()}


def soak(runs: int, seed: int) -> list[Trial]:
    """Kill that many runs at moments drawn by the seed."""
    rng = random.Random(f"{seed}/soak")
    trials = []
    for number in range(runs):
        with tempfile.TemporaryDirectory(prefix="cbn-soak-") as folder:
            run_id = f"soak-{os.getpid()}-{seed}-{number}"
            trials.append(try_once(Path(folder), run_id, rng.uniform(0.05, LATEST_S)))
    return trials


def main() -> int:
    """Soak, and print what was found."""
    runs, seed = int(os.environ.get("RUNS", "20")), int(os.environ.get("SEED", "1"))
    print(f"{'killed after':>12}  {'in phase':<9} {'to clean':>8}  left")
    trials = soak(runs, seed)
    for trial in trials:
        left = ", ".join(trial.left) or "nothing"
        print(f"{trial.killed_after_s:>10.2f} s  {trial.phase:<9} {trial.cleaned:>8}  {left}")
    spoilt = sum(bool(trial.left) for trial in trials)
    print(f"{runs} runs killed (seed {seed}): {spoilt} left anything")
    return 1 if spoilt else 0


if __name__ == "__main__":
    sys.exit(main())
