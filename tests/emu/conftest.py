"""Plans, progress and an oracle for tests of the emulated world."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nodes.model import matches, parse_message, parse_predicate
from nodes.processes import RUN_MARK
from testbed.emu.world import EmulatedWorld
from testbed.live.registry import registry_root
from testbed.plan.load import load_plan
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome

Pair = tuple[int, int, str]
"""(source, sequence, name of the subscriber)."""
HOME = {Path("/proc/self/ns/net").readlink().name}
ROOT = Path(__file__).resolve().parents[2]

TRIANGLE = """
name: triangle
seed: 7
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, r2 - r3, r3 - r1]
clients:
  a:
    at: r1
    subscribe: ['k = "x" and n < 20']
    publish: [{every: EVERY, count: COUNT, from: 0ms, message: {n: {count: 0}, k: {choice: [x, y]}}}]
  b:
    at: r2
    subscribe: ['n any integer']
    publish: [{every: EVERY, count: COUNT, from: 1ms, message: {n: {count: 5}, k: {choice: [x, y]}}}]
  c:
    at: r3
    subscribe: ['k = "y"', 'n > 30 or k >* "x"']
record: {captures: false}
"""
"""
       a           b
       |           |
       r1 ------- r2
         \\       /
          \\     /
            r3 --- c
"""


@dataclass
class RecordedProgress:
    """A Progress that keeps what it is given."""

    phases: list[str] = field(default_factory=list)
    at_phase: dict[str, Callable[[], object]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    done: int = 0

    def phase(self, name: str, total: int | None = None) -> None:
        self.phases.append(name)
        self.at_phase.get(name, lambda: None)()

    def advance(self, done: int) -> None:
        self.done = done

    def say(self, text: str) -> None:
        self.lines.append(text)


@dataclass
class Bed:
    """One test's scenario, run directory and run id, and what can be said about the run."""

    folder: Path
    run_id: str
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def out(self) -> Path:
        return self.folder / "run"

    def scenario(
        self,
        every: str = "5ms",
        count: int = 40,
        extra: str = "",
        first_link: str = "r1 - r2",
        captures: bool = False,
    ) -> Path:
        path = self.folder / "triangle.yaml"
        text = TRIANGLE.replace("EVERY", every).replace("COUNT", str(count)) + extra
        text = text.replace("r1 - r2", first_link).replace("captures: false", f"captures: {captures}".lower())
        path.write_text(text, encoding="utf-8")
        return path

    def plan(self, **options: Any) -> Plan:
        return load_plan(self.scenario(**options))

    def directory(self) -> RunDirectory:
        return RunDirectory.create(self.out, self.run_id)

    def run(self, plan: Plan, progress: RecordedProgress | None = None) -> Outcome:
        """Run the plan in this process."""
        return EmulatedWorld().run(plan, self.directory(), progress or RecordedProgress())

    def start(self, **options: Any) -> subprocess.Popen[str]:
        """A run in a process of its own, as `cbn run` would start it; it says its phases."""
        program = str(Path(__file__).with_name("run_in_process.py"))
        command = [sys.executable, program, str(self.scenario(**options)), str(self.out), self.run_id]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "events.jsonl").read_text().splitlines()]

    def delivered(self) -> Counter[Pair]:
        return Counter(
            (e["source"], e["sequence"], e["node"]) for e in self.events() if e["event"] == "deliver"
        )

    def hops(self) -> list[tuple[int, int, str, int]]:
        """Every delivery with the number of routers it passed, in an order of its own."""
        rows = [e for e in self.events() if e["event"] == "deliver"]
        return sorted((e["source"], e["sequence"], e["node"], e["hop_count"]) for e in rows)

    def owed(self) -> Counter[Pair]:
        """The oracle: every publication x subscription, by the reference model; nobody gets their own."""
        rows = self.events()
        wanted = [(e["node"], parse_predicate(e["predicate"])) for e in rows if e["event"] == "subscribe"]
        published = [(e, parse_message(e["message"])) for e in rows if e["event"] == "publish"]
        return Counter(
            {
                (e["source"], e["sequence"], node): 1
                for e, message in published
                for node, predicate in wanted
                if node != e["node"] and matches(predicate, message)
            }
        )

    def processes(self) -> list[int]:
        """Those that carry the run's mark."""
        mark = f"{RUN_MARK}={self.run_id}".encode()
        return [pid for pid, environment in environments() if mark in environment.split(b"\0")]

    def namespaces(self) -> set[str]:
        """The network namespaces its nodes are in; held open, so that no other is given their numbers."""
        found = set()
        for pid in self.processes():
            space = self.held.enter_context((Path("/proc") / str(pid) / "ns" / "net").open("rb"))
            found.add(f"net:[{os.fstat(space.fileno()).st_ino}]")
        return found - HOME

    def process_of(self, node: str) -> int:
        found = [
            p
            for p in self.processes()
            if f"/{node}.toml\0".encode() in Path(f"/proc/{p}/cmdline").read_bytes()
        ]
        assert len(found) == 1, found
        return found[0]

    def assert_nothing_is_left(self, namespaces: set[str] | None = None) -> None:
        assert self.processes() == []
        assert not inhabited() & (namespaces or set())
        assert not (registry_root() / self.run_id).exists()


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    """Three routers in a ring, a client at each; the run id is the test's own."""
    made = Bed(tmp_path, f"test-{tmp_path.parent.name}-{tmp_path.name}"[-60:])
    with made.held:
        yield made


@pytest.fixture
def second_bed(tmp_path: Path) -> Iterator[Bed]:
    """Another one beside it."""
    (tmp_path / "second").mkdir()
    made = Bed(tmp_path / "second", f"second-{tmp_path.name}"[-60:])
    with made.held:
        yield made


def environments() -> Iterator[tuple[int, bytes]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "environ").read_bytes()


def inhabited() -> set[str]:
    """All network namespaces that some process is in."""
    names = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            names |= {(entry / "ns" / "net").readlink().name} if entry.name.isdecimal() else set()
    return names


@pytest.fixture
def until_phase() -> Callable[[subprocess.Popen[str], str], None]:
    """Reads what a run says until it enters a phase."""

    def read(process: subprocess.Popen[str], phase: str) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == f"phase {phase}":
                return
        raise AssertionError(
            f"the run ended before {phase}: {process.stderr.read() if process.stderr else ''}"
        )

    return read


@pytest.fixture
def progress() -> RecordedProgress:
    """A Progress that keeps what it is given."""
    return RecordedProgress()
