"""What becomes of messages, from packets and events that are written by hand (`by_hand`)."""

from __future__ import annotations

import pytest

from analysis.by_time import OF_CLIENT
from analysis.catalog.messages import CROSSINGS, DELIVERIES, EXPECTED, HOPS, PUBLICATIONS, TREES, VERDICTS
from analysis.dues import Dues
from analysis.findings import Scope, Slices
from analysis.history import FOREVER, History, SettledPeriod
from analysis.messages import counting
from analysis.messages.counting import BAD, Excused, Outcomes, count_by_scope, outcomes_of
from analysis.messages.pairs import Pairs
from analysis.messages.sums import all_oddities, sums_of
from analysis.messages.times import by_time
from analysis.oracle import Due, is_unreported, verdict_of
from nodes.model import EVERYTHING
from nodes.wire.codec import encode_attributes
from tests.analysis.by_hand import (
    CALM,
    A,
    C,
    P,
    announced,
    claim,
    context_of,
    crossing,
    judge,
    message,
    numbers,
    published,
    reported,
    table_of,
)


def picked(rows, *columns):
    return [{name: row[name] for name in columns} for row in rows]


def test_a_publication_is_its_first_sight_on_its_sources_access_interface():
    found = table_of(judge([published(2000), published(1000)], [announced(990)]), PUBLICATIONS)
    assert picked(found, "node_id", "time_ns", "publish_time_ns", "announced_ns", "message") == [
        {"node_id": 1, "time_ns": 1000, "publish_time_ns": 995, "announced_ns": 990, "message": "x = 1"}
    ]


def test_a_publication_that_never_arrived_is_kept_with_what_its_client_said():
    found = table_of(judge([], [announced(990, sequence=7)]), PUBLICATIONS)
    assert picked(found, "sequence", "time_ns", "attributes", "announced_ns", "as_announced") == [
        {"sequence": 7, "time_ns": None, "attributes": None, "announced_ns": 990, "as_announced": None}
    ]


def test_a_publication_in_anothers_name_is_not_believed():
    assert table_of(judge([published(source=A)]), PUBLICATIONS) == []


def test_a_message_on_the_way_is_not_a_publication():
    assert table_of(judge([message(2, 1, 1100, 1, sent=False)]), PUBLICATIONS) == []


@pytest.mark.parametrize(
    ("attributes", "text", "same"),
    [
        ({"x": 1}, "x = 1", True),
        ({"x": 1}, "x=1", True),
        ({"x": 1}, "x = 2", False),
        ({"x": 1}, "x = = 1", False),
        (None, "x = 1", False),
    ],
)
def test_what_was_captured_is_compared_with_what_the_client_says(attributes, text, same):
    data = b"\xff" if attributes is None else encode_attributes(attributes)
    captured = published(attributes=data, attribute_count=1)
    (row,) = table_of(judge([captured], [announced(990, text=text)]), PUBLICATIONS)
    assert row["as_announced"] is same


def test_what_was_captured_counts_before_what_was_announced():
    claims = [claim(C, "x = 1"), claim(A, "x = 2")]
    captured = published(attributes=encode_attributes({"x": 1}), attribute_count=1)
    found = judge([captured], [announced(990, text="x = 2")], context=context_of(claims))
    assert table_of(found, EXPECTED) == [
        {
            "source": P,
            "sequence": 1,
            "subscriber": C,
            "published_ns": 1000,
            "owed": True,
            "wanted": True,
            "reason": None,
            "denied": False,
        }
    ]
    lost = judge([], [announced(990, text="x = 2")], context=context_of(claims))
    assert [row["subscriber"] for row in table_of(lost, EXPECTED)] == [A]


@pytest.mark.parametrize(("attributes", "text"), [(b"\xff", None), (None, "x = = 1")])
def test_what_cannot_be_read_is_owed_to_nobody(attributes, text):
    captured = [] if attributes is None else [published(attributes=attributes, attribute_count=1)]
    said = [] if text is None else [announced(990, text=text)]
    found = judge(captured, said, context=context_of([claim(C)]))
    assert len(table_of(found, PUBLICATIONS)) == 1
    assert table_of(found, EXPECTED) == []


