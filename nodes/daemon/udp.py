"""A UDP socket of a node that has no compiled data plane: datagrams and packets, counted as there."""

from __future__ import annotations

import socket
from collections import Counter

from fastpath.fib import DropReason
from fastpath.seal import MessageSeals
from fastpath.wire.codec import decode_messages, split_datagram
from nodes.config import Messages
from nodes.daemon.sockets import buffer_overflows, receive_buffer_bytes
from nodes.model import Time, Value
from nodes.routing.effects import SealMessages
from nodes.wire.packets import FRAMING, PacketType

LONGEST_DATAGRAM = 65_535
COUNTED = ("messages", "control", "bytes", "datagrams")
COUNTERS = (*(f"{way}_{what}" for what in COUNTED for way in ("rx", "tx")), "tx_errors")


Received = tuple[bytes, int, int, dict[str, Value], int, int, bytes]
"""A MESSAGE: the packet, source, sequence, attributes, hop_count, publish_time_ns, payload."""


class UdpLink:
    """The socket of one interface, counted as the data plane counts it.

    Args:
        sock: Connected, not blocking.
        name: Of the interface.
        messages: How datagrams with messages are sealed.
    """

    def __init__(self, sock: socket.socket, name: str, messages: Messages = Messages.OFF) -> None:
        self.refused: Counter[str] = Counter()
        """Messages by why their seals were counted."""
        self._seals = MessageSeals(1, messages)
        self._sock = sock
        self._name = name
        self._counters = dict.fromkeys(COUNTERS, 0)

    def fileno(self) -> int:
        """The descriptor, for the loop."""
        return self._sock.fileno()

    def seal_messages(self, output: SealMessages) -> None:
        """Seal messages, and take sealed ones, with these keys from now on."""
        self._seals.use(0, output.sending, output.receiving)

    def send(self, datagram: bytes) -> bool:
        """Send one datagram, sealed if need be; False if the kernel would not take it."""
        datagram = self._seals.seal(0, datagram)
        for last_try in (False, True):
            try:
                self._sock.send(datagram)
            except ConnectionRefusedError:
                # The answer to an earlier datagram, which nobody was there to take; this one was not sent.
                if not last_try:
                    continue
            except OSError:
                pass
            else:
                self._count("tx", datagram, [kind for kind, _, _ in split_datagram(datagram)])
                return True
            break
        self._counters["tx_errors"] += 1
        return False

    def receive(self) -> bytes | None:
        """The next datagram, or None if none waits."""
        while True:
            try:
                return self._sock.recv(LONGEST_DATAGRAM)
            except BlockingIOError:
                return None
            except ConnectionRefusedError:
                continue  # tells of an earlier datagram, which nobody was there to take

    def split(self, datagram: bytes) -> list[bytes]:
        """The packets of a datagram that arrived, without padding; WireError if it is malformed.

        Messages that their seal does not let in are left out.
        """
        self.count_received(datagram)
        taken, _ = self._opened(datagram)
        framed = split_datagram(taken) if taken else []
        return [taken[at : at + size] for kind, at, size in framed if kind not in FRAMING]

    def count_received(self, datagram: bytes) -> None:
        """A datagram has arrived; WireError if it is malformed, which counts all the same."""
        kinds: list[int] = []
        try:
            kinds = [kind for kind, _, _ in split_datagram(datagram)]
        finally:
            self._count("rx", datagram, kinds)

    def read(self, datagram: bytes) -> tuple[list[Received], list[bytes], int]:
        """What has arrived: messages, decoded; packets for the core; how many messages were malformed.

        Raises:
            WireError: The datagram is malformed as a whole.
        """
        taken, left_out = self._opened(datagram)
        messages, others, malformed = decode_messages(taken, Time) if taken else ([], [], 0)
        counters = self._counters
        counters["rx_messages"] += len(messages) + malformed + left_out
        counters["rx_control"] += len(others)
        counters["rx_bytes"] += len(datagram)
        counters["rx_datagrams"] += 1
        return messages, others, malformed

    def counters(self) -> dict[str, object]:
        """One row, as of a router's interface."""
        return {"name": self._name, **self._counters, "rx_overflows": buffer_overflows(self._sock)}

    def receive_buffer_bytes(self) -> int:
        """How much the kernel holds for us."""
        return receive_buffer_bytes(self._sock)

    def close(self) -> None:
        """Give the socket back."""
        self._sock.close()

    def _opened(self, datagram: bytes) -> tuple[bytes, int]:
        """What is taken of a datagram, and how many messages are not."""
        taken, reason, messages = self._seals.open(0, datagram)
        if messages:
            self.refused[DropReason(reason).name.lower()] += messages
        return taken, messages if taken != datagram else 0

    def _count(self, way: str, datagram: bytes, kinds: list[int]) -> None:
        messages = kinds.count(PacketType.MESSAGE)
        counters = self._counters
        counters[f"{way}_messages"] += messages
        counters[f"{way}_control"] += sum(kind not in FRAMING for kind in kinds) - messages
        counters[f"{way}_bytes"] += len(datagram)
        counters[f"{way}_datagrams"] += 1
