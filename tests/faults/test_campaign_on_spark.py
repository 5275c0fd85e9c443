"""`make test-faults ON=...`: fault schedules as Spark tasks give what processes give."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults import campaign
from tests.faults.campaign import Campaign, Task
from tests.faults.trial import Score

pytestmark = [pytest.mark.sim, pytest.mark.spark]


@pytest.mark.usefixtures("spark")
def test_schedules_as_tasks_score_what_they_score_in_processes(seed: int) -> None:
    here, there = Campaign(["pif"], seed), Campaign(["pif"], seed)
    here.run(schedules=1, owed=0, jobs=2)
    there.run(schedules=1, owed=0, jobs=1, on="local[2]")
    assert here.scores == there.scores != {}


@pytest.mark.usefixtures("spark")
def test_a_schedule_that_breaks_off_is_a_failure_of_its_own(
    seed: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def half(task: Task) -> Score:
        if task[1] == "ring":
            raise ZeroDivisionError("on purpose")
        return Score(schedules=1)

    monkeypatch.setattr(campaign, "carry_out", half)
    broken = Campaign(["pif"], seed)
    broken.run(schedules=1, owed=0, jobs=1, on="local[2]")
    ((task, score),) = broken.failed
    assert task == ("pif", "ring", seed)
    assert "ZeroDivisionError: on purpose" in score.problems[0]
