"""Counting by time: frames and packets, intervals, rates, faults by hand, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.course import loads, records
from analysis.course.convergence import START, UNKNOWN_NS, episodes_of
from analysis.course.faults import lasting, steps_of
from analysis.course.loads import frame_begins, loads_of
from analysis.course.moments import BEFORE, Intervals, has_length, slice_of, slice_start_ns
from analysis.course.rates import rates_of
from analysis.course.records import learned, records_of, staged
from analysis.course.sums import PacketSums
from analysis.course.tables import Course
from analysis.decode import SCHEMA
from analysis.findings import NO_SLICES, Slices
from analysis.history import FOREVER, NetworkChange, history_of
from analysis.messages.counting import Timeline
from analysis.messages.course import added_courses
from analysis.messages.course import course_of as counted_of
from analysis.messages.sums import sums_of
from analysis.rundir import load_run
from analysis.scopes import slices_of
from nodes.wire.packets import Kind, PacketType
from testbed.plan.model import Fault, Impairment
from tests.analysis.by_hand import CALM, A, C, claim, context_of, crossing, judge, message, published

HEADERS = 42
SLICES = Slices(1_000, 100, 3)


def packets(*rows: dict[str, Any]) -> pa.Table:
    """Rows of table `packets`; what one leaves out is null, or a plain value where there is always one."""
    usual = {"interface": "r1-eth0", "node_id": 1, "peer_id": 2, "peer_is_client": False, "sent": True}
    usual |= {
        "time_ns": 0,
        "frame_bytes": 100,
        "packet_bytes": 58,
        "type": int(PacketType.HELLO),
        "content": 0,
    }
    return pa.Table.from_pylist([usual | row for row in rows], SCHEMA)


frames = st.lists(
    st.tuples(
        st.integers(0, 2),  # the moment
        st.booleans(),
        st.lists(st.integers(4, 60), min_size=1, max_size=4),  # the lengths of the packets in it
    ),
    max_size=30,
)


@given(frames)
def test_packets_are_put_into_the_frames_that_held_them(found):
    found = sorted(found, key=lambda frame: frame[0])
    alike = {(moment, sent, sum(sizes)): sizes for moment, sent, sizes in found}
    found = [(moment, sent, alike[moment, sent, sum(sizes)]) for moment, sent, sizes in found]
    rows = [
        {"time_ns": moment, "sent": sent, "packet_bytes": size, "frame_bytes": HEADERS + sum(sizes)}
        for moment, sent, sizes in found
        for size in sizes
    ]
    begins = [at == 0 for _, _, sizes in found for at, _ in enumerate(sizes)]
    assert frame_begins(packets(*rows)).tolist() == begins


def test_frames_of_two_interfaces_are_never_one():
    same = {"time_ns": 7, "packet_bytes": 29, "frame_bytes": 100}
    rows = [{**same, "interface": "r1-eth0"}, {**same, "interface": "r1-eth1"}]
    assert frame_begins(packets(*rows)).tolist() == [True, True]


def test_a_datagram_in_fragments_is_one_frame():
    rows = [{"packet_bytes": 1_500, "frame_bytes": 3_000 + HEADERS + 68} for _ in range(2)]
    assert frame_begins(packets(*rows)).tolist() == [True, False]


@given(
    st.lists(st.tuples(st.integers(800, 1_500), st.sampled_from("ab"), st.booleans()), max_size=40), st.data()
)
def test_sums_of_parts_are_the_sums_of_the_whole(rows, data):
    made = packets(*({"time_ns": t, "interface": name, "sent": s} for t, name, s in sorted(rows)))
    cut = data.draw(st.integers(0, len(rows)))
    parts = loads.merged([loads_of(made.slice(0, cut), SLICES), loads_of(made.slice(cut), SLICES)])
    order = [(name, "ascending") for name in loads.KEY]
    columns = [*loads.KEY, "packets", "bytes"]  # a frame may be cut in two here, in a capture it is not
    whole = loads_of(made, SLICES)
    assert parts.select(columns).sort_by(order) == whole.select(columns).sort_by(order)
    assert sum(whole["packets"].to_pylist()) == len(rows)


def test_what_was_before_the_network_was_ready_and_after_the_end_has_slices_of_its_own():
    times = np.array([0, 999, 1_000, 1_099, 1_100, 1_299, 1_300, FOREVER])
    assert slice_of(times, SLICES).tolist() == [BEFORE, BEFORE, 0, 0, 1, 2, 3, 3]
    assert slice_of(times, NO_SLICES).tolist() == [BEFORE] * len(times)
    assert [slice_start_ns(n, SLICES) for n in (BEFORE, 0, 3)] == [None, 1_000, 1_300]
    assert [has_length(n, SLICES) for n in (BEFORE, 0, 2, 3)] == [False, True, True, False]


@given(st.sets(st.integers(0, 50), min_size=2), st.lists(st.integers(-5, 55)), st.data())
def test_intervals_within_two_moments_hold_the_times_from_one_until_before_the_other(moments, times, data):
    intervals = Intervals.between(moments)
    first, last = sorted(data.draw(st.lists(st.sampled_from(sorted(moments)), min_size=2, max_size=2)))
    counts = np.bincount(intervals.of(np.array(times, dtype=np.int64)), minlength=intervals.count)
    assert counts[intervals.within(first, last)].sum() == sum(first <= time < last for time in times)


def record(time_ns: int, origin: int, sequence: int, **more: Any) -> dict[str, Any]:
    kind = more.pop("kind", Kind.LINK_STATE)
    row = {"type": int(PacketType.CONTROL), "kind": int(kind), "time_ns": time_ns, "source": origin}
    return {**row, "sequence": sequence, **more}


def test_a_router_learns_a_record_when_it_has_a_greater_sequence_than_before():
    intervals = Intervals.between([100, 200])
    rows = packets(
        record(10, 5, 1), record(20, 5, 2), record(30, 5, 2, node_id=2), record(40, 6, 1, kind=Kind.INTEREST),
        record(110, 5, 2), record(120, 6, 1, kind=Kind.INTEREST_CHANGE), record(130, 5, 3, node_id=2),
        record(210, 5, 2**62), {"time_ns": 215}, record(220, 6, 2, kind=Kind.INTEREST_CHANGE),
    )  # fmt: skip
    parts = [records_of(rows.slice(at, 1), intervals) for at in range(len(rows))]
    found = learned(records.merged(parts), intervals)
    assert found.records.tolist() == [3, 1, 1]
    assert found.last_ns.tolist() == [40, 130, 220]
    assert found.within(slice(0, 2)) == (4, 130)
    again = learned(records.merged(reversed(parts)), intervals, starts=[(1, 100)])
    assert again.records.tolist() == [3, 3, 1]


def test_where_no_record_was_captured_nothing_was_learned():
    intervals = Intervals.between([100])
    found = learned(records.merged([]), intervals)
    assert found.within(slice(0, 2)) == (0, None)


@given(st.lists(st.integers(1, 60)), st.sets(st.integers(1, 59), max_size=4), st.sets(st.integers(1, 59)))
def test_records_by_interval_tell_what_each_router_had_at_every_fixpoint(times, fixpoints, others):
    """`others` are edges for other reasons."""
    rows = packets(*(record(time_ns, 5 + time_ns % 2, time_ns) for time_ns in times))
    ends = sorted(fixpoints)
    intervals = Intervals.between({*(end + 1 for end in ends), *others})
    found = staged(records_of(rows, intervals), intervals, ends)
    last: dict[tuple[int, int], int] = {}
    columns = (found[name].tolist() for name in ("origin", "stage", "sequence"))
    for origin, stage, sequence in zip(*columns, strict=True):
        last[origin, stage] = max(sequence, last.get((origin, stage), 0))
    expected: dict[tuple[int, int], int] = {}
    for time_ns in times:
        stage = sum(end < time_ns for end in ends)
        if stage < len(ends):
            key = 5 + time_ns % 2, stage
            expected[key] = max(time_ns, expected.get(key, 0))
    assert last == expected


def course_of(run: Any, changes: list[NetworkChange]) -> Course:
    return Course.of(run, slices_of(run), changes, history_of(run.plan, changes, run.start_ns))


def tables_of(course: Course, *rows: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All tables of a run in which these packets were captured, and no message."""
    timeline = Timeline.of([], course.moments)
    sums = sums_of(judge((), context=replace(context_of(), timeline=timeline)))
    made = course.tables(PacketSums.of(packets(*rows), course.times), sums, timeline)
    return {name: table.to_pylist() for name, table in made.items()}


