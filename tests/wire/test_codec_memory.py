"""The compiled codec keeps nothing of what it was given, neither on success nor on failure."""

import gc
import sys

from nodes.wire import codec
from nodes.wire.codec import WireError
from tests.wire import payloads, vectors
from tests.wire.vectors import PACKET_FILES, PAYLOAD_FILES, kind_number, packet_of, payload_of

ROUNDS = 50
PACKETS = vectors.load(*PACKET_FILES)
PAYLOADS = vectors.load(*PAYLOAD_FILES)
INVALID = vectors.load("invalid", "route")
DECODERS = (
    codec.decode,
    codec.decode_datagram,
    codec.decode_predicate,
    codec.decode_filter,
    codec.decode_destinations,
)


def once() -> None:
    for vector in PACKETS:
        codec.decode(vector.data)
        codec.encode(packet_of(vector.fields["packet"]))
    for vector in PAYLOADS:
        payloads.decode_payload(kind_number(vector.fields["kind"]), vector.data)
        payloads.encode_payload(payload_of(vector.fields["kind"], vector.fields["payload"]))
    for vector in INVALID:
        for decode in DECODERS:
            try:
                decode(vector.data)
            except WireError:
                continue


def blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def test_decoding_and_encoding_leave_no_blocks_behind():
    for _ in range(3):
        once()
    before = blocks()
    for _ in range(ROUNDS):
        once()
    # One block lost by one vector in every round would be 50; Python's own caches move by a few.
    assert blocks() - before < ROUNDS
