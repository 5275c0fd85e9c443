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
from tests.attacks.played import ATTACKS, REFUSED, Played, play


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
def test_with_seals_they_change_nothing_there(bed: Any) -> None:
    found = attacked(bed, "forge", "required")
    assert found.complete, found.outcome.message
    assert [found.attacks["honest"][kind] for kind in ("missing", "duplicate", "spurious")] == [0, 0, 0]
    assert found.logged("adjacency_down", "r1", "r2") == 0
    assert refused(found) > 1500


@pytest.mark.emu
def test_repeated_messages_arrive_twice_there_too(bed: Any) -> None:
    found = attacked(bed, "replay", "required")
    assert found.complete, found.outcome.message
    assert found.attacks["honest"]["duplicate"] > 50
    assert refused(found) > 900


@pytest.mark.emu
def test_a_router_that_keeps_messages_to_itself_costs_those_that_go_through_it(bed: Any) -> None:
    found = attacked(bed, "liar", "required", parameters__by="drop", parameters__share="1")
    assert found.complete, found.outcome.message
    assert found.attacks["through"]["missing"] > 100
    assert [found.attacks["honest"][kind] for kind in ("missing", "duplicate", "spurious")] == [0, 0, 0]
    [attack] = found.attacks["attacks"]
    assert (attack["do"], attack["target"]) == ("lie", "r2")
    assert attack["acts"] > 100


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


REFUSALS = [("liar", "lie by duplicate"), ("liar", "a share of packets"), ("flood", "flood by filters")]


@pytest.mark.parametrize(("name", "what"), REFUSALS)
def test_what_only_the_simulator_carries_out_is_refused_with_a_word_on_it(name: str, what: str) -> None:
    problems = plan_problems(load_plan(ATTACKS / f"{name}.yaml"))
    assert any(what in each and "--world sim" in each for each in problems)


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
