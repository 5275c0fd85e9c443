"""Builds the simulated network of a plan, and applies faults to it: nodes, channels, links.

Not here: when something breaks (`faults`), what a run keeps on disk (`recording`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from random import Random

from fastpath.cable import LinkModel
from nodes.client.core import ClientCore
from nodes.client.script import ScriptedClient
from nodes.config import LinkKey, NodeConfig
from nodes.convergence import unconverged
from nodes.routing.link import Link
from nodes.routing.router import Router
from nodes.wire.signature import Signer
from testbed.plan.keys import Keys, number_after
from testbed.plan.model import Fault, Flow, Impairment, InterfacePlan, LinkPlan, NodePlan, Plan, link_seed
from testbed.plan.rendering import node_config
from testbed.runs.background import background_frame
from testbed.runs.faults import FaultState
from testbed.sim.attacks import Attacks
from testbed.sim.frames import Framer, Tap, Watch
from testbed.sim.link import Channel, End, Flight
from testbed.sim.node import Life, Record, SimulatedClient, SimulatedNode, SimulatedRouter
from testbed.sim.scheduler import Scheduler
from topologies.fault_kinds import KINDS


class Network:
    """All parts of a running simulation, in order of node id.

    Args:
        plan: What to build.
        run_id: Of the run.
        scheduler: The clock.
        events: Takes the clients' events.
        log_of: The log of a node, by its name.
        captures: By the interface's name; no other interface is captured.
        watches: Likewise, who is shown the datagrams that leave there.
        attacks: Who attacks.
    """

    def __init__(
        self,
        plan: Plan,
        run_id: str,
        scheduler: Scheduler,
        events: Record,
        *,
        log_of: Callable[[str], Record],
        captures: Mapping[str, Tap],
        watches: Mapping[str, Watch],
        attacks: Attacks,
    ) -> None:
        self.flight = Flight()
        self._plan = plan
        self._run_id = run_id
        self._scheduler = scheduler
        self._captures = captures
        self._watches = watches
        self.attacks = attacks
        self._starts: Counter[str] = Counter()
        # Keys of the seed are no secrets: nobody attacks a simulation but itself, and it is to be repeated.
        self._keys = Keys(_secret(f"cbn simulator {plan.seed}"))
        self._rekeyed: Counter[int] = Counter()
        """How often each link was given a new key."""
        self._rekeyed_routers: Counter[str] = Counter()
        """How often each router was."""
        self.cores: dict[str, Router] = {}
        """The core of each router as it is now, for those who look on."""
        self._client_links: dict[str, Link] = {}
        self.routers = [self._router(node, log_of(node.name)) for node in plan.routers]
        self.clients = [self._client(node, events, log_of(node.name)) for node in plan.clients]
        self._nodes: dict[str, SimulatedNode] = {n.config.name: n for n in (*self.routers, *self.clients)}
        self._channels: dict[str, tuple[Channel, Channel]] = {}
        self.state = FaultState(plan)
        self._connect()

    @property
    def nodes(self) -> Iterable[SimulatedNode]:
        """Routers and clients, in order of id."""
        return self._nodes.values()

    def statuses(self) -> dict[str, dict[str, object]]:
        """What every core that runs says of itself, by the node's name."""
        return {name: node.status() for name, node in self._nodes.items() if node.life is Life.RUNNING}

    def unconverged(self) -> list[str]:
        """Why the network, as it is meant to be now, has not converged; empty: it has."""
        return unconverged(self.statuses(), self.state.down, self.state.repaired_ns)

    def has_converged(self) -> bool:
        """Whether nothing speaks against it; soon answered while somebody is busy, or still has to notice."""
        down = self.state.down
        for name, core in self.cores.items():
            if name not in down:
                if not core.settled:
                    return False
                if any(self._unnoticed(link, down) for link in core.links):
                    return False
        if any(name not in down and self._unnoticed(link, down) for name, link in self._client_links.items()):
            return False
        return not unconverged(self.statuses(), down, self.state.repaired_ns)

    def _unnoticed(self, link: Link, down: Collection[str]) -> bool:
        """Whether a node still has to find out that a link, or who is behind it, has gone or come back."""
        interface = link.interface
        if interface.name in down or interface.peer_name in down:
            return link.up
        return not link.up or link.received_ns < self.state.repaired_ns.get(interface.name, 0)

    def start(self) -> None:
        """Let every node begin, at this instant."""
        for node in self.nodes:
            node.start()

    def begin_background(self, start_ns: int) -> None:
        """Send the plan's background traffic from now on; `start_ns` is the scenario's time zero."""
        interfaces = {i.name: i for node in self._plan.nodes for i in node.interfaces}
        for flow in self._plan.background:
            interface = interfaces[flow.interface]
            link = self._plan.links[interface.link]
            forth, back = self._channels[link.name]
            channel = forth if flow.interface == link.a_interface else back
            frame = background_frame(interface, flow)
            self._scheduler.at(start_ns + flow.at_ns, self._send_background, (channel, frame, flow), 0)

    def _send_background(self, sent: tuple[Channel, bytes, Flow], number: int) -> None:
        channel, frame, flow = sent
        channel.carry(frame)
        if number + 1 < flow.frames:
            left_ns = int((number + 1) * flow.every_ns) - int(number * flow.every_ns)
            self._scheduler.at(self._scheduler.now_ns + left_ns, self._send_background, sent, number + 1)

    def apply(self, fault: Fault) -> None:
        """Let a fault happen, at this instant."""
        ACTIONS[fault.do](self, fault)
        self.state.note(fault, self._scheduler.now_ns)

    def _link_down(self, fault: Fault) -> None:
        for channel in self._channels[fault.target]:
            channel.take_down()

    def _link_up(self, fault: Fault) -> None:
        for channel in self._channels[fault.target]:
            channel.bring_up()

    def _impair(self, fault: Fault) -> None:
        there = fault.impairment or Impairment()
        forth, back = self._channels[fault.target]
        forth.impair(there)
        back.impair(fault.back or there)

    def _crash(self, fault: Fault) -> None:
        self._crashable(fault.target).crash()

    def _start(self, fault: Fault) -> None:
        router = self._crashable(fault.target)
        router.restart(self._new_core(router))

    def _pause(self, fault: Fault) -> None:
        self._nodes[fault.target].pause()

    def _resume(self, fault: Fault) -> None:
        self._nodes[fault.target].resume()

    def _rekey(self, fault: Fault) -> None:
        number = next(n for n, link in enumerate(self._plan.links) if link.name == fault.target)
        self._rekeyed[number] += 1
        key_id = number_after(self._rekeyed[number])
        secret = _secret(f"cbn simulator {self._plan.seed} {fault.target} {self._rekeyed[number]}")
        self._keys.use(number, LinkKey(key_id, secret))
        for node in self._plan.nodes:
            for interface in node.interfaces:
                if interface.link == number:
                    self._nodes[node.name].take_keys(interface.index, self._keys.of(number))

    def _rekey_router(self, fault: Fault) -> None:
        router = self._crashable(fault.target)
        router.crash()
        self._rekeyed_routers[fault.target] += 1
        seed = _secret(
            f"cbn simulator {self._plan.seed} {fault.target} {self._rekeyed_routers[fault.target]}"
        )
        self._keys.replace_signer(router.config.node_id, Signer(seed).public, seed)
        for node, each in zip(self._plan.routers, self.routers, strict=True):
            each.config = self._config(node)
            self.cores[node.name].use_signers(each.config.signers)
        router.restart(self._new_core(router))

    def _attack_link(self, fault: Fault) -> None:
        self.attacks.on_link(fault, self._channels[fault.target])

    def _flood(self, fault: Fault) -> None:
        self.attacks.flood(fault, self._nodes[fault.target])

    def _turn(self, fault: Fault) -> None:
        self.attacks.turn(fault, self._crashable(fault.target), self.cores[fault.target])

    def _turn_back(self, fault: Fault) -> None:
        repairs = KINDS[fault.do].repairs
        assert repairs is not None
        self.attacks.turn_back(repairs.name, fault.target)

    def _crashable(self, name: str) -> SimulatedRouter:
        node = self._nodes[name]
        assert isinstance(node, SimulatedRouter), f"{name} is a client: only routers crash"
        return node

    def _rng(self, name: str) -> Random:
        """The random stream of a node; a restarted node gets another one."""
        self._starts[name] += 1
        again = f"/{self._starts[name]}" if self._starts[name] > 1 else ""
        return Random(f"{self._plan.seed}/node/{name}{again}")

    def _new_core(self, router: SimulatedRouter) -> Router:
        name = router.config.name
        self.cores[name] = Router(router.config, self._rng(name))
        return self.cores[name]

    def _config(self, node: NodePlan) -> NodeConfig:
        return node_config(self._plan, node, self._run_id, keys=self._keys)

    def _router(self, node: NodePlan, log: Record) -> SimulatedRouter:
        config = self._config(node)
        core = self.cores[node.name] = Router(config, self._rng(node.name))
        return SimulatedRouter(config, core, self._scheduler, log)

    def _client(self, node: NodePlan, events: Record, log: Record) -> SimulatedClient:
        config = self._config(node)
        core = ClientCore(config, self._rng(node.name))
        self._client_links[node.name] = core.link
        script = ScriptedClient(core, node.script)
        return SimulatedClient(config, script, self._scheduler, log, application=script, events=events)

    def _connect(self) -> None:
        """Make both channels of every link and hand them to the nodes at its ends."""
        interfaces = {i.name: i for n in self._plan.nodes for i in n.interfaces}
        owner = {i.name: self._nodes[n.name] for n in self._plan.nodes for i in n.interfaces}
        leaving: dict[str, Channel] = {}
        arriving: dict[str, Channel] = {}
        for link in self._plan.links:
            for side, here, there, impairment in (
                ("a", link.a_interface, link.b_interface, link.impairment),
                ("b", link.b_interface, link.a_interface, link.impairment_back),
            ):
                seed = link_seed(self._plan.seed, link.name, side)
                end = End(interfaces[there].index, owner[there].arrive, self._captures.get(there))
                leaving[here] = arriving[there] = self._channel(link, interfaces[here], impairment, seed, end)
            self._channels[link.name] = leaving[link.a_interface], leaving[link.b_interface]
        for node in self.nodes:
            node.outgoing = [leaving[i.name] for i in node.config.interfaces]
            node.incoming = [arriving[i.name] for i in node.config.interfaces]

    def _channel(
        self, link: LinkPlan, source: InterfacePlan, impairment: Impairment, seed: int, end: End
    ) -> Channel:
        framer = Framer(
            source.name, (source.mac, source.peer_mac), (source.address, source.peer_address), link.mtu
        )
        return Channel(
            self._scheduler,
            self.flight,
            framer,
            impairment=impairment,
            model=LinkModel(seed, self._plan.timing.hop_delay_ns),
            capture=self._captures.get(source.name),
            end=end,
            watch=self.attacks.watch(source.name, self._watches.get(source.name)),
        )


ACTIONS: Mapping[str, Callable[[Network, Fault], None]] = {
    "link_down": Network._link_down,
    "link_up": Network._link_up,
    "impair": Network._impair,
    "crash": Network._crash,
    "start": Network._start,
    "pause": Network._pause,
    "resume": Network._resume,
    "rekey": Network._rekey,
    "rekey_router": Network._rekey_router,
    "replay": Network._attack_link,
    "forge": Network._attack_link,
    "flood": Network._flood,
    "mute": Network._turn,
    "speak": Network._turn_back,
    "lie": Network._turn,
    "behave": Network._turn_back,
}
"""What each kind of fault does."""


def _secret(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()
