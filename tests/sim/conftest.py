"""Plans, runs in the simulator, and the reference's word on what a run had to deliver."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nodes.model import matches, parse_message, parse_predicate
from testbed.plan.load import load_plan
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome
from testbed.sim.world import SimulatedWorld

Scenario = dict[str, Any]
Delivery = tuple[int, int, str]
"""(source, sequence, name of the subscriber)."""

TRIANGLE: Scenario = {
    "name": "triangle",
    "topology": {"routers": ["r1", "r2", "r3"], "links": ["r1 - r2", "r2 - r3", "r3 - r1"]},
    "clients": {
        "alice": {
            "at": "r1",
            "publish": [
                {"message": {"price": {"uniform": [0, 99]}}, "every": "10ms", "count": 10, "from": "0s"}
            ],
        },
        "bob": {"at": "r2", "subscribe": ["price < 50"]},
        "carol": {"at": "r3", "subscribe": ["price any integer"]},
    },
}


class Recorder:
    """A Progress that keeps what it is given."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.lines: list[str] = []
        self.on_phase: dict[str, Callable[[], None]] = {}

    def phase(self, name: str, total: int | None = None) -> None:
        self.phases.append(name)
        self.on_phase.get(name, lambda: None)()

    def advance(self, done: int) -> None:
        pass

    def say(self, text: str) -> None:
        self.lines.append(text)


class Run:
    """A finished run and what its files say."""

    def __init__(self, path: Path, outcome: Outcome, progress: Recorder) -> None:
        self.path = path
        self.outcome = outcome
        self.progress = progress

    @property
    def events(self) -> list[dict[str, Any]]:
        text = (self.path / "events.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def index(self) -> dict[str, Any]:
        return json.loads((self.path / "captures" / "index.json").read_text(encoding="utf-8"))

    def deliveries(self) -> list[Delivery]:
        return [(e["source"], e["sequence"], e["node"]) for e in self.events if e["event"] == "deliver"]

    def owed(self) -> set[Delivery]:
        """By the reference matcher, for subscriptions that hold for the whole run; none to the publisher."""
        wanted = [
            (e["node"], parse_predicate(e["predicate"])) for e in self.events if e["event"] == "subscribe"
        ]
        published = [e for e in self.events if e["event"] == "publish"]
        return {
            (e["source"], e["sequence"], client)
            for e in published
            for message in [parse_message(e["message"])]
            for client, predicate in wanted
            if client != e["node"] and matches(predicate, message)
        }


@pytest.fixture
def triangle() -> Scenario:
    """Three routers in a ring, one publisher, two subscribers; a copy to change at will."""
    return json.loads(json.dumps(TRIANGLE))


@pytest.fixture
def make_plan(tmp_path: Path) -> Callable[[Scenario], Plan]:
    """The plan of a scenario given as data."""

    def make(scenario: Scenario) -> Plan:
        path = tmp_path / f"{scenario['name']}.yaml"
        YAML().dump(scenario, path)
        return load_plan(path)

    return make


@pytest.fixture
def simulate(tmp_path: Path, make_plan: Callable[[Scenario], Plan]) -> Callable[..., Run]:
    """Run a scenario, or a plan, in the simulator."""
    count = 0

    def run(what: Scenario | Plan, progress: Recorder | None = None) -> Run:
        nonlocal count
        count += 1
        plan = what if isinstance(what, Plan) else make_plan(what)
        directory = RunDirectory.create(tmp_path / f"run{count}", f"run{count}")
        shown = progress or Recorder()
        return Run(directory.path, SimulatedWorld().run(plan, directory, shown), shown)

    return run


@pytest.fixture
def recorder() -> Recorder:
    """A Progress that remembers and can be made to act when a phase begins."""
    return Recorder()
