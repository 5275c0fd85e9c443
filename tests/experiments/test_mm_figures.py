"""Figs. 11 to 13 of the matchmaker paper: a quick slice is measured, what does not hold is not found to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.figures.axes import count
from testbed.cli.main import main
from testbed.cli.progress import SilentProgress
from testbed.experiments.experiment import load_experiment
from testbed.experiments.kind import DisagreementError, Finding
from testbed.experiments.results import Results, from_json
from testbed.experiments.side_by_side import measured as side_by_side
from testbed.experiments.signalling.claims import sweeps
from testbed.experiments.signalling.drawings import figures
from testbed.experiments.signalling.measure import Case, Row, Sweep, Variant, cases, scenario, speeds
from testbed.experiments.signalling.page import KIND, tables
from testbed.plan.dis import DEFAULT_SPEEDS
from testbed.plan.problems import ScenarioError
from topologies.library import experiment_file

pytestmark = pytest.mark.sim
ROW = Row(20, 20, 1000, 1, "bp", 0, 30, 900, 0, 0, 0, 0, 0, 100, 145, 4000, 0, 0, 9)


def results(*rows: Row) -> Results[Row]:
    return Results("mm-fig11", False, 1, 1, 1.0, {}, rows)


def found(name: str, *rows: Row) -> Finding:
    return KIND.checks[name](results(*rows))


def rates(of: Row, **by_scheme: int) -> tuple[Row, ...]:
    """Rows of schemes that tell so much a second."""
    return tuple(
        replace(of, scheme=scheme, signals=rate * of.seconds, marking=rate if scheme == "amsp" else 0)
        for scheme, rate in by_scheme.items()
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("fig11")
    assert main(["reproduce", "mm-fig11", "--quick", "--quiet", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def test_all_three_are_measured_on_the_same_work_and_amsp_alone_marks_links(quick: Results[Row]) -> None:
    sweep = load_experiment(experiment_file("mm-fig11"), quick=True).sweep
    assert [(r.scheme, r.begin_s) for r in quick.rows] == [
        (scheme, begin_s)
        for scheme in ("bp", "bs", "amsp")
        for begin_s in range(0, sweep.seconds, sweep.window)
    ]
    by_scheme = {scheme: [r for r in quick.rows if r.scheme == scheme] for scheme in sweep.schemes}
    assert len({tuple(r.changes for r in rows) for rows in by_scheme.values()}) == 1
    assert sum(r.marking for r in by_scheme["amsp"]) > 0
    assert not any(r.marking for r in (*by_scheme["bp"], *by_scheme["bs"]))
    assert all(sum(r.signals for r in rows) for rows in by_scheme.values())


def test_K11_fig_11_holds_for_the_papers_figures_and_not_for_others() -> None:
    printed = rates(ROW, bp=3200, bs=3100, amsp=790)
    printed = (*printed[:2], replace(printed[2], marking=printed[2].signals * 3 // 100))
    for name in ("amsp_saves", "share_of_marking"):
        assert found(name, *printed).holds, name
    other = rates(ROW, bp=3200, bs=2000, amsp=900)
    assert not found("amsp_saves", *other).holds
    assert not found("share_of_marking", *(replace(row, marking=row.signals // 2) for row in printed)).holds


def test_K11_what_marks_links_is_told_apart_and_the_beginning_is_left_out() -> None:
    late = [replace(row, begin_s=90) for row in rates(ROW, bp=3200, bs=3100, amsp=1500)]
    late[2] = replace(late[2], marking=late[2].signals // 2)
    early = [replace(row, signals=1) for row in late]
    rows = [replace(row, begin_s=0) for row in early] + late
    assert found("saved_without_marking", *rows).ours == "20/20, 1000 squares, amsp: 76% less"
    assert found("saved_without_marking", *rows).holds
    assert not found("amsp_saves", *rows).holds
    assert found("broadcast_rates", *rows).ours == f"bp {count(3200)}/s; bs {count(3100)}/s"


def test_nothing_is_said_of_schemes_that_were_not_run() -> None:
    for name in (
        "broadcast_rates",
        "amsp_saves",
        "saved_without_marking",
        "cheaper_broadcast",
        "a_finer_grid",
    ):
        assert found(name, *rates(ROW, bp=3000, amsp=700)) == Finding("bs was not run", None)


def test_K11_rates_that_change_after_the_beginning_are_not_steady() -> None:
    course = [replace(ROW, begin_s=begin_s, signals=3000) for begin_s in range(0, 900, 30)]
    assert found("steady", replace(course[0], signals=9000), *course[1:]).holds
    assert not found("steady", *course[:-1], replace(course[-1], signals=9000)).holds
    assert found("steady", *course[:2]).holds is None


def applications(**at_each: dict[str, int]) -> Iterator[Row]:
    for pair, by_scheme in at_each.items():
        publishers, subscribers = map(int, pair.removeprefix("a").split("_"))
        yield from rates(replace(ROW, publishers=publishers, subscribers=subscribers), **by_scheme)


PRINTED = {
    "a20_5": {"bp": 2000, "bs": 1000, "amsp": 200},
    "a20_20": {"bp": 3000, "bs": 3000, "amsp": 800},
    "a20_50": {"bp": 4000, "bs": 6000, "amsp": 1000},
    "a5_20": {"bp": 1000, "bs": 2000, "amsp": 200},
    "a50_20": {"bp": 6000, "bs": 4000, "amsp": 1000},
}


def test_K11_fig_12_holds_for_curves_as_printed_and_not_for_others() -> None:
    claims = ("cheaper_broadcast", "slopes_of_broadcasts", "amsp_is_lowest_and_grows_least")
    for name in claims:
        assert found(name, *applications(**PRINTED)).holds, name
    turned = {pair: {**by, "bp": by["bs"], "bs": by["bp"]} for pair, by in PRINTED.items()}
    assert not found("cheaper_broadcast", *applications(**turned)).holds
    assert not found("slopes_of_broadcasts", *applications(**turned)).holds
    dear = {**PRINTED, "a20_50": {"bp": 4000, "bs": 6000, "amsp": 5000}}
    assert not found("amsp_is_lowest_and_grows_least", *applications(**dear)).holds


def test_K11_both_sweeps_of_fig_12_are_found_and_drawn() -> None:
    rows = results(*applications(**PRINTED))
    assert {name: len(along["bp"]) for name, along in sweeps(rows).items()} == {
        "subscribers": 3,
        "publishers": 3,
    }
    drawn = figures(load_experiment(experiment_file("mm-fig12")), rows)
    assert set(drawn) == {"", "-publishers"}
    assert "| publishers | subscribers |" in tables(rows)


def test_K11_fig_13_holds_for_curves_as_printed_and_not_for_others() -> None:
    grids = {200: (600, 600, 150), 1000: (3000, 3000, 500), 2000: (6000, 6000, 1100)}
    rows = [
        row
        for squares, (bp, bs, amsp) in grids.items()
        for row in rates(replace(ROW, squares=squares), bp=bp, bs=bs, amsp=amsp)
    ]
    for name in ("rises_with_squares", "a_finer_grid", "amsp_is_lowest_and_grows_least"):
        assert found(name, *rows).holds, name
    assert "1000 x 1000" in found("a_finer_grid", *rows).ours
    falling = [replace(row, signals=10**9 // row.squares) for row in rows]
    assert not found("rises_with_squares", *falling).holds
    alike = [replace(row, signals=row.squares * row.seconds) for row in rows]
    assert not found("a_finer_grid", *alike).holds


def test_E20_a_variant_is_amsp_with_its_options_beside_the_schemes() -> None:
    sweep = load_experiment(experiment_file("mm-fig11"), quick=True).sweep
    varied = replace(sweep, variants=(Variant("slow", interval_ms=9000, hysteresis=0.5),))
    assert [case.scheme for case in cases(varied)] == ["bp", "bs", "amsp", "slow"]
    made = scenario(varied, Case(3, 3, 20, 1, "slow"), 1)["scheme"]
    assert made == {"name": "amsp", "advertisements": True, "interval_ms": 9000, "hysteresis": 0.5}
    rows = [*rates(ROW, bp=3000, bs=3000, amsp=100), replace(ROW, scheme="slow", signals=45000)]
    assert f"slow {count(1500)}/s, 50% less than bp" in found("amsp_saves", *rows).ours
    assert not found("amsp_saves", *rows).holds


def test_E20_speeds_are_those_by_default_so_much_faster() -> None:
    assert {k: v["metres_per_second"] for k, v in speeds(100).items()} == {
        k: v["metres_per_second"] for k, v in DEFAULT_SPEEDS.items()
    }
    assert speeds(50)["high"]["metres_per_second"] == [75, 125]


def test_two_variants_of_one_name_are_refused(tmp_path: Path) -> None:
    text = experiment_file("mm-fig13").read_text(encoding="utf-8")
    variants = "  variants: [{name: amsp}]\nquick:"
    (tmp_path / "bad.yaml").write_text(text.replace("quick:", variants, 1), encoding="utf-8")
    with pytest.raises(ScenarioError, match="two variants or schemes have one name"):
        load_experiment(tmp_path / "bad.yaml")


def test_rows_come_in_the_order_of_the_cases_and_each_from_a_process_of_its_own() -> None:
    rows = list(side_by_side([3, 1, 2], lambda case: [(case, os.getpid())] * case, SilentProgress()))
    assert [case for case, _ in rows] == [3, 3, 3, 1, 2, 2]
    assert len({process for _, process in rows} | {os.getpid()}) == 4


def test_a_case_that_cannot_be_trusted_or_whose_process_dies_is_reported() -> None:
    def disagree(case: int) -> list[int]:
        raise DisagreementError(f"case {case} disagrees")

    def die(case: int) -> list[int]:
        os._exit(case)

    with pytest.raises(DisagreementError, match="case 7 disagrees"):
        list(side_by_side([7], disagree, SilentProgress()))
    with pytest.raises(DisagreementError, match="ended with 9 before it was done"):
        list(side_by_side([9], die, SilentProgress()))


def test_sweep_defaults_leave_what_was_measured_before_as_it_was() -> None:
    sweep = Sweep(1, 3, ((3, 3),), (4, 8), 20, (20,), 4, 2, 60, 1, ("pif",))
    made = scenario(sweep, Case(3, 3, 20, 1, "pif"), 1)["workload"]["dis"]
    assert made["until"] == "9s"
    assert sweep.counted_from_s == 5
