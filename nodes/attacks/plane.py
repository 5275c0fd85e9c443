"""The data plane of a compromised router: messages pass through Python, where something can become of them.

Their way is decided by the FIB, as everywhere, and they are sealed and counted as in the compiled data plane
(`fastpath.dataplane`), whose place this takes. All is done in the node's loop, when it takes what has come.
"""

from __future__ import annotations

import select
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from socket import socket

from fastpath.fib import DropReason, Fib, count_messages, forward_without_fib
from fastpath.seal import MessageSeals
from fastpath.wire.codec import WireError, split_datagram
from nodes.attacks.compromised import Forward
from nodes.config import NodeConfig
from nodes.daemon.udp import UdpLink

BURST = 256
"""Datagrams that are taken from an interface before another's turn."""
INNER_COUNTS = ("rx_messages", "control_overflows")


class TurnedPlane:
    """See `nodes.daemon.router.Plane`.

    Args:
        config: Of the router.
        sockets: By interface.
        seals: Of messages, as its control plane wants them.
    """

    def __init__(self, config: NodeConfig, sockets: Sequence[socket], seals: MessageSeals) -> None:
        named = zip(sockets, config.interfaces, strict=True)
        self._links = [UdpLink(sock, interface.name) for sock, interface in named]
        self._seals = seals
        self._turned: Callable[[Forward], Forward] = lambda forward: forward
        self._forward: Forward = forward_without_fib
        self._drops: Counter[int] = Counter()
        self._inner = 0
        self._over = threading.Event()
        self._arrivals = select.epoll()
        for link in self._links:
            self._arrivals.register(link.fileno(), select.EPOLLIN)

    def turn(self, turned: Callable[[Forward], Forward]) -> None:
        """Forward by what this makes of the FIB, from now on."""
        self._turned = turned
        self._forward = turned(self._forward)

    def install(self, fib: Fib) -> None:
        """Forward by this from now on."""
        self._forward = self._turned(fib.forward_datagram)

    def shut(self, interface: int, shut: bool) -> None:
        """The control plane, which is in the same process, drops by itself what it does not take."""

    def run(self) -> None:
        """Nothing is done here: wait for `stop`."""
        self._over.wait()

    def stop(self) -> None:
        """Let `run` return, and forward nothing more."""
        self._over.set()
        self._arrivals.close()

    def control_fd(self) -> int:
        """Readable while something has arrived."""
        return self._arrivals.fileno()

    def take_control(self) -> list[tuple[int, bytes]]:
        """Forward what has arrived; what is for the control plane, by interface."""
        found = []
        for ingress, link in enumerate(self._links):
            for _ in range(BURST):
                datagram = link.receive()
                if datagram is None:
                    break
                found += self._take(ingress, datagram)
        return found

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send what the control plane has to say."""
        return self._links[interface].send(datagram)

    def counters(self) -> Mapping[str, object]:
        """As the compiled data plane's; no queue is before the control plane, so none overflows."""
        nowhere = {"rx_errors": 0, "control_overflows": 0, "over_share": 0}
        return {
            "interfaces": [{**link.counters(), **nowhere} for link in self._links],
            "inner": dict(zip(INNER_COUNTS, (self._inner, 0), strict=True)),
            "drops": {reason.name: self._drops[reason] for reason in DropReason},
        }

    def _take(self, ingress: int, datagram: bytes) -> list[tuple[int, bytes]]:
        try:
            self._links[ingress].count_received(datagram)
        except WireError:
            self._drops[DropReason.MALFORMED] += 1
            return []
        taken, reason, messages = self._seals.open(ingress, datagram)
        self._drops[reason] += messages
        if not taken:
            return []
        control, outputs, drops = self._forward(taken, ingress)
        self._drops.update(drops)
        inside = [packet for egress, bundle in outputs for packet in self._put(egress, bundle)]
        return [*((ingress, packet) for packet in control), *((len(self._links), each) for each in inside)]

    def _put(self, egress: int, bundle: bytes) -> list[bytes]:
        """Send messages; those for the router's own monitors are for the control plane."""
        if egress == len(self._links):
            inside = [bundle[at : at + size] for _, at, size in split_datagram(bundle)]
            self._inner += len(inside)
            return inside
        if not self._links[egress].send(self._seals.seal(egress, bundle)):
            self._drops[DropReason.SEND_FAILED] += count_messages(bundle)
        return []