def test_what_the_reference_model_denies_is_marked_in_the_table(monkeypatch):
    captured = published(attributes=encode_attributes({"x": 1}), attribute_count=1)
    claims = [claim(A, "x = 1"), claim(C, "all")]
    monkeypatch.setattr("analysis.dues.matches", lambda predicate, message: predicate == EVERYTHING)
    found = judge([captured], context=context_of(claims))
    denied = [row for row in table_of(found, EXPECTED) if row["denied"]]
    assert picked(denied, "subscriber", "owed", "wanted") == [
        {"subscriber": A, "owed": None, "wanted": False}
    ]
    assert sums_of(found).denied == [(P, 1, A)]


def test_a_delivery_is_timed_from_access_interface_to_access_interface():
    seen = [published(1000), message(1, A, 1010, 1), message(3, C, 1400, 5), message(3, C, 1300, 3)]
    found = table_of(judge(seen), DELIVERIES)
    columns = ("subscriber", "node_id", "time_ns", "latency_ns", "hop_count", "copies", "published_ns")
    assert [tuple(row[name] for name in columns) for row in found] == [
        (A, 1, 1010, 10, 1, 1, 1000),
        (C, 3, 1300, 300, 3, 2, 1000),
    ]


def test_a_delivery_of_what_was_never_published_has_no_latency():
    found = table_of(judge([message(3, C, 1300, 3)]), DELIVERIES)
    assert picked(found, "latency_ns", "copies", "published_ns") == [
        {"latency_ns": None, "copies": 1, "published_ns": None}
    ]


def crossings_of(*rows):
    found = table_of(judge([published(), *rows]), CROSSINGS)
    found.sort(key=lambda r: (r["sequence"], r["hop_count"], r["from_id"], r["to_id"]))
    columns = ("from_id", "to_id", "hop_count", "copies", "wasted")
    return [tuple(r[name] for name in columns) for r in found if not r["access"] and r["copies"]]


def test_a_crossing_is_wasted_if_no_delivery_descends_from_it():
    seen = [message(1, 2, 1100, 1), message(2, 3, 1200, 2), message(2, 4, 1200, 2), message(3, C, 1300, 3)]
    assert crossings_of(*seen) == [
        (1, 2, 1, 1, False),
        (2, 3, 2, 1, False),
        (2, 4, 2, 1, True),
    ]


def test_a_crossing_seen_at_both_ends_counts_once():
    seen = [message(1, 2, 1100, 1), message(2, 1, 1150, 1, sent=False)]
    assert crossings_of(*seen) == [(1, 2, 1, 1, True)]


def test_a_crossing_knows_when_it_arrived_and_whether_it_did():
    seen = [
        message(1, 2, 1100, 1),
        message(2, 1, 1170, 1, sent=False),  # the link doubled it
        message(2, 1, 1150, 1, sent=False),
        message(2, 3, 1200, 2),  # and this one lost it
        message(4, 2, 1300, 2, sent=False),  # what nobody is seen to have sent is no crossing
    ]
    columns = ("from_id", "time_ns", "copies", "received_ns", "arrived")
    found = table_of(judge([published(), *seen]), CROSSINGS)
    assert [tuple(row[name] for name in columns) for row in found] == [
        (1, 1100, 1, 1150, 2),
        (2, 1200, 1, None, 0),
        (2, None, 0, 1300, 1),
    ]


def oddities(*rows):
    found = all_oddities(sums_of(judge([published(), *rows])))
    return [(o.name, o.from_id, o.to_id, o.count) for o in found]


PATH = (
    message(1, 2, 1100, 1),
    message(2, 1, 1150, 1, sent=False),
    message(2, 3, 1200, 2),
    message(3, 2, 1250, 2, sent=False),
    message(3, C, 1300, 3),
)


def test_what_comes_over_a_path_from_where_the_message_entered_is_in_order():
    assert oddities(*PATH) == []
    assert oddities(*PATH, message(3, C, 1310, 3), message(1, A, 1010, 1)) == []


def test_what_leaves_a_router_to_which_nothing_brought_it_has_no_path():
    assert oddities(*PATH[:1], *PATH[2:]) == [("pathless", 2, 3, 1)]
    assert oddities(PATH[-1]) == [("pathless", 3, C, 1)]


def test_what_arrives_and_was_not_sent_is_odd_where_it_was_to_be_sent():
    assert oddities(*PATH[:2], *PATH[3:]) == [("unsent", 2, 3, 1)]


