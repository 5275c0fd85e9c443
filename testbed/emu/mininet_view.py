"""Mininet's own objects and command line over a network that another process keeps.

Hosts are Mininet's, with their shells in the namespaces that are there already;
links are what the network's record says. Leaving the command line ends these
shells and nothing else.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

from mininet.cli import CLI
from mininet.link import Link
from mininet.log import error, output
from mininet.net import Mininet

from testbed.emu import echo
from testbed.emu.attachment import variables
from testbed.emu.hosts import NamespaceHost
from testbed.emu.links.link import PlannedIntf
from testbed.live.clients import ControlClient, RefusedError
from testbed.live.registry import Running


class AttachedHost(NamespaceHost):
    """A host whose namespace another process keeps."""

    def address_of(self, other: str) -> str | None:
        """The address of a neighbour on the link to it; else the first address of that node."""
        return self.params["addresses"].get(other)  # type: ignore[no-any-return]


class AttachedLink(Link):  # type: ignore[misc]
    """A link that another process keeps."""

    @classmethod
    def makeIntfPair(cls, *_: Any, **__: Any) -> None:  # noqa: N802 - Mininet's name
        """It is there."""

    def stop(self) -> None:
        """It stays."""


class MininetView(Mininet):  # type: ignore[misc]
    """The hosts and links of a running network."""

    def __init__(self, run: Running) -> None:
        Mininet.inited = True  # it would write to /proc/sys of the host, which is not ours
        super().__init__(
            topo=None,
            host=AttachedHost,
            link=AttachedLink,
            intf=PlannedIntf,
            controller=None,
            build=False,
        )
        nodes = run.record["nodes"]
        for name, about in nodes.items():
            host = self.addHost(name, ip=None, addresses=_addresses(nodes, name))
            host.enter(about["pid"], variables(run, name))
        interfaces = {i["name"]: i for about in nodes.values() for i in about["interfaces"]}
        for link in run.record["links"]:
            self._note(link, interfaces[link["a_interface"]], interfaces[link["b_interface"]])

    def ping(self, hosts: list[AttachedHost] | None = None, timeout: str | None = None) -> float:
        """Over every link, both ways: nodes forward messages, not packets of others."""
        del timeout
        sent = received = 0
        output("*** Ping: over every link, both ways (nodes do not forward IP)\n")
        for host in hosts or self.hosts:
            output(f"{host.name} -> ")
            for interface in host.intfList():
                peer = _other_end(interface)
                said = host.cmd(f"{sys.executable} {echo.__file__} {peer.ip}").strip()
                sent, received = sent + 1, received + said.endswith("ms")
                output(f"{peer.node.name} " if said.endswith("ms") else "X ")
            output("\n")
        lost = 100.0 * (sent - received) / sent if sent else 0.0
        output(f"*** Results: {lost:.0f}% dropped ({received}/{sent} received)\n")
        return lost

    def leave(self) -> None:
        """End the hosts' shells; the network goes on."""
        for host in self.hosts:
            host.end_shell()

    def _note(self, link: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> None:
        ports, names = (
            {"port1": a["index"], "port2": b["index"]},
            {"intfName1": a["name"], "intfName2": b["name"]},
        )
        made = self.addLink(link["a"], link["b"], **ports, **names)
        for intf, about in ((made.intf1, a), (made.intf2, b)):
            intf.assign(about["name"], about["mac"], about["address"], about["prefix_length"])


class NetworkCLI(CLI):  # type: ignore[misc]
    """Mininet's command line; what changes the network goes through its supervisor."""

    def __init__(
        self, view: MininetView, run: Running, caller: ControlClient, stdin: TextIO, script: str | None = None
    ) -> None:
        self._run = run
        self._caller = caller
        super().__init__(view, stdin=stdin, script=script)

    def precmd(self, line: str) -> str:
        """When the network has ended, so does this."""
        if not self._run.alive:
            error(f"*** {self._run.name} has ended\n")
            return "exit"
        return str(super().precmd(line))

    def do_link(self, line: str) -> None:
        """Bring a link up or down: `link r1 r2 down`."""
        words = line.split()
        if len(words) != 3 or words[2] not in ("up", "down"):
            error("usage: link NODE NODE up|down\n")
            return
        try:
            self._caller.ask("link", link=f"{words[0]}-{words[1]}", change=words[2])
        except RefusedError as refused:
            error(f"{refused}\n")

    def default(self, line: str) -> None:
        """`NODE COMMAND`: names of nodes in it become addresses, those of neighbours on the link to them."""
        first, _, rest = line.strip().partition(" ")
        if first in self.mn and rest:
            host = self.mn[first]
            words = re.split(r"(\s+)", rest)
            line = f"{first} {''.join(host.address_of(word) or word for word in words)}"
        super().default(line)


def _other_end(interface: Any) -> Any:
    link = interface.link
    return link.intf2 if interface is link.intf1 else link.intf1


def _addresses(nodes: dict[str, Any], name: str) -> dict[str, str]:
    """Of every node with an interface, as seen from one."""
    firsts = {n: about["interfaces"][0]["address"] for n, about in nodes.items() if about["interfaces"]}
    near = {i["peer"]: i["peer_address"] for i in nodes[name]["interfaces"]}
    return {**firsts, **near}
