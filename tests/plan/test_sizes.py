"""The plan's reckoning of message sizes is that of the codec."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.model import Time
from nodes.wire.codec import encode
from nodes.wire.packets import Message
from testbed.plan.sizes import message_packet_bytes

INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(
    st.text(max_size=9), INTEGERS, st.floats(allow_nan=False), st.booleans(), INTEGERS.map(Time)
)


@given(st.dictionaries(st.text(min_size=1, max_size=9), VALUES, max_size=5))
def test_a_message_takes_as_many_bytes_as_it_is_said_to(attributes):
    packet = encode(Message(source=1, sequence=1, publish_time_ns=1, attributes=attributes))
    assert message_packet_bytes(attributes) == len(packet)
