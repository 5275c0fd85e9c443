"""The plan's reckoning of message sizes is that of the codec."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.model import Time
from nodes.wire.codec import encode, encode_destinations
from nodes.wire.packets import Message
from testbed.plan.sizes import Room, message_packet_bytes

INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(
    st.text(max_size=9), INTEGERS, st.floats(allow_nan=False), st.booleans(), INTEGERS.map(Time)
)


@given(st.dictionaries(st.text(min_size=1, max_size=9), VALUES, max_size=5))
def test_a_message_takes_as_many_bytes_as_predicted(attributes):
    packet = encode(Message(source=1, sequence=1, publish_time_ns=1, attributes=attributes))
    assert message_packet_bytes(attributes) == len(packet)


@given(st.text(max_size=30))
def test_a_payload_takes_its_bytes_and_its_length_if_there_is_one(text):
    packet = encode(Message(1, 1, 1, {"a": 1}, payload=text.encode()))
    assert Room(28 + len(packet), "pif", 2).complaint({"a": 1}, text) is None
    assert Room(27 + len(packet), "pif", 2).complaint({"a": 1}, text) is not None


@given(st.integers(2, 100_000), st.integers(0, 40), st.sampled_from(["drp", "unicast", "pif"]))
def test_T5_a_message_fits_if_it_does_with_the_destination_that_takes_most(routers, spare, scheme):
    message = {"a": "x" * 100}
    route = b"" if scheme == "pif" else max((encode_destinations([id_]) for id_ in (1, routers)), key=len)
    packet = encode(Message(source=1, sequence=1, publish_time_ns=1, attributes=message, route=route))
    assert Room(28 + len(packet) + spare, scheme, routers).complaint(message) is None
    assert Room(28 + len(packet) - 1 - spare, scheme, routers).complaint(message) is not None
