"""Scenarios with attacks, run in the simulator and judged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.quick.judge import judge
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome, World
from testbed.sim.world import SimulatedWorld
from topologies.library import SCENARIOS

ATTACKS = SCENARIOS / "attacks"
SEALS = ("no_seal", "unknown_key", "wrong_seal", "repeated_seal")
MESSAGES = (*map(str.upper, SEALS), "OTHER_SESSION")
"""Of datagrams of messages, as the data plane counts them."""
REFUSED = (*SEALS, *MESSAGES, "wrong_signature", "unknown_signer")
"""Reasons to drop what is not sealed or signed as it should be."""


@dataclass(frozen=True, slots=True)
class Played:
    """A run that was judged."""

    path: Path
    verdict: Mapping[str, Any]
    outcome: Outcome

    @property
    def attacks(self) -> Mapping[str, Any]:
        """What the verdict says of attacks."""
        found: Mapping[str, Any] = self.verdict["attacks"]
        return found

    @property
    def complete(self) -> bool:
        """Whether the run came to its end: its network had settled again."""
        return self.outcome.outcome == "complete"

    def logged(self, event: str, *names: str) -> int:
        """How often these routers, or all, wrote an event into their logs."""
        paths = [path for path in self.path.glob("logs/r*.jsonl") if not names or path.stem in names]
        texts = (path.read_text(encoding="utf-8") for path in paths)
        return sum(text.count(f'"event":"{event}"') for text in texts)

    @property
    def statuses(self) -> dict[str, Any]:
        """What each router said at the end, by its name."""
        paths = sorted(self.path.glob("logs/r*.status.json"))
        return {path.name.partition(".")[0]: json.loads(path.read_text(encoding="utf-8")) for path in paths}

    def drops(self, *names: str) -> Counter[str]:
        """What these routers, or all, dropped, of messages for their seals alone, by reason."""
        found: Counter[str] = Counter()
        for name, status in self.statuses.items():
            if name in (names or self.statuses):
                found.update(status["drops"]["control"])
                forwarding = status["drops"]["forwarding"]
                found.update({reason: forwarding[reason] for reason in MESSAGES if forwarding[reason]})
        return found


def play(scenario: Path, out: Path, world: World | None = None, run_id: str = "", **overrides: str) -> Played:
    """Run a scenario, and judge it. Where nothing is sealed its network may never settle again.

    Args:
        scenario: The file.
        out: The run directory, which is made.
        world: In which; None: the simulator.
        run_id: Of the run; by default the directory's name.
        overrides: As `--set` has them, with `__` for a dot.
    """
    pairs = [(key.replace("__", "."), value) for key, value in overrides.items()]
    read = read_scenario(scenario, None, pairs)
    directory = RunDirectory.create(out, run_id or out.name)
    plan = read.plan()
    outcome = conduct(plan, world or SimulatedWorld(), directory, SilentProgress(), scenario=read.text)
    return Played(directory.path, judge(directory.path, plan), outcome)
