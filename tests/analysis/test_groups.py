"""Groups of runs beside each other: what is grouped, what a difference is, and how sure it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from analysis import AnalysisError
from analysis.groups.comparing import Compared, compare, to_text
from analysis.groups.differences import Difference
from analysis.groups.figures import style
from analysis.groups.model import Member, grouped, member
from analysis.groups.page import to_page
from analysis.groups.words import interval, size


def verdict(**figures: Any) -> dict[str, Any]:
    """A verdict with what a comparison reads."""
    return {
        "verdict": "clean",
        "wanted": 100,
        "owed": 100,
        "delivered": 100,
        "missing": 0,
        "lost": 0,
        "publications": 10,
        "delivery_ratio": 1.0,
        "latency_ns": {"p50": 1_000_000, "p99": 4_000_000},
        "latency_curve_ns": [1_000_000 + 10_000 * i for i in range(201)],
        "control": {"bytes": 1_000},
        "messages": {"bytes": 20_000},
        "hops": {"mean": 2.5},
        "phases": [],
        **figures,
    }


def run(seed: int | None, **values: Any) -> Member:
    """A run of a scheme, with some figures in its verdict."""
    figures = values.pop("figures", {})
    apart = values if seed is None else {**values, "seed": seed}
    return Member(Path("-".join(map(str, apart.values()))), apart, verdict(**figures))


def p50(ns: int) -> dict[str, Any]:
    return {"latency_ns": {"p50": ns, "p99": 4_000_000}}


def of(found: Compared, quantity: str) -> Difference:
    (difference,) = (d for d in found.differences if d.quantity.key == quantity)
    return difference


def test_runs_that_differ_in_the_seed_alone_are_one_group() -> None:
    groups = grouped([run(s, scheme=scheme) for scheme in ("pif", "psf") for s in (1, 2, 3)])
    assert [(group.name, len(group.members)) for group in groups] == [("scheme pif", 3), ("scheme psf", 3)]


def test_pairs_of_runs_with_one_seed_are_compared_by_their_factor() -> None:
    """By hand: the logarithms have mean 0.179983 and standard error 0.048230; t(2) at 95 % is 4.3027."""
    slower = {1: 1.1, 2: 1.2, 3: 1.3}
    before = [run(s, scheme="pif", figures=p50(1_000_000 * s)) for s in slower]
    after = [run(s, scheme="psf", figures=p50(round(1_000_000 * s * f))) for s, f in slower.items()]
    found = of(compare("t", [*before, *after]), "latency.p50")
    assert (found.pairs, found.is_factor) == (3, True)
    assert found.estimate == pytest.approx((1.1 * 1.2 * 1.3) ** (1 / 3))
    assert found.low == pytest.approx(math.exp(0.179983 - 4.30265 * 0.048230), rel=1e-4)
    assert found.high == pytest.approx(math.exp(0.179983 + 4.30265 * 0.048230), rel=1e-4)
    assert found.certain is False, "the interval at 95 % has 1 in it"
    assert size(found) == "19.7 % higher"


def test_groups_with_other_seeds_are_compared_by_their_means() -> None:
    """Welch's by hand: the means are 2 and 8, the variances 2 and 4; t(3) at 95 % is 3.1824."""
    figures = (
        [{"hops": {"mean": mean}} for mean in (0, 2, 3, 3)],
        [{"hops": {"mean": mean}} for mean in (6, 8, 10)],
    )
    before = [run(s, scheme="pif", figures=f) for s, f in zip((1, 2, 3, 4), figures[0], strict=True)]
    after = [run(s, scheme="psf", figures=f) for s, f in zip((5, 6, 7), figures[1], strict=True)]
    found = of(compare("t", [*before, *after]), "hops")
    error = math.sqrt(2 / 4 + 4 / 3)
    freedom = int((2 / 4 + 4 / 3) ** 2 / ((2 / 4) ** 2 / 3 + (4 / 3) ** 2 / 2))
    assert (found.pairs, found.is_factor, freedom) == (0, False, 3)
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (6, 6 - 3.18245 * error, 6 + 3.18245 * error), rel=1e-4
    )


def test_one_run_each_shows_how_large_a_difference_is_but_not_how_sure() -> None:
    found = compare("t", [run(1, scheme="pif"), run(1, scheme="flood", figures={"control": {"bytes": 250}})])
    assert of(found, "control_bytes").certain is None
    assert found.headline == "2 groups of runs, one run each"
    assert "control bytes for each message 75 % less" in found.summary[0]
    assert "repeat: 5" in found.summary[-1]


