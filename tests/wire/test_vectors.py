"""Both codecs against the shared vectors: the compiled one, and the one made of Scapy's layers."""

from dataclasses import dataclass
from types import ModuleType

import pytest

from nodes.wire import codec
from nodes.wire.codec import WireError
from tests.wire import payloads, scapy_codec, vectors
from tests.wire.vectors import PACKET_FILES, PAYLOAD_FILES, Vector, kind_number, packet_of, payload_of


@dataclass(frozen=True)
class Codec:
    """Where an implementation keeps its functions."""

    packets: ModuleType
    payloads: ModuleType


CODECS = {
    "compiled": Codec(codec, payloads),
    "scapy": Codec(scapy_codec, scapy_codec),
}


def given(*files):
    found = vectors.load(*files)
    return pytest.mark.parametrize("vector", found, ids=[v.id for v in found])


@pytest.fixture(params=CODECS)
def either(request) -> Codec:
    return CODECS[request.param]


@given(*PACKET_FILES)
def test_packets_decode_to_their_values(either: Codec, vector: Vector):
    assert either.packets.decode(vector.data) == packet_of(vector.fields["packet"])


@given(*PACKET_FILES)
def test_packets_encode_to_their_bytes(either: Codec, vector: Vector):
    assert either.packets.encode(packet_of(vector.fields["packet"])) == vector.data


@given("datagram")
def test_datagrams_decode_to_their_packets(either: Codec, vector: Vector):
    expected = [packet_of(fields) for fields in vector.fields["packets"]]
    assert either.packets.decode_datagram(vector.data) == expected


@given(*PAYLOAD_FILES)
def test_payloads_decode_to_their_values(either: Codec, vector: Vector):
    kind = vector.fields["kind"]
    decoded = either.payloads.decode_payload(kind_number(kind), vector.data)
    assert decoded == payload_of(kind, vector.fields["payload"])


@given(*PAYLOAD_FILES)
def test_payloads_encode_to_their_bytes(either: Codec, vector: Vector):
    payload = payload_of(vector.fields["kind"], vector.fields["payload"])
    assert either.payloads.encode_payload(payload) == vector.data


@given("route")
def test_T5_a_route_names_its_destinations_and_they_make_it(either: Codec, vector: Vector):
    routers = tuple(vector.fields["destinations"])
    assert either.packets.decode_destinations(vector.data) == routers
    assert either.packets.encode_destinations(routers) == vector.data


@given("invalid")
def test_what_is_not_canonical_is_rejected_by_both(either: Codec, vector: Vector):
    with pytest.raises(WireError):
        decode_as_it_claims(either, vector)


@given("invalid")
def test_the_compiled_codec_names_the_field_and_the_byte(vector: Vector):
    with pytest.raises(WireError) as caught:
        decode_as_it_claims(CODECS["compiled"], vector)
    assert vector.fields["error"] in str(caught.value)


@given(*PACKET_FILES, "datagram")
def test_no_prefix_of_a_valid_datagram_passes_but_at_packet_borders(vector: Vector):
    borders = {0}
    for _, packet in codec.split_datagram(vector.data):
        borders.add(max(borders) + len(packet))
    for size in range(len(vector.data)):
        if size not in borders:
            with pytest.raises(WireError):
                codec.decode_datagram(vector.data[:size])


def test_every_file_of_vectors_is_read():
    files = {path.stem for path in vectors.FOLDER.glob("*.json")}
    assert files == {*PACKET_FILES, *PAYLOAD_FILES, "datagram", "route", "invalid"}


def decode_as_it_claims(either: Codec, vector: Vector) -> object:
    match vector.fields["of"]:
        case "packet":
            return either.packets.decode(vector.data)
        case "datagram":
            return either.packets.decode_datagram(vector.data)
        case "route":
            return either.packets.decode_destinations(vector.data)
        case "payload":
            return either.payloads.decode_payload(kind_number(vector.fields["kind"]), vector.data)
    raise AssertionError(f"unknown `of` in {vector.id}")
