"""The analysis and the judge that shares nothing with it agree, row by row and key by key."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from analysis.pipeline import analyze
from tests.judge.editing import Edited
from tests.judge.mutations import SCENARIO
from tests.judge.runs import carry_out, differences, quick_differences
from tests.judge.scenarios import SCHEMES, draw, routes_patterns

pytestmark = pytest.mark.sim

RUNS = 4
QUICK_RUNS = 12


def seed_of(seed: int, what: str, number: int) -> int:
    """What a run is drawn by: of every fourth one routers recognise patterns, and matches are owed."""
    rng = Random(f"{seed}/{what}/{number}")
    while True:
        drawn = rng.randrange(1_000_000)
        if number % 4 or routes_patterns(drawn, SCHEMES[drawn % len(SCHEMES)]):
            return drawn


@pytest.mark.parametrize("number", range(QUICK_RUNS))
def test_the_quick_verdict_and_the_second_judge_say_the_same_of_a_random_run(
    seed: int, number: int, tmp_path: Path
) -> None:
    drawn = seed_of(seed, "quick", number)
    compared = quick_differences(carry_out(draw(drawn, SCHEMES[drawn % len(SCHEMES)]), tmp_path))
    assert not compared.wrong, f"make judge SEED={drawn} RUNS=1\n" + "\n".join(compared.wrong)


@pytest.mark.spark
@pytest.mark.parametrize("number", range(RUNS))
def test_both_judges_say_the_same_of_a_random_run(seed: int, number: int, tmp_path: Path) -> None:
    """`make judge SEED=N RUNS=1` repeats a failure."""
    drawn = seed_of(seed, "whole", number)
    scheme = SCHEMES[drawn % len(SCHEMES)]
    compared = differences(carry_out(draw(drawn, scheme), tmp_path))
    assert not compared.wrong, f"make judge SEED={drawn} RUNS=1\n" + "\n".join(compared.wrong)
    assert compared.counts["publications"], f"make judge SEED={drawn} RUNS=1: nothing was published"


@pytest.mark.spark
def test_both_judges_tell_apart_what_a_fault_by_hand_disturbed(tmp_path: Path) -> None:
    """The plan has neither faults nor phases, as that of a network that was left running."""
    run = carry_out({name: value for name, value in SCENARIO.items() if name != "faults"}, tmp_path)
    edited = Edited(run)
    events = edited.events()
    at = len(events) // 2
    common = {"time_ns": events[at]["time_ns"], "node": ""}
    fault = {**common, "n": 7, "event": "fault", "do": "link_down", "target": "r2--r4"}
    converged = {**common, "n": 8, "event": "converged", "after_ns": 0}
    edited.write_events([*events[:at], fault, converged, *events[at:]])
    verdict = analyze(run)
    assert [row["name"] for row in verdict["faults"]] == ["link_down r2--r4"]
    assert verdict["recovery"]["publications"] > 0
    assert not differences(run).wrong
