"""What clients may publish, where they have to advertise: the gate of a FIB against the model (M5)."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fastpath.fib import ClassEntry, DropReason, Fib, ForwardingTable, Gate, UsageError, WireError
from nodes.model import Filter, Predicate, advertised, parse_message, parse_predicate
from nodes.wire.codec import encode, encode_filter, encode_predicate
from tests.draws import draws
from tests.fastpath.test_fib import ACK, CLIENT, message


def gated(gate):
    """A router with client 77 at 0, a router at 1 and client 88 at 2, who all want everything."""
    table = ForwardingTable()
    for interface in range(3):
        table.add(interface, encode_filter(Filter()))
    table.commit()
    classes = [ClassEntry(1, 0, 0b111, 0, 1), ClassEntry(2, 0b010, 0b101, 0, 2)]
    return Fib(1, [CLIENT, 0, 88], classes, [table], gate=gate)


LOGINS = parse_predicate('what = "alarm" and what = "login" and user any string')


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ('what = "alarm", date = @5ns', False),
        ('what = "alarm"', True),
        ('what = "login", user = "carzanig"', True),
        ('what = "logout", user = "carzanig"', False),
        ("none", True),
    ],
)
def test_M5_a_message_is_taken_if_it_is_within_an_advertisement_as_in_ADR_table_3(text, admitted):
    gate = Gate(3)
    gate.set(0, encode_predicate(LOGINS))
    drop, outputs = gated(gate).forward(encode(message(attributes=parse_message(text))), 0)
    assert (drop == 0, bool(outputs)) == (admitted, admitted)
    assert drop in (0, DropReason.UNADVERTISED)
    assert gate.refused(0) == ((0, 0) if admitted else (1, 1))


def test_who_has_advertised_nothing_may_publish_nothing_and_others_are_not_asked():
    gate = Gate(3)
    fib = gated(gate)
    assert fib.forward(encode(message(attributes={})), 0) == (DropReason.UNADVERTISED, [])
    assert fib.forward(encode(message(sequence=9)), 0) == (DropReason.UNADVERTISED, [])
    assert gate.refused(0) == (2, 9)
    assert fib.forward(encode(message(source=5, header_class=2)), 1)[0] == 0
    assert (gate.refused(1), gate.refused(2)) == ((0, 0), (0, 0))


def test_what_is_advertised_counts_at_once_and_for_its_client_alone():
    gate = Gate(3)
    fib = gated(gate)
    one, other = encode(message()), encode(message(source=88))
    gate.set(2, encode_predicate(parse_predicate("a any integer")))
    assert (fib.forward(one, 0)[0], fib.forward(other, 2)[0]) == (DropReason.UNADVERTISED, 0)
    gate.set(2, encode_predicate(Predicate()))
    assert fib.forward(other, 2)[0] == DropReason.UNADVERTISED


def test_what_is_told_in_parts_counts_together_and_a_part_is_replaced_alone():
    gate = Gate(3)
    fib = gated(gate)

    def taken():
        texts = ("a = 1", "a = 2", "b = 3", "c = 4")
        packets = [encode(message(attributes=parse_message(text))) for text in texts]
        return [fib.forward(packet, 0)[0] == 0 for packet in packets]

    gate.set(0, encode_predicate(parse_predicate("a = 1 or a = 2")))
    gate.set(0, encode_predicate(parse_predicate("b = 3")), 2)
    assert taken() == [True, True, True, False]
    gate.set(0, encode_predicate(parse_predicate("c = 4")), 2)
    assert taken() == [True, True, False, True]
    gate.set(0, encode_predicate(Predicate()), 0)
    assert taken() == [False, False, False, True]
    gate.set(0, encode_predicate(Predicate()), 2)
    assert taken() == [False] * 4
    with pytest.raises(UsageError, match="part is 65536"):
        gate.set(0, encode_predicate(LOGINS), 65536)


def test_other_reasons_come_first_and_what_is_malformed_is_not_counted_as_refused():
    gate = Gate(3)
    fib = gated(gate)
    assert fib.forward(encode(message(source=78)), 0)[0] == DropReason.SPOOFED_SOURCE
    assert fib.forward(encode(message(hop_limit=0)), 0)[0] == DropReason.HOP_LIMIT
    assert fib.forward(ACK, 0)[0] == DropReason.MALFORMED
    packet = bytearray(encode(message()))
    packet[36] = 9
    assert fib.forward(bytes(packet), 0)[0] == DropReason.MALFORMED
    assert gate.refused(0) == (0, 0)


def test_M5_the_gate_agrees_with_the_model_on_any_advertisements_and_message(strategies):
    advertisements = st.lists(
        st.lists(strategies.filters, min_size=1, max_size=3).map(
            lambda parts: Filter(c for part in parts for c in part.constraints)
        ),
        max_size=4,
    ).map(Predicate)

    @settings(max_examples=draws(1500), deadline=None)
    @given(advertisements, strategies.messages, st.data())
    def check(held, attributes, data):
        # Values that constraints name: most messages of random values alone are within nothing.
        named = [c for f in held.filters for c in f.constraints if c.value is not None]
        for constraint in data.draw(st.lists(st.sampled_from(named), max_size=3)) if named else []:
            attributes = {**attributes, constraint.name: constraint.value}
        if data.draw(st.booleans()) and held.filters:
            declared = {c.name for f in held.filters for c in f.constraints}
            attributes = {name: value for name, value in attributes.items() if name in declared}
        gate = Gate(3)
        gate.set(0, encode_predicate(held))
        drop, _ = gated(gate).forward(encode(message(attributes=attributes)), 0)
        event(f"{drop == 0}, {min(len(attributes), 2)} attributes")
        assert (drop == 0) is advertised(held, attributes)

    check()


def test_mistakes_are_named():
    gate = Gate(2)
    with pytest.raises(UsageError, match="a gate of 2 interfaces for 3"):
        gated(gate)
    for interface in (-1, 2, None):
        with pytest.raises(UsageError, match="this gate has 2"):
            gate.set(interface, encode_predicate(LOGINS))
        with pytest.raises(UsageError, match="this gate has 2"):
            gate.refused(interface)
    with pytest.raises(WireError, match="filter count at byte 0 runs past the end"):
        gate.set(0, b"\0")
    with pytest.raises(TypeError):
        gated("a gate")
