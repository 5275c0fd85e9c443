"""Runs one scenario in the emulated world, in this process, as the CLI does: for tests that kill it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from testbed.cli.exits import Signals
from testbed.emu.world import EmulatedWorld
from testbed.plan.load import load_plan
from testbed.runs.directory import RunDirectory


class Spoken:
    """A Progress that speaks on standard output."""

    def phase(self, name: str, total: int | None = None) -> None:
        print(f"phase {name}", flush=True)

    def advance(self, done: int) -> None:
        pass

    def say(self, text: str) -> None:
        print(f"say {text}", flush=True)


def main(scenario: str, out: str, run_id: str) -> None:
    with Signals():
        outcome = EmulatedWorld().run(load_plan(scenario), RunDirectory.create(Path(out), run_id), Spoken())
    print(json.dumps(asdict(outcome)), flush=True)


main(*sys.argv[1:])
