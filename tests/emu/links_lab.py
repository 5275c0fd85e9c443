"""Two namespaces joined by links of any carrier, and UDP sockets at their ends: to measure links with.

a === b        as many links as are asked for, each with a subnet of its own
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nodes.wire.packets import Role
from testbed.emu.commands import run_batch
from testbed.emu.links.cabling import Cabling
from testbed.emu.links.namespaces import inside_namespace
from testbed.emu.links.site import Site
from testbed.emu.options import EmuOptions
from testbed.plan.model import Impairment, InterfacePlan, LinkPlan, NodePlan, Plan

PORT = 9000
HOLDER = (
    "for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e $f ] || echo 1 > $f; done; "
    "echo ready; exec sleep 600"
)
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
        self._holders = {name: self._holder() for name in ("a", "b")}
        environment = {**os.environ, "CBN_RUN": "lab"}
        site = Site(self.plan, self.pid, self.inside, environment, folder, folder, dilate)
        self.links = Cabling(site, EmuOptions(links=carrier, adjustable=True))
        self._made.callback(self._stop_links)
        self.problems: list[str] = []
        try:
            self.links.build()
            for node in self.plan.nodes:
                run_batch(node.name, [*self.inside(node.name), "ip", "-batch", "-"], _configuration(node))
        except BaseException:
            self.close()
            raise

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return self._holders[node].pid

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
            with inside_namespace(self.pid(node.name), node.name):
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

    def _stop_links(self) -> None:
        self.problems = self.links.stop()

    def _holder(self) -> subprocess.Popen[bytes]:
        command = ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "-n", "sh", "-c", HOLDER]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._made.callback(process.wait)
        self._made.callback(process.kill)
        assert process.stdout is not None
        self._made.callback(process.stdout.close)
        assert process.stdout.readline() == b"ready\n"
        return process


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


def _configuration(node: NodePlan) -> list[str]:
    lines = []
    for i in node.interfaces:
        lines += [
            f"address add {i.address}/{i.prefix_length} dev {i.name}",
            f"link set {i.name} up",
            f"neighbour replace {i.peer_address} lladdr {i.peer_mac} dev {i.name} nud permanent",
        ]
    return lines


def _address(number: int, at: int) -> str:
    return f"10.{number // 64}.{number % 64 * 4}.{at + 1}"


def _mac(number: int, at: int) -> str:
    return f"02:00:{number >> 8:02x}:{number & 255:02x}:00:{at + 1:02x}"
