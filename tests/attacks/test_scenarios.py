"""Scenarios that attack: what it does without seals, what it does not with them, and at whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.pipeline import analyze
from testbed.plan.load import load_plan
from tests.attacks.played import ATTACKS, REFUSED, Played, play

pytestmark = pytest.mark.sim
Run = Callable[..., Played]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Play a shipped attack."""
    count = 0

    def played(name: str, **overrides: str) -> Played:
        nonlocal count
        count += 1
        found = play(ATTACKS / f"{name}.yaml", tmp_path / f"run{count}", **overrides)
        sealed = overrides.get("security__neighbours", "required") == "required"
        assert found.complete or not sealed, found.outcome.message
        return found

    return played


def test_forged_packets_cost_honest_deliveries_without_seals(run: Run) -> None:
    found = run("forge", security__neighbours="off")
    assert found.verdict["verdict"] == "wrong"
    assert found.attacks["honest"]["missing"] > 50
    assert found.logged("adjacency_down", "r1", "r2") > 20
    assert not all(each["holds"] for each in found.verdict["expectations"])
    assert not found.drops().keys() & {*REFUSED}


def test_with_seals_forged_packets_cost_nothing_and_are_counted(run: Run) -> None:
    found = run("forge", security__neighbours="required")
    assert (found.verdict["verdict"], found.verdict["problems"]) == ("clean", [])
    assert found.attacks["honest"]["owed"] == found.verdict["owed"] > 1000
    assert found.logged("adjacency_down") == 0
    assert all(each["holds"] for each in found.verdict["expectations"])
    [attack] = found.attacks["attacks"]
    assert (attack["do"], attack["target"], attack["acts"]) == ("forge", "r1--r2", 2000)
    # What was cut short, or changed in its type, is malformed before it is without a seal.
    assert sum(found.drops()[reason] for reason in REFUSED) > 0.8 * attack["acts"]


def test_permissive_neighbours_count_what_is_not_sealed_and_take_it(run: Run) -> None:
    found = run("forge", security__neighbours="permissive")
    assert found.attacks["honest"]["missing"] > 50
    assert found.drops()["no_seal"] > 500


def test_repeated_messages_are_refused_where_messages_are_sealed(run: Run) -> None:
    found = run("replay", security__neighbours="required", security__messages="required")
    assert (found.verdict["verdict"], found.verdict["duplicate"]) == ("clean", 0)
    assert [each["acts"] for each in found.attacks["attacks"]] == [1000, 100]
    assert found.drops()["REPEATED_SEAL"] == 100


@pytest.mark.parametrize("neighbours", ["off", "required"])
def test_repeated_messages_are_damage_even_where_neighbours_prove_who_they_are(
    neighbours: str, run: Run
) -> None:
    found = run("replay", security__neighbours=neighbours)
    assert found.attacks["honest"]["duplicate"] > 50
    assert found.verdict["missing"] == 0
    assert all(each["holds"] for each in found.verdict["expectations"])
    assert [each["acts"] for each in found.attacks["attacks"]] == [1000, 100]
    if neighbours == "required":
        assert found.drops()["repeated_seal"] > 990


def test_a_dead_neighbour_is_kept_alive_by_what_it_said_unless_that_was_sealed(run: Run) -> None:
    off, required = (run("undead", security__neighbours=mode).verdict for mode in ("off", "required"))
    assert off["lost"] > 0.4 * off["wanted"]
    assert required["lost"] < 0.1 * required["wanted"]
    assert (off["missing"], required["missing"]) == (0, 0)


SIDES = ("honest", "through", "attackers")


def damage(found: Played, side: str) -> int:
    return sum(found.attacks[side][kind] for kind in ("missing", "duplicate", "spurious"))


def test_a_router_that_lies_harms_its_own_and_what_goes_through_it_and_nobody_else(run: Run) -> None:
    found = run("liar")
    assert found.verdict["verdict"] == "wrong"
    assert [damage(found, side) > 20 for side in SIDES] == [False, True, True]
    assert damage(found, "honest") == 0
    assert found.attacks["nodes"] == ["r2"]
    assert all(each["holds"] for each in found.verdict["expectations"])


@pytest.mark.parametrize(
    ("by", "harmed"),
    [("drop", "missing"), ("duplicate", "duplicate"), ("rewrite", "missing"), ("attract", None)],
)
def test_each_lie_does_what_it_is_called(by: str, harmed: str | None, run: Run) -> None:
    """What is rewritten is not what r3's client wants any more."""
    found = run("liar", parameters__by=by)
    counts = found.attacks["through"]
    wrong = [kind for kind in ("missing", "duplicate", "spurious") if counts[kind]]
    assert wrong == ([harmed] if harmed else [])
    acts = found.attacks["attacks"][0]["acts"]
    assert acts == 1 if by == "attract" else acts > 50


