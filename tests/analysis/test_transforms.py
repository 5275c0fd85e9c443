"""The tables, from hand-written packets.

    p(11) --- r1 --- r2 --- r3 --- c(13)
               |      |
             a(12)   r4

All messages are published by p at router 1.
"""

from __future__ import annotations

import pytest

from analysis import transforms
from analysis.findings import Traffic
from analysis.oracle import Due, is_unreported, verdict_of
from analysis.schemas import CLIENTS, EXPECTED, KINDS, LINKS
from analysis.summary import count_by_subscriber, count_crossings, first_disagreements
from analysis.verdict import control_by_kind

pytestmark = pytest.mark.spark

P, A, C = 11, 12, 13
CLIENTS_OF = {P, A, C}


def message(node, peer, time_ns, hop_count, sequence=1, *, sent=True, source=P, **more):
    return {
        "interface": f"r{node}-{peer}",
        "node_id": node,
        "peer_id": peer,
        "peer_is_client": peer in CLIENTS_OF,
        "sent": sent,
        "time_ns": time_ns,
        "packet_bytes": 100,
        "frame_bytes": 142,
        "type": 1,
        "source": source,
        "sequence": sequence,
        "publish_time_ns": time_ns - 5,
        "hop_count": hop_count,
        "content": 7,
        "attribute_count": 0,
        "attributes": b"" if peer in CLIENTS_OF and not sent else None,
    } | more


def published(time_ns=1000, sequence=1, **more):
    return message(1, P, time_ns, 0, sequence, sent=False, **more)


def output(time_ns, sequence=1, event="publish", node="p", source=P, text="x = 1"):
    return {
        "time_ns": time_ns,
        "node": node,
        "event": event,
        "source": source,
        "sequence": sequence,
        "message": text,
    }


def as_dicts(frame, *columns, order=("source", "sequence")):
    rows = frame.select(*columns).orderBy(*[c for c in order if c in frame.columns]).collect()
    return [r.asDict() for r in rows]


def test_a_publication_is_its_first_sight_on_its_sources_access_interface(packets, events):
    found = transforms.to_publications(packets(published(1000), published(2000)), events(output(990)))
    assert as_dicts(found, "node_id", "time_ns", "publish_time_ns", "announced_ns", "message") == [
        {"node_id": 1, "time_ns": 1000, "publish_time_ns": 995, "announced_ns": 990, "message": "x = 1"}
    ]


def test_a_publication_that_never_arrived_is_kept_with_what_its_client_said(packets, events):
    found = transforms.to_publications(packets(), events(output(990, sequence=7)))
    assert as_dicts(found, "sequence", "time_ns", "attributes", "announced_ns") == [
        {"sequence": 7, "time_ns": None, "attributes": None, "announced_ns": 990}
    ]


def test_a_publication_in_anothers_name_is_not_believed(packets, events):
    found = transforms.to_publications(packets(published(source=A)), events())
    assert found.count() == 0


def test_a_message_on_the_way_is_not_a_publication(packets, events):
    found = transforms.to_publications(packets(message(2, 1, 1100, 1, sent=False)), events())
    assert found.count() == 0


def test_a_delivery_is_timed_from_access_interface_to_access_interface(packets, events):
    seen = packets(published(1000), message(1, A, 1010, 1), message(3, C, 1300, 3), message(3, C, 1400, 5))
    found = transforms.to_deliveries(seen, transforms.to_publications(seen, events()))
    assert as_dicts(
        found, "subscriber", "node_id", "time_ns", "latency_ns", "hop_count", "copies", order=["subscriber"]
    ) == [
        {"subscriber": A, "node_id": 1, "time_ns": 1010, "latency_ns": 10, "hop_count": 1, "copies": 1},
        {"subscriber": C, "node_id": 3, "time_ns": 1300, "latency_ns": 300, "hop_count": 3, "copies": 2},
    ]


def test_a_delivery_of_what_was_never_published_has_no_latency(packets, events):
    seen = packets(message(3, C, 1300, 3))
    found = transforms.to_deliveries(seen, transforms.to_publications(seen, events()))
    assert as_dicts(found, "latency_ns", "copies") == [{"latency_ns": None, "copies": 1}]


