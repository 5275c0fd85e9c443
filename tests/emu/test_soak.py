"""Runs that end badly, and runs side by side: nothing is left, nothing is shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.live.registry import registry_root
from tests.emu.soak_kill import soak

pytestmark = pytest.mark.emu


@pytest.mark.usefixtures("sole_cleaner")
def test_runs_killed_at_random_moments_leave_nothing() -> None:
    trials = soak(runs=3, seed=11)
    assert [trial.left for trial in trials] == [()] * 3, trials


def test_two_runs_at_once_have_the_verdicts_of_one_after_the_other(bed: Any, second_bed: Any) -> None:
    plan = bed.plan()
    assert bed.run(plan).outcome == "complete"
    alone = bed.delivered()
    (bed.folder / "again").mkdir()
    beds = [(type(bed)(bed.folder / "again", f"{bed.run_id}-2"[-60:])), second_bed]
    runs = [each.start() for each in beds]
    for each, process in zip(beds, runs, strict=True):
        outcome = json.loads(process.communicate(timeout=60)[0].splitlines()[-1])
        assert outcome["outcome"] == "complete", outcome["message"]
        assert each.delivered() == alone == each.owed()
        each.assert_nothing_is_left()


@pytest.mark.usefixtures("sole_cleaner")
def test_the_registry_of_a_dead_run_does_not_hinder_another_run(bed: Any, progress: Any) -> None:
    stale = registry_root() / f"{bed.run_id}-stale"[-60:]
    stale.mkdir(parents=True)
    (stale / "run.json").write_text('{"owner": "1:1"}')
    Path(stale / "1.sock").touch()
    try:
        outcome = bed.run(bed.plan(), progress)
        assert outcome.outcome == "complete", outcome.message
        assert stale.exists(), "only `cbn clean` removes what another run left"
    finally:
        from testbed.emu.cleanup import clean

        clean()
    assert not stale.exists()