def test_a_router_that_attracts_gets_messages_that_nobody_there_wants(run: Run) -> None:
    """From r5, which is as far from r2 as can be; nobody at r2 or beyond it wants gates."""
    crossed = []
    for by in ("drop", "attract"):
        rows = run("liar", parameters__by=by).statuses["r2"]["interfaces"]
        crossed.append(sum(row["rx_messages"] for row in rows))
    assert crossed[1] > crossed[0] + 50


def test_slander_is_contradicted_before_it_costs_anything(run: Run) -> None:
    found = run("liar", parameters__by="slander")
    assert found.attacks["attacks"][0]["acts"] > 300
    assert [damage(found, side) for side in SIDES] == [0, 0, 0]


def test_slander_does_nothing_at_all_where_records_are_signed(run: Run) -> None:
    believed, signed = (
        run("liar", parameters__by="slander", security__records=records) for records in ("off", "signed")
    )
    outdone = [sum(s["core"]["superseded"] for s in found.statuses.values()) for found in (believed, signed)]
    assert (outdone[0] > 100, outdone[1]) == (True, 0)
    assert signed.attacks["attacks"][0]["acts"] == signed.drops()["wrong_signature"] > 300
    assert signed.logged("own_record_received") == 0


@pytest.mark.parametrize("by", ["control, ack", "hello"])
def test_what_a_silent_router_does_not_pass_on_comes_another_way(by: str, run: Run) -> None:
    found = run("silent", parameters__by=by)
    assert found.attacks["attacks"][0]["acts"] > 10
    assert found.verdict["verdict"] == "clean"


def test_a_router_that_keeps_messages_to_itself_costs_those_that_go_through_it(run: Run) -> None:
    found = run("silent", parameters__by="message")
    assert found.attacks["through"]["missing"] > 100
    assert damage(found, "honest") == 0


def test_a_flood_by_a_client_and_by_a_router_costs_nobody_a_delivery(run: Run) -> None:
    found = run("flood")
    assert [each["acts"] for each in found.attacks["attacks"]] == [2000, 2000]
    assert found.verdict["verdict"] == "clean"
    assert found.attacks["through"]["owed"] > 500


def test_an_attack_that_nobody_ends_ends_with_the_workload(tmp_path: Path) -> None:
    text = (ATTACKS / "liar.yaml").read_text(encoding="utf-8").replace(", for: 4s", "")
    scenario = tmp_path / "endless.yaml"
    scenario.write_text(text, encoding="utf-8")
    found = play(scenario, tmp_path / "run", parameters__by="drop")
    assert found.attacks["attacks"][0]["acts"] > 200
    assert damage(found, "through") > 200


def test_an_attack_is_the_same_each_time(run: Run) -> None:
    paths = [run("replay").path for _ in range(2)]
    for name in ("events.jsonl", "captures/r1-eth0.pcap"):
        one, other = ((path / name).read_bytes() for path in paths)
        assert one == other != b""


def test_links_are_chosen_as_for_any_fault(tmp_path: Path) -> None:
    scenario = tmp_path / "ring.yaml"
    scenario.write_text(
        "name: ring\ntopology: {generate: ring, size: 5}\nfaults:\n"
        "  - at 1s: forge 40% of links 5 times every 1ms by hello, links\n"
        "  - {at: 2s, replay: {link: r1 - r2, times: 7, every: 2ms}}\n"
    )
    *forging, replaying = load_plan(scenario).faults
    assert len({fault.target for fault in forging}) == 2
    assert {fault.attack.by for fault in forging if fault.attack} == {("hello", "links")}
    assert replaying.attack is not None
    assert (replaying.attack.by, replaying.attack.lasts_ns) == (("hello", "control", "message"), 14_000_000)


@pytest.mark.spark
def test_the_report_says_what_became_of_honest_pairs(run: Run, spark: object) -> None:
    found = run("forge", security__neighbours="off")
    verdict = analyze(found.path)
    assert verdict["attacks"] == found.attacks
    assert verdict["problems"] == []
    page = (found.path / "report.html").read_text(encoding="utf-8")
    assert "forging on link r1 \N{EN DASH} r2" in page
    assert '<th scope="row">honest</th>' in page
