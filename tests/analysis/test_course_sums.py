"""Counting by time: frames and packets, intervals, rates, faults by hand, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from analysis.summary import slices_of
from hypothesis import given
from hypothesis import strategies as st

from analysis.course import loads, records
from analysis.course.convergence import START, UNKNOWN_NS, episodes_of
from analysis.course.faults import lasting, steps_of
from analysis.course.loads import frame_begins, loads_of
from analysis.course.moments import BEFORE, Intervals, has_length, slice_of, slice_start_ns
from analysis.course.outcomes import COUNTS, none_of, outcomes_of, within
from analysis.course.rates import rates_of
from analysis.course.records import learned, records_of
from analysis.course.sums import OF_PACKETS, MessageSums, PacketSums
from analysis.course.tables import Course
from analysis.decode import SCHEMA
from analysis.findings import NO_SLICES, Slices
from analysis.history import FOREVER, NetworkChange, history_of
from analysis.rundir import load_run
from nodes.wire.packets import Kind, PacketType
from testbed.plan.model import Fault, Impairment

HEADERS = 42
SLICES = Slices(1_000, 100, 3)


def packets(*rows: dict[str, Any]) -> pa.RecordBatch:
    """Rows of table `packets`; what one leaves out is null, or a plain value where there is always one."""
    usual = {"interface": "r1-eth0", "node_id": 1, "peer_id": 2, "peer_is_client": False, "sent": True}
    usual |= {
        "time_ns": 0,
        "frame_bytes": 100,
        "packet_bytes": 58,
        "type": int(PacketType.HELLO),
        "content": 0,
    }
    return pa.RecordBatch.from_pylist([usual | row for row in rows], SCHEMA)


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


VERDICTS = pa.schema(
    [
        ("published_ns", pa.int64()), ("verdict", pa.string()), ("owed", pa.bool_()), ("wanted", pa.bool_()),
        ("reason", pa.string()), ("copies", pa.int64()), ("latency_ns", pa.int64()),
    ]
)  # fmt: skip


def test_what_nobody_published_belongs_to_no_time_and_what_took_too_long_is_late():
    rows = [
        {
            "published_ns": 5,
            "verdict": "delivered",
            "owed": True,
            "wanted": True,
            "copies": 1,
            "latency_ns": 50,
        },
        {
            "published_ns": 5,
            "verdict": "duplicate",
            "owed": True,
            "wanted": True,
            "copies": 3,
            "latency_ns": 51,
        },
        {
            "published_ns": 5,
            "verdict": "lost",
            "wanted": True,
            "copies": 0,
            "reason": "cut_off",
            "owed": False,
        },
        {"published_ns": 5, "verdict": "missing", "owed": True, "wanted": True, "copies": 0},
        {"published_ns": 5, "verdict": "spurious", "wanted": False, "copies": 1, "latency_ns": 99},
        {"published_ns": None, "verdict": "spurious", "wanted": False, "copies": 9},
    ]
    intervals = Intervals.between([0, 10])
    counted = outcomes_of(pa.RecordBatch.from_pylist(rows, VERDICTS), intervals, settle_ns=50)
    expected = {"wanted": 4, "owed": 3, "arrived": 2, "missing": 1, "lost": 1, "cut_off": 1, "duplicate": 2}
    assert within(counted, intervals.within(0, 10)) == {**dict.fromkeys(COUNTS, 0), **expected, "late": 1}


def course_of(run: Any, changes: list[NetworkChange]) -> Course:
    return Course.of(run, slices_of(run), changes, history_of(run.plan, changes, run.start_ns))


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
    (row,) = course_of(run, []).tables(*nothing(course_of(run, [])))["convergence"].to_pylist()
    assert (row["from_ns"], row["last_fault_ns"], row["settled_ns"]) == (None, None, run.start_ns)


def nothing(course: Course) -> tuple[PacketSums, MessageSums]:
    return PacketSums.none(course.times), MessageSums.none(course.times)


@pytest.mark.parametrize("started", [True, False])
def test_a_run_without_packets_has_all_tables(hand_made, started):
    if not started:
        hand_made.manifest |= {"start_ns": 0, "outcome": "failed"}
    run = load_run(hand_made.write())
    course = course_of(run, [])
    tables = course.tables(*nothing(course))
    rows = {name: len(table) for name, table in tables.items()}
    assert rows == {"links": 0, "control": 0, "faults": 0, "convergence": 1, "routers": 2}
    assert {row["drops"] for row in tables["routers"].to_pylist()} == {None}
    assert none_of(course.times.intervals)["wanted"].sum() == 0


def test_what_arrived_is_unknown_where_the_capture_of_an_end_is_incomplete(hand_made):
    hand_made.publish(1, "x = 1", 1_000)
    hand_made.cross(1, "x = 1", 2_000)
    run = load_run(hand_made.write())
    course = course_of(run, [])
    batch = packets(
        {"interface": "r1-r2", "sent": True, "time_ns": run.start_ns},
        {"interface": "r2-r1", "sent": False, "time_ns": run.start_ns, "node_id": 2, "peer_id": 1},
    ).select(list(OF_PACKETS))
    sums = PacketSums.of(batch, course.times)
    for incomplete, arrived in (((), 1), (("r1-r2",), None), (("r2-r1",), None), (("r2-c",), 1)):
        known = replace(course, incomplete=incomplete)
        (row,) = known.tables(sums, MessageSums.none(course.times))["links"].to_pylist()
        assert (row["control_packets"], row["arrived_control"]) == (1, arrived)
        assert row["lost_messages"] == (0 if arrived else None)


def test_a_network_that_never_settled_again_counts_to_the_end(hand_made):
    run = load_run(hand_made.write())
    course = course_of(run, [NetworkChange(at(run, 10), "crash", "r2")])
    batch = packets({"interface": "r1-r2", "sent": True, "time_ns": at(run, 9_000)}).select(list(OF_PACKETS))
    tables = course.tables(PacketSums.of(batch, course.times), MessageSums.none(course.times))
    start, crash = tables["convergence"].to_pylist()
    assert (start["control_packets"], crash["control_packets"], crash["settled_ns"]) == (0, 1, None)
    (fault,) = tables["faults"].to_pylist()
    assert (fault["a_id"], fault["b_id"], fault["until_ns"], fault["episode"]) == (2, None, None, 1)


def test_what_is_unknown_of_a_target_that_is_not_in_the_plan():
    plan = SimpleNamespace(links=(), nodes=(), faults=())
    run = SimpleNamespace(plan=plan, start_ns=0)
    (fault,) = lasting(plan, steps_of(run, [NetworkChange(5, "crash", "stranger")]))
    assert fault.until_ns is None
