"""What the codec refuses to encode, and what canonical means for who encodes."""

import pytest

from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, UsageError
from nodes.wire import codec
from nodes.wire.codec import WireError
from nodes.wire.packets import Ack, Control, Hello, Message, Pad, Role, Trailer
from tests.wire import payloads
from tests.wire.payloads import Interest, LinkState, Subscribe, Unsubscribe


def message(**fields):
    return Message(**{"source": 1, "sequence": 0, "publish_time_ns": 0, "attributes": {}} | fields)


def control(**fields):
    values = {"kind": 1, "incarnation": 1, "peer_incarnation": 1, "sequence": 1, "ack": 0, "window": 0}
    return Control(**values | {"first": True, "last": True, "fragment": b""} | fields)


REFUSED = {
    "source is 0; expected 1 to 4294967295": message(source=0),
    "source is 4294967296": message(source=2**32),
    "source must be an integer, not '7'": message(source="7"),
    "source must be an integer, not True": message(source=True),
    "sequence is 9223372036854775808": message(sequence=2**63),
    "publish_time_ns is -1": message(publish_time_ns=-1),
    "header_class is -1": message(header_class=-1),
    "hop_limit is 256; expected 0 to 255": message(hop_limit=256),
    "hop_count is 256": message(hop_count=256),
    "route must be bytes, not str": message(route="r"),
    "a name is empty": message(attributes={"": 1}),
    "name has 256 bytes of UTF-8; expected at most 255": message(attributes={"é" * 128: 1}),
    "cannot be written as UTF-8": message(attributes={"a": "\ud800"}),
    "value of a has 65536 bytes": message(attributes={"a": "x" * 65536}),
    "value of a is 9223372036854775808, which does not fit": message(attributes={"a": 2**63}),
    "value of b is -9223372036854775809": message(attributes={"b": Time(-(2**63) - 1)}),
    "value of c is NaN": message(attributes={"c": float("nan")}),
    "NoneType": message(attributes={"d": None}),
    "the packet has 65537 bytes; expected at most 65535": message(route=b"r" * 65501),
    "the tag of a trailer is empty": message(trailer=Trailer(b"")),
    "tag has 256 bytes": message(trailer=Trailer(b"t" * 256)),
    "key_id is 65536": message(trailer=Trailer(b"t", key_id=65536)),
    "algorithm is 256": message(trailer=Trailer(b"t", algorithm=256)),
    "role is 3; expected 1 to 2": Hello(3, 1, 1, 1),
    "hold_time_ms is 0": Hello(Role.ROUTER, 1, 1, 0),
    "node is 0": Hello(Role.ROUTER, 0, 1, 1),
    "incarnation is 0": Hello(Role.ROUTER, 1, 0, 1),
    "seen_node and seen_incarnation must both be 0": Hello(Role.ROUTER, 1, 1, 1, seen_node=2),
    "kind is 0; expected 1 to 255": control(kind=0),
    "sequence is 0; expected 1 to": control(sequence=0),
    "peer_incarnation is 0": control(peer_incarnation=0),
    "window is 65536": control(window=65536),
    "ack is 4294967296": Ack(1, 1, 2**32, 0),
    "length is 3; expected 4 to 65535": Pad(3),
    "is no packet": "text",
}


@pytest.mark.parametrize(("said", "packet"), REFUSED.items(), ids=REFUSED.keys())
def test_what_the_format_cannot_carry_is_refused_by_name(said, packet):
    with pytest.raises(UsageError) as caught:
        codec.encode(packet)
    assert said in str(caught.value)


REFUSED_PAYLOADS = {
    "origin is 0": LinkState(0, 1, ()),
    "neighbour is 0": LinkState(1, 1, ((0, 1),)),
    "cost to 2 is 0": LinkState(1, 1, ((2, 0),)),
    "neighbour 2 occurs twice": LinkState(1, 1, ((2, 1), (3, 1), (2, 9))),
    "number of neighbours is 65536": LinkState(1, 1, tuple((n, 1) for n in range(1, 65537))),
    "origin is 4294967296": Interest(2**32, 1, Predicate()),
    "sequence is 9223372036854775808": Interest(1, 2**63, Predicate()),
    "subscription is -1": Subscribe(-1, Predicate()),
    "subscription is 4294967296": Unsubscribe(2**32),
}


@pytest.mark.parametrize(("said", "payload"), REFUSED_PAYLOADS.items(), ids=REFUSED_PAYLOADS.keys())
def test_what_a_payload_cannot_carry_is_refused_by_name(said, payload):
    with pytest.raises(UsageError) as caught:
        payloads.encode_payload(payload)
    assert said in str(caught.value)


def test_the_order_in_which_attributes_are_given_does_not_matter():
    one, other = message(attributes={"a": 1, "b": 2}), message(attributes={"b": 2, "a": 1})
    assert codec.encode(one) == codec.encode(other)


def test_negative_zero_is_zero():
    assert codec.encode_attributes({"x": -0.0}) == codec.encode_attributes({"x": 0.0})


def test_a_boolean_is_no_integer_and_an_integer_no_float():
    """M3: what differs in type differs in bytes, and comes back as it was."""
    attributes = {"boolean": True, "float": 1.0, "integer": 1, "string": "1", "time": Time(1)}
    back = codec.decode_attributes(codec.encode_attributes(attributes), 5)
    assert back == attributes
    assert [type(value) for value in back.values()] == [bool, float, int, str, Time]


def test_equal_predicates_have_equal_bytes():
    cheap = Constraint("price", Type.INTEGER, Op.LT, 400)
    chicago = Constraint("dest", Type.STRING, Op.EQ, "ORD")
    one = Predicate([Filter([cheap, chicago]), Filter([cheap])])
    other = Predicate([Filter([cheap]), Filter([chicago, cheap, chicago]), Filter([cheap])])
    assert codec.encode_predicate(one) == codec.encode_predicate(other)


def test_a_packet_of_the_greatest_length_comes_back():
    longest = message(route=b"r" * (65535 - 36))
    assert len(codec.encode(longest)) == 65535
    assert codec.decode(codec.encode(longest)) == longest


def test_a_message_of_very_many_attributes_comes_back():
    many = message(attributes={f"{n:04x}": n % 2 == 0 for n in range(9000)})
    assert codec.decode(codec.encode(many)) == many


@pytest.mark.parametrize("value", [None, "text", 7, bytearray(b"\x01")])
def test_only_bytes_are_decoded(value):
    with pytest.raises(TypeError):
        codec.decode(value)


def test_a_payload_of_an_unknown_kind_is_rejected():
    with pytest.raises(WireError, match="kind 63 are unknown"):
        payloads.decode_payload(63, b"")


def test_something_that_is_no_payload_has_no_kind():
    with pytest.raises(UsageError, match="no control payload"):
        payloads.kind_of("subscribe")