def crossings_of(packets, events, *rows):
    seen = packets(published(), *rows)
    deliveries = transforms.to_deliveries(seen, transforms.to_publications(seen, events()))
    found = transforms.to_crossings(seen, deliveries, transforms.to_publications(seen, events()))
    rows = (
        found.where("not access and copies > 0")
        .orderBy("sequence", "hop_count", "from_id", "to_id")
        .collect()
    )
    return [(r.from_id, r.to_id, r.hop_count, r.copies, r.wasted) for r in rows]


def test_a_crossing_is_wasted_if_no_delivery_descends_from_it(packets, events):
    seen = [message(1, 2, 1100, 1), message(2, 3, 1200, 2), message(2, 4, 1200, 2), message(3, C, 1300, 3)]
    assert crossings_of(packets, events, *seen) == [
        (1, 2, 1, 1, False),
        (2, 3, 2, 1, False),
        (2, 4, 2, 1, True),
    ]


def test_a_crossing_seen_at_both_ends_counts_once(packets, events):
    seen = [message(1, 2, 1100, 1), message(2, 1, 1150, 1, sent=False)]
    assert crossings_of(packets, events, *seen) == [(1, 2, 1, 1, True)]


def test_a_crossing_knows_when_it_arrived_and_whether_it_did(packets, events):
    seen = packets(
        message(1, 2, 1100, 1),
        message(2, 1, 1150, 1, sent=False),
        message(2, 1, 1170, 1, sent=False),  # the link doubled it
        message(2, 3, 1200, 2),  # and this one lost it
        message(4, 2, 1300, 2, sent=False),  # what nobody is seen to have sent is no crossing
    )
    publications = transforms.to_publications(seen, events())
    found = transforms.to_crossings(seen, transforms.to_deliveries(seen, publications), publications)
    columns = ("from_id", "time_ns", "copies", "received_ns", "arrived")
    assert as_dicts(found, *columns, order=("from_id", "to_id")) == [
        {"from_id": 1, "time_ns": 1100, "copies": 1, "received_ns": 1150, "arrived": 2},
        {"from_id": 2, "time_ns": 1200, "copies": 1, "received_ns": None, "arrived": 0},
        {"from_id": 2, "time_ns": None, "copies": 0, "received_ns": 1300, "arrived": 1},
    ]


def oddities(packets, events, *rows):
    seen = packets(published(), *rows)
    publications = transforms.to_publications(seen, events())
    crossings = transforms.to_crossings(seen, transforms.to_deliveries(seen, publications), publications)
    return [(o.name, o.from_id, o.to_id, o.count) for o in count_crossings(crossings)[1]]


PATH = (
    message(1, 2, 1100, 1),
    message(2, 1, 1150, 1, sent=False),
    message(2, 3, 1200, 2),
    message(3, 2, 1250, 2, sent=False),
    message(3, C, 1300, 3),
)


def test_what_comes_over_a_path_from_where_the_message_entered_is_in_order(packets, events):
    assert oddities(packets, events, *PATH) == []
    assert oddities(packets, events, *PATH, message(3, C, 1310, 3), message(1, A, 1010, 1)) == []


def test_what_leaves_a_router_to_which_nothing_brought_it_has_no_path(packets, events):
    assert oddities(packets, events, *PATH[:1], *PATH[2:]) == [("pathless", 2, 3, 1)]
    assert oddities(packets, events, PATH[-1]) == [("pathless", 3, C, 1)]


def test_what_arrives_and_was_not_sent_is_odd_where_it_was_to_be_sent(packets, events):
    assert oddities(packets, events, *PATH[:2], *PATH[3:]) == [("unsent", 2, 3, 1)]


def test_a_hop_count_that_its_path_contradicts_is_odd(packets, events):
    assert oddities(packets, events, *PATH[:-1], message(3, C, 1300, 40)) == [("hops", 3, C, 1)]
    assert oddities(packets, events, *PATH, message(1, 2, 1400, 2)) == [("hops", 1, 2, 1)]


