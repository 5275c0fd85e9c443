"""Numbers that come to their end: some begin again, some cannot be reached, none does harm.

numbers of records             63 bits, two classes    tests/routing/test_numbers.py
numbers of control packets     32 bits, a new session  tests/routing/test_faults.py
counters of seals              64 bits, windows        here, test_guard.py, tests/fastpath/test_seal.py
numbers of keys                16 bits, begin again    here
revisions, requests of cbcb    32 bits, begin again    here; forged ones in tests/routing/test_numbers.py
changes of marks of amsp       32 bits, begin again    here
messages of a client           63 bits, refused        here
names of sessions, eras        64 bits, drawn          nothing counts there
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from analysis.oracle import oracle_of
from nodes.client.core import ClientCore
from nodes.config import Neighbours, SecurityConfig
from nodes.model import UsageError
from nodes.routing.effects import Reason
from nodes.routing.guard import COUNTERS, Guard
from nodes.routing.numbers import FAR, OwnNumber
from nodes.routing.schemes import cbcb, matchmaker_links
from nodes.wire.codec import encode
from nodes.wire.packets import Ack
from testbed.plan.keys import NUMBERS, number_after
from testbed.plan.load import plan_of
from testbed.sim.network import Network
from testbed.sim.simulation import Simulation
from tests.faults.trial import Score, TableCheck, judge
from tests.routing.fabric import EPOCH_NS, configure, line
from tests.routing.sealed import sealed_node

CHANGES = 12


def scenario(scheme: dict[str, Any]) -> dict[str, Any]:
    """A ring in which clients change their minds, and links their keys, all the time."""
    wishes = [
        {"predicate": f"x > {n} and y any integer", "at": f"{100 * n + 50}ms", "until": f"{100 * n + 700}ms"}
        for n in range(CHANGES)
    ]
    published = [{"at": f"{100 * n + 90}ms", "message": f"x = {n + 1}, y = 1"} for n in range(2 * CHANGES)]
    return {
        "name": "ends",
        "scheme": scheme,
        "topology": {"generate": "ring", "size": 4, "link_defaults": {"delay": "2ms"}},
        "clients": {
            "a": {"at": "r1", "subscribe": ["x any integer and y any integer", *wishes]},
            "b": {"at": "r3", "subscribe": wishes, "advertise": ["x any integer and y any integer"]},
            "c": {
                "at": "r4",
                "advertise": ["x any integer and y any integer"],
                "publish": published,
            },
        },
        "faults": [{f"at {200 * n + 10}ms": "rekey links"} for n in range(CHANGES)],
        "security": {"neighbours": "required", "messages": "required"},
        "timers": {"hello_ms": 100, "hold_ms": 350},
        "timing": {"settle": "150ms"},
    }


def judged(scheme: dict[str, Any], put: Callable[[Network], object]) -> tuple[Score, Network]:
    """What comes of it if counters are put just before their ends once the network is ready."""
    plan = plan_of(scenario(scheme))
    events: list[dict[str, Any]] = []
    tables = TableCheck(plan)

    def note(event: dict[str, Any]) -> None:
        events.append(event)
        tables.take(event)

    simulation = Simulation(plan, "ends", note, on_converged=tables.look)
    simulation.get_ready()
    put(simulation.network)
    simulation.work()
    simulation.drain()
    score = Score(problems=tables.problems)
    ids = {node.name: node.node_id for node in plan.nodes}
    judge(score, oracle_of(plan, events, simulation.start_ns), events, ids)
    assert score.owed > CHANGES
    return score, simulation.network


def assert_nothing_is_lost(score: Score) -> None:
    assert score.ok, score


def test_keys_are_numbered_from_one_again_after_the_last_number() -> None:
    assert [number_after(NUMBERS + n) for n in (-2, -1, 0, 1)] == [NUMBERS - 1, NUMBERS, 1, 2]


def test_no_message_is_lost_when_the_numbers_of_keys_begin_again() -> None:
    def put(network: Network) -> None:
        for link in range(7):
            network._rekeyed[link] = NUMBERS - 3

    score, network = judged({"name": "pif"}, put)
    assert_nothing_is_lost(score)
    assert max(network._rekeyed.values()) == NUMBERS - 3 + CHANGES
    for core in network.cores.values():
        assert not {*core.drops} & {Reason.UNKNOWN_KEY, Reason.WRONG_SEAL}
        assert all(link.up for link in core.links)


def test_revisions_and_requests_of_cbcb_begin_again() -> None:
    def put(network: Network) -> None:
        for core in network.cores.values():
            core._scheme._revision = cbcb.NUMBERS - 2
            core._scheme._asking._number = cbcb.NUMBERS - 2

    score, network = judged({"name": "cbcb", "sr_period_ms": 100, "sr_timeout_ms": 50}, put)
    assert_nothing_is_lost(score)
    schemes = [core._scheme for core in network.cores.values()]
    assert min(scheme._revision for scheme in schemes) < 100, "of those who want something"
    assert all(scheme._asking._number < 100 for scheme in schemes)


def test_changes_of_marks_begin_again() -> None:
    def put(network: Network) -> None:
        for core in network.cores.values():
            for link in core._scheme._links.values():
                link.number = matchmaker_links.NUMBERS - 1

    options = {"advertisements": True, "interval_ms": 100, "alpha": 0.5, "announce_deviations": 0.0}
    score, network = judged({"name": "amsp", **options}, put)
    assert_nothing_is_lost(score)
    links = [link for core in network.cores.values() for link in core._scheme._links.values()]
    assert min(link.number for link in links) < 100


def test_a_client_that_has_used_all_numbers_of_messages_is_told_so() -> None:
    configs = configure(line(1), {"c1": 1})
    core = ClientCore(configs["c1"], random.Random(1), last_sequence=2**63 - 1)
    core._check_attached = lambda: None  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="sequence"):
        core.publish(EPOCH_NS, {"x": 1})
    assert core.last_sequence == 2**63 - 1


def test_numbers_that_begin_at_the_clock_stay_ordinary_whatever_it_shows() -> None:
    for now_ns in (0, EPOCH_NS, 2**63, 2**80):
        assert OwnNumber(1, from_clock=True).take_next(now_ns) <= FAR


def test_a_counter_of_seals_that_ends_is_refused_until_the_session_is_opened_anew() -> None:
    node = sealed_node(configure(line(2))["r1"], Neighbours.REQUIRED)
    peer = sealed_node(configure(line(2))["r2"], Neighbours.REQUIRED)
    assert SecurityConfig(Neighbours.REQUIRED) == node.security
    ours, theirs = Guard(node, node.interfaces[0]), Guard(peer, peer.interfaces[0])
    packets = [ours.seal(now_ns, encode(Ack(1, 2, 3, 4))) for now_ns in (COUNTERS - 2, 0, 0, 0)]
    refused = [theirs.refusal(EPOCH_NS, packet) for packet in packets]
    assert refused == [None, None, Reason.REPEATED_SEAL, Reason.REPEATED_SEAL]
