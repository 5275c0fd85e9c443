"""What a run directory says of its network: links, homes, what routers hold, figures for formulas (T6)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from analysis.findings import Traffic
from analysis.network import HELD, cost_edges, delay_edges, figures, homes, router_states
from analysis.oracle import Claim, Clock
from analysis.rundir import load_run
from analysis.verdict import control_by_kind
from fastpath.cover import count
from nodes.model import parse_predicate
from nodes.scheme_formulas import formula
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind, PacketType
from testbed.plan.model import Impairment, TimingPlan


def claim(subscriber: int, predicate: str) -> Claim:
    return Clock(0, 1).claim(subscriber, predicate, 0, None)


def bits(predicate: str) -> int:
    encoded = encode_predicate(parse_predicate(predicate))
    assert count(encoded)[0] > 0
    return 8 * (len(encoded) - 4)


def test_links_between_routers_are_edges_and_clients_have_homes(hand_made):
    run = load_run(hand_made.write())
    assert cost_edges(run) == [(1, 2, 1.0)]
    assert homes(run) == {3: 1, 4: 1, 5: 2}


def test_delays_are_known_where_the_plan_says_them_all(hand_made):
    plan = hand_made.plan
    between, *access = plan.links
    hand_made.manifest["world"] = "emu"
    assert delay_edges(load_run(hand_made.write())) == []
    known = replace(between, impairment=Impairment(500), back=Impairment(300))
    hand_made.plan = replace(plan, links=(known, *access))
    assert delay_edges(load_run(hand_made.write())) == [(1, 2, 300.0)]
    hand_made.manifest["world"] = "sim"
    hand_made.plan = replace(plan, timing=TimingPlan(hop_delay_ns=70))
    assert delay_edges(load_run(hand_made.write())) == [(1, 2, 70.0)], "the simulator delays every link"


def test_T6_the_formulas_are_asked_with_the_networks_own_figures(hand_made):
    run = load_run(hand_made.write())
    of = figures(run, [claim(5, "x > 1"), claim(5, "x > 2"), claim(4, "x = 1 and y = 2")], senders=[1])
    assert (of.n, of.s, of.r, of.delta, of.is_tree) == (2, 1, 2, 1, True)
    assert of.d == 0.5, "one receiver is at the sender's router, the other a link away"
    assert of.predicate_bits == (bits("x > 1") + bits("x = 1 and y = 2")) / 2, "covered filters do not count"
    assert formula("psf", of) == 1 * 1 + 1 * 2 * of.predicate_bits * 0.5


@pytest.mark.parametrize(("claims", "senders"), [([], [1]), ([claim(5, "x > 1")], [])])
def test_where_nobody_sends_or_wants_anything_there_is_no_formula(hand_made, claims, senders):
    assert figures(load_run(hand_made.write()), claims, senders) is None


def test_routers_that_say_nothing_usable_are_not_counted(hand_made):
    path = hand_made.write()
    assert router_states(load_run(path)) == []
    (path / "logs").mkdir()
    held = {key: at for at, key in enumerate(HELD)}
    (path / "logs" / "r1.status.json").write_text(json.dumps({"core": {"fib": held}}))
    (path / "logs" / "r2.status.json").write_text('{"core": {"fib"')
    (state,) = router_states(load_run(path))
    assert (state.name, state.held) == ("r1", held)


def test_control_traffic_is_named_by_its_scheme_and_kind():
    control = int(PacketType.CONTROL)
    rows = [
        Traffic("r1-eth0", True, control, int(Kind.CBCB_RA), 2, 300),
        Traffic("r1-eth1", True, control, int(Kind.CBCB_RA), 1, 100),
        Traffic("r1-eth0", True, control, 63, 1, 50),
        Traffic("r1-eth0", True, int(PacketType.HELLO), None, 9, 20),
        Traffic("r1-eth0", True, int(PacketType.MESSAGE), None, 5, 999),
    ]
    assert control_by_kind(rows) == {
        "CBCB_RA": {"packets": 3, "bytes": 400},
        "kind 63": {"packets": 1, "bytes": 50},
        "HELLO": {"packets": 9, "bytes": 20},
    }