def at(run: Any, ms: float) -> int:
    return int(run.start_ns + ms * 1_000_000)


def test_faults_by_hand_were_not_planned_and_may_never_be_repaired(hand_made):
    run = load_run(hand_made.write())
    changes = [NetworkChange(at(run, 10), "pause", "r2"), NetworkChange(at(run, 20), "crash", "r2")]
    pause, crash = course_of(run, changes).disturbed.faults
    assert (pause.step.planned_ns, pause.until_ns) == (None, at(run, 20))
    assert (crash.step.change.do, crash.until_ns) == ("crash", None)


def test_a_planned_moment_follows_the_fixpoint_or_the_fault_before_it(hand_made):
    faults = (
        Fault(5, "link_down", "r1-r2"),
        Fault(7, "link_up", "r1-r2", "previous"),
        Fault(9, "crash", "r2", "converged"),
    )
    hand_made.plan = replace(hand_made.plan, faults=faults)
    run = load_run(hand_made.write())
    zero = run.start_ns
    changes = [
        NetworkChange(zero + 6, "link_down", "r1-r2"),
        NetworkChange(zero + 8, "pause", "c"),
        NetworkChange(zero + 13, "link_up", "r1-r2"),
        NetworkChange(zero + 50),
        NetworkChange(zero + 60, "crash", "r2"),
    ]
    steps = steps_of(run, changes)
    planned = [step.planned_ns and step.planned_ns - zero for step in steps]
    assert planned == [5, None, 12, 59]


