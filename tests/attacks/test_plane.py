"""The data plane of a compromised router does to messages what the compiled one does, unless it attacks."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from fastpath.fib import ClassEntry, Fib, ForwardingTable, count_messages
from fastpath.seal import MessageSeals
from fastpath.wire.codec import encode_ack
from nodes.attacks.compromised import Forward, Forwarded
from nodes.attacks.plane import TurnedPlane
from nodes.config import InterfaceConfig, Messages, NodeConfig
from nodes.model import Filter
from nodes.wire.codec import encode, encode_filter, split_datagram
from nodes.wire.packets import Message, PacketType, Role
from tests.fastpath.test_dataplane import PATIENCE_S, Router

pytestmark = pytest.mark.timed
CLIENT = 77
ACK = encode_ack(1, 2, 3, 4)
KEY = (1, 5, bytes(range(32)))
INTERFACES = tuple(
    InterfaceConfig(at, f"r-eth{at}", "127.0.0.1", "127.0.0.1", f"n{at}", CLIENT if at == 0 else at, role)
    for at, role in enumerate((Role.CLIENT, Role.ROUTER, Role.ROUTER))
)


def said(sequence: int, source: int = CLIENT) -> bytes:
    return encode(Message(sequence=sequence, source=source, publish_time_ns=0, attributes={"n": sequence}))


def fib(copies: tuple[int, ...] = (1, 2)) -> Fib:
    table = ForwardingTable()
    for interface in copies:
        table.add(interface, encode_filter(Filter()))
    table.commit()
    out = sum(1 << interface for interface in copies)
    return Fib(1, [CLIENT, 0, 0], [ClassEntry(1, 0, out, 0, 1)], [table])


def seals() -> MessageSeals:
    made = MessageSeals(3, Messages.REQUIRED)
    for interface in range(3):
        made.use(interface, KEY, [KEY])
    return made


class TurnedRouter(Router):
    """A router with the data plane that attackers have, which works when it is asked for control packets."""

    def __init__(self, sealed: MessageSeals | None = None) -> None:
        super().__init__(3)
        config = NodeConfig("r", 9, Role.ROUTER, "test", seed=1, interfaces=INTERFACES)
        self.plane = TurnedPlane(config, self.ours, sealed or MessageSeals(3, Messages.OFF))
        self.thread = threading.Thread(target=self.plane.run)


@contextmanager
def running(router: Any, by: Fib) -> Iterator[Any]:
    router.plane.install(by)
    router.thread.start()
    try:
        yield router
    finally:
        router.plane.stop()
        router.thread.join(PATIENCE_S)
        for each in router.ours + router.peers:
            each.close()


COUNTED = ("rx_messages", "rx_control", "rx_bytes", "rx_datagrams", "tx_messages", "tx_control", "tx_errors")
"""How messages are put into datagrams depends on how many the compiled one finds waiting."""


def arrived(peer: Any, messages: int) -> list[bytes]:
    """Datagrams with so many messages."""
    found: list[bytes] = []
    while sum(map(count_messages, found)) < messages:
        found.append(peer.recv(2000))
    return found


def sent(router: Any, datagrams: Sequence[bytes], messages: int) -> Any:
    """What becomes of datagrams of the client, of which so many messages go on to each of the others."""
    for datagram in datagrams:
        router.peers[0].send(datagram)
    control: list[tuple[int, bytes]] = []
    while (0, ACK) not in control:
        assert select.select([router.plane.control_fd()], [], [], PATIENCE_S)[0], control
        control += router.plane.take_control()
    got = [arrived(peer, messages) for peer in router.peers[1:]]
    counters = router.plane.counters()
    rows = [[row[key] for key in COUNTED] for row in counters["interfaces"]]
    return got, control, rows, counters["inner"], counters["drops"]


def of_messages(got: list[list[bytes]]) -> list[list[bytes]]:
    """Their packets that are messages, by who got them."""
    packets = [[packet for each in of for packet in split_datagram(each)] for of in got]
    return [[packet for kind, packet in of if kind is PacketType.MESSAGE] for of in packets]


COMING = {
    "alone": ([said(1), said(2), ACK], 2),
    "bundled": ([said(1) + ACK + said(2)], 2),
    "in another's name": ([said(1, source=78), said(2), ACK], 1),
    "malformed": ([b"\x01\x01\x00", said(2)[:-1], said(3), ACK], 1),
    "none": ([ACK], 0),
}


@pytest.mark.parametrize("name", COMING)
def test_it_forwards_and_counts_as_the_compiled_one(name: str) -> None:
    datagrams, messages = COMING[name]
    with running(TurnedRouter(), fib()) as turned, running(Router(3), fib()) as compiled:
        got, *rest = sent(turned, datagrams, messages)
        expected, *others = sent(compiled, datagrams, messages)
    assert of_messages(got) == of_messages(expected)
    assert rest == others


def test_it_seals_and_asks_for_seals_as_the_compiled_one() -> None:
    theirs = seals()
    once = theirs.seal(0, said(1))
    datagrams = [once, once, said(2), theirs.seal(0, said(3) + said(4)), ACK]
    with (
        running(TurnedRouter(seals()), fib()) as turned,
        running(Router(3, seals=seals()), fib()) as compiled,
    ):
        got, *rest = sent(turned, datagrams, 3)
        expected, *others = sent(compiled, datagrams, 3)
    assert of_messages(got) == of_messages(expected)
    assert rest == others
    assert rest[-1]["NO_SEAL"] == rest[-1]["REPEATED_SEAL"] == 1
    assert [theirs.open(0, each)[1:] for each in got[0]] == [(0, 0)] * len(got[0])


def test_what_somebody_makes_of_messages_goes_on() -> None:
    def twice(forward: Forward) -> Forward:
        def both(datagram: bytes, ingress: int) -> Forwarded:
            control, outputs, drops = forward(datagram, ingress)
            return control, [*outputs, *outputs], drops

        return both

    with running(TurnedRouter(), fib()) as router:
        router.plane.turn(twice)
        first, second = sent(router, [said(1), ACK], 2)[0]
        assert first == second == [first[0]] * 2
        router.plane.install(fib((2,)))
        router.peers[0].send(said(2) + ACK)
        assert select.select([router.plane.control_fd()], [], [], PATIENCE_S)[0]
        assert router.plane.take_control() == [(0, ACK)]
        assert len({router.peers[2].recv(2000) for _ in range(2)}) == 1
