"""Offset and drift of clocks are found to within what is said, and corrected; good clocks are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.drift.correction import HostClock, corrected
from analysis.drift.estimate import estimate
from analysis.drift.least import LeastDelays
from tests.analysis.drift.networks import START_NS, Network

SECOND = 1_000_000_000
SHARES = (0.05, 0.2, 0.5, 0.8, 0.95)


def reference_of(found: dict[str, HostClock]) -> int:
    """Of a network that is one part: its clock is certain."""
    return int(min(found.values(), key=lambda clock: (clock.uncertainty_ns, clock.host)).host[1:])


def errors(network: Network, found: dict[str, HostClock]) -> list[tuple[str, int, int]]:
    """Host, how wrong a corrected time is, and how wrong it may be."""
    reference = reference_of(found)
    rows = []
    for share in SHARES:
        true_ns = START_NS + int(share * network.duration_ns)
        for host, clock in found.items():
            node = int(host[1:])
            shown = np.array([network.shown(node, true_ns)], np.int64)
            time = corrected(np.array([node]), shown, {node: clock})[0]
            assert clock.uncertainty_ns is not None
            rows.append((host, abs(int(time) - network.shown(reference, true_ns)), clock.uncertainty_ns))
    return rows


@st.composite
def networks(draw: st.DrawFn, drift: bool = True) -> Network:
    nodes = draw(st.integers(2, 6))
    bound = 200_000 if drift else 0
    return Network(
        draw(st.integers(0, 10**6)),
        nodes,
        draw(st.sampled_from([2, 10, 60, 600])) * SECOND,
        {n: draw(st.integers(-3 * SECOND, 3 * SECOND)) for n in range(nodes)},
        {n: draw(st.integers(-bound, bound)) for n in range(nodes)},
        least_ns=(draw(st.sampled_from([0, 10_000])), draw(st.sampled_from([20_000, 5_000_000]))),
        jitter_ns=draw(st.sampled_from([0, 1_000, 300_000, 5_000_000])),
        packets=draw(st.sampled_from([40, 300])),
    )


@settings(max_examples=60, deadline=None)
@given(networks(), st.booleans())
def test_corrected_times_are_right_to_within_what_is_said(network: Network, known: bool) -> None:
    least, certain = network.traffic()
    found = estimate(least, certain if known else {}, network.hosts, 1_000)
    assert set(found) == set(network.hosts.values())
    for host, wrong_ns, may_be_ns in errors(network, found):
        assert wrong_ns <= may_be_ns, (network.seed, host)
    assert all(clock.even for clock in found.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.booleans())
def test_good_clocks_are_not_found_to_be_off(seed: int, nodes: int, known: bool) -> None:
    network = Network(seed, nodes, 10 * SECOND)
    least, certain = network.traffic()
    found = estimate(least, certain if known else {}, network.hosts, 1_000)
    assert [clock.host for clock in found.values() if clock.off] == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8), st.data())
def test_one_clock_that_is_off_is_the_only_one_that_is_named(
    seed: int, nodes: int, data: st.DataObject
) -> None:
    node = data.draw(st.integers(0, nodes - 1))
    offset_ns = data.draw(st.sampled_from([-2 * SECOND, -20_000_000, 20_000_000, 2 * SECOND]))
    ppb = data.draw(st.sampled_from([0, 50_000, -200_000]))
    network = Network(seed, nodes, 60 * SECOND, {node: offset_ns}, {node: ppb}, jitter_ns=10_000)
    least, certain = network.traffic()
    found = estimate(least, certain, network.hosts, 1_000)
    assert [clock.host for clock in found.values() if clock.off] == [f"h{node}"]
    clock = found[f"h{node}"]
    assert clock.drift_ppm == pytest.approx(ppb / 1000, abs=2)
    uncertain_ns = max(each.uncertainty_ns or 0 for each in found.values())
    assert clock.residual_ns <= 1_000 + 2 * uncertain_ns


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 8), st.data())
def test_a_clock_that_is_set_while_it_runs_is_named_and_not_corrected(
    seed: int, nodes: int, data: st.DataObject
) -> None:
    at_ns = data.draw(st.integers(15 * SECOND, 45 * SECOND))
    step_ns = data.draw(st.sampled_from([-SECOND, -50_000_000, 50_000_000, SECOND]))
    network = Network(seed, nodes, 60 * SECOND, {0: 7_000_000}, steps={0: (at_ns, step_ns)}, jitter_ns=50_000)
    least, certain = network.traffic()
    found = estimate(least, certain, network.hosts, 1_000)
    degrees = [sum(0 in link for link in network.links), len(network.links)]
    uneven = [clock.host for clock in found.values() if not clock.even]
    assert "h0" in uneven or degrees[0] == 1
    assert len(uneven) == 1
    assert found[uneven[0]].residual_ns > abs(step_ns) // 10
    assert not found[uneven[0]].correctable


def test_nodes_of_one_host_share_a_clock_and_all_their_links_count() -> None:
    network = Network(3, 6, 20 * SECOND, {4: SECOND, 5: SECOND}, {4: 100_000, 5: 100_000}, extra_links=12)
    least, certain = network.traffic()
    hosts = {node: "left" if node < 4 else "right" for node in range(6)}
    found = estimate(least, certain, hosts, 1_000)
    assert set(found) == {"left", "right"}
    assert not found["left"].off
    assert found["right"].drift_ppm == pytest.approx(100, abs=5)
    alone = estimate(least, certain, network.hosts, 1_000)
    assert found["right"].uncertainty_ns <= max(alone[f"h{node}"].uncertainty_ns for node in (4, 5))


def test_traffic_in_one_direction_shows_a_clock_that_is_behind_but_not_by_how_much() -> None:
    network = Network(1, 2, 10 * SECOND, {1: -SECOND})
    least, certain = network.traffic()
    one_way = LeastDelays(*(column[least.from_id == 0] for column in least))
    found = estimate(one_way, certain, network.hosts, 1_000)
    assert [clock.host for clock in found.values() if clock.off]
    assert not all(clock.correctable for clock in found.values())


def test_hosts_with_traffic_in_one_direction_do_not_hide_what_is_known_of_the_others() -> None:
    network = Network(2, 6, 10 * SECOND, {1: 50_000_000}, extra_links=8)
    least, certain = network.traffic()
    listens = {4, 5}
    kept = np.array([node not in listens for node in least.from_id.tolist()])
    found = estimate(LeastDelays(*(column[kept] for column in least)), certain, network.hosts, 1_000)
    assert [clock.host for clock in found.values() if clock.off] == ["h1"]
    assert found["h1"].correctable
    assert {host for host, clock in found.items() if clock.uncertainty_ns is None} == {"h4", "h5"}


def test_nothing_is_known_without_traffic() -> None:
    empty = LeastDelays(*(np.empty(0, np.int64) for _ in LeastDelays._fields))
    assert estimate(empty, {}, {}, 1_000) == {}