SLOW, FAST = Impairment(rate_bps=1_000_000), Impairment(rate_bps=4_000_000)


def impaired(hand_made: Any, *faults: Fault) -> Any:
    """The link between the routers has a rate; the others have none."""
    first, *others = hand_made.plan.links
    links = (replace(first, impairment=FAST), *others)
    hand_made.plan = replace(hand_made.plan, links=links, faults=faults)
    return load_run(hand_made.write())


def test_an_impairment_ends_where_the_link_is_again_as_the_topology_has_it(hand_made):
    faults = [Fault(at_ns, "impair", "r1-r2", impairment=how) for at_ns, how in ((5, SLOW), (9, FAST))]
    run = impaired(hand_made, *faults)
    changes = [NetworkChange(run.start_ns + fault.at_ns, "impair", "r1-r2") for fault in faults]
    (only,) = lasting(run.plan, steps_of(run, changes))
    assert only.until_ns == run.start_ns + 9


def test_what_a_link_could_carry_follows_the_changes_of_its_rate(hand_made):
    run = impaired(hand_made, Fault(10**9, "impair", "r1-r2", impairment=SLOW, back=FAST))
    change = NetworkChange(run.start_ns + 10**9, "impair", "r1-r2")
    rates = rates_of(run, steps_of(run, [change]))
    zero = run.start_ns
    assert rates.bits((1, 2), zero, zero + 2 * 10**9) == 4_000_000 + 1_000_000
    assert rates.bits((2, 1), zero, zero + 2 * 10**9) == 8_000_000
    assert rates.bits((1, 3), zero, zero + 10**9) is None
    by_hand = rates_of(run, [replace(each, planned=None) for each in steps_of(run, [change])])
    assert by_hand.bits((1, 2), zero, zero + 2 * 10**9) is None
    assert by_hand.bits((1, 2), zero, zero + 10**9) == 4_000_000


def test_a_start_that_nobody_noted_has_no_times(hand_made):
    run = load_run(hand_made.write())
    (start,) = episodes_of(run, [])
    assert (start.causes, start.from_ns, start.took_ns) == (START, UNKNOWN_NS, None)
    (row,) = tables_of(course_of(run, []))["convergence"]
    assert (row["from_ns"], row["last_fault_ns"], row["settled_ns"]) == (None, None, run.start_ns)


