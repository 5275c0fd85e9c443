"""The network of a plan, which is a Mininet: namespaces, links and node processes.

`build()` makes namespaces, links and addresses, `start()` the node processes, `stop()` takes
all away; between them `net['r1'].cmd(...)` and Mininet's command line work. What Mininet does
one by one is done for all at once here: namespaces by one process that forks, links by one
command or one process a kind, addresses over netlink, nodes as forks of a warm process.

What `Mininet.init` does to the machine (raising limits and setting sysctls of the
host) is left out, and interfaces are made inside the namespaces, under the
plan's names, so that runs beside each other do not meet.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mininet.net import Mininet

from nodes.daemon.clock import Clock
from nodes.daemon.kernel import inside_network_of
from nodes.wire.packets import Role
from testbed.emu.cgroups import Shares
from testbed.emu.children import Child, Watch, start_helper
from testbed.emu.fork_server import ForkServer
from testbed.emu.hosts import CbnClient, CbnNode, CbnRouter
from testbed.emu.links.cable import Cable, End
from testbed.emu.links.carried import Place, by_kind
from testbed.emu.links.choice import carriers
from testbed.emu.links.link import CbnLink, PlannedIntf
from testbed.emu.links.netem import NetemLink
from testbed.emu.links.veth import VethLink
from testbed.emu.links.wire import WireLink, processes_of
from testbed.emu.netlink import Netlink
from testbed.emu.nodes import NodeFiles, Nodes
from testbed.emu.options import EmuOptions
from testbed.live.fabric import NetworkError, NotReadyError, ProcessDiedError
from testbed.live.live import Live
from testbed.live.registry import Registration
from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.measures import LinkMeasure

LINKS: dict[str, type[CbnLink]] = {link.carrier: link for link in (VethLink, NetemLink, WireLink)}
"""What makes links, by what carries them."""
NODES: dict[Role, type[CbnNode]] = {Role.ROUTER: CbnRouter, Role.CLIENT: CbnClient}
NAMESPACES_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


class EmulatedLive(Live):
    """A network on this machine, and what can be done to it."""

    network: CbnNet
    nodes: Nodes


class CbnNet(Mininet):  # type: ignore[misc]
    """The network of one plan.

    Args:
        plan: what to build.
        registration: of the run that it belongs to.
        directory: where its nodes' files go.
        options: how links are carried and how fast time goes.
        clock: the run's.
        watch: watches all processes without which the network cannot go on.
    """

    def __init__(
        self,
        plan: Plan,
        registration: Registration,
        directory: RunDirectory,
        *,
        options: EmuOptions | None = None,
        clock: Clock | None = None,
        watch: Watch | None = None,
    ) -> None:
        # Mininet.init() would write to /proc/sys of the host and raise limits; the network needs neither.
        Mininet.inited = True
        super().__init__(
            topo=None, host=CbnRouter, link=VethLink, intf=PlannedIntf, controller=None, build=False
        )
        self.plan = plan
        self.directory = directory
        self.clock = clock or Clock.starting_now()
        self.watch = watch or Watch()
        self.chosen = carriers(plan, options or EmuOptions())
        """What carries each link, by its name."""
        self.nodes: Nodes | None = None
        """The node processes; None until they have been started."""
        self.live: EmulatedLive | None = None
        """What can be done to the network while its nodes run."""
        self._registration = registration
        self._environment = registration.environment()
        self._interfaces = {i.name: i for node in plan.nodes for i in node.interfaces}
        self._shares = Shares(plan, directory.run_id)
        self._fork_server: ForkServer | None = None
        self._holder: Child | None = None
        self._holding = False
        self._links: dict[str, CbnLink] = {}
        self._given: tuple[dict[str, CbnNode], dict[frozenset[str], CbnLink]] = {}, {}

    def adopt(self, nodes: Sequence[CbnNode], links: Sequence[CbnLink]) -> None:
        """Build the network of these nodes and links, which somebody else has made."""
        ends = {frozenset((link.intf1.node.name, link.intf2.node.name)): link for link in links}
        self._given = {node.name: node for node in nodes}, ends
        self.chosen = {plan.name: ends[frozenset((plan.a, plan.b))].carrier for plan in self.plan.links}

    def prepare(self) -> None:
        """Start what takes its time, and does not depend on anything: it gets warm meanwhile."""
        logs = self.directory.logs
        self._fork_server = ForkServer(self._environment, logs / "fork_server.log")
        self.watch.add(self._fork_server.child)
        # It is not killed with the run: it takes away the namespaces' names when its input ends.
        self._holder = start_helper(
            "the process that holds the namespaces",
            "testbed.emu.namespace_holder",
            [self.directory.run_id, *(node.name for node in self.plan.nodes)],
            self._environment,
            logs / "namespaces.log",
            death_signal="clear",
        )

    def build(self) -> None:
        """Make every namespace and link, configured and up.

        Raises:
            NetworkError: something could not be made; the text says what, and why.
        """
        if self._holder is None:
            self.prepare()
        self._make_nodes()
        self._make_links()
        for node in self.plan.nodes:
            self._configure(node)
        self.built = True

    def start(self) -> None:
        """Start every node.

        Raises:
            ProcessDiedError: the fork server could not.
            NetworkError: what a node may use of the processors cannot be limited.
        """
        if not self.built:
            self.build()
        assert self._fork_server is not None
        self._shares.make()
        files = NodeFiles(self.plan, self.directory, self.clock)
        self.nodes = Nodes(
            self.plan, files, self._registration, self.watch, self._fork_server, self.pid, self._shares
        )
        self.live = EmulatedLive(self.plan, self, self.nodes, self.clock)
        self.nodes.start()

    def await_converged(self) -> None:
        """Wait until every node answers and the network agrees with itself.

        Raises:
            NotReadyError: it does not in the time that the plan gives it.
            ProcessDiedError: a node has ended.
        """
        assert self.nodes is not None
        assert self.live is not None
        deadline = time.monotonic() + self.clock.real_wait_s(self.plan.timing.ready_timeout_ns)
        self.nodes.await_listening(deadline)
        while reasons := self.live.unconverged():
            if time.monotonic() > deadline:
                raise NotReadyError("; ".join(reasons))
            self.nodes.pause()

    def stop_nodes(self) -> list[str]:
        """End the node processes, which write their last status; what went wrong, for people."""
        if self.nodes is None:
            return []
        nodes, self.nodes, self.live = self.nodes, None, None
        problems = nodes.stop()
        nodes.resources.write(self.directory, nodes.children)
        self._shares.remove()
        return problems

    def stop(self) -> list[str]:
        """End nodes, links, shells and namespaces; what went wrong, for people."""
        problems = self.stop_nodes()
        self._shares.remove()
        for process in processes_of(self._links.values()):
            problems += process.stop()
        self._links.clear()
        for host in self.hosts:
            host.end_shell()
        holder, self._holder = self._holder, None
        if holder is not None:
            ended = holder.stop(STOP_TIMEOUT_S)
            problems += ended if self._holding else []
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            problems += fork_server.stop()
        return problems

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return int(self[node].pid)

    def implementation(self) -> dict[str, str]:
        """What carries the links and how, for the manifest: `veth 30, wire 12`."""
        counts = Counter(self.chosen.values())
        names = ", ".join(f"{kind} {counts[kind]}" for kind in LINKS if counts[kind]) or "none"
        wires = [process.scheduling for process in processes_of(self._links.values())]
        return {"links": names} | ({"wires": wires[0]} if wires else {})

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """From now on the link does this to packets, from `a` to `b` and back.

        Raises:
            NetworkError: it cannot be applied.
        """
        self._links[link.name].impair(impairment, back)

    def take_down(self, link: LinkPlan) -> None:
        """Carry nothing any more over a link; what is on its way is lost."""
        self._links[link.name].take_down()

    def bring_up(self, link: LinkPlan) -> None:
        """Carry again, as impaired as before."""
        self._links[link.name].bring_up()

    def count_lateness_anew(self) -> None:
        """The workload begins: how late frames were before counts no more."""
        for kind, links in by_kind(self._links.values()):
            kind.count_lateness_anew(links)

    def measures(self) -> list[LinkMeasure]:
        """What was delivered so far: two entries a link, from `a` and from `b`, in the plan's order."""
        rows = [row for kind, links in by_kind(self._links.values()) for row in kind.measures(links)]
        found = {(row.link, row.source): row for row in rows}
        return [
            found[link.name, source]
            for link in self.plan.links
            for source in (link.a_interface, link.b_interface)
        ]

    def add(self, member: CbnNode | CbnLink) -> None:
        """Nodes and links of a plan are known before they are made."""

    def configured(self) -> None:
        """All are configured at once by `build`."""

    def leave(self, node: CbnNode) -> None:
        """All end at once by `stop`."""

    def ask(self, node: str, do: str, **arguments: object) -> Any:
        """Make a request of a node; returns its result. Raises as `Live.ask`."""
        assert self.live is not None, "the nodes have been started"
        return self.live.ask(node, do, **arguments)

    def fault(self, do: str, node: str) -> None:
        """Let something happen to a node: `crash`, `start`, `pause` or `resume`. Raises `FaultError`."""
        assert self.live is not None, "the nodes have been started"
        self.live.apply(Fault(0, do, node))

    def unconverged(self) -> list[str]:
        """Why the network has not converged; empty: it has."""
        assert self.live is not None, "the nodes have been started"
        return self.live.unconverged()

    def _make_nodes(self) -> None:
        assert self._holder is not None
        try:
            pids = self._holder.ready(NAMESPACES_TIMEOUT_S)
        except ProcessDiedError as error:
            raise NetworkError(f"no namespace for {error}") from error
        self._holding = True
        given, _ = self._given
        for node, pid in zip(self.plan.nodes, pids, strict=True):
            if node.name in given:
                host = self.nameToNode[node.name] = given[node.name]
                self.hosts.append(host)
            else:
                host = self.addHost(node.name, cls=NODES[node.role], ip=None, network=self)
            host.enter(pid, self._environment)

    def _make_links(self) -> None:
        folders = self.directory.config, self.directory.logs
        place = Place(self._environment, *folders, self.plan.seed, self.clock.dilate)
        cables = {}
        for plan in self.plan.links:
            self._links[plan.name] = self._link_object(plan)
            cables[plan.name] = self._cable(plan)
        self._number_interfaces()
        for kind, group in groupby(sorted(self.chosen, key=self.chosen.__getitem__), self.chosen.__getitem__):
            LINKS[kind].make_all([(self._links[name], cables[name]) for name in group], place)
        for process in processes_of(self._links.values()):
            self.watch.add(process.child)

    def _link_object(self, plan: LinkPlan) -> CbnLink:
        """Mininet's own for a link of the plan, whose interfaces are called and numbered as in the plan."""
        _, given = self._given
        link = given.get(frozenset((plan.a, plan.b)))
        if link is None:
            a, b = self._interfaces[plan.a_interface], self._interfaces[plan.b_interface]
            link = self.addLink(
                plan.a,
                plan.b,
                cls=LINKS[self.chosen[plan.name]],
                port1=a.index,
                port2=b.index,
                intfName1=a.name,
                intfName2=b.name,
            )
        else:
            self.links.append(link)
        names = {plan.a: plan.a_interface, plan.b: plan.b_interface}
        for intf in (link.intf1, link.intf2):
            i = self._interfaces[names[intf.node.name]]
            intf.assign(i.name, i.mac, i.address, i.prefix_length)
        return link

    def _cable(self, plan: LinkPlan) -> Cable:
        a, b = (
            End(self.pid(node), name, self._interfaces[name].mac)
            for node, name in ((plan.a, plan.a_interface), (plan.b, plan.b_interface))
        )
        return Cable(plan.name, a, b, plan.mtu, plan.impairment, plan.impairment_back)

    def _number_interfaces(self) -> None:
        for node in self.plan.nodes:
            host = self[node.name]
            host.intfs = {i.index: host.nameToIntf[i.name] for i in node.interfaces}
            host.ports = {intf: port for port, intf in host.intfs.items()}

    def _configure(self, node: NodePlan) -> None:
        with inside_network_of(self.pid(node.name), f"the namespace of {node.name}"):
            netlink = Netlink()
            try:
                for interface in node.interfaces:
                    netlink.configure(interface)
            finally:
                netlink.close()
