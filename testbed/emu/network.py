"""Builds the network of a plan out of Mininet hosts, and configures the links between them.

No switch, no controller: the plan's links are point to point. What Mininet's
`Mininet.init` does to the machine (raising limits and setting sysctls of the
host) is left out, and interfaces are made inside the namespaces, under the
plan's names, so that runs beside each other do not meet. Not here: what makes
the interfaces and carries the links (`testbed.emu.links`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Host

from testbed.emu.commands import NetworkError, run_batch
from testbed.plan.model import LinkPlan, NodePlan, Plan

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")
NO_IPV6 = "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done"


class MarkedHost(Host):  # type: ignore[misc]
    """A host whose shell carries the run's marks and dies with the run."""

    def _popen(self, cmd: list[str], **params: Any) -> subprocess.Popen[bytes]:
        params.setdefault("env", self.params["environment"])
        return super()._popen([*DIE_WITH_PARENT, *cmd], **params)  # type: ignore[no-any-return]


class PlannedInterface(Intf):  # type: ignore[misc]
    """One end of a planned link; its address is set with all others of its host."""

    def config(self, ip: str = "", prefix_length: int = 0, **_: Any) -> dict[str, Any]:
        """Note what the plan says; nothing is run."""
        self.ip, self.prefixLen = ip, prefix_length
        return {}


class PlannedLink(Link):  # type: ignore[misc]
    """A link that is made with all others of the plan, and goes with what carries it."""

    @classmethod
    def makeIntfPair(cls, *_: Any, **__: Any) -> None:  # noqa: N802 - Mininet's name
        """Made already, by what carries the link."""

    def stop(self) -> None:
        """Nothing: what carries the link takes it away."""


class Network:
    """The namespaces and links of one run."""

    def __init__(self, plan: Plan, environment: Mapping[str, str]) -> None:
        self._plan = plan
        self._environment = dict(environment)
        self._interfaces = {i.name: i for node in plan.nodes for i in node.interfaces}
        # Mininet.init() would write to /proc/sys of the host and raise limits; the network needs neither.
        Mininet.inited = True
        self.mininet = Mininet(
            topo=None, host=MarkedHost, link=PlannedLink, intf=PlannedInterface, controller=None, build=False
        )

    def build(self, make_links: Callable[[], None]) -> None:
        """Make every namespace and link, configured and up.

        Args:
            make_links: makes the interfaces at both ends of every link, once the namespaces are there.

        Raises:
            NetworkError: a command failed; the text has the command's own words.
        """
        for node in self._plan.nodes:
            self.mininet.addHost(node.name, ip=None, environment=self._environment)
        self._forbid_ipv6()
        make_links()
        for link in self._plan.links:
            self._note_link(link)
        self._configure_hosts()

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return int(self.mininet[node].pid)

    def inside(self, node: str) -> list[str]:
        """What to put before a command to run it in a node's namespace."""
        return ["mnexec", "-a", str(self.pid(node))]

    def stop(self) -> None:
        """End the hosts; namespaces and links go with them."""
        self.mininet.stop()

    def _forbid_ipv6(self) -> None:
        """Else autoconfiguration and multicast reports of IPv6 would stand in the captures."""
        if not Path("/proc/sys/net/ipv6").exists():
            return
        for host in self.mininet.hosts:
            complaint = host.cmd(NO_IPV6).strip()
            if complaint:
                raise NetworkError(f"{host.name}: IPv6 could not be switched off: {complaint}")

    def _note_link(self, link: LinkPlan) -> None:
        """Tell Mininet's own book-keeping, so that its command line and API know the links."""
        a, b = self._interfaces[link.a_interface], self._interfaces[link.b_interface]
        self.mininet.addLink(
            link.a,
            link.b,
            port1=a.index,
            port2=b.index,
            intfName1=a.name,
            intfName2=b.name,
            addr1=a.mac,
            addr2=b.mac,
            params1={"ip": a.address, "prefix_length": a.prefix_length},
            params2={"ip": b.address, "prefix_length": b.prefix_length},
        )

    def _configure_hosts(self) -> None:
        for node in self._plan.nodes:
            command = [*self.inside(node.name), "ip", "-batch", "-"]
            run_batch(f"addresses of {node.name}", command, configuration(node))


def configuration(node: NodePlan) -> list[str]:
    """The `ip` commands that configure a node's interfaces.

    The neighbour is entered for good: no ARP packet stands in a capture, and
    no first packet waits for an answer.
    """
    lines = ["link set lo up"]
    for i in node.interfaces:
        lines += [
            f"address add {i.address}/{i.prefix_length} dev {i.name}",
            f"link set {i.name} up",
            f"neighbour replace {i.peer_address} lladdr {i.peer_mac} dev {i.name} nud permanent",
        ]
    return lines
