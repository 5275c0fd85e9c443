"""Two namespaces joined by links of any carrier, and UDP sockets at their ends: to measure links with.

a === b        as many links as are asked for, each with a subnet of its own
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nodes.daemon.clock import Clock
from nodes.daemon.kernel import inside_network_of
from nodes.wire.packets import Role
from testbed.emu.network import CbnNet
from testbed.emu.options import EmuOptions
from testbed.live.registry import register
from testbed.plan.model import Impairment, InterfacePlan, LinkPlan, NodePlan, Plan
from testbed.runs.directory import RunDirectory

PORT = 9000
_NUMBERS = itertools.count(1)
SO_TIMESTAMPNS = 35
ROOM_BYTES = 32 << 20
Does = tuple[Impairment, Impairment]


class Lab:
    """Links, up and with addresses, until it is closed."""

    def __init__(
        self, folder: Path, carrier: str, does: Sequence[Does], mtu: int = 1500, dilate: int = 1
    ) -> None:
        self._made = contextlib.ExitStack()
        self.plan = _plan(does, mtu)
        self.problems: list[str] = []
        number = next(_NUMBERS)
        run_id = f"lab-{os.getpid()}-{number}"
        # Sockets are made in the registry, and a socket's path is short.
        registry = self._made.enter_context(tempfile.TemporaryDirectory(prefix="cbn-"))
        registration = register(run_id, folder, Path(registry))
        directory = RunDirectory(folder, run_id)
        options = EmuOptions(links=carrier, adjustable=True)
        clock = Clock.starting_now(dilate)
        self.links = CbnNet(self.plan, registration, directory, options=options, clock=clock)
        self._made.callback(self._stop)
        try:
            self.links.build()
        except BaseException:
            self.close()
            raise

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return self.links.pid(node)

    def inside(self, node: str) -> list[str]:
        """What to put before a command."""
        return ["nsenter", "-t", str(self.pid(node)), "-n", "--"]

    def link(self, number: int = 0) -> LinkPlan:
        """One of the links."""
        return self.plan.links[number]

    def sockets(self, number: int = 0) -> tuple[socket.socket, socket.socket]:
        """A UDP socket at each end of a link, each connected to the other; arrivals are stamped."""
        found = []
        for node in self.plan.nodes:
            interface = node.interfaces[number]
            with inside_network_of(self.pid(node.name), node.name):
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((interface.address, PORT))
            sock.connect((interface.peer_address, PORT))
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            for option in (33, 32):  # SO_RCVBUFFORCE, SO_SNDBUFFORCE
                sock.setsockopt(socket.SOL_SOCKET, option, ROOM_BYTES)
            found.append(self._made.enter_context(sock))
        return found[0], found[1]

    def close(self) -> None:
        """Take everything away."""
        self._made.close()

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop(self) -> None:
        self.problems = self.links.stop()
        self.links.watch.close()


def _plan(does: Sequence[Does], mtu: int) -> Plan:
    nodes = []
    for at, (name, peer) in enumerate((("a", "b"), ("b", "a"))):
        interfaces = tuple(
            InterfacePlan(
                index=number,
                name=f"{name}-eth{number}",
                link=number,
                address=_address(number, at),
                prefix_length=30,
                mac=_mac(number, at),
                peer=peer,
                peer_address=_address(number, 1 - at),
                peer_mac=_mac(number, 1 - at),
            )
            for number in range(len(does))
        )
        nodes.append(NodePlan(name, at + 1, Role.ROUTER, interfaces))
    links = tuple(
        LinkPlan(f"l{n}", "a", "b", f"a-eth{n}", f"b-eth{n}", mtu=mtu, impairment=there, back=back)
        for n, (there, back) in enumerate(does)
    )
    return Plan("lab", "", 7, "pif", {}, tuple(nodes), links)


def _address(number: int, at: int) -> str:
    return f"10.{number // 64}.{number % 64 * 4}.{at + 1}"


def _mac(number: int, at: int) -> str:
    return f"02:00:{number >> 8:02x}:{number & 255:02x}:00:{at + 1:02x}"