def test_a_hop_count_that_its_path_contradicts_is_odd():
    assert oddities(*PATH[:-1], message(3, C, 1300, 40)) == [("hops", 3, C, 1)]
    assert oddities(*PATH, message(1, 2, 1400, 2)) == [("hops", 1, 2, 1)]


def test_altered_content_is_odd_where_it_was_first_seen():
    def changed(at):
        return [row | ({"content": 9} if n >= at else {}) for n, row in enumerate(PATH)]

    assert oddities(*changed(4)) == [("altered", 3, C, 1)]
    assert oddities(*changed(2)) == [("altered", 2, 3, 1)]
    assert oddities(*PATH[:1], *changed(1)[1:]) == [("altered", 1, 2, 1)]
    assert oddities(*PATH, message(3, C, 1400, 3, content=9)) == [("altered", 3, C, 1)]


def test_a_delivery_before_the_crossings_hop_does_not_descend_from_it():
    """r1 delivers to A at hop 1; the copy that loops 1-2-1 later brings A nothing."""
    seen = [message(1, A, 1010, 1), message(1, 2, 1100, 1), message(2, 1, 1200, 2)]
    assert crossings_of(*seen) == [(1, 2, 1, 1, True), (2, 1, 2, 1, True)]


def test_waste_needs_no_clock():
    """The routers' clocks disagree: the delivery is stamped before the crossing that made it."""
    seen = [message(1, 2, 9100, 1), message(2, 3, 200, 2), message(3, C, 100, 3)]
    assert crossings_of(*seen) == [(1, 2, 1, 1, False), (2, 3, 2, 1, False)]


def test_messages_do_not_lend_each_other_deliveries():
    seen = [message(1, 2, 1100, 1), message(2, 3, 1200, 2, sequence=2), message(3, C, 1300, 3, sequence=2)]
    assert crossings_of(*seen) == [(1, 2, 1, 1, True), (2, 3, 2, 1, False)]


NOBODY = Excused(frozenset(), frozenset())
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


def pairs_of(*facts):
    """Pairs of messages 0, 1, ... and client C by what was due, copies and reports."""
    dues = list({due: None for due, *_ in facts})
    count = len(facts)
    ends = numbers(*[0] * count)
    return Pairs(
        message=numbers(*range(count)),
        client=numbers(*[C] * count),
        due=numbers(*(dues.index(due) for due, *_ in facts)),
        copies=numbers(*(copies for _, copies, _ in facts)),
        reports=numbers(*(reports for *_, reports in facts)),
        left_ns=ends,
        hop_count=ends,
        router=ends,
        reported_ns=ends,
        dues=dues,
        expected=Dues(ends, ends, ends, dues, (ends, ends), ends),
        deviating=(),
    )


def verdicts_of(outcomes: Outcomes):
    return [outcomes.verdicts[kind] or None for kind in outcomes.kind.tolist()]


def test_a_pair_is_judged_by_what_was_owed_and_what_left_a_router():
    pairs = pairs_of(*(case[:3] for case in JUDGED))
    right = [case[3] for case in JUDGED]
    assert verdicts_of(outcomes_of(pairs, NOBODY)) == right
    unseen = verdicts_of(outcomes_of(pairs, Excused(frozenset({C}), frozenset())))
    assert unseen == ["unknown" if verdict == "missing" else verdict for verdict in right]
    for due, copies, reports, verdict in JUDGED:
        assert verdict_of(due, copies, reports) == (verdict or "")


def test_a_client_need_not_report_what_left_a_router_while_the_network_was_not_settled():
    dues = [OWED, Due(False, True, "subscription"), WANTED, CUT_OFF]
    pairs = pairs_of(*((due, 1, 0) for due in dues))
    assert outcomes_of(pairs, NOBODY).is_counted(counting.UNREPORTED).tolist() == [True, True, False, False]
    lossy = outcomes_of(pairs, Excused(frozenset(), frozenset({C})))
    assert not lossy.is_counted(counting.UNREPORTED).any()
    assert not outcomes_of(pairs_of((OWED, 1, 1)), NOBODY).is_counted(counting.UNREPORTED).any()
    assert is_unreported(OWED, 1, 0, lossy=False)


