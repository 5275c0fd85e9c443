"""From figures to the verdict of the fidelity certificate: no machine, no clock, nothing random."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from nodes.daemon.lateness import class_of
from nodes.wire.packets import Role
from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Plan
from testbed.runs.fidelity import EXACT, Fidelity, sentences
from testbed.runs.judgement import judge
from testbed.runs.measures import (
    Evidence,
    InterfaceMeasure,
    LinkMeasure,
    MachineMeasure,
    NodeMeasure,
    ProbeMeasure,
)

MS = 1_000_000
LINK = "r1--r2"


def late(*latenesses: tuple[int, int]) -> dict[str, int]:
    """Counts of (lateness in ns, how often)."""
    return {str(class_of(ns)): count for ns, count in latenesses}


IDLE = MachineMeasure(10.0, late((60_000, 2000)), 400_000, 0.2, 0.3, 0.0, 0.05, 0.0)
SHAPED = Impairment(delay_ns=20 * MS, loss=0.01)


@pytest.fixture
def plan() -> Plan:
    """alice - r1 - r2 - r3 - r4 - r5 - r6 - bob"""
    routers = [NodePlan(f"r{n}", n, Role.ROUTER, ()) for n in range(1, 7)]
    clients = [NodePlan("alice", 7, Role.CLIENT, ()), NodePlan("bob", 8, Role.CLIENT, ())]
    names = [*(node.name for node in routers), "bob"]
    links = [LinkPlan(f"{a}--{b}", a, b, f"{a}-eth1", f"{b}-eth0") for a, b in itertools.pairwise(names)]
    access = LinkPlan("r1--alice", "r1", "alice", "r1-eth0", "alice-eth0")
    return Plan("line", "", 1, "pif", {}, (*routers, *clients), (*links, access))


def shaped(plan: Plan, impairment: Impairment = SHAPED) -> Plan:
    """The plan with one link that does something."""
    first, *others = plan.links
    return replace(plan, links=(replace(first, impairment=impairment), *others))


def measured(plan: Plan, **counts: int | None) -> LinkMeasure:
    """Of the first link, forth."""
    link = plan.links[0]
    return LinkMeasure(link.name, link.a_interface, "wire", **counts)  # type: ignore[arg-type]


def judged(plan: Plan, **evidence: object) -> Fidelity:
    machine = evidence.pop("machine", IDLE)
    return judge(Evidence(plan, **{"machines": {"": machine}, **evidence}))  # type: ignore[arg-type]


def test_an_idle_machine_with_links_as_asked_is_trusted(plan: Plan) -> None:
    plan = shaped(plan)
    counts = {"frames": 10_000, "delivered": 9_900, "lost": 100, "bytes": 10**6}
    links = (measured(plan, **counts, late_p50_ns=30_000, late_p99_ns=200_000),)
    nodes = (NodeMeasure("r1", late((70_000, 100)), turns=5000, waited_ns=5000 * 20_000),)
    found = judged(plan, links=links, nodes=nodes, captured_frames=100)
    assert found.verdict == "trusted"
    assert found.reasons == found.affected == ()
    assert found.figures["lag_p99_ns"] == pytest.approx(60_000, rel=0.3)
    assert found.links[0].asked["delay_ns"] == 20 * MS
    assert found.links[0].delay_error_ns == 200_000
    assert found.links[0].carried_bps == 792_000


def test_of_several_machines_the_one_that_lags_is_named_and_the_worst_figures_count(plan: Plan) -> None:
    busy = replace(IDLE, lag=late((60_000, 900), (4 * MS, 100)), lag_max_ns=90 * MS, busy=0.9)
    found = judged(plan, machines={"left": IDLE, "right": busy})
    assert found.verdict == "degraded"
    assert all(reason.startswith("right: scheduling lag") for reason in found.reasons)
    assert found.figures["lag_max_ns"] == 90 * MS
    assert found.figures["busy"] == 0.9
    gone = judged(plan, machines={"left": IDLE, "right": None})
    assert gone.reasons == ("right: nobody measured how late the machine was: the sampler ended early",)


def test_what_the_network_between_machines_adds_to_a_link_without_delay_is_judged(plan: Plan) -> None:
    link = plan.links[0]
    near = judged(plan, links=(measured(plan),), crossing_ns={link.name: MS // 4})
    assert near.verdict == "trusted"
    assert near.links[0].crossing_ns == near.links[0].delay_error_ns == MS // 4
    far = judged(plan, links=(measured(plan),), crossing_ns={link.name: 2 * MS})
    assert far.affected == ("latency",)
    assert "the network between its machines adds 2 ms (limit 500 us), asked delay 0" in far.reasons[0]
    assert far.advised == 5, "slowed, it adds less"


def test_the_network_between_machines_takes_its_part_of_the_delay_and_counts_where_it_takes_more(
    plan: Plan,
) -> None:
    link = plan.links[0]
    slow_link = shaped(plan, Impairment(delay_ns=50 * MS))
    part = judged(slow_link, links=(measured(plan),), crossing_ns={link.name: 20 * MS})
    assert part.verdict == "trusted"
    assert (part.links[0].crossing_ns, part.links[0].delay_error_ns) == (20 * MS, 0)
    more = judged(slow_link, links=(measured(plan),), crossing_ns={link.name: 60 * MS})
    assert "adds 10 ms (limit 2.5 ms), asked delay 50 ms" in more.reasons[0]


def test_a_lagging_machine_degrades_latency_and_rates_and_says_by_how_much(plan: Plan) -> None:
    busy = replace(IDLE, lag=late((60_000, 900), (4 * MS, 100)), busy=0.93)
    found = judged(plan, machine=busy)
    assert found.verdict == "degraded"
    assert found.affected == ("latency", "rates")
    (reason,) = found.reasons
    assert "scheduling lag" in reason
    assert "limit 1 ms" in reason
    assert "93% busy" in reason


def test_slowed_time_makes_the_same_lag_bearable(plan: Plan) -> None:
    busy = replace(IDLE, lag=late((60_000, 900), (4 * MS, 100)))
    assert judged(plan, machine=busy, dilate=4).verdict == "degraded"
    assert judged(plan, machine=busy, dilate=5).verdict == "trusted"
    assert judged(plan, machine=busy, dilate=5).dilate == 5


def test_a_degraded_run_advises_how_slow_to_go_and_a_misapplied_link_does_not(plan: Plan) -> None:
    busy = replace(IDLE, lag=late((60_000, 900), (4 * MS, 100)))
    found = judged(plan, machine=busy)
    assert found.advised == 6  # of about 4.2 ms beside 1 ms, and a quarter more
    assert judged(plan, machine=busy, dilate=6).verdict == "trusted"
    assert judged(plan, machine=busy, dilate=6).advised is None
    assert judged(plan, machine=busy, dilate=2).advised == 6
    assert "  this machine may keep up with --dilate 6 (docs/fidelity.md)" in sentences(found)
    wrong = shaped(plan)
    probe = ProbeMeasure(LINK, wrong.links[0].a_interface, 20, 20, 1000, 2000, 3000)
    assert judged(wrong, links=(measured(wrong),), probes=(probe,)).advised is None
    assert judged(plan, links=(measured(plan, frames=9, overruns=1),), dilate=3).advised == 8


def test_lag_is_judged_beside_the_least_delay_that_is_asked_for(plan: Plan) -> None:
    """A millisecond is much for a link of 5 ms, and little where every link takes 100 ms."""
    slow = replace(plan, links=tuple(replace(k, impairment=Impairment(100 * MS)) for k in plan.links))
    busy = replace(IDLE, lag=late((60_000, 900), (4 * MS, 100)))
    assert judged(plan, machine=busy).verdict == "degraded"
    assert judged(slow, machine=busy).verdict == "trusted"


def test_one_late_wake_up_in_a_thousand_is_no_reason_but_a_stall_is(plan: Plan) -> None:
    once = replace(IDLE, lag=late((60_000, 999), (30 * MS, 1)), lag_max_ns=30 * MS)
    assert judged(plan, machine=once).verdict == "trusted"
    stalled = judged(plan, machine=replace(once, lag_max_ns=150 * MS))
    assert stalled.affected == ("latency", "convergence")
    assert "stood still for 150 ms" in stalled.reasons[0]
    assert "for 1.11 s at once" in judged(plan, machine=replace(once, lag_max_ns=1110 * MS)).reasons[0]


def test_processors_in_use_all_the_time_affect_rates_alone(plan: Plan) -> None:
    assert judged(plan, machine=replace(IDLE, busy=0.95)).verdict == "trusted"
    full = replace(IDLE, busy=0.99)
    assert judged(plan, machine=full).affected == ("rates",)
    served = NodeMeasure("r1", {}, turns=9, waited_ns=10**9, ran_ns=2 * 10**9)
    assert judged(plan, machine=full, nodes=(served,)).verdict == "trusted"
    starved = replace(served, waited_ns=9 * 10**9)
    (reason,) = judged(plan, machine=full, nodes=(starved,)).reasons
    assert "nodes computed at 18% of a processor's speed" in reason
    assert judged(plan, machine=full, nodes=(starved,), dilate=3).verdict == "trusted"


def test_a_quota_that_holds_processes_back_is_seen(plan: Plan) -> None:
    assert judged(plan, machine=replace(IDLE, throttled_s=0.05)).verdict == "trusted"
    assert "quota" in judged(plan, machine=replace(IDLE, throttled_s=0.5)).reasons[0]


def test_nobody_having_measured_is_not_trusted(plan: Plan) -> None:
    found = judged(plan, machine=None)
    assert found.verdict == "degraded"
    assert "nobody measured" in found.reasons[0]


@pytest.mark.parametrize(("p99_ms", "delay_ms", "verdict"), [(0.9, 0, "trusted"), (1.5, 5, "degraded"),
    (1.5, 20, "trusted"), (2.5, 20, "degraded")])  # fmt: skip
def test_frames_may_be_a_millisecond_late_or_a_tenth_of_the_delay(
    plan: Plan, p99_ms: float, delay_ms: int, verdict: str
) -> None:
    plan = shaped(plan, Impairment(delay_ns=delay_ms * MS))
    link = measured(plan, frames=1000, delivered=1000, late_p50_ns=10_000, late_p99_ns=int(p99_ms * MS))
    found = judged(plan, links=(link,))
    assert found.verdict == verdict
    if found.reasons:
        assert LINK in found.reasons[0]
        assert found.affected == ("latency",)
        assert found.links[0].reasons


def test_a_few_frames_say_nothing_of_one_in_a_hundred_but_of_the_middle(plan: Plan) -> None:
    plan = shaped(plan, Impairment(delay_ns=MS))
    few = measured(plan, frames=20, delivered=20, late_p50_ns=10_000, late_p99_ns=9 * MS)
    assert judged(plan, links=(few,)).verdict == "trusted"
    assert judged(plan, links=(replace(few, late_p50_ns=2 * MS),)).verdict == "degraded"


@pytest.mark.parametrize(("lost", "verdict"), [(0, "degraded"), (70, "trusted"), (100, "trusted"),
    (130, "trusted"), (160, "degraded")])  # fmt: skip
def test_losses_are_held_to_what_chance_allows(plan: Plan, lost: int, verdict: str) -> None:
    plan = shaped(plan)
    link = measured(plan, frames=10_000, delivered=10_000 - lost, lost=lost)
    found = judged(plan, links=(link,))
    assert found.verdict == verdict, found.reasons
    assert found.affected == (("losses",) if verdict == "degraded" else ())


def test_what_waited_too_long_or_came_while_the_link_was_down_was_not_up_to_chance(plan: Plan) -> None:
    plan = shaped(plan)
    link = measured(plan, frames=10_000, delivered=4_950, lost=50, lost_queue=3000, lost_down=2000)
    assert judged(plan, links=(link,)).verdict == "trusted"


def test_losses_in_bursts_may_vary_more(plan: Plan) -> None:
    counts = {"frames": 10_000, "delivered": 9_800, "lost": 200}
    single, bursts = shaped(plan), shaped(plan, replace(SHAPED, loss_burst=20.0))
    assert judged(single, links=(measured(single, **counts),)).verdict == "degraded"
    assert judged(bursts, links=(measured(bursts, **counts),)).verdict == "trusted"
    none = {"frames": 100_000, "delivered": 100_000, "lost": 0}
    assert judged(bursts, links=(measured(bursts, **none),)).verdict == "degraded"


def test_many_links_do_not_make_chance_a_reason(plan: Plan) -> None:
    """One of a thousand links is out by as much as one in a thousand is: that is no sign of anything."""
    plan = shaped(plan)
    unlucky = measured(plan, frames=10_000, delivered=9_865, lost=135)
    assert judged(plan, links=(unlucky,)).verdict == "degraded"
    fine = measured(plan, frames=10_000, delivered=9_900, lost=100)
    assert judged(plan, links=(unlucky, *[fine] * 500)).verdict == "trusted"


def test_losing_what_nobody_asked_to_lose_is_seen_at_the_first_frame(plan: Plan) -> None:
    for counts in ({"overruns": 1}, {"lost": 1}):
        found = judged(plan, links=(measured(plan, frames=10**6, delivered=10**6 - 1, **counts),))
        assert found.verdict == "degraded", counts
        assert "losses" in found.affected


def test_messages_that_vanish_on_a_lossless_link_are_seen_by_the_nodes_own_counts(plan: Plan) -> None:
    link = plan.links[0]
    nodes = (
        NodeMeasure(link.a, {}, (InterfaceMeasure(link.a_interface, sent_messages=1000),)),
        NodeMeasure(link.b, {}, (InterfaceMeasure(link.b_interface, received_messages=997),)),
    )
    links = (measured(plan, frames=1100),)
    found = judged(plan, links=links, nodes=nodes)
    assert "3 of 1,000 messages did not arrive" in found.reasons[0]
    lossy = shaped(plan, Impairment(delay_ns=0, loss=0.003))
    assert (
        judged(lossy, links=(measured(lossy, frames=1000, delivered=997, lost=3),), nodes=nodes).reasons == ()
    )
    crash = Fault(0, "crash", link.b)
    assert judged(plan, links=links, nodes=nodes, faults=(crash,)).reasons == ()


def test_an_overflowing_socket_and_refused_datagrams_are_named(plan: Plan) -> None:
    link = plan.links[0]
    sender = NodeMeasure(link.a, {}, (InterfaceMeasure(link.a_interface, 9, refused=4),))
    receiver = NodeMeasure(link.b, {}, (InterfaceMeasure(link.b_interface, 0, 4, overflows=5),))
    found = judged(plan, links=(measured(plan, frames=9),), nodes=(sender, receiver))
    assert any("5 packets overflowed" in reason for reason in found.reasons)
    assert any("would not send 4 datagrams" in reason for reason in found.reasons)
    assert found.affected == ("losses", "rates")
    assert found.figures["socket_overflows"] == 5


def test_a_capture_that_lacks_packets_affects_captures(plan: Plan) -> None:
    found = judged(plan, captured_frames=10_000, capture_drops=1)
    assert found.affected == ("captures",)
    assert "lack 1 packets beside the 10,000" in found.reasons[0]


def test_clients_late_with_their_scripts_affect_rates(plan: Plan) -> None:
    punctual = NodeMeasure("alice", late((60_000, 1000)))
    slow = NodeMeasure("bob", late((60_000, 50), (20 * MS, 50)))
    found = judged(plan, nodes=(punctual, slow))
    assert found.affected == ("rates",)
    assert "bob" in found.reasons[0]
    once = NodeMeasure("bob", late((60_000, 99), (20 * MS, 1)))
    assert judged(plan, nodes=(punctual, once)).verdict == "trusted"


def test_one_overloaded_router_among_many_is_seen(plan: Plan) -> None:
    others = [NodeMeasure(f"r{n}", late((60_000, 100_000))) for n in (2, 3, 4, 5, 6)]
    slow = NodeMeasure("r1", late((60_000, 60), (50 * MS, 40)))
    found = judged(plan, nodes=(slow, *others))
    assert found.affected == ("convergence",)
    assert "r1 by" in found.reasons[0]


def test_a_node_that_was_paused_is_late_as_asked(plan: Plan) -> None:
    paused = NodeMeasure("r1", late((60_000, 60), (3000 * MS, 40)))
    assert judged(plan, nodes=(paused,)).verdict == "degraded"
    faults = (Fault(0, "pause", "r1"), Fault(9, "resume", "r1"))
    assert judged(plan, nodes=(paused,), faults=faults).verdict == "trusted"


def test_a_node_with_a_limit_of_its_own_is_late_as_asked(plan: Plan) -> None:
    slow = NodeMeasure("r1", late((60_000, 60), (3000 * MS, 40)))
    limited = replace(plan, nodes=tuple(replace(n, cpu=0.05) for n in plan.nodes))
    assert judged(limited, nodes=(slow,)).verdict == "trusted"


def test_faults_that_came_late_affect_convergence(plan: Plan) -> None:
    found = judged(plan, late_faults=("crash r1 happened 40 ms later than planned",))
    assert found.affected == ("convergence",)
    assert "crash r1 happened 40 ms later" in found.reasons[0]


def test_waiting_for_a_processor_is_seen_where_a_sleeper_is_served_first(plan: Plan) -> None:
    waiting = NodeMeasure("r1", {}, turns=1000, waited_ns=1000 * 3 * MS, ran_ns=10**9)
    found = judged(plan, nodes=(waiting,))
    assert found.affected == ("latency", "rates")
    assert "r1 for 3 ms" in found.reasons[0]
    assert judged(plan, nodes=(waiting,), dilate=3).verdict == "trusted"
    limited = replace(plan, nodes=tuple(replace(n, cpu=0.1) for n in plan.nodes))
    assert judged(limited, nodes=(waiting,)).verdict == "trusted"


def test_a_late_start_names_who_was_late(plan: Plan) -> None:
    assert "alice, bob" in judged(plan, late_starts=("alice", "bob")).reasons[0]


@pytest.mark.parametrize(("fastest_ms", "verdict"), [(19.5, "degraded"), (19.8, "trusted"), (20.0, "trusted"),
    (21.5, "trusted"), (22.5, "degraded"), (0.05, "degraded")])  # fmt: skip
def test_probes_show_a_link_that_is_not_what_was_asked(plan: Plan, fastest_ms: float, verdict: str) -> None:
    plan = shaped(plan)
    link, fastest = plan.links[0], int(fastest_ms * MS)
    probe = ProbeMeasure(link.name, link.a_interface, 20, 20, fastest, fastest + 50_000, fastest + 30 * MS)
    found = judged(plan, links=(measured(plan),), probes=(probe,))
    assert found.verdict == verdict, found.reasons


def test_a_dead_link_is_seen_by_its_probes_unless_so_much_loss_was_asked(plan: Plan) -> None:
    for loss, verdict in ((0.01, "degraded"), (0.9, "trusted")):
        lossy = shaped(plan, replace(SHAPED, loss=loss))
        probe = ProbeMeasure(lossy.links[0].name, lossy.links[0].a_interface, 20, 0)
        assert judged(lossy, links=(measured(lossy),), probes=(probe,)).verdict == verdict


def test_jitter_that_was_left_out_is_seen(plan: Plan) -> None:
    plan = shaped(plan, Impairment(delay_ns=20 * MS, jitter_ns=4 * MS))
    name, source = plan.links[0].name, plan.links[0].a_interface
    steady = ProbeMeasure(name, source, 20, 20, 20 * MS, 20 * MS + 50_000, 20 * MS + 200_000)
    assert "jitter" in judged(plan, links=(measured(plan),), probes=(steady,)).reasons[0]
    varied = ProbeMeasure(name, source, 20, 20, 16 * MS, 20 * MS, 24 * MS)
    assert judged(plan, links=(measured(plan),), probes=(varied,)).verdict == "trusted"


def test_more_than_the_rate_asked_for_is_seen(plan: Plan) -> None:
    plan = shaped(plan, Impairment(rate_bps=1_000_000))
    within = measured(plan, frames=1000, delivered=1000, bytes=1_240_000)
    assert judged(plan, links=(within,)).verdict == "trusted"
    beyond = judged(plan, links=(replace(within, bytes=2_500_000),))
    assert "2,000,000 bit/s, asked at most 1,000,000" in beyond.reasons[0]


def test_a_link_that_is_changed_on_the_way_is_not_held_to_what_it_was_at_first(plan: Plan) -> None:
    change = Fault(5, "impair", LINK, impairment=Impairment(loss=0.5))
    half = measured(shaped(plan), frames=1000, delivered=500, lost=500)
    assert judged(shaped(plan), links=(half,)).verdict == "degraded"
    assert judged(shaped(plan), links=(half,), faults=(change,)).verdict == "trusted"


def test_the_like_of_many_links_is_one_reason_with_the_worst_first(plan: Plan) -> None:
    links = tuple(
        LinkMeasure(link.name, source, "wire", frames=1000, late_p50_ns=0, late_p99_ns=(2 + n) * MS)
        for n, link in enumerate(plan.links[:4])
        for source in (link.a_interface, link.b_interface)
    )
    found = judged(plan, links=links)
    assert len(found.reasons) == 1
    assert plan.links[3].name in found.reasons[0]
    assert "and 4 more" in found.reasons[0]
    assert [row.link for row in found.links][:2] == [plan.links[3].name] * 2


def test_the_last_lines_of_a_run_say_the_verdict_and_the_first_reasons(plan: Plan) -> None:
    assert sentences(EXACT) == ["fidelity: exact"]
    assert "not measured" in sentences(None)[0]
    trusted = judged(plan, dilate=4)
    assert sentences(trusted) == ["fidelity: trusted, time slowed 4-fold"]
    many = replace(trusted, verdict="degraded", reasons=("a", "b", "c", "d", "e"), affected=("latency",))
    assert sentences(many) == [
        "fidelity: degraded, time slowed 4-fold; do not rely on: latency",
        "  a",
        "  b",
        "  c",
        "  and 2 more reasons, in manifest.json",
    ]
