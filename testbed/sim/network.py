"""Builds the simulated network of a plan: nodes, channels, captures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from nodes.client.core import ClientCore
from nodes.client.script import ScriptedClient
from nodes.routing.router import Router
from testbed.plan import node_config
from testbed.plan.model import Impairment, InterfacePlan, LinkPlan, NodePlan, Plan
from testbed.runs.captures import Captured, capture_name, write_capture_index
from testbed.runs.directory import RunDirectory
from testbed.runs.events import JsonLines
from testbed.sim.capture import Capture
from testbed.sim.fate import Fate
from testbed.sim.frames import Framer
from testbed.sim.link import Channel, End, Flight
from testbed.sim.node import Record, SimulatedClient, SimulatedNode, SimulatedRouter
from testbed.sim.scheduler import Scheduler


class Network:
    """All parts of a running simulation, in order of node id."""

    def __init__(self, plan: Plan, directory: RunDirectory, scheduler: Scheduler, events: Record) -> None:
        self.flight = Flight()
        self.captures: dict[str, Capture] = {}
        self._plan = plan
        self._scheduler = scheduler
        self._directory = directory
        self._logs = {n.name: JsonLines(directory.logs / f"{n.name}.jsonl") for n in plan.nodes}
        self.routers = [self._router(node) for node in plan.routers]
        self.clients = [self._client(node, events) for node in plan.clients]
        self._nodes: dict[str, SimulatedNode] = {n.config.name: n for n in (*self.routers, *self.clients)}
        if plan.record.captures:
            self._open_captures()
        self._connect()

    @property
    def nodes(self) -> Iterable[SimulatedNode]:
        """Routers and clients, in order of id."""
        return self._nodes.values()

    def statuses(self) -> dict[str, dict[str, object]]:
        """What every core says of itself, by the node's name."""
        return {name: node.status() for name, node in self._nodes.items()}

    def start(self) -> None:
        """Let every node begin, at this instant."""
        for node in self.nodes:
            node.start()

    def flush(self) -> None:
        """Write what captures and logs still hold."""
        for capture in self.captures.values():
            capture.flush()
        for log in self._logs.values():
            log.flush()

    def write_status(self) -> None:
        """Write each node's last account of itself beside its log."""
        for node in self.nodes:
            self._directory.write_json(f"logs/{node.config.name}.status.json", node.final_status())

    def write_index(self, start_ns: int) -> None:
        """Write `captures/index.json`."""
        captured = {
            name: Captured(capture.packets, capture.frame_bytes, drops=0)
            for name, capture in self.captures.items()
        }
        write_capture_index(self._plan, self._directory, start_ns, captured)

    def _router(self, node: NodePlan) -> SimulatedRouter:
        config = node_config(self._plan, node, self._directory.run_id)
        core = Router(config, Random(f"{self._plan.seed}/node/{node.name}"))
        return SimulatedRouter(config, core, self._scheduler, self._logs[node.name].write)

    def _client(self, node: NodePlan, events: Record) -> SimulatedClient:
        config = node_config(self._plan, node, self._directory.run_id)
        core = ClientCore(config, Random(f"{self._plan.seed}/node/{node.name}"))
        script = ScriptedClient(core, node.script)
        return SimulatedClient(
            config, script, self._scheduler, self._logs[node.name].write, application=script, events=events
        )

    def _open_captures(self) -> None:
        folder: Path = self._directory.captures
        for node in self._plan.routers:
            for interface in node.interfaces:
                path = folder / capture_name(interface)
                self.captures[interface.name] = Capture(path, self._plan.record.snap_bytes)

    def _connect(self) -> None:
        """Make both channels of every link and hand them to the nodes at its ends."""
        interfaces = {i.name: i for n in self._plan.nodes for i in n.interfaces}
        owner = {i.name: self._nodes[n.name] for n in self._plan.nodes for i in n.interfaces}
        leaving: dict[str, Channel] = {}
        arriving: dict[str, Channel] = {}
        for link in self._plan.links:
            rng = Random(f"{self._plan.seed}/link/{link.name}")
            for here, there in ((link.a_interface, link.b_interface), (link.b_interface, link.a_interface)):
                target = interfaces[there]
                end = End(target.index, owner[there].receive, self.captures.get(there))
                impairment = link.impairment if here == link.a_interface else link.impairment_back
                leaving[here] = arriving[there] = self._channel(link, interfaces[here], impairment, rng, end)
        for node in self.nodes:
            node.outgoing = [leaving[i.name] for i in node.config.interfaces]
            node.incoming = [arriving[i.name] for i in node.config.interfaces]

    def _channel(
        self, link: LinkPlan, source: InterfacePlan, impairment: Impairment, rng: Random, end: End
    ) -> Channel:
        framer = Framer(
            source.name, (source.mac, source.peer_mac), (source.address, source.peer_address), link.mtu
        )
        return Channel(
            self._scheduler,
            self.flight,
            framer,
            impairment=impairment,
            fate=Fate(impairment, self._plan.timing.hop_delay_ns, rng),
            capture=self.captures.get(source.name),
            end=end,
        )
