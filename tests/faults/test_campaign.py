"""A slice of `make test-faults`: every scheme survives a few schedules of faults (M4, E7)."""

from __future__ import annotations

from random import Random

import pytest

from testbed.plan.load import plan_of
from tests.faults.campaign import Campaign, table
from tests.faults.drawing import draw
from tests.faults.families import FAMILIES
from tests.faults.interleavings import draw_interleaving
from tests.faults.trial import Score, try_out
from tests.faults.variants import VARIANTS, seeks

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("scheme", VARIANTS)
def test_whatever_breaks_nothing_owed_is_missing_or_doubled_once_converged(scheme: str, seed: int) -> None:
    families = Random(f"{seed}/{scheme}").sample(sorted(FAMILIES), 2)
    for family in families:
        score = try_out(draw(family, scheme, seed))
        assert score.ok, f"draw({family!r}, {scheme!r}, {seed}): {score.problems}"
        assert score.fixpoints > 1


def test_a_link_that_flaps_faster_than_the_hold_time_is_not_taken_for_repaired_too_early() -> None:
    """HELLOs that were lost in three short breaks end an adjacency after the last of them."""
    score = try_out(draw("tree", "drp", 424247))
    assert score.ok, score.problems


@pytest.mark.parametrize(("family", "seed"), [("random", 4003690550), ("power-law", 4003690562)])
def test_T3_what_comes_back_under_a_rewritten_header_is_not_delivered_to_its_publisher(
    family: str, seed: int
) -> None:
    score = try_out(draw(family, "ipsf", seed))
    assert score.ok, score.problems


@pytest.mark.parametrize(
    ("family", "variant", "seed"), [("grid", "ipsf", 1101986253), ("ring", "cbcb/ra", 1101986243)]
)
def test_what_a_paused_router_delivers_before_it_learns_of_the_end_of_a_subscription_is_allowed(
    family: str, variant: str, seed: int
) -> None:
    score = try_out(draw(family, variant, seed))
    assert score.ok, score.problems


@pytest.mark.parametrize("family", FAMILIES)
def test_a_schedule_is_a_pure_function_of_family_scheme_and_seed(family: str, seed: int) -> None:
    assert draw(family, "pif", seed) == draw(family, "pif", seed)
    assert draw(family, "pif", seed) != draw(family, "pif", seed + 1)


@pytest.mark.parametrize("scheme", [variant for variant in VARIANTS if not seeks(variant)])
def test_however_changes_breaks_and_new_keys_cross_all_is_delivered_once_at_rest(
    scheme: str, seed: int
) -> None:
    """A slice of `make test-interleavings`."""
    for n in range(8):
        score = try_out(draw_interleaving(scheme, seed + n))
        assert score.ok, f"draw_interleaving({scheme!r}, {seed + n}): {score.problems}"


def test_interleavings_have_all_that_can_cross() -> None:
    drawn = [draw_interleaving("pif/adv", seed) for seed in range(40)]
    assert {each.do for one in drawn for each in one.breaks} >= {"crash", "link_down", "pause", "rekey"}
    assert any(one.messages_sealed for one in drawn)
    assert any(one.signed for one in drawn)
    assert all(one.advertisements and one.subscriptions for one in drawn)
    assert sum(try_out(one).owed for one in drawn) > 500


@pytest.mark.parametrize("family", FAMILIES)
def test_every_schedule_is_a_scenario(family: str, seed: int) -> None:
    for n in range(10):
        plan = plan_of(draw(family, "pif", seed + n).scenario())
        assert len(plan.faults) == len(draw(family, "pif", seed + n).breaks) > 0


def test_the_same_schedule_gives_the_same_score(seed: int) -> None:
    schedule = draw("ring", "pif", seed)
    assert try_out(schedule) == try_out(schedule)


def test_the_table_sums_up_by_scheme_and_over_all() -> None:
    scores = {
        ("pif", "ring"): Score(1, 2, owed=1000, convergence_ms=[10, 30, 20]),
        ("pif", "tree"): Score(1, 1, owed=500, missing=2),
    }
    lines = table(scores).splitlines()
    assert lines[1].split() == ["pif", "ring", "1", "2", "0", "1,000", "0", "0", "0", "0", "0", "20", "30"]
    assert lines[3].split()[:10] == ["pif", "all", "2", "3", "0", "1,500", "0", "2", "0", "0"]
    assert lines[4].split()[:2] == ["all", "all"]


def test_a_campaign_goes_on_until_enough_was_owed(seed: int) -> None:
    campaign = Campaign(["pif"], seed)
    campaign.run(schedules=1, owed=0, jobs=1)
    first = campaign.total("pif")
    assert first.schedules == len(FAMILIES)
    campaign.run(schedules=0, owed=first.owed + 1, jobs=1)
    assert campaign.total("pif").schedules > len(FAMILIES)