def test_a_table_of_verdicts_has_what_was_due_and_what_came():
    claims = [claim(C), claim(A, from_ns=0, until_ns=900)]
    seen = [
        published(1000),
        *crossing(1, 2, 1100, 1),
        *crossing(2, 3, 1200, 2),
        message(3, C, 1300, 3),
        message(1, A, 1400, 1),
        published(2000, sequence=2),
    ]
    found = table_of(judge(seen, [], [reported(C, 1310)], context_of(claims)), VERDICTS)
    columns = ("sequence", "subscriber", "verdict", "owed", "copies", "reports", "published_ns", "latency_ns")
    assert [tuple(row[name] for name in columns) for row in found] == [
        (1, A, "spurious", None, 1, 0, 1000, 400),
        (1, C, "delivered", True, 1, 1, 1000, 300),
        (2, C, "missing", True, 0, 0, 2000, None),
    ]


def test_what_was_allowed_and_did_not_come_leaves_no_trace():
    unsettled = History([SettledPeriod(-1, 5, dict.fromkeys((1, 2, 3, P, C), 0))], 0)
    claims = [claim(C, from_ns=1_000, until_ns=1_000)]
    found = judge([published(1001)], context=context_of(claims, history=unsettled))
    assert table_of(found, VERDICTS) == []
    assert counting.by_subscriber(sums_of(found).clients) == []


def test_hops_say_when_a_message_was_sent_when_it_arrived_and_how_long_it_was_with_the_sender():
    seen = [
        published(1000),
        *crossing(1, 2, 1100, 1),
        *crossing(2, 3, 1200, 2),
        message(2, 4, 1250, 2),
        message(3, C, 1300, 3),
        message(1, A, 1010, 1),
    ]
    found = table_of(judge(seen, [announced(990)], [reported(C, 1320)]), HOPS)
    columns = ("from_id", "to_id", "sent_ns", "received_ns", "delay_ns", "waited_ns")
    assert [tuple(row[name] for name in columns) for row in found] == [
        (1, 2, 1100, 1150, 50, 100),
        (1, A, 1010, None, None, 10),
        (2, 3, 1200, 1250, 50, 50),
        (2, 4, 1250, None, None, 100),
        (3, C, 1300, 1320, 20, 50),
        (P, 1, 995, 1000, 5, None),
    ]


def test_a_message_that_no_router_saw_was_sent_when_its_client_says():
    (row,) = table_of(judge([], [announced(990)]), HOPS)
    assert (row["from_id"], row["to_id"], row["sent_ns"], row["delay_ns"]) == (P, 1, 990, None)


def test_the_ideal_tree_reaches_who_was_missed_and_leaves_out_who_got_it_wrongly():
    seen = [published(1000), *crossing(1, 2, 1100, 1), *crossing(2, 4, 1200, 2), message(1, A, 1010, 1)]
    (row,) = table_of(judge(seen, context=context_of([claim(C)])), TREES)
    columns = ("node_id", "destinations", "crossings", "wasted", "ideal", "exact")
    assert tuple(row[name] for name in columns) == (1, 1, 2, 2, 2, True)


def test_a_message_that_nobody_else_wants_has_an_empty_tree():
    seen = [published(1000), message(1, A, 1010, 1)]
    (row,) = table_of(judge(seen, context=context_of([claim(A)])), TREES)
    assert (row["destinations"], row["ideal"], row["crossings"]) == (1, 0, 0)
    assert table_of(judge([], [announced(990)]), TREES) == []


def test_stretch_is_latency_over_the_delays_of_the_fastest_path():
    seen = [published(1000), message(3, C, 1300, 3), message(1, A, 1010, 1), message(3, C, 1200, 3, 2)]
    assert judge(seen).stretches.tolist() == [1.5], "neither at the first router, nor of no publication"


def test_messages_belong_to_the_part_in_which_they_were_published():
    scopes = [Scope("early", 0, 20), Scope("late", 20, 30), Scope("all", 0, FOREVER)]
    context = context_of([claim(C)], scopes=scopes)
    seen = [
        published(10, 1),
        message(3, C, 17, 2, 1),
        published(20, 2),
        message(3, C, 25, 2, 2),
        message(3, C, 26, 2, 2),
        published(30, 4),
        message(3, C, 12, 2, 9),
    ]
    sums = sums_of(judge(seen, [announced(29, 3)], context=context))
    found = count_by_scope(context.timeline, sums.published, sums.intervals, sums.in_interval)
    assert [scope.publications for scope in found] == [1, 2, 4]
    assert [scope.counts.missing for scope in found] == [0, 1, 2]
    assert [scope.counts.duplicate for scope in found] == [0, 1, 1]
    assert [scope.counts.spurious for scope in found] == [0, 0, 0], "nobody published it"
    assert found[0].latency_ns == {"min": 7, "p50": 7, "p90": 7, "p99": 7, "max": 7, "mean": 7}
    assert found[2].latency_ns is not None
    assert (found[2].latency_ns["min"], found[2].latency_ns["max"]) == (5, 7)


