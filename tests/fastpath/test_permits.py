"""What clients may publish by a policy: the permits of a FIB against the model."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fastpath.fib import ClassEntry, DropReason, Fib, ForwardingTable, Gate, Permits, UsageError
from nodes.model import Filter, Predicate, matches, parse_predicate
from nodes.wire.codec import encode, encode_filter
from tests.draws import draws
from tests.fastpath.test_fib import ACK, CLIENT, message


def table_of(predicate):
    table = ForwardingTable()
    for each in predicate.filters:
        table.add(0, encode_filter(each))
    table.commit()
    return table


def permitting(permits, gate=None):
    """A router with client 77 at 0, a router at 1 and client 88 at 2, who all want everything."""
    table = ForwardingTable()
    for interface in range(3):
        table.add(interface, encode_filter(Filter()))
    table.commit()
    classes = [ClassEntry(1, 0, 0b111, 0, 1), ClassEntry(2, 0b010, 0b101, 0, 2)]
    return Fib(1, [CLIENT, 0, 88], classes, [table], gate=gate, permits=permits)


def limited(text):
    permits = Permits(3)
    permits.limit(0, table_of(parse_predicate(text)))
    return permits


def test_what_matches_is_forwarded_and_the_rest_is_refused_and_counted():
    permits = limited("a > 3 or b = true")
    fib = permitting(permits)
    sent = [fib.forward(encode(message(sequence=n, attributes=each)), 0) for n, each in enumerate(
        ({"a": 4}, {"a": 3}, {"a": 1, "b": True}, {}), 1
    )]  # fmt: skip
    assert [drop for drop, _ in sent] == [0, DropReason.NOT_PERMITTED, 0, DropReason.NOT_PERMITTED]
    assert [bool(outputs) for _, outputs in sent] == [True, False, True, False]
    assert permits.refused(0) == (2, 4)


def test_who_is_not_limited_and_what_comes_from_routers_is_not_looked_at():
    permits = limited("none")
    fib = permitting(permits)
    assert fib.forward(encode(message()), 0) == (DropReason.NOT_PERMITTED, [])
    assert fib.forward(encode(message(source=88)), 2)[0] == 0
    assert fib.forward(encode(message(source=5, header_class=2)), 1)[0] == 0
    assert (permits.refused(1), permits.refused(2)) == ((0, 0), (0, 0))


def test_other_reasons_come_first_and_the_gate_last():
    permits, gate = limited("a any integer"), Gate(3)
    fib = permitting(permits, gate)
    assert fib.forward(encode(message(source=78)), 0)[0] == DropReason.SPOOFED_SOURCE
    assert fib.forward(encode(message(hop_limit=0)), 0)[0] == DropReason.HOP_LIMIT
    assert fib.forward(ACK, 0)[0] == DropReason.MALFORMED
    packet = bytearray(encode(message(attributes={"a": 1})))
    packet[36] = 9
    assert fib.forward(bytes(packet), 0)[0] == DropReason.MALFORMED
    assert permits.refused(0) == (0, 0)
    assert fib.forward(encode(message(attributes={"a": 1})), 0)[0] == DropReason.UNADVERTISED
    assert fib.forward(encode(message(attributes={"b": 1})), 0)[0] == DropReason.NOT_PERMITTED
    assert (permits.refused(0)[0], gate.refused(0)[0]) == (1, 1)


def test_what_is_limited_stays_as_the_table_was_then():
    permits, table = Permits(3), table_of(parse_predicate("a = 1"))
    permits.limit(0, table)
    table.add(0, encode_filter(Filter()))
    table.commit()
    assert permitting(permits).forward(encode(message(attributes={"a": 2})), 0)[0] == DropReason.NOT_PERMITTED


def test_permits_agree_with_the_model_on_any_predicate_and_message(strategies):
    predicates = st.lists(strategies.filters, max_size=4).map(Predicate)

    @settings(max_examples=draws(1500), deadline=None)
    @given(predicates, strategies.messages, st.data())
    def check(allowed, attributes, data):
        # Values that constraints name: most messages of random values match nothing.
        named = [c for f in allowed.filters for c in f.constraints if c.value is not None]
        for constraint in data.draw(st.lists(st.sampled_from(named), max_size=3)) if named else []:
            attributes = {**attributes, constraint.name: constraint.value}
        permits = Permits(3)
        permits.limit(0, table_of(allowed))
        drop, _ = permitting(permits).forward(encode(message(attributes=attributes)), 0)
        event(f"{drop == 0}, {min(len(attributes), 2)} attributes")
        assert (drop == 0) is matches(allowed, attributes)

    check()


def test_mistakes_are_named():
    permits = Permits(2)
    with pytest.raises(UsageError, match="permits of 2 interfaces for 3"):
        permitting(permits)
    for interface in (-1, 2, None):
        with pytest.raises(UsageError, match="these permits have 2"):
            permits.limit(interface, ForwardingTable())
        with pytest.raises(UsageError, match="these permits have 2"):
            permits.refused(interface)
    for wrong in (None, "a table"):
        with pytest.raises(TypeError):
            permits.limit(0, wrong)
    with pytest.raises(TypeError):
        permitting("permits")