def test_altered_content_is_odd_where_it_was_first_seen(packets, events):
    def changed(at):
        return [row | ({"content": 9} if n >= at else {}) for n, row in enumerate(PATH)]

    assert oddities(packets, events, *changed(4)) == [("altered", 3, C, 1)]
    assert oddities(packets, events, *changed(2)) == [("altered", 2, 3, 1)]
    assert oddities(packets, events, *PATH[:1], *changed(1)[1:]) == [("altered", 1, 2, 1)]
    assert oddities(packets, events, *PATH, message(3, C, 1400, 3, content=9)) == [("altered", 3, C, 1)]


def test_a_delivery_before_the_crossings_hop_does_not_descend_from_it(packets, events):
    """r1 delivers to A at hop 1; the copy that loops 1-2-1 later brings A nothing."""
    seen = [message(1, A, 1010, 1), message(1, 2, 1100, 1), message(2, 1, 1200, 2)]
    assert crossings_of(packets, events, *seen) == [(1, 2, 1, 1, True), (2, 1, 2, 1, True)]


def test_waste_needs_no_clock(packets, events):
    """The routers' clocks disagree: the delivery is stamped before the crossing that made it."""
    seen = [message(1, 2, 9100, 1), message(2, 3, 200, 2), message(3, C, 100, 3)]
    assert crossings_of(packets, events, *seen) == [(1, 2, 1, 1, False), (2, 3, 2, 1, False)]


def test_messages_do_not_lend_each_other_deliveries(packets, events):
    seen = [message(1, 2, 1100, 1), message(2, 3, 1200, 2, sequence=2), message(3, C, 1300, 3, sequence=2)]
    assert crossings_of(packets, events, *seen) == [(1, 2, 1, 1, True), (2, 3, 2, 1, False)]


OWED = Due(True, True)
WANTED = Due(False, True, "network")
ALLOWED = Due(False, False)
CUT_OFF = Due(None, True, "cut_off")
NOTHING = Due(None, False)
JUDGED = (
    # what is due, copies that left a router, reports by the client, verdict
    (OWED, 1, 1, "delivered"),
    (OWED, 2, 1, "duplicate"),
    (OWED, 0, 0, "missing"),
    (OWED, 0, 1, "missing"),
    (WANTED, 1, 1, "delivered"),
    (WANTED, 0, 0, "lost"),
    (WANTED, 0, 1, None),
    (ALLOWED, 1, 1, "delivered"),
    (ALLOWED, 3, 1, "delivered"),
    (WANTED, 2, 2, "delivered"),
    (ALLOWED, 0, 1, None),
    (CUT_OFF, 0, 0, "lost"),
    (CUT_OFF, 1, 1, "spurious"),
    (NOTHING, 1, 1, "spurious"),
    (NOTHING, 2, 0, "spurious"),
    (NOTHING, 0, 1, None),
)


def test_a_pair_is_judged_by_what_was_owed_and_what_left_a_router(table, packets, events):
    cases = list(enumerate(JUDGED, 1))
    expected = [
        {"source": P, "sequence": n, "subscriber": C, **due._asdict(), "reason": due.reason or None}
        for n, (due, *_) in cases
        if due != NOTHING
    ]
    seen = [message(3, C, 1300 + i, 3, n) for n, (_, copies, *_) in cases for i in range(copies)]
    reported = [output(1400, n, "deliver", "c") for n, (_, _, reports, _) in cases for _ in range(reports)]
    deliveries = transforms.to_deliveries(packets(*seen), transforms.to_publications(packets(), events()))
    clients = table(CLIENTS, [{"node": "c", "subscriber": C}])
    found = transforms.to_verdicts(table(EXPECTED, expected), deliveries, events(*reported), clients)
    judged = {
        r.sequence: (Due(r.owed, r.wanted, r.reason or ""), r.copies, r.reports, r.verdict)
        for r in found.collect()
    }
    assert judged == dict(cases)
    unseen = transforms.to_verdicts(
        table(EXPECTED, expected), deliveries, events(*reported), clients, unseen=[C]
    )
    changed = {r.sequence: r.verdict for r in unseen.collect() if r.verdict != dict(cases)[r.sequence][3]}
    assert changed == {n: "unknown" for n, case in cases if case[3] == "missing"}