def test_the_first_failures_and_disagreements_are_named():
    seen = [published(n, n) for n in range(1, 9)] + [message(3, C, 20, 2, 4), message(1, A, 21, 1, 3)]
    sums = sums_of(judge(seen, [], [reported(C, 30, 5)], context_of([claim(C)])))
    assert [(f.sequence, f.subscriber, f.verdict) for f in sums.failures] == [
        (1, C, "missing"), (2, C, "missing"), (3, A, "spurious"), (3, C, "missing"), (5, C, "missing"),
        (6, C, "missing"), (7, C, "missing"), (8, C, "missing"),
    ]  # fmt: skip
    assert {f.verdict for f in sums.failures} <= {*BAD}
    assert [(f.sequence, f.subscriber) for f in sums.disagreements] == [(3, A), (4, C), (5, C)]


def test_what_publishers_say_is_held_to_what_was_captured():
    captured = published(1000, 1, attributes=encode_attributes({"x": 1}), attribute_count=1)
    said = [announced(990, 1, "x = 2"), announced(1990, 2)]
    (client,) = sums_of(judge([captured, published(3000, 3)], said)).publishers
    assert (client.source, client.total, client.not_captured, client.not_announced) == (P, 3, 1, 1)
    assert (client.otherwise_announced, client.first_otherwise) == (1, 1)


def test_what_was_published_while_the_network_was_not_settled_need_not_be_captured():
    everybody = dict.fromkeys((1, 2, 3, P, C), 0)
    history = History([SettledPeriod(-1, 500, everybody), SettledPeriod(3000, FOREVER, everybody)], 0)
    said = [announced(990, 1), announced(5000, 2)]
    (client,) = sums_of(judge([], said, context=context_of(history=history))).publishers
    assert (client.total, client.not_captured) == (2, 1)
    (calm,) = sums_of(judge([], said, context=context_of(history=CALM))).publishers
    assert calm.not_captured == 2


def test_slices_count_what_passed_by_when_the_message_was_published():
    slices = Slices(1000, 1000, 3)
    seen = []
    for n in (0, 1, 2, 7):
        at = 1000 + 1000 * n
        seen += [published(at, n), *crossing(1, 2, at + 100, 1, n), message(3, C, at + 200, 3, n)]
    context = context_of([claim(C), claim(A)], slices=slices)
    found = by_time(sums_of(judge(seen, context=context)).times, slices)
    assert found is not None
    assert found.links[1, 2] == {slot: [1, 0, 1] for slot in range(3)}, "no delivery descends from them"
    assert found.links[3, C] == {slot: [1, 0, 0] for slot in range(3)}
    for slot in range(3):
        counts = dict(zip(OF_CLIENT, found.clients[A][slot], strict=True))
        assert (counts["wanted"], counts["owed"], counts["missing"], counts["delivered"]) == (1, 1, 1, 0)
    assert [counts[0] for counts in found.clients[P].values()] == [1, 1, 1]
    assert {slot: sum(bins.values()) for slot, bins in found.latencies.items()} == dict.fromkeys(range(3), 1)
    assert found.hops == {slot: {3: 1} for slot in range(3)}
    of_routers = {1: (1, 0, 1, 0, 0), 2: (0, 1, 0, 0, 1), 3: (0, 0, 0, 1, 0)}
    assert found.routers == {
        router: {slot: [*of_routers[router]] for slot in range(3)} for router in of_routers
    }
    assert by_time(None, slices) is None


def test_a_run_without_messages_is_judged_too():
    found = judge([])
    assert all(table_of(found, table) == [] for table in (PUBLICATIONS, EXPECTED, CROSSINGS, HOPS, TREES))
    sums = sums_of(found)
    assert (sums.deliveries, sums.publishers, sums.crossings) == ({}, [], {})
