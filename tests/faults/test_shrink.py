"""A schedule that fails is made small, deterministically, and replays from a scenario file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.oracle import oracle_of
from nodes.routing import schemes
from nodes.routing.schemes.base import FibSpec, Options, View
from nodes.routing.schemes.pif import Pif
from testbed.cli.main import main
from testbed.plan.load import load_plan
from tests.faults.drawing import draw
from tests.faults.schedules import Break, Publication, Schedule, Subscription
from tests.faults.shrink import failing_like, kinds, minimal, shrink, write_scenario
from tests.faults.trial import Score, judge, try_out

pytestmark = pytest.mark.sim


class Resentful(Pif):
    """A planted bug: a neighbour that was lost once is never sent to again."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._known: set[int] = set()
        self._lost: set[int] = set()

    def compile(self, view: View) -> FibSpec:
        self._lost |= self._known - {*view.interfaces}
        self._known |= {*view.interfaces}
        shunned = sum(1 << i for n in self._lost if n in view.interfaces for i in view.interfaces[n])
        spec = super().compile(view)
        return replace(spec, classes=tuple(replace(c, out=c.out & ~shunned) for c in spec.classes))


@pytest.fixture
def resentful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schemes.SCHEMES, "pif", Resentful)  # type: ignore[arg-type]


SEED = 1000
"""Where a link goes once. Elsewhere a flap may be what it takes: none of its breaks alone is noticed."""


def first_failing(seed: int) -> tuple[Schedule, Score]:
    for n in range(20):
        schedule = draw("ring", "pif", seed + n)
        score = try_out(schedule)
        if score.missing:
            return schedule, score
    raise AssertionError("the planted bug was never found")


def test_a_planted_bug_is_found_and_shrunk_to_a_link_that_comes_back(
    resentful: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule, score = first_failing(SEED)
    small = shrink(schedule, failing_like(score, try_out))
    assert "missing" in kinds(try_out(small))
    assert len(small.routers) == 2
    assert len(small.clients) == 2
    assert len(small.publications) == 1
    assert len(small.breaks) == 2
    assert small.breaks[0].target == small.breaks[1].target

    path = tmp_path / "small.yaml"
    assert write_scenario(small, path, ["something is missing"]) == f"cbn run {path} --world sim"
    code = main(["run", str(path), "--world", "sim", "--out", str(tmp_path / "run"), "--quiet"])
    assert code == 1, "the run's own verdict finds it, too"
    assert judged(path, tmp_path / "run").missing == 1
    capsys.readouterr()


def judged(scenario: Path, run: Path) -> Score:
    """What the oracle says of a run directory."""
    events: list[dict[str, Any]] = [json.loads(line) for line in (run / "events.jsonl").open()]
    start_ns = json.loads((run / "manifest.json").read_text())["start_ns"]
    plan, score = load_plan(scenario), Score()
    judge(score, oracle_of(plan, events, start_ns), events, {n.name: n.node_id for n in plan.nodes})
    return score


def test_without_the_bug_the_same_schedules_are_faultless(seed: int) -> None:
    assert try_out(draw("ring", "pif", seed)).ok


PAIR = Schedule(
    name="pair",
    seed=1,
    variant="pif",
    routers=("r1", "r2", "r3"),
    links=(("r1", "r2", ()), ("r2", "r3", ())),
    clients=(("a", "r1"), ("b", "r2"), ("c", "r3")),
    subscriptions=(Subscription("b", "all"), Subscription("c", "all")),
    publications=tuple(Publication("a", 1000 * n, "x = 1", 3) for n in range(4)),
    faults=((Break(900, "link_down", "r2 - r3"),), (Break(1900, "crash", "r3"), Break(2500, "start", "r3"))),
)


def test_shrinking_keeps_just_what_makes_it_fail() -> None:
    def fails(schedule: Schedule) -> bool:
        """Something crashes while b wants something and somebody speaks after it."""
        crashed = [b.at_ms for b in schedule.breaks if b.do == "crash"]
        wants = any(s.client == "b" for s in schedule.subscriptions)
        return bool(crashed) and wants and any(p.at_ms > crashed[0] for p in schedule.publications)

    small = shrink(PAIR, fails)
    assert [b.do for b in small.breaks] == ["crash"]
    assert [(p.at_ms, p.count) for p in small.publications] == [(3000, 1)]
    assert small.subscriptions == (Subscription("b", "all"),)
    assert small == shrink(PAIR, fails)


def test_a_schedule_that_is_no_scenario_does_not_count_as_failing() -> None:
    fails = failing_like(Score(missing=1), try_out)
    assert not fails(replace(PAIR, faults=((Break(100, "link_up", "r1 - r2"),),)))


@pytest.mark.parametrize("needed", [{3}, {0, 7}, {1, 2, 8}, set()])
def test_delta_debugging_finds_the_few_that_matter(needed: set[int]) -> None:
    assert minimal(range(10), lambda kept: needed <= {*kept}) == sorted(needed)
