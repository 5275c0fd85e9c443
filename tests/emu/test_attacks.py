"""Somebody on a link between namespaces, without keys: as in the simulator, and seals keep him away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodes.wire.codec import encode
from nodes.wire.packets import Hello, Role
from testbed.emu.attacking import datagram_of, frame_like
from testbed.emu.preflight import plan_problems
from testbed.emu.world import EmulatedWorld
from testbed.plan.load import load_plan
from testbed.sim.frames import Framer
from tests.attacks.played import ATTACKS, MESSAGES, REFUSED, Played, play
from topologies.fault_kinds import KINDS

FORGE = KINDS["forge"].attacking
WRONG = ("missing", "duplicate", "spurious")
TIMES = "300 times every 4ms"


def attacked(bed: Any, name: str, neighbours: str, **overrides: str) -> Played:
    path = ATTACKS / f"{name}.yaml"
    overrides |= {"security__neighbours": neighbours}
    return play(path, bed.out, EmulatedWorld(), bed.run_id, **overrides)


def refused(found: Played) -> int:
    """What r1 and r2 dropped for its seals, of what came for them."""
    return sum(found.drops("r1", "r2")[reason] for reason in REFUSED)


@pytest.mark.emu
def test_forged_packets_end_sessions_in_namespaces(bed: Any) -> None:
    found = attacked(bed, "forge", "off")
    assert found.logged("adjacency_down", "r1", "r2") > 20
    [attack] = found.attacks["attacks"]
    assert attack["acts"] > 1900
    assert found.attacks["honest"]["owed"] == found.verdict["owed"] > 1000
    assert refused(found) == 0


@pytest.mark.emu
def test_with_seals_they_change_nothing_there_and_neither_do_forged_messages(
    bed: Any, tmp_path: Path
) -> None:
    text = (ATTACKS / "forge.yaml").read_text(encoding="utf-8")
    assert FORGE is not None
    every_way = f"every 2ms by {', '.join(FORGE.ways)}"
    (tmp_path / "forge.yaml").write_text(text.replace("every 2ms", every_way), encoding="utf-8")
    sealed = {"security__neighbours": "required", "security__messages": "required"}
    found = play(tmp_path / "forge.yaml", bed.out, EmulatedWorld(), bed.run_id, **sealed)
    assert found.complete, found.outcome.message
    assert [found.attacks["honest"][kind] for kind in WRONG] == [0, 0, 0]
    assert found.logged("adjacency_down", "r1", "r2") == 0
    assert refused(found) > 1000
    assert sum(found.drops("r1", "r2")[reason] for reason in MESSAGES) > 200


@pytest.mark.emu
def test_repeated_messages_arrive_twice_there_too(bed: Any) -> None:
    found = attacked(bed, "replay", "required")
    assert found.complete, found.outcome.message
    assert found.attacks["honest"]["duplicate"] > 50
    assert refused(found) > 900


@pytest.mark.emu
def test_a_router_that_drops_doubles_and_rewrites_costs_those_that_go_through_it(bed: Any) -> None:
    found = attacked(
        bed, "liar", "required", parameters__by="drop, duplicate, rewrite", parameters__share="0.5"
    )
    assert found.complete, found.outcome.message
    through = found.attacks["through"]
    assert min(through["missing"], through["duplicate"]) > 20, "what was rewritten is wanted by nobody"
    assert [found.attacks["honest"][kind] for kind in WRONG] == [0, 0, 0]
    [attack] = found.attacks["attacks"]
    assert (attack["do"], attack["target"]) == ("lie", "r2")
    assert 60 < attack["acts"] < through["owed"] + found.attacks["attackers"]["owed"]


@pytest.mark.emu
def test_floods_by_a_client_and_a_router_cost_others_nothing(bed: Any, tmp_path: Path) -> None:
    text = (ATTACKS / "flood.yaml").read_text(encoding="utf-8")
    text = text.replace("2000 times every 1ms by filters, changes", f"{TIMES} by filters, changes, messages")
    (tmp_path / "flood.yaml").write_text(text.replace("2000 times every 1ms", TIMES), encoding="utf-8")
    signed = {"security__records": "signed"}
    found = play(tmp_path / "flood.yaml", bed.out, EmulatedWorld(), bed.run_id, **signed)
    assert found.complete, found.outcome.message
    assert {each["target"]: each["acts"] for each in found.attacks["attacks"]} == {"mallory": 300, "r2": 300}
    assert found.attacks["through"]["owed"] > 500
    assert [found.attacks["through"][kind] for kind in WRONG] == [0, 0, 0]
    assert found.drops("r1", "r3")["unknown_signer"] == 600, "records of routers that are not there"
    counters = found.statuses["r1"]["interfaces"]
    assert sum(row["rx_messages"] for row in counters) > 450 + 220 + 50, "with those of mallory"


@pytest.mark.emu
def test_a_router_is_silent_attracts_and_slanders_until_the_workload_is_over(
    bed: Any, tmp_path: Path
) -> None:
    """How much slander costs depends on how fast others contradict it, which a busy machine decides."""
    text = (ATTACKS / "silent.yaml").read_text(encoding="utf-8").replace(", for: 4s", "")
    more = "  - at attack + 1s: lie r2 by attract, slander\nexpect:"
    (tmp_path / "both.yaml").write_text(text.replace("expect:", more), encoding="utf-8")
    found = play(tmp_path / "both.yaml", bed.out, EmulatedWorld(), bed.run_id, parameters__by="ack")
    assert found.complete, found.outcome.message
    assert {each["do"]: each["acts"] > 1 for each in found.attacks["attacks"]} == {"mute": True, "lie": True}
    assert found.attacks["honest"]["owed"] > 500


def test_a_client_that_is_a_program_cannot_flood_as_well(tmp_path: Path) -> None:
    text = (ATTACKS / "flood.yaml").read_text(encoding="utf-8")
    text = text.replace("mallory: {at: r1}", "mallory: {at: r1, run: python3 mallory.py}")
    text = text.replace("name: flood", "name: flood\nduration: 10s")
    (tmp_path / "mallory.py").write_text("")
    (tmp_path / "flood.yaml").write_text(text, encoding="utf-8")
    assert any(
        "mallory is a client that is a program" in each
        for each in plan_problems(load_plan(tmp_path / "flood.yaml"))
    )


def test_a_frame_is_made_like_one_that_was_heard() -> None:
    framer = Framer("r1-eth0", ("02:00:00:00:00:01", "02:00:00:00:00:02"), ("10.0.0.1", "10.0.0.2"), 1500)
    said, invented = (encode(Hello(Role.ROUTER, 1, number, 2000, 2, 22)) for number in (11, 77))
    heard = framer.frame(said)
    assert datagram_of(heard) == said
    made = frame_like(heard, invented + invented)
    assert datagram_of(made) == invented + invented
    proper = framer.frame(invented + invented)
    assert (made[:40], made[42:]) == (proper[:40], proper[42:])
    assert made[40:42] == bytes(2), "no UDP checksum"


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_what_is_no_frame_of_a_node_is_passed_over(cut: int) -> None:
    framer = Framer("r1-eth0", ("02:00:00:00:00:01", "02:00:00:00:00:02"), ("10.0.0.1", "10.0.0.2"), 1500)
    frame = framer.frame(encode(Hello(Role.ROUTER, 1, 11, 2000, 2, 22)))
    assert datagram_of(frame[:cut]) is None
    assert datagram_of(frame[:12] + b"\x86\xdd" + frame[14:]) is None
