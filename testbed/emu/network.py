"""Builds the network of a plan out of Mininet hosts, and configures the links between them.

No switch, no controller: the plan's links are point to point. What Mininet's
`Mininet.init` does to the machine (raising limits and setting sysctls of the
host) is left out, and interfaces are made inside the namespaces, under the
plan's names, so that runs beside each other do not meet. Not here: what makes
the interfaces and carries the links (`testbed.emu.links`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mininet.net import Mininet

from testbed.emu.hosts import PlannedHost, PlannedInterface, PlannedLink
from testbed.emu.links.namespaces import inside_namespace
from testbed.emu.namespaces import Namespaces
from testbed.emu.netlink import Netlink
from testbed.plan.model import LinkPlan, NodePlan, Plan


class Network:
    """The namespaces and links of one run."""

    def __init__(self, plan: Plan, environment: Mapping[str, str], logs: Path) -> None:
        """Begin to make the namespaces. `logs` is the folder for what goes wrong in it."""
        self._plan = plan
        self._environment = dict(environment)
        self._interfaces = {i.name: i for node in plan.nodes for i in node.interfaces}
        self.namespaces = Namespaces([n.name for n in plan.nodes], environment, logs / "namespaces.log")
        # Mininet.init() would write to /proc/sys of the host and raise limits; the network needs neither.
        Mininet.inited = True
        self.mininet = Mininet(
            topo=None, host=PlannedHost, link=PlannedLink, intf=PlannedInterface, controller=None, build=False
        )

    def build(self, make_links: Callable[[], None]) -> None:
        """Make every namespace and link, configured and up.

        Args:
            make_links: makes the interfaces at both ends of every link, once the namespaces are there.

        Raises:
            NetworkError: something could not be made; the text says what, and why.
        """
        self.namespaces.await_made()
        for node in self._plan.nodes:
            holder = self.namespaces.pid(node.name)
            self.mininet.addHost(node.name, ip=None, environment=self._environment, holder=holder)
        make_links()
        for link in self._plan.links:
            self._note_link(link)
        for node in self._plan.nodes:
            self._configure(node)

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return self.namespaces.pid(node)

    def inside(self, node: str) -> list[str]:
        """What to put before a command to run it in a node's namespace."""
        return ["mnexec", "-a", str(self.pid(node))]

    def stop(self) -> list[str]:
        """End shells and holders; namespaces and links go with them. What went wrong, for people."""
        self.mininet.stop()
        return self.namespaces.stop()

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

    def _configure(self, node: NodePlan) -> None:
        with inside_namespace(self.pid(node.name), f"the namespace of {node.name}"):
            netlink = Netlink()
            try:
                for interface in node.interfaces:
                    netlink.configure(interface)
            finally:
                netlink.close()