def test_a_difference_is_called_certain_only_if_it_is_in_spite_of_all_comparisons() -> None:
    """Its own interval leaves out 1; that at 95 % for all comparisons together does not."""
    factors = {1: 1.05, 2: 1.10, 3: 1.15, 4: 1.08}
    before = [run(s, scheme="pif") for s in factors]
    after = [run(s, scheme="psf", figures=p50(round(1_000_000 * f))) for s, f in factors.items()]
    found = of(compare("t", [*before, *after]), "latency.p50")
    assert found.low is not None
    assert found.low > 1
    assert found.certain is False
    sure = [run(s, scheme="psf", figures=p50(2_000_000 + s)) for s in factors]
    assert of(compare("t", [*before, *sure]), "latency.p50").certain is True


def test_each_group_is_compared_with_the_one_that_differs_in_what_is_named_alone() -> None:
    runs = [run(None, scheme=scheme, size=n) for scheme in ("pif", "psf") for n in (3, 5)]
    found = compare("t", runs).differences
    assert {(d.group.name, d.reference.name) for d in found} == {
        ("scheme psf, size 3", "scheme pif, size 3"),
        ("scheme psf, size 5", "scheme pif, size 5"),
    }
    found = compare("t", runs, {"size": "5"}).differences
    assert {(d.group.name, d.reference.name) for d in found} == {
        ("scheme pif, size 3", "scheme pif, size 5"),
        ("scheme psf, size 3", "scheme psf, size 5"),
    }
    with pytest.raises(AnalysisError, match="no runs have size=4; size is one of 3, 5"):
        compare("t", runs, {"size": "4"})
    with pytest.raises(AnalysisError, match="no runs have sz=4; there is scheme, size"):
        compare("t", runs, {"sz": "4"})


def test_a_share_is_compared_in_points() -> None:
    runs = [run(1, scheme="pif"), run(1, scheme="psf", figures={"delivery_ratio": 0.93})]
    found = of(compare("t", runs), "delivery_ratio")
    assert (size(found), interval(found)) == ("7 points lower", "")


def test_what_makes_the_figures_doubtful_comes_before_them() -> None:
    bad = run(1, scheme="psf", figures={"verdict": "wrong", "missing": 3})
    slow = run(1, scheme="drp", figures={"fidelity": {"verdict": "degraded"}})
    found = compare("t", [run(1, scheme="pif"), bad, slow], left_out=["one has no verdict"])
    assert found.bad
    text = " ".join(found.reservations)
    assert "one has no verdict" in text
    assert "wrong of psf-1" in text
    assert "drp-1" in text


def test_the_page_holds_every_group_and_quantity_and_is_well_formed(tmp_path: Path) -> None:
    phases = [{"name": n, "latency_ns": {"p50": 5, "p99": 9}, "delivery_ratio": 1} for n in ("low", "high")]
    runs = [
        run(s, scheme=scheme, size=n, figures={"phases": phases} | p50(1_000 * n * s))
        for scheme in ("pif", "<b>")
        for n in (3, 5, 9)
        for s in (1, 2)
    ]
    page = to_page(compare("a & b", runs), tmp_path)
    tree = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    ids = {each.get("id") for each in tree.iter() if each.get("id")}
    assert {"groups", "latency", "phases", "along", "quantities", "differences", "runs"} <= ids
    text = " ".join(tree.itertext())
    assert all(f"scheme {scheme}, size {n}" in text for scheme in ("pif", "<b>") for n in (3, 5, 9))
    assert "4.5 µs ± " in text
    links = [each.get("href") for each in tree.iter() if each.get("download")]
    assert all(str(link).startswith("data:text/csv") for link in links)
    assert len(links) >= 5


def test_more_groups_than_colours_are_told_apart_by_their_lines() -> None:
    assert len({style(at) for at in range(24)}) == 24


def test_a_terminal_gets_a_table_only_if_it_fits() -> None:
    found = compare("t", [run(1, scheme="pif"), run(1, scheme="psf")])
    assert "message bytes for each delivery" in to_text(found, 100).splitlines()[-2]
    assert "\n\n" not in to_text(found, 40)


def test_a_run_without_a_verdict_is_named_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="it has no verdict yet; `cbn analyze"):
        member(tmp_path, {})
    (tmp_path / "verdict.json").write_text("{")
    with pytest.raises(AnalysisError, match="cannot be read"):
        member(tmp_path, {})