@pytest.mark.parametrize("started", [True, False])
def test_a_run_without_packets_has_all_tables(hand_made, started):
    if not started:
        hand_made.manifest |= {"start_ns": 0, "outcome": "failed"}
    run = load_run(hand_made.write())
    tables = tables_of(course_of(run, []))
    rows = {name: len(table) for name, table in tables.items()}
    assert rows.pop("routers") == 2
    assert rows.pop("convergence") == 1
    assert rows == dict.fromkeys(("links", "control", "faults", "signalling", "markings", "matches"), 0)
    assert [row["drops"] for row in tables["routers"]] == [None, None]


def test_what_arrived_is_unknown_where_the_capture_of_an_end_is_incomplete(hand_made):
    run = load_run(hand_made.write())
    course = course_of(run, [])
    captured = (
        {"interface": "r1-r2", "sent": True, "time_ns": run.start_ns},
        {"interface": "r2-r1", "sent": False, "time_ns": run.start_ns, "node_id": 2, "peer_id": 1},
    )
    for incomplete, arrived in (((), 1), (("r1-r2",), None), (("r2-r1",), None), (("r2-c",), 1)):
        known = replace(course, incomplete=incomplete)
        (row,) = tables_of(known, *captured)["links"]
        assert (row["control_packets"], row["arrived_control"]) == (1, arrived)
        assert row["lost_messages"] == (0 if arrived else None)


def test_a_network_that_never_settled_again_counts_to_the_end(hand_made):
    run = load_run(hand_made.write())
    course = course_of(run, [NetworkChange(at(run, 10), "crash", "r2")])
    tables = tables_of(course, {"interface": "r1-r2", "sent": True, "time_ns": at(run, 9_000)})
    start, crash = tables["convergence"]
    assert (start["control_packets"], crash["control_packets"], crash["settled_ns"]) == (0, 1, None)
    (fault,) = tables["faults"]
    assert (fault["a_id"], fault["b_id"], fault["until_ns"], fault["episode"]) == (2, None, None, 1)


def test_what_is_unknown_of_a_target_that_is_not_in_the_plan():
    plan = SimpleNamespace(links=(), nodes=(), faults=())
    run = SimpleNamespace(plan=plan, start_ns=0)
    (fault,) = lasting(plan, steps_of(run, [NetworkChange(5, "crash", "stranger")]))
    assert fault.until_ns is None


def test_what_gets_lost_on_a_link_counts_in_the_slice_in_which_it_was_sent():
    """Both copies of message 2 are lost, and one of message 3 comes twice."""
    captured = [
        published(1_000), *crossing(1, 2, 1_050, 1), published(1_090, 2),
        message(1, 2, 1_099, 1, 2), message(1, 2, 1_100, 1, 2), published(1_200, 3),
        *crossing(1, 2, 1_210, 1, 3),
        message(2, 1, 1_300, 1, 3, sent=False),
    ]  # fmt: skip
    found = counted_of(judge(captured, context=context_of(slices=SLICES)))
    assert list(found.lost.rows()) == [([1, 2, 0], [2])]
    both = added_courses([found, found, counted_of(judge(()))])
    assert list(both.lost.rows()) == [([1, 2, 0], [4])]


def test_how_long_a_message_was_with_a_router_is_counted_for_each_link_over_which_it_went_on():
    captured = [
        published(1_000), message(1, A, 1_030, 1), *crossing(1, 2, 1_050, 1), *crossing(2, 3, 1_101, 2),
        message(3, C, 1_160, 3),
    ]  # fmt: skip
    found = counted_of(judge(captured))
    assert {router: sketch.values.tolist() for router, sketch in found.waits.items()} == {
        1: [30, 50],
        2: [1],
        3: [9],
    }
    both = added_courses([found, found])
    assert both.waits[1].values.tolist() == [30, 30, 50, 50]


def test_a_delivery_is_late_if_it_took_longer_than_the_network_needs_to_settle():
    captured = [published(1_000), message(1, A, 1_100, 1), published(2_000, 2), message(1, A, 2_101, 1, 2)]
    timeline = Timeline.of([], [0, 2_000, 3_000])
    context = replace(context_of([claim(A)], history=replace(CALM, settle_ns=100)), timeline=timeline)
    assert counted_of(judge(captured, context=context)).late.tolist() == [0, 0, 1, 0]
