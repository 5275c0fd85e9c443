"""Marks of links, matches and what was told of them, from packets written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.course.markings import Mark, first_mark, marks_of
from analysis.course.signalling import Signals, signalling_table
from analysis.decode import FRONT_BYTES, SCHEMA
from analysis.findings import Slices
from analysis.messages.matches import made_of, told_of
from analysis.messages.rows import TOLD
from nodes.wire.codec import encode
from nodes.wire.matchmaker_payloads import CostAnnounce, Descriptor, DescriptorUpdate, MarkingChange
from nodes.wire.packets import Control, Kind, PacketType
from testbed.plan.load import plan_of
from tests.analysis import meeting

SLICES = Slices(1_000, 100, 3)
NAMES = {(1, 2): "a--b", (2, 1): "a--b"}
FILTER = bytes(2)
"""Of no constraint."""


def row(payload: bytes, kind: Kind, time_ns: int, *, sent: bool = True, **more: Any) -> dict[str, Any]:
    """A packet on the interface of router 1 towards router 2."""
    ends = more.pop("ends", (11, 22))
    first, last, number = more.pop("first", True), more.pop("last", True), more.pop("packet", time_ns)
    ends = ends if sent else ends[::-1]
    packet = encode(Control(int(kind), *ends, number, 0, 1, first, last, payload))
    usual = {"interface": "a-eth0", "node_id": 1, "peer_id": 2, "peer_is_client": False, "frame_bytes": 100}
    usual |= {"type": int(PacketType.CONTROL), "kind": int(kind), "packet_bytes": len(packet), "content": 0}
    return usual | {"time_ns": time_ns, "sent": sent, "front": packet[:FRONT_BYTES]} | more


def asked(time_ns: int, number: int, marking: int, **more: Any) -> dict[str, Any]:
    payload = MarkingChange(number, marking, ()).encode()
    return row(payload, Kind.CHANGE_MARKING, time_ns, **more)


def answered(time_ns: int, number: int, marking: int, **more: Any) -> dict[str, Any]:
    payload = MarkingChange(number, marking, ()).encode()
    return row(payload, Kind.CHANGE_MARKING_REPLY, time_ns, sent=False, **more)


def costs(time_ns: int, **more: Any) -> dict[str, Any]:
    return row(CostAnnounce(1, 1, True, False, 0, 0, ()).encode(), Kind.COST_ANNOUNCE, time_ns, **more)


def match(time_ns: int, node: int, peer: int, sent: bool, scd: int = 1, **said: bool) -> dict[str, Any]:
    update = DescriptorUpdate(1, 1, 9, scd, None if said.get("withdrawn") else FILTER, **said)
    return row(update.encode(), Kind.CD_UPDATE, time_ns, sent=sent, node_id=node, peer_id=peer)


def packets(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def marks(*rows: dict[str, Any]) -> list[tuple[int, str, bool]]:
    found = marks_of(Signals.added([Signals.of(packets(*rows), SLICES)]), "s")
    return [(mark.from_ns, mark.marking, mark.changing) for mark in found.get((1, 2), ())]


def test_a_link_has_the_mark_of_its_scheme_from_the_first_packet_of_a_session_on():
    assert marks(costs(5), costs(7)) == [(5, "s", False)]
    assert marks_of(Signals.of(packets(costs(5)), SLICES), "p") == {(1, 2): [Mark(5, "p", False, None)]}


def test_a_change_is_under_way_until_its_reply_has_come():
    assert marks(costs(1), asked(10, 1, 1), answered(14, 1, 1)) == [
        (1, "s", False),
        (10, "p", True),
        (14, "p", False),
    ]


def test_a_reply_to_a_change_that_was_asked_for_again_does_not_end_it():
    found = marks(costs(1), asked(10, 1, 1), asked(20, 2, 1), answered(21, 1, 1), answered(25, 2, 1))
    assert found == [(1, "s", False), (10, "p", True), (20, "p", True), (25, "p", False)]


def test_a_reply_in_fragments_counts_from_its_last():
    reply = MarkingChange(1, 1, (Descriptor(2, 1, FILTER),)).encode()
    parts = [
        row(reply[:20], Kind.CHANGE_MARKING_REPLY, 14, sent=False, last=False),
        row(reply[20:], Kind.CHANGE_MARKING_REPLY, 17, sent=False, first=False),
    ]
    assert marks(costs(1), asked(10, 1, 1), *parts)[-1] == (17, "p", False)


def test_repetitions_by_the_channel_change_nothing():
    once = [costs(1), asked(10, 1, 1, packet=3), answered(14, 1, 1, packet=4)]
    again = [asked(15, 1, 1, packet=3), answered(16, 1, 1, packet=4)]
    assert marks(*once, *again) == marks(*once)


def test_a_new_session_begins_with_the_first_mark_again():
    found = marks(costs(1), asked(10, 1, 1), answered(14, 1, 1), costs(30, ends=(11, 23)))
    assert found[-1] == (30, "s", False)


def test_what_comes_late_of_an_earlier_session_is_left_out():
    found = marks(costs(1), asked(10, 1, 1), costs(30, ends=(11, 23)), answered(31, 1, 1))
    assert found == [(1, "s", False), (10, "p", True), (30, "s", False)]


@pytest.mark.parametrize(("scheme", "mark"), [("bp", "p"), ("bs", "s"), ("amsp", "s")])
def test_the_first_mark_is_that_of_the_scheme(scheme, mark):
    assert first_mark(plan_of(meeting.scenario(scheme))) == mark


def test_schemes_without_marks_have_none():
    assert (
        first_mark(plan_of({**meeting.scenario("bp"), "scheme": {"name": "pif", "advertisements": True}}))
        is None
    )


def test_what_is_told_is_counted_where_it_was_sent_by_what_it_is_of_and_what_it_says():
    pcd = DescriptorUpdate(1, 4, 0, 0, FILTER)
    change = MarkingChange(3, 1, (Descriptor(1, 4, None), Descriptor(1, 5, FILTER))).encode()
    rows = packets(
        row(pcd.encode(), Kind.CD_UPDATE, 1_000),
        row(pcd.encode(), Kind.CD_UPDATE, 1_050),
        row(DescriptorUpdate(1, 4, 0, 0, None, withdrawn=True).encode(), Kind.CD_UPDATE, 1_150),
        row(DescriptorUpdate(0, 0, 2, 1, FILTER).encode(), Kind.CD_UPDATE, 1_150, sent=False),
        row(b"rest", Kind.CD_UPDATE, 1_160, first=False),
        row(change, Kind.CHANGE_MARKING, 900),
        costs(2_000),
    )
    table = signalling_table(Signals.of(rows, SLICES), NAMES, SLICES)
    columns = ("slice", "what", "said", "messages", "descriptors", "packets")
    found = {tuple(each[name] for name in columns) for each in table.to_pylist()}
    assert found == {
        (-1, "CHANGE_MARKING", None, 1, 2, 1),
        (0, "PCD", "new", 2, 2, 2),
        (1, "PCD", "withdrawn", 1, 1, 1),
        (1, "CD_UPDATE", None, 0, 0, 1),
        (3, "COST_ANNOUNCE", None, 1, 0, 1),
    }
    assert sum(table["bytes"].to_pylist()) == sum(r["packet_bytes"] for r in rows.to_pylist() if r["sent"])


def made(*rows: dict[str, Any]) -> list[tuple[int, int]]:
    found = made_of(told_of(packets(*rows)))
    return sorted(zip(found.router.tolist(), found.time_ns.tolist(), strict=True))


def test_a_match_was_made_by_who_told_of_it_before_it_was_told():
    line = [
        match(10, 2, 1, sent=True), match(10, 2, 3, sent=True),
        match(12, 1, 2, sent=False), match(12, 3, 2, sent=False), match(12, 3, 4, sent=True),
    ]  # fmt: skip
    assert made(*line) == [(2, 10)]


def test_a_match_that_was_found_at_two_routers_was_made_at_both():
    assert made(match(10, 2, 3, sent=True), match(12, 3, 2, sent=False), match(11, 3, 2, sent=True)) == [
        (2, 10),
        (3, 11),
    ]


def test_who_tells_a_neighbour_of_a_match_that_this_one_alone_had_told_it_has_made_it_too():
    rows = [match(5, 3, 2, sent=False), match(5, 3, 4, sent=True), match(20, 3, 2, sent=True)]
    assert made(*rows) == [(3, 20)]


def test_each_match_counts_once_a_router_and_withdrawals_never():
    rows = [
        match(10, 2, 1, sent=True), match(30, 2, 1, sent=True), match(31, 2, 3, sent=True, withdrawn=True),
        match(12, 2, 1, sent=True, scd=2), match(40, 2, 1, sent=True, scd=3, again=True),
    ]  # fmt: skip
    assert made(*rows) == [(2, 10), (2, 12)]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(4, 6), st.booleans(), st.integers(0, 9)),
        max_size=30,
    )
)
def test_matches_are_those_of_a_walk_in_order_of_time(drawn):
    rows = [(key, node, peer, sent, time_ns) for key, node, peer, sent, time_ns in drawn]
    columns = {name: [0] * len(rows) for name in TOLD.names}
    for at, name in enumerate(("scd", "node_id", "peer_id", "sent", "time_ns")):
        columns[name] = [int(each[at]) for each in rows]
    found = made_of(pa.table(columns, schema=TOLD))
    heard: set[tuple[int, int, int]] = set()
    first: dict[tuple[int, int], int] = {}
    for key, node, peer, sent, time_ns in sorted(rows, key=lambda each: (each[4], each[3])):
        if not sent:
            heard.add((key, node, peer))
        elif not any((key, node, other) in heard for other in range(4, 7) if other != peer):
            first.setdefault((key, node), time_ns)
    expected = sorted((node, time_ns) for (_, node), time_ns in first.items())
    assert sorted(zip(found.router.tolist(), found.time_ns.tolist(), strict=True)) == expected


def test_what_clients_send_of_these_kinds_is_none_of_it():
    hostile = {**costs(5, sent=False), "peer_is_client": True}
    assert Signals.of(packets(hostile), SLICES).changes.tolist() == []


def test_fronts_that_are_cut_short_are_counted_as_packets_and_say_nothing():
    cut = {**asked(10, 1, 1), "front": asked(10, 1, 1)["front"][:36]}
    signals = Signals.added([Signals.of(packets(costs(1), cut), SLICES)])
    assert marks_of(signals, "s")[1, 2] == [Mark(1, "s", False, None)]
    assert np.sum(signals.loads.sums, axis=0).tolist()[2] == 2
