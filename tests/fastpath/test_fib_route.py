"""Messages that carry their destinations (RTE 3.4, T5, E11), against a plain account of the rules."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.fib import (
    ClassEntry,
    DropReason,
    Fib,
    ForwardingTable,
    Route,
    UsageError,
    count_messages,
    forward_without_fib,
)
from nodes.model import Filter, parse_filter
from nodes.wire.codec import (
    decode,
    decode_datagram,
    decode_destinations,
    encode,
    encode_destinations,
    encode_filter,
)
from nodes.wire.packets import Message, Trailer
from tests.draws import draws

CLIENT, OTHER_CLIENT, NODE = 77, 88, 6
HEAD_BYTES = 36
ROUTED = 1


def message(**changes):
    return replace(Message(source=CLIENT, sequence=1, publish_time_ns=5, attributes={"a": 1}), **changes)


def travelling(*routers, **changes):
    """A message as another router sends it on."""
    fields = {"header_class": ROUTED, "route": encode_destinations(routers), **changes}
    return encode(message(source=500, **fields))


def table_of(filed):
    table = ForwardingTable()
    for interface, filter_ in filed:
        table.add(interface, encode_filter(filter_))
    table.commit()
    return table


def router(destinations, wants=None, one_each=False, sizes=None):
    """Router 6: clients 77 at 0 and 88 at 3, who want everything; routers at 1 and 2.

    `destinations` is {router: interface}; `wants` the filters of those that want not everything.
    """
    ways = tuple(sorted(destinations.items()))
    wanted = [(at, (wants or {}).get(each, Filter())) for at, (each, _) in enumerate(ways)]
    classes = [ClassEntry(ROUTED, 0b0110, 0b1001, 0, ROUTED, routed=True)]
    tables = [table_of([(0, Filter()), (3, Filter())]), table_of(wanted)]
    return Fib(ROUTED, [CLIENT, 0, 0, OTHER_CLIENT], classes, tables, sizes, Route(NODE, 1, ways, one_each))


def test_a_payload_travels_behind_whatever_route_a_copy_has():
    fib = router({8: 1, 9: 2})
    sent = message(payload=b"carried", trailer=Trailer(b"tag"))
    copies = {interface: decode(copy) for interface, copy in fib.forward(encode(sent), 0)[1]}
    assert {*copies} == {1, 2, 3}
    assert {copy.payload for copy in copies.values()} == {b"carried"}
    assert {copy.trailer for copy in copies.values()} == {sent.trailer}


def parts(outputs):
    """(interface, destinations) of the copies."""
    return [(interface, decode_destinations(decode(copy).route)) for interface, copy in outputs]


def test_T5_the_source_finds_the_destinations_and_partitions_them_by_next_hop():
    fib = router({2: 1, 3: 1, 4: 2, 8: 2, 9: 1}, wants={9: parse_filter("a > 1")})
    drop, outputs = fib.forward(encode(message()), 0)
    assert drop == 0
    assert parts(outputs) == [(3, ()), (1, (2, 3)), (2, (4, 8))]
    assert {(m.header_class, m.hop_limit, m.hop_count) for m in (decode(c) for _, c in outputs)} == {
        (1, 63, 1)
    }


def test_E11_where_we_are_a_destination_clients_get_it_and_we_are_taken_out():
    fib = router({2: 1, 4: 2})
    assert parts(fib.forward(travelling(2, NODE), 2)[1]) == [(0, ()), (3, ()), (1, (2,))]
    assert parts(fib.forward(travelling(2, 4), 2)[1]) == [(1, (2,)), (2, (4,))]


def test_T5_a_router_on_the_way_matches_nothing():
    nobody = parse_filter("a > 5")
    fib = router({2: 1, 4: 2}, wants={2: nobody, 4: nobody})
    assert parts(fib.forward(travelling(2, 4), 1)[1]) == [(1, (2,)), (2, (4,))]


def test_M8_unicast_sends_a_copy_for_each_destination():
    fib = router({2: 1, 3: 1, 4: 2}, one_each=True)
    assert parts(fib.forward(encode(message()), 0)[1]) == [(3, ()), (1, (2,)), (1, (3,)), (2, (4,))]


def test_a_destination_that_no_way_leads_to_is_a_drop_of_its_own():
    control, outputs, drops = router({2: 1}).forward_datagram(travelling(1, 2, 9), 2)
    assert (control, drops) == ([], [DropReason.UNREACHABLE] * 2)
    assert parts(outputs) == [(1, (2,))]
    assert router({2: 1}).forward(travelling(9), 1) == (DropReason.UNREACHABLE, [])


@pytest.mark.parametrize("route", [b"", b"\x80", b"\x81\x00", b"\x01\xff\xff\xff\xff\x0f", b"\x80" * 6])
def test_a_route_that_is_no_list_of_destinations_is_malformed(route):
    packet = encode(message(source=500, header_class=ROUTED, route=route))
    assert router({2: 1}).forward(packet, 1) == (DropReason.MALFORMED, [])


@pytest.mark.parametrize("routers", [(2,), (2, NODE), (NODE,)])
def test_a_router_on_the_way_passes_no_malformed_attributes_on(routers):
    packet = bytearray(travelling(*routers))
    packet[packet.index(b"\x01a", HEAD_BYTES)] = 0
    assert router({2: 1}).forward(bytes(packet), 1) == (DropReason.MALFORMED, [])


def test_a_route_that_a_client_made_up_is_not_followed():
    fib = router({2: 1, 4: 2}, wants={4: parse_filter("a > 5")})
    outputs = fib.forward(encode(message(route=encode_destinations([4, NODE]))), 0)[1]
    assert parts(outputs) == [(3, ()), (1, (2,))]


def test_the_last_hop_reaches_clients_but_no_router():
    fib = router({2: 1})
    assert parts(fib.forward(encode(message(hop_limit=1)), 0)[1]) == [(3, ())]
    _, outputs, drops = fib.forward_datagram(travelling(2, NODE, hop_limit=1), 2)
    assert ([interface for interface, _ in outputs], drops) == ([0, 3], [DropReason.HOP_LIMIT])
    assert fib.forward(travelling(2, hop_limit=1), 2) == (DropReason.HOP_LIMIT, [])
    assert fib.forward(travelling(2, hop_limit=0), 2) == (DropReason.HOP_LIMIT, [])


def test_P1_a_routed_class_is_taken_from_any_router_and_from_no_client():
    fib = router({2: 1})
    assert all(parts(fib.forward(travelling(2), ingress)[1]) == [(1, (2,))] for ingress in (1, 2))
    assert fib.forward(travelling(2), 0) == (DropReason.SPOOFED_SOURCE, [])
    assert fib.forward(encode(message(header_class=ROUTED)), 0) == (DropReason.SPOOFED_SOURCE, [])


def test_all_but_header_and_route_stays():
    sent = message(attributes={"a": 1, "b": "x" * 40}, trailer=Trailer(tag=b"tag", key_id=7, algorithm=200))
    (_, _), (_, copy) = router({300: 1}).forward(encode(sent), 0)[1]
    route = encode_destinations([300])
    assert decode(copy) == replace(sent, header_class=ROUTED, hop_limit=63, hop_count=1, route=route)


def test_T5_a_part_that_does_not_fit_is_cut_and_every_destination_is_in_one_copy():
    size = len(encode(message()))
    fib = router(dict.fromkeys(range(100, 400), 1), sizes=[1472, size + 50, 1472, 1472])
    copies = [copy for interface, copy in fib.forward(encode(message()), 0)[1] if interface == 1]
    assert all(len(copy) <= size + 50 for copy in copies)
    assert len(copies) == -(-300 // 49), "two bytes for the first id above 128, one for each after it"
    assert [each for copy in copies for each in decode_destinations(decode(copy).route)] == [*range(100, 400)]


def test_where_not_even_one_destination_fits_it_goes_alone():
    fib = router({2: 1, 3: 1}, sizes=[10] * 4)
    assert parts(fib.forward(encode(message()), 0)[1])[1:] == [(1, (2,)), (1, (3,))]


def test_a_message_that_the_format_cannot_carry_with_a_destination_is_not_sent():
    largest = message(attributes={"a": "x" * (65_535 - HEAD_BYTES - 5)})
    packet = encode(largest)
    assert len(packet) == 65_535
    _, outputs, drops = router({2: 1}).forward_datagram(packet, 0)
    assert ([i for i, _ in outputs], drops) == ([3], [DropReason.SEND_FAILED])


def test_copies_of_a_datagrams_messages_are_bundled():
    packets = [encode(message(sequence=n)) for n in range(3)]
    outputs = dict(router({2: 1, 3: 1}).forward_datagram(b"".join(packets), 0)[1])
    assert [(m.sequence, decode_destinations(m.route)) for m in decode_datagram(outputs[1])] == [
        (n, (2, 3)) for n in range(3)
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"destinations": ((2, 1), (2, 1))}, "must ascend"),
        ({"destinations": ((3, 1), (2, 1))}, "must ascend"),
        ({"destinations": ((NODE, 1),)}, "cannot be a destination"),
        ({"destinations": ((0, 1),)}, "cannot be a destination"),
        ({"destinations": ((2, 0),)}, "leads to no router"),
        ({"destinations": ((2, 4),)}, "leads to no router"),
        ({"destinations": ((2**32, 1),)}, "a destination"),
        ({"table": 2}, "there are 2 tables"),
        ({"node": 0}, "node is 0"),
        ({"out": 0b0010}, "must name clients alone"),
        ({"no": "route"}, "has no route"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, words):
    parts = {"node": NODE, "table": 1, "destinations": (), "out": 0b1001} | changes
    entry = ClassEntry(ROUTED, 0b0110, parts["out"], 0, ROUTED, routed=True)
    route = None if "no" in parts else Route(parts["node"], parts["table"], parts["destinations"])
    tables = [ForwardingTable(), ForwardingTable()]
    with pytest.raises(UsageError, match=words):
        Fib(ROUTED, [CLIENT, 0, 0, OTHER_CLIENT], [entry], tables, None, route)


WAYS = st.dictionaries(
    st.one_of(st.integers(1, 12), st.integers(1, 2**32 - 1)), st.integers(1, 2), max_size=12
)
ROUTES = st.one_of(
    st.sets(st.one_of(st.integers(1, 12), st.integers(1, 2**32 - 1)), max_size=12).map(
        lambda ids: encode_destinations(sorted(ids))
    ),
    st.binary(max_size=12),
)


def account(ways, route):
    """The rules in plain Python: (parts by interface, is it ours, how many lack a way); None if malformed."""
    try:
        routers = decode_destinations(route)
    except ValueError:
        return None
    if not routers:
        return None
    by_interface = {}
    for each in routers:
        if each != NODE and each in ways:
            by_interface.setdefault(ways[each], []).append(each)
    lost = sum(each != NODE and each not in ways for each in routers)
    return by_interface, NODE in routers, lost


@settings(max_examples=draws(400), deadline=None)
@given(WAYS, ROUTES, st.booleans(), st.sampled_from([1, 2, 64]), st.integers(36, 80))
def test_T5_any_route_leads_where_the_rules_say(ways, route, one_each, hop_limit, size):
    ways.pop(NODE, None)
    fib = router(ways, one_each=one_each, sizes=[size] * 4)
    packet = encode(message(source=500, header_class=ROUTED, route=route, hop_limit=hop_limit))
    room = size - (len(packet) - len(route))
    told = account(ways, route)
    _, outputs, drops = fib.forward_datagram(packet, 1)
    if told is None:
        assert (outputs, drops) == ([], [DropReason.MALFORMED])
        return
    by_interface, ours, lost = told
    copies = [(i, decode_destinations(m.route)) for i, d in outputs for m in decode_datagram(d)]
    routed = [(i, routers) for i, routers in copies if i in (1, 2)]
    assert [i for i, _ in copies if i in (0, 3)] == ([0, 3] if ours else [])
    assert drops.count(DropReason.UNREACHABLE) == lost
    assert (DropReason.HOP_LIMIT in drops) == (hop_limit == 1 and bool(by_interface))
    found = {}
    for interface, routers in routed:
        found.setdefault(interface, []).extend(routers)
        assert len(encode_destinations(routers)) <= room or len(routers) == 1
        assert len(routers) == 1 or not one_each
    assert found == ({} if hop_limit == 1 else by_interface), "each destination once, ascending"
    if not one_each:
        for (first, left), (second, right) in pairwise(routed):
            cut = first == second
            assert not cut or len(encode_destinations((*left, right[0]))) > room, "there was room"


@settings(max_examples=draws(300), deadline=None)
@given(st.binary(max_size=40), st.integers(0, 60), st.integers(0, 255), st.integers(0, 3))
def test_hostile_bytes_lead_to_drops_and_never_to_an_error(noise, at, byte, ingress):
    good = travelling(2, 3, NODE, 9)
    changed = good[: at % len(good)] + bytes([byte]) + good[at % len(good) + 1 :]
    fib = router({2: 1, 3: 2})
    for datagram in (changed, good + noise, changed + good):
        fib.forward_datagram(datagram, ingress)


def test_without_a_fib_messages_are_drops_and_the_rest_passes():
    ack = bytes.fromhex("01040020") + bytes(4) + bytes([1] * 16) + bytes(8)
    assert forward_without_fib(encode(message()) + ack, 0) == ([ack], [], [DropReason.NO_FIB])
    assert forward_without_fib(b"\1", 0) == ([], [], [DropReason.MALFORMED])
    with pytest.raises(UsageError):
        forward_without_fib(ack, -1)


def test_messages_of_a_datagram_are_counted_if_it_is_well_framed():
    packet = encode(message())
    assert count_messages(packet * 3 + b"\1\0\0\4") == 3
    assert count_messages(packet + b"\1") == 0
