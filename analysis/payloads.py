"""Control payloads put together from the CONTROL packets that were captured.

A payload larger than a packet is sent in fragments; those of one kind do not interleave within a
channel (docs/wire-format.md, "CONTROL"). Not here: what payloads mean (`logs`, `calm`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from analysis.findings import KeptPacket
from fastpath.wire.codec import split_signature
from nodes.wire.codec import WireError, decode
from nodes.wire.packets import Control


class Session(NamedTuple):
    """Where packets are numbered: an interface and the incarnations of both ends, the sender's first."""

    interface: str
    incarnation: int
    peer_incarnation: int


class Payload(NamedTuple):
    """A payload, without a signature, and when its last fragment was first captured."""

    session: Session
    time_ns: int
    kind: int
    data: bytes


Channel = dict[int, tuple[int, Control]]
"""By sequence, the first capture of each packet of a session."""


def payloads_of(packets: Iterable[KeptPacket]) -> Iterator[Payload]:
    """Each payload of a session once, in the order in which its sender made them."""
    channels: dict[Session, Channel] = {}
    for packet in packets:
        try:
            control = decode(packet.data)
        except WireError:
            continue  # the reader of captures keeps none such
        assert isinstance(control, Control), "the reader keeps no other packets"
        session = Session(packet.interface, control.incarnation, control.peer_incarnation)
        channel = channels.setdefault(session, {})
        before = channel.get(control.sequence)
        if before is None or packet.time_ns < before[0]:
            channel[control.sequence] = (packet.time_ns, control)
    for session, channel in channels.items():
        yield from _payloads(session, channel)


def _payloads(session: Session, channel: Mapping[int, tuple[int, Control]]) -> Iterator[Payload]:
    parts: dict[int, list[bytes]] = {}
    for _, (time_ns, control) in sorted(channel.items()):
        if control.first:
            parts[control.kind] = []
        elif control.kind not in parts:
            continue  # its front was not kept
        parts[control.kind].append(control.fragment)
        if control.last:
            yield Payload(session, time_ns, control.kind, _unsigned(control.kind, parts.pop(control.kind)))


def _unsigned(kind: int, fragments: Iterable[bytes]) -> bytes:
    """The payload without the signature that a record may end with."""
    whole = b"".join(fragments)
    try:
        return split_signature(kind, whole)[0]
    except WireError:
        return whole  # of a scheme, or malformed: who reads it will see
