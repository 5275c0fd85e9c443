"""`--dilate auto`: when a run is done again, how slowly, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from testbed.emu.options import EmuOptions
from testbed.emu.world import MOST_ATTEMPTS, SLOWEST, at_its_pace
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import Attempt, Fidelity
from testbed.runs.world import Outcome

AUTO = EmuOptions(dilate_auto=True)


@dataclass
class Machine:
    """One that keeps up from a certain slowness on, and advises `advice` times as much until then."""

    enough: int
    advice: int | None
    directory: RunDirectory
    tried: list[int] = field(default_factory=list)

    def attempt(self, options: EmuOptions) -> Outcome:
        self.tried.append(options.dilate)
        assert not self.directory.events.exists()
        self.directory.events.write_text("{}\n")
        if options.dilate >= self.enough:
            return Outcome("complete", fidelity=Fidelity("trusted", dilate=options.dilate))
        slower = self.advice and options.dilate * self.advice
        return Outcome(
            "complete", fidelity=Fidelity("degraded", ("lag",), dilate=options.dilate, advised=slower)
        )


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "run", "x")


def test_a_trusted_run_is_run_once(directory: RunDirectory, progress: Any) -> None:
    machine = Machine(1, 2, directory)
    assert at_its_pace(machine.attempt, directory, progress, AUTO).fidelity == Fidelity("trusted")
    assert machine.tried == [1]


def test_a_degraded_run_is_repeated_as_advised_and_the_attempts_are_reported(
    directory: RunDirectory, progress: Any
) -> None:
    machine = Machine(9, 3, directory)
    found = at_its_pace(machine.attempt, directory, progress, AUTO).fidelity
    assert machine.tried == [1, 3, 9]
    assert found is not None
    assert (found.verdict, found.dilate) == ("trusted", 9)
    assert found.attempts == (Attempt(1, ("lag",)), Attempt(3, ("lag",)))
    assert "once more with time slowed 9-fold" in progress.lines


def test_it_is_not_done_again_unless_that_was_asked_for(directory: RunDirectory, progress: Any) -> None:
    machine = Machine(9, 3, directory)
    assert at_its_pace(machine.attempt, directory, progress, EmuOptions()).fidelity.verdict == "degraded"  # type: ignore[union-attr]
    assert machine.tried == [1]


def test_it_is_not_done_again_where_slowness_does_not_help(directory: RunDirectory, progress: Any) -> None:
    machine = Machine(9, None, directory)
    at_its_pace(machine.attempt, directory, progress, AUTO)
    assert machine.tried == [1]


def test_there_is_an_end_to_it(directory: RunDirectory, progress: Any) -> None:
    machine = Machine(10**6, 2, directory)
    at_its_pace(machine.attempt, directory, progress, AUTO)
    assert len(machine.tried) == MOST_ATTEMPTS
    (directory.path / "events.jsonl").unlink()
    eager = Machine(10**6, 1000, directory)
    at_its_pace(eager.attempt, directory, progress, AUTO)
    assert eager.tried == [1, SLOWEST]


def test_a_run_that_failed_is_not_done_again(directory: RunDirectory, progress: Any) -> None:
    tried = []

    def fail(options: EmuOptions) -> Outcome:
        tried.append(options.dilate)
        return Outcome("failed", "r1 was killed")

    assert at_its_pace(fail, directory, progress, AUTO).outcome == "failed"
    assert tried == [1]
