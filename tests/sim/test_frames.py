"""Frames as the wire would carry them: headers, lengths, checksums."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from nodes.wire.packets import PORT
from testbed.sim.frames import HEADER_BYTES, Framer, words_sum

MACS = ("02:00:00:00:01:00", "02:00:00:00:02:01")
ADDRESSES = ("10.0.0.1", "10.0.0.2")


def naive_checksum(data: bytes) -> int:
    """RFC 1071 word by word."""
    total = 0
    for (word,) in struct.iter_unpack(">H", data + b"\0" * (len(data) % 2)):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def framer(mtu: int = 1500) -> Framer:
    return Framer("r1-eth0", MACS, ADDRESSES, mtu)


@given(st.binary(max_size=300))
def test_the_fast_sum_is_the_sum_of_words(data: bytes) -> None:
    assert (0xFFFF - words_sum(data)) % 0xFFFF == naive_checksum(data) % 0xFFFF


@given(st.binary(max_size=1472))
@example(b"")
@example(b"\xff\xff" * 8)
@example(b"\x01")
def test_checksums_are_right_for_any_datagram(datagram: bytes) -> None:
    frame = framer().frame(datagram)
    ip, udp = frame[14:34], frame[34:]
    pseudo = ip[12:20] + struct.pack(">HH", 17, len(udp))
    assert naive_checksum(ip) == 0
    assert naive_checksum(pseudo + udp) == 0
    assert udp[6:8] != b"\0\0"


def test_a_datagram_whose_sum_is_zero_is_not_sent_as_without_checksum() -> None:
    """RFC 768: a computed checksum of zero is sent as all ones."""
    blank = framer().frame(b"\0\0")
    datagram = blank[40:42]  # as payload it makes the whole sum all ones
    assert framer().frame(datagram)[40:42] == b"\xff\xff"


@given(st.binary(max_size=64))
def test_a_frame_reads_back_as_what_the_plan_says(datagram: bytes) -> None:
    frame = Ether(framer().frame(datagram))
    assert (frame.src, frame.dst) == MACS
    assert (frame[IP].src, frame[IP].dst) == ADDRESSES
    assert (frame[UDP].sport, frame[UDP].dport) == (PORT, PORT)
    assert frame[IP].len == len(datagram) + 28
    assert frame[UDP].len == len(datagram) + 8
    assert bytes(frame)[HEADER_BYTES:] == datagram


def test_a_datagram_above_the_mtu_is_a_defect_that_names_the_interface() -> None:
    framer(mtu=128).frame(bytes(100))
    with pytest.raises(AssertionError, match="101 bytes was sent on r1-eth0, whose MTU of 128 leaves 100"):
        framer(mtu=128).frame(bytes(101))