@pytest.mark.parametrize("case", JUDGED)
def test_a_run_in_memory_is_judged_by_the_same_rules_as_tables(case):
    due, copies, reports, verdict = case
    assert verdict_of(due, copies, reports) == (verdict or "")
    unseen = verdict_of(due, copies, reports, unseen=True)
    assert unseen == ("unknown" if verdict == "missing" else verdict or "")


def test_what_was_allowed_and_did_not_come_leaves_no_trace(table, packets, events):
    expected = table(
        EXPECTED, [{"source": P, "sequence": 1, "subscriber": C, "owed": False, "wanted": False}]
    )
    deliveries = transforms.to_deliveries(packets(), transforms.to_publications(packets(), events()))
    clients = table(CLIENTS, [])
    assert transforms.to_verdicts(expected, deliveries, events(), clients).count() == 0


@pytest.mark.parametrize(
    ("reason", "unreported"), [(None, 1), ("subscription", 1), ("network", 0), ("cut_off", 0)]
)
def test_a_client_need_not_report_what_left_a_router_while_the_network_was_not_settled(
    table, packets, events, reason, unreported
):
    pair = {"source": P, "sequence": 1, "subscriber": C, "owed": reason is None, "wanted": True}
    expected = table(EXPECTED, [pair | {"reason": reason}])
    seen = packets(message(1, P, 10, 0, sent=False), message(3, C, 40, 2))
    deliveries = transforms.to_deliveries(seen, transforms.to_publications(seen, events()))
    verdicts = transforms.to_verdicts(expected, deliveries, events(), table(CLIENTS, []))
    (counts,) = count_by_subscriber(verdicts)
    assert (counts.unreported, len(first_disagreements(verdicts))) == (unreported, unreported)
    due = Due(reason is None, True, reason or "")
    assert is_unreported(due, 1, 0, lossy=False) == bool(unreported), "as in memory"
    assert not is_unreported(due, 1, 1, lossy=False)
    assert not is_unreported(due, 1, 0, lossy=True)


def test_padding_is_no_control_traffic(packets):
    pad = message(1, 2, 10, None) | {"type": 0, "source": None}
    (row,) = transforms.to_traffic(packets(pad)).collect()
    assert control_by_kind([Traffic(**row.asDict())]) == {}


def test_control_traffic_counts_each_packet_of_a_link_once(table, packets):
    def control(node, peer, kind, type_=3, *, sent=True):
        return message(node, peer, 10, None, sent=sent) | {"type": type_, "kind": kind, "source": None}

    seen = packets(
        control(1, 2, 2),
        control(2, 1, 2, sent=False),
        control(2, 1, 1),
        control(1, 2, 1, sent=False),
        control(1, P, 3, sent=False),
        control(1, P, None, type_=2),
        control(1, P, 40),
        control(1, P, None, type_=0),
        message(1, 2, 1100, 1),
    )
    links = table(
        LINKS,
        [{"interface": i, "link": k} for i, k in (("r1-2", "r1-r2"), ("r2-1", "r1-r2"), ("r1-11", "r1-p"))],
    )
    kinds = table(
        KINDS,
        [
            {"type": 3, "kind": k, "kind_name": n}
            for k, n in ((1, "LINK_STATE"), (2, "INTEREST"), (3, "SUBSCRIBE"))
        ]
        + [{"type": 2, "kind": None, "kind_name": "HELLO"}],
    )
    found = transforms.to_control(transforms.to_traffic(seen), links, kinds)
    assert [tuple(r) for r in found.orderBy("link", "kind_name").collect()] == [
        ("r1-p", "HELLO", 1, 100),
        ("r1-p", "SUBSCRIBE", 1, 100),
        ("r1-p", "kind 40", 1, 100),
        ("r1-r2", "INTEREST", 1, 100),
        ("r1-r2", "LINK_STATE", 1, 100),
    ]
