"""What a router does with a MESSAGE and with a whole datagram, against a plain account of the rules."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.fib import ClassEntry, DropReason, Fib, ForwardingTable, UsageError
from fastpath.wire.codec import encode_ack
from nodes.model import Filter, matches_filter, parse_filter
from nodes.wire.codec import decode, decode_datagram, encode, encode_filter
from nodes.wire.packets import Message, Pad, Trailer
from tests.draws import draws

CLIENT = 77
ACK = encode_ack(1, 2, 3, 4)


def message(**changes):
    return replace(Message(source=CLIENT, sequence=1, publish_time_ns=5, attributes={"a": 1}), **changes)


def table_of(filed):
    table = ForwardingTable()
    for interface, filter_ in filed:
        table.add(interface, encode_filter(filter_))
    table.commit()
    return table


def fib_of(clients, classes, filed, origin_class=1, sizes=None):
    return Fib(origin_class, clients, classes, [table_of(filed)], sizes)


def line(sizes=None):
    """Router with client 77 at 0, routers at 1 and 2, client 88 at 3; all want everything."""
    classes = [
        ClassEntry(header_class=1, accept=0, out=0b1111, table=0, rewrite=1),
        ClassEntry(header_class=2, accept=0b0010, out=0b1101, table=0, rewrite=9),
    ]
    return fib_of([CLIENT, 0, 0, 88], classes, [(i, Filter()) for i in range(4)], sizes=sizes)


def test_T4_a_message_from_a_client_enters_the_origin_class():
    drop, outputs = line().forward(encode(message()), 0)
    assert drop == 0
    copy = encode(message(header_class=1, hop_limit=63, hop_count=1))
    assert outputs == [(1, copy), (2, copy), (3, copy)]


@pytest.mark.parametrize("trailer", [None, Trailer(b"tag")])
def test_a_payload_passes_unchanged_and_is_nothing_that_a_filter_can_match(trailer):
    attribute = encode(message(attributes={"b": 1}))[36:]
    sent = message(payload=attribute, trailer=trailer)
    classes = [ClassEntry(header_class=1, accept=0, out=0b0110, table=0, rewrite=1)]
    fib = fib_of([CLIENT, 0, 0], classes, [(1, parse_filter("a = 1")), (2, parse_filter("b = 1"))])
    drop, outputs = fib.forward(encode(sent), 0)
    copy = replace(sent, header_class=1, hop_limit=63, hop_count=1)
    assert (drop, outputs) == (0, [(1, encode(copy))])


def test_E10_a_routers_message_is_rewritten_by_the_sender():
    drop, outputs = line().forward(encode(message(source=5, header_class=2, hop_limit=9, hop_count=4)), 1)
    copy = encode(message(source=5, header_class=9, hop_limit=8, hop_count=5))
    assert (drop, outputs) == (0, [(0, copy), (2, copy), (3, copy)])


def test_a_message_never_goes_back_where_it_came_from():
    outputs = line().forward(encode(message(source=5, header_class=2)), 1)[1]
    assert 1 not in [interface for interface, _ in outputs]


@pytest.mark.parametrize(
    ("changed", "ingress", "reason"),
    [
        ({"source": 78}, 0, DropReason.SPOOFED_SOURCE),
        ({"source": 88}, 0, DropReason.SPOOFED_SOURCE),
        ({"header_class": 2}, 0, DropReason.SPOOFED_SOURCE),
        ({"header_class": 3}, 1, DropReason.UNKNOWN_CLASS),
        ({"header_class": 0}, 1, DropReason.UNKNOWN_CLASS),
        ({"header_class": 2}, 2, DropReason.WRONG_INTERFACE),
        ({"header_class": 1}, 1, DropReason.WRONG_INTERFACE),
        ({"header_class": 2}, 1, DropReason.RETURNED),
        ({"source": 88, "header_class": 2}, 1, DropReason.RETURNED),
        ({"hop_limit": 0}, 0, DropReason.HOP_LIMIT),
        ({"hop_limit": 0, "header_class": 2}, 1, DropReason.HOP_LIMIT),
    ],
)
def test_P1_what_must_not_be_forwarded_is_dropped_for_its_reason(changed, ingress, reason):
    packet = encode(message(**changed))
    assert line().forward(packet, ingress) == (reason, [])
    assert line().forward_datagram(packet, ingress) == ([], [], [reason])


def test_a_client_without_an_origin_class_publishes_to_nobody():
    fib = fib_of([CLIENT, 0], [], [], origin_class=4)
    assert fib.forward(encode(message()), 0) == (DropReason.UNKNOWN_CLASS, [])


@pytest.mark.parametrize("mutate", [lambda p: p[:-1], lambda p: p + b"\0", lambda p: b"", lambda p: ACK])
def test_what_is_not_one_message_is_malformed(mutate):
    assert line().forward(mutate(encode(message())), 0) == (DropReason.MALFORMED, [])


def test_the_last_hop_reaches_clients_but_no_router():
    packet = encode(message(source=5, header_class=2, hop_limit=1))
    assert [interface for interface, _ in line().forward(packet, 1)[1]] == [0, 3]
    _, outputs, drops = line().forward_datagram(packet, 1)
    assert ([interface for interface, _ in outputs], drops) == ([0, 3], [DropReason.HOP_LIMIT])
    only_routers = fib_of([0, 0], [ClassEntry(2, 1, 2, 0, 2)], [(1, Filter())])
    assert only_routers.forward(packet, 0) == (DropReason.HOP_LIMIT, [])


def test_the_hop_count_stays_at_its_maximum():
    outputs = line().forward(encode(message(hop_count=255)), 0)[1]
    assert {decode(copy).hop_count for _, copy in outputs} == {255}


def test_route_and_trailer_are_carried_unchanged():
    sent = message(route=b"\1\2\3", trailer=Trailer(tag=b"tag", key_id=7, algorithm=200))
    copy = decode(line().forward(encode(sent), 0)[1][0][1])
    assert (copy.route, copy.trailer) == (sent.route, sent.trailer)


def test_a_bad_frame_rejects_the_whole_datagram():
    good = encode(message())
    for bad in (good + b"\1", good + b"\2\1\0\4", good + b"\1\5\0\4", b"", good[:-1], good + b"\1\0\0\3"):
        assert line().forward_datagram(bad, 0) == ([], [], [DropReason.MALFORMED])


def test_a_packet_wrong_inside_leaves_its_neighbours_alone():
    good, bad = encode(message()), bytearray(encode(message()))
    bad[7] = 1
    dirty_pad = b"\1\0\0\6\0\1"
    control, outputs, drops = line().forward_datagram(good + bytes(bad) + dirty_pad + ACK + good, 0)
    assert control == [ACK]
    assert drops == [DropReason.MALFORMED, DropReason.MALFORMED]
    assert [interface for interface, _ in outputs] == [1, 2, 3]
    assert all(len(decode_datagram(datagram)) == 2 for _, datagram in outputs)


def test_control_packets_come_out_in_order_and_padding_vanishes():
    other = encode_ack(9, 9, 9, 9)
    datagram = ACK + encode(Pad(9)) + other + ACK
    assert line().forward_datagram(datagram, 2) == ([ACK, other, ACK], [], [])


def test_messages_of_a_datagram_are_bundled_up_to_each_interfaces_size():
    packets = [encode(message(sequence=n)) for n in range(5)]
    size = len(packets[0])
    fib = line(sizes=[1472, 1472, 2 * size, 10])
    outputs = fib.forward_datagram(b"".join(packets), 0)[1]
    by_interface = {}
    for interface, datagram in outputs:
        by_interface.setdefault(interface, []).append([p.sequence for p in decode_datagram(datagram)])
    assert by_interface == {1: [[0, 1, 2, 3, 4]], 2: [[0, 1], [2, 3], [4]], 3: [[0], [1], [2], [3], [4]]}


def test_a_fib_keeps_the_table_it_was_made_with():
    table = table_of([(1, Filter())])
    fib = Fib(1, [CLIENT, 0], [ClassEntry(1, 0, 2, 0, 1)], [table])
    table.remove(0)
    table.commit()
    assert len(fib.forward(encode(message()), 0)[1]) == 1
    assert Fib(1, [CLIENT, 0], [ClassEntry(1, 0, 2, 0, 1)], [table]).forward(encode(message()), 0) == (0, [])
    assert fib.over([table]).forward(encode(message()), 0) == (0, [])


def test_a_fib_goes_over_as_many_tables_as_it_has():
    with pytest.raises(UsageError, match="2 tables in the place of 1"):
        line().over([ForwardingTable()] * 2)
    with pytest.raises(TypeError):
        line().over([None])


def test_interfaces_beyond_a_machine_word_work():
    count = 200
    everywhere = (1 << count) - 1
    filed = [(i, parse_filter(f"a < {i}")) for i in range(count)]
    fib = fib_of([CLIENT] + [0] * (count - 1), [ClassEntry(1, 0, everywhere, 0, 1)], filed)
    outputs = fib.forward(encode(message(attributes={"a": 150})), 0)[1]
    assert [interface for interface, _ in outputs] == list(range(151, 200))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, [0], [ClassEntry(1, 0, 2, 0, 1)]), "beyond the 1"),
        ((1, [0], [ClassEntry(1, 2, 0, 0, 1)]), "beyond the 1"),
        ((1, [0], [ClassEntry(1, 0, -1, 0, 1)]), "not negative"),
        ((1, [0], [ClassEntry(1, 0, 0, 1, 1)]), "there are 1 tables"),
        ((1, [0], [ClassEntry(1, 0, 0, 0, 1)] * 2), "two entries"),
        ((1, [0], [ClassEntry(2**32, 0, 0, 0, 1)]), "header_class"),
        ((1, [0], [ClassEntry(1, 0, 0, 0, -1)]), "rewrite"),
        ((-1, [0], []), "origin_class"),
        ((1, [2**32], []), "client id"),
        ((1, ["x"], []), "must be an integer"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(UsageError, match=words):
        Fib(*arguments, [ForwardingTable()])


def test_an_ingress_that_does_not_exist_is_refused():
    for ingress in (-1, 4, 2**40, None):
        with pytest.raises(UsageError, match="this FIB has 4 interfaces"):
            line().forward(encode(message()), ingress)


def account(fib_parts, msg, ingress):
    """The rules in plain Python: a drop reason and the interfaces that get a copy."""
    origin, clients, classes, filed = fib_parts
    if msg.hop_limit == 0:
        return DropReason.HOP_LIMIT, []
    if clients[ingress]:
        if msg.source != clients[ingress] or msg.header_class != 0:
            return DropReason.SPOOFED_SOURCE, []
        entry = classes.get(origin)
    else:
        entry = classes.get(msg.header_class)
    if entry is None:
        return DropReason.UNKNOWN_CLASS, []
    if not clients[ingress] and not entry.accept >> ingress & 1:
        return DropReason.WRONG_INTERFACE, []
    if not clients[ingress] and msg.source in clients:
        return DropReason.RETURNED, []
    wanted = {
        i for i, f in filed if entry.out >> i & 1 and i != ingress and matches_filter(f, msg.attributes)
    }
    kept = sorted(i for i in wanted if msg.hop_limit > 1 or clients[i])
    return (DropReason.HOP_LIMIT if wanted and not kept else 0), kept


def test_T1_forwarding_agrees_with_the_rules_on_any_fib_and_message(strategies):
    count = 5
    masks = st.integers(0, 2**count - 1)
    entries = st.builds(
        ClassEntry,
        header_class=st.integers(0, 3),
        accept=masks,
        out=masks,
        table=st.just(0),
        rewrite=st.integers(0, 3),
    )
    headers = st.tuples(
        st.integers(1, 2), st.integers(0, 4), st.sampled_from([0, 1, 2, 64]), st.integers(0, 255)
    )

    @settings(max_examples=draws(500), deadline=None)
    @given(
        st.lists(st.integers(0, 2), min_size=count, max_size=count),
        st.lists(entries, max_size=4, unique_by=lambda e: e.header_class),
        st.lists(st.tuples(st.integers(0, count - 1), strategies.filters), max_size=8),
        headers,
        strategies.messages,
        st.integers(0, count - 1),
    )
    def check(clients, entry_list, filed, header, attributes, ingress):
        source, header_class, hop_limit, hop_count = header
        sent = message(
            source=source,
            header_class=header_class,
            hop_limit=hop_limit,
            hop_count=hop_count,
            attributes=attributes,
        )
        fib = fib_of(clients, entry_list, []).over([table_of(filed)])
        by_class = {entry.header_class: entry for entry in entry_list}
        reason, interfaces = account((1, clients, by_class, filed), sent, ingress)
        drop, outputs = fib.forward(encode(sent), ingress)
        assert (drop, [interface for interface, _ in outputs]) == (reason, interfaces)
        if outputs:
            entry = by_class[1 if clients[ingress] else header_class]
            forwarded = replace(
                sent,
                header_class=entry.rewrite,
                hop_limit=hop_limit - 1,
                hop_count=min(hop_count + 1, 255),
            )
            assert {copy for _, copy in outputs} == {encode(forwarded)}

    check()


def test_any_bytes_as_a_datagram_lead_to_drops_and_never_to_an_error(strategies):
    good = encode(message())

    @settings(max_examples=draws(300), deadline=None)
    @given(st.binary(max_size=80), st.integers(0, len(good) - 1), st.integers(0, 255))
    def check(noise, at, byte):
        changed = good[:at] + bytes([byte]) + good[at + 1 :]
        for datagram in (noise, good + noise, changed, changed + good):
            line().forward_datagram(datagram, 0)

    check()
