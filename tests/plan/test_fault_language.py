"""Faults by draw, tag, condition and in one line, and the single steps that the plan has of them."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.plan.load import plan_of
from testbed.plan.model import Fault
from testbed.plan.problems import ScenarioError
from testbed.plan.recorded import plan_from_json, plan_to_json

MS = 1_000_000
NET = {
    "name": "net",
    "topology": {
        "routers": {f"r{n}": {"tags": ["core"] if n < 4 else ["edge"]} for n in range(1, 7)},
        "link_defaults": {"delay": "2ms"},
        "links": ["r1 - r2", "r2 - r3", "r3 - r1", "r4 - r1", "r5 - r2", "r6 - r3", "r5 - r4"],
    },
    "phases": [{"name": "calm", "lasts": "1s"}, {"name": "storm", "lasts": "5s"}],
    "populations": {"sub": {"count": 10, "at": "edge"}},
}


def faults(*given: Any, **more: Any) -> tuple[Fault, ...]:
    plan = plan_of({**NET, "faults": list(given), **more})
    assert plan_from_json(plan_to_json(plan)) == plan
    return plan.faults


def steps(*given: Any, **more: Any) -> list[tuple[str, int, str, str]]:
    return [(f.after, f.at_ns // MS, f.do, f.target) for f in faults(*given, **more)]


def complaint(*given: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        faults(*given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ({"at 1s": "crash r1"}, {"at": "1s", "crash": "r1"}),
        ({"at storm + 1s": "pause r1, sub2 for 1s"}, {"at": "2s", "pause": ["r1", "sub2"], "for": "1s"}),
        ({"at 1s": "link_down r1 - r2"}, {"at": "1s", "link_down": "r2 - r1"}),
        ({"when converged": "leave sub1"}, {"when": "converged", "leave": "sub1"}),
        (
            {"when converged + 1s": "impair r1 - r2 delay 30ms loss 0.1 for 2s"},
            {
                "when": "converged",
                "after": "1s",
                "impair": {"link": "r1 - r2", "delay": "30ms", "loss": 0.1},
                "for": "2s",
            },
        ),
        (
            {"at 1s": "flap r1 - r2 2 times every 1s down 100ms"},
            {"at": "1s", "flap": {"link": "r1 - r2", "times": 2, "every": "1s", "down": "100ms"}},
        ),
        (
            {"at 1s": "churn 50% of sub 2 times every 1s"},
            {"at": "1s", "churn": {"clients": "50%", "times": 2, "every": "1s"}},
        ),
        (
            {"at 1s": "partition r1, r2 | r3 for 1s"},
            {"at": "1s", "partition": [["r1", "r2"], ["r3"]], "for": "1s"},
        ),
    ],
)
def test_a_line_says_what_the_full_form_says(line: Any, full: Any) -> None:
    assert faults(line) == faults(full)


def test_a_draw_is_among_those_to_whom_it_can_happen() -> None:
    for seed in range(10):
        drawn = steps(
            {"at": "1s", "crash": "one of core"},
            {"at": "2s", "crash": "one of core"},
            {"at": "3s", "crash": "one of core"},
            seed=seed,
        )
        assert {target for _, _, _, target in drawn} == {"r1", "r2", "r3"}, f"seed {seed}"
    text = complaint({"at": "1s", "crash": "core"}, {"at": "2s", "crash": "one of core"})
    assert "one of core: just 0 of 3 are left then that crash can happen to" in text


def test_each_fault_draws_by_itself() -> None:
    before = faults({"at": "1s", "crash": "one of core", "for": "100ms"}, {"at": "2s", "crash": "2 of edge"})
    after = faults({"at": "1s", "crash": "2 of core", "for": "100ms"}, {"at": "2s", "crash": "2 of edge"})
    assert before[-2:] == after[-2:]


def test_what_lasts_a_time_is_repaired_for_the_same_ones() -> None:
    done = steps({"at": "1s", "link_down": "3 of links", "for": "500ms"})
    down, up = done[:3], done[3:]
    assert [target for *_, target in down] == [target for *_, target in up]
    assert {(at, do) for _, at, do, _ in up} == {(1500, "link_up")}


def test_a_group_is_repaired_as_far_as_it_is_broken() -> None:
    done = steps({"at": "1s", "crash": "2 of core"}, {"at": "2s", "start": "core"})
    assert [target for *_, target in done[:2]] == [target for *_, target in done[2:]]
    assert "nothing of core is crashed then" in complaint({"at": "2s", "start": "core"})


def test_what_waits_comes_after_what_stands_above_and_waits_once() -> None:
    done = steps(
        {"at": "5s", "crash": "r1"},
        {"when": "converged", "after": "200ms", "partition": ["core"], "for": "1s"},
        {"at": "2s", "pause": "r6", "for": "1s"},
        {"at": "9s", "start": "r1"},
    )
    assert done == [
        ("start", 2000, "pause", "r6"),
        ("start", 3000, "resume", "r6"),
        ("start", 5000, "crash", "r1"),
        ("converged", 200, "link_down", "r4--r1"),
        ("previous", 0, "link_down", "r5--r2"),
        ("previous", 0, "link_down", "r6--r3"),
        ("previous", 1000, "link_up", "r4--r1"),
        ("previous", 0, "link_up", "r5--r2"),
        ("previous", 0, "link_up", "r6--r3"),
        ("start", 9000, "start", "r1"),
    ]


def test_overlaps_are_refused_across_conditions_too() -> None:
    text = complaint({"at": "1s", "crash": "r1"}, {"when": "converged", "crash": "r1"})
    assert "r1 has crashed already" in text
    text = complaint({"when": "converged", "link_down": "r1 - r2"}, {"at": "9s", "link_down": "r1 - r2"})
    assert "r1 - r2 is down already" in text


def test_an_impairment_changes_the_named_properties_and_a_repair_restores_all() -> None:
    first, second, third = faults(
        {"at": "1s", "impair": {"link": "r1 - r2", "loss": 0.1}},
        {"at": "2s", "impair": {"link": "r1 - r2", "delay": "30ms", "back": {"delay": "5ms"}}},
        {"at": "3s", "repair": "links"},
    )
    assert (first.impairment.delay_ns, first.impairment.loss, first.back) == (2 * MS, 0.1, None)  # type: ignore[union-attr]
    assert (second.impairment.delay_ns, second.impairment.loss) == (30 * MS, 0.1)  # type: ignore[union-attr]
    assert (second.back.delay_ns, second.back.loss) == (5 * MS, 0.1)  # type: ignore[union-attr]
    assert (third.do, third.impairment.delay_ns, third.impairment.loss) == ("impair", 2 * MS, 0.0)  # type: ignore[union-attr]
    assert "the jitter is greater" in complaint({"at": "1s", "impair": {"link": "r1 - r2", "jitter": "9ms"}})


def test_churn_takes_other_clients_each_time_and_all_return() -> None:
    done = steps({"at": "1s", "churn": {"clients": "30% of sub", "times": 6, "every": "1s", "away": "200ms"}})
    away = [
        [target for _, at, do, target in done if (at, do) == (1000 * n, "link_down")] for n in range(1, 7)
    ]
    back = [[t for _, at, do, t in done if (at, do) == (1000 * n + 200, "link_up")] for n in range(1, 7)]
    assert away == back
    assert all(len(gone) == 3 for gone in away)
    assert len({tuple(gone) for gone in away}) > 3
