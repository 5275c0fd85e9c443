"""A machine's share of a plan: its own nodes, the links that have an end here, their captures.

Made of the parts that `emu` makes a whole network of. Not here: the links (`share_links`); who asks for all
this (`agent`), and when.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from nodes.daemon.clock import Clock
from nodes.daemon.kernel import Account, inside_network_of
from testbed.cluster.program_files import PROGRAMS
from testbed.cluster.share_links import ShareLinks
from testbed.emu.attackers import Attackers
from testbed.emu.background import Background
from testbed.emu.cgroups import Shares
from testbed.emu.children import Watch, start_helper
from testbed.emu.fork_server import ForkServer
from testbed.emu.links.carried import Place
from testbed.emu.meter import Meter
from testbed.emu.netlink import Netlink
from testbed.emu.nodes import NodeFiles, Nodes
from testbed.emu.options import EmuOptions
from testbed.emu.preflight import raise_descriptor_limit
from testbed.emu.recorder import Recorder
from testbed.live.fabric import NetworkError, ProcessDiedError
from testbed.live.registry import Registration
from testbed.plan.keys import Keys
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.measures import Measured

NAMESPACES_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


class Share:
    """What one machine makes of a plan; to be built, started, and stopped however it went.

    Args:
        plan: the whole.
        own: the names of the nodes that run here.
        tunnels: by the name of each link to another machine, that machine's address and the UDP port.
        registration: of the run on this machine.
        directory: of the run on this machine.
        account: whom its nodes run as.
        clock: the run's, slowed as the controller's.
        options: what carries links inside the machine.
    """

    def __init__(
        self,
        plan: Plan,
        own: Sequence[str],
        tunnels: Mapping[str, tuple[str, int]],
        registration: Registration,
        directory: RunDirectory,
        *,
        account: Account,
        clock: Clock,
        secret: bytes,
        options: EmuOptions,
    ) -> None:
        self.plan = plan
        self.watch = Watch()
        self.problems: list[str] = []
        """What went wrong while stopping, for people."""
        self.remarks: list[str] = []
        """What is worth knowing all the same; known once stopped."""
        self._own = self._share(plan, own)
        slowed = clock.dilate, clock.dilate_from_ns
        self.recorder = Recorder(self._own, directory, *slowed)
        self.attackers = Attackers(self._own, directory, *slowed)
        """Who attacks links inside this machine."""
        self._background = Background(self._own, directory, *slowed)
        self._tunnels = tunnels
        self._registration = registration
        self._directory = directory
        self._account = account
        self._clock = clock
        self._secret = secret
        self._options = options
        self._pids: dict[str, int] = {}
        self._links: ShareLinks | None = None
        self._nodes: Nodes | None = None
        self._meter = Meter()
        self._made = ExitStack()

    @staticmethod
    def _share(plan: Plan, own: Sequence[str]) -> Plan:
        """The plan with this machine's nodes and senders alone; links stay, since interfaces count them."""
        nodes = tuple(node for node in plan.nodes if node.name in set(own))
        interfaces = {interface.name for node in nodes for interface in node.interfaces}
        background = tuple(flow for flow in plan.background if flow.interface in interfaces)
        return replace(plan, nodes=nodes, background=background)

    @property
    def nodes(self) -> Nodes:
        """The node processes."""
        if self._nodes is None:
            raise NetworkError("the nodes have not been started")
        return self._nodes

    @property
    def links(self) -> ShareLinks:
        """The links that have an end here."""
        if self._links is None:
            raise NetworkError("the links have not been made")
        return self._links

    def build(self) -> None:
        """Make namespaces and links, and capture from now on.

        Raises:
            NetworkError: something could not be made; the text says what, and why.
            ProcessDiedError: a process that is needed has ended.
        """
        raise_descriptor_limit(self._own)
        environment = self._registration.environment()
        logs = self._directory.logs
        self._made.callback(lambda: self.problems.extend(self._meter.stop()))
        self._meter.start(environment, logs)
        names = [node.name for node in self._own.nodes]
        holder = start_helper(
            "the process that holds the namespaces",
            "testbed.emu.namespace_holder",
            [self._registration.run_id, *names],
            environment,
            logs / "namespaces.log",
            death_signal="clear",
        )
        self._made.callback(lambda: self.problems.extend(holder.stop(STOP_TIMEOUT_S)))
        try:
            self._pids = dict(zip(names, holder.ready(NAMESPACES_TIMEOUT_S), strict=True))
        except ProcessDiedError as error:
            raise NetworkError(f"no namespace for {error}") from error
        self._make_links(environment)
        for node in self._own.nodes:
            self._configure(node.name)
        self._made.callback(self.watch.close)
        if self._own.record.captures:
            self._made.callback(lambda: self.problems.extend(self.recorder.stop()))
            self.recorder.start(self._pids.__getitem__, environment, self.watch)
            self.recorder.await_ready()
        if self._own.background:
            self._made.callback(self._stop_background)
            self._background.start(self._pids.__getitem__, environment, self.watch)
        if self.attackers.links:
            self._made.callback(lambda: self.problems.extend(self.attackers.stop()))
            self.attackers.start(self._pids.__getitem__, environment, self.watch)

    def start(self) -> None:
        """Start the node processes.

        Raises:
            ProcessDiedError: the fork server could not.
        """
        environment = self._registration.environment()
        fork_server = ForkServer(environment, self._directory.logs / "fork_server.log")
        self._made.callback(lambda: self.problems.extend(fork_server.stop()))
        self.watch.add(fork_server.child)
        shares = Shares(self._own, self._registration.run_id)
        self._made.callback(shares.remove)
        shares.make()
        files = NodeFiles(self.plan, self._directory, self._clock, Keys(self._secret))
        self._nodes = Nodes(
            self._own,
            files,
            self._registration,
            self.watch,
            fork_server,
            self._pids.__getitem__,
            shares,
            self._account,
            self._directory.path / PROGRAMS,
        )
        for folder in (self._registration.folder, self._directory.logs):
            os.chown(folder, *self._account)  # where nodes make sockets and write their logs
        self._made.callback(self._stop_nodes)
        self._nodes.start()

    def begin_background(self, at_ns: int) -> None:
        """Time zero of the scenario is then, by this machine's clock."""
        self._background.begin(at_ns)

    def begin_measuring(self) -> None:
        """The workload begins."""
        self.links.count_lateness_anew()
        self._meter.begin(self.nodes, self.links.measures())

    def end_measuring(self) -> Measured:
        """What was measured since."""
        return self._meter.end(self.nodes, self.links.measures())

    def stop(self) -> None:
        """End everything, in the reverse order; what goes wrong is in `problems`."""
        self._made.close()

    def captured(self) -> dict[str, dict[str, Any]]:
        """What was captured, by interface; known once stopped."""
        named = (interface.name for _, interface in self.recorder.interfaces)
        return dict(zip(named, self.recorder.counters, strict=False))

    def _stop_background(self) -> None:
        problems, remarks = self._background.stop()
        self.problems += problems
        self.remarks += remarks

    def _stop_nodes(self) -> None:
        assert self._nodes is not None
        self._nodes.weigh()
        self.problems += self._nodes.stop()
        self._nodes.resources.write(self._directory, self._nodes.children)

    def _make_links(self, environment: Mapping[str, str]) -> None:
        folders = self._directory.config, self._directory.logs
        place = Place(environment, *folders, self.plan.seed, self._clock.dilate)
        links = self._links = ShareLinks(self.plan, self._pids, self._tunnels, self._options)
        self._made.callback(lambda: self.problems.extend(links.stop()))
        links.make(place, self.watch)

    def _configure(self, name: str) -> None:
        node = next(node for node in self._own.nodes if node.name == name)
        with inside_network_of(self._pids[name], f"the namespace of {name}"):
            netlink = Netlink()
            try:
                for interface in node.interfaces:
                    netlink.configure(interface)
            finally:
                netlink.close()
