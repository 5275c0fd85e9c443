"""The shell around a core in the simulator: what a daemon does with sockets and timers, without either.

A router's data plane is the compiled FIB's `forward_datagram`, and before the
first `Install` the kernel's `forward_without_fib`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol

from fastpath.fib import DropReason, Fib, count_messages, forward_without_fib
from fastpath.seal import MessageSeals
from fastpath.wire import codec
from fastpath.wire.codec import WireError, split_datagram
from nodes.config import InterfaceConfig, LinkKey, Messages, NodeConfig
from nodes.routing.effects import Core, Drop, Install, Log, Output, SealMessages, Send
from nodes.routing.router import Router
from nodes.wire.packets import FRAMING, PacketType
from testbed.sim.link import Channel
from testbed.sim.scheduler import Action, Scheduler

Forward = Callable[[bytes, int], tuple[Sequence[bytes], Sequence[tuple[int, bytes]], Sequence[int]]]
"""(datagram, ingress) -> (control packets, (interface, datagram) to send, drop reasons)."""

Record = Callable[[dict[str, object]], None]


RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024
"""How much waits on an interface for a node that stands still: what a daemon asks its kernel for."""


class Life(Enum):
    """Whether a node's process is there, and goes."""

    RUNNING = "running"
    PAUSED = "paused"
    CRASHED = "crashed"


class Application(Protocol):
    """A client's script: starts at time zero and keeps the account of what happened."""

    def start(self, now_ns: int) -> None:
        """The network is ready: the script's clock starts."""

    @property
    def recognising(self) -> bool:
        """Whether it holds messages back, to put them in order."""

    def take_events(self) -> list[dict[str, object]]:
        """What happened since the last call."""


class Compromised(Core, Protocol):
    """What stands between a router that attacks and the world (`nodes.attacks`)."""

    def forwarding(self, forward: Forward) -> Forward:
        """Forward by this, with what it does to messages."""

    def begin(self, now_ns: int, do: str, by: Sequence[str], share: float) -> None:
        """Attack from now on."""

    def end(self, now_ns: int, do: str) -> int:
        """Be honest again in this; how many packets something became of."""


class SimulatedNode(ABC):
    """Runs one core: timers, outputs, counters. One live heap entry holds its next deadline."""

    def __init__(self, config: NodeConfig, core: Core, scheduler: Scheduler, log: Record) -> None:
        self.config = config
        self.outgoing: list[Channel] = []
        """By interface index; the network fills both lists."""
        self.incoming: list[Channel] = []
        self._core = core
        self._scheduler = scheduler
        self._log = log
        self._armed_ns: int | None = None
        self._wake_action: Action = self._wake
        """Bound once, for each time that is armed."""
        self._life = Life.RUNNING
        self._held: deque[tuple[int, bytes]] = deque()
        self._held_bytes: Counter[int] = Counter()
        self._held_keys: dict[int, tuple[LinkKey, ...]] = {}
        self._overflows: Counter[int] = Counter()
        self._drops: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        """Messages by why their seals were counted."""
        self._seals = _seals(config)
        self._sent_messages: defaultdict[int, int] = defaultdict(int)
        self._received_messages: defaultdict[int, int] = defaultdict(int)

    def start(self) -> None:
        """Let the core begin."""
        self._settle()

    @property
    def life(self) -> Life:
        """Whether the node runs."""
        return self._life

    def pause(self) -> None:
        """Stand still; what arrives is kept as far as there is room."""
        self._stop(Life.PAUSED)

    def resume(self) -> None:
        """Go on, first with what has arrived meanwhile."""
        self._life = Life.RUNNING
        for interface, keys in self._held_keys.items():
            self._core.use_keys(self._scheduler.now_ns, interface, keys)
        if self._held_keys:
            self._held_keys.clear()
            self._settle()
        held, self._held = self._held, deque()
        self._held_bytes.clear()
        for interface, datagram in held:
            self.receive(interface, datagram)
        self._settle()

    def arrive(self, interface: int, datagram: bytes) -> None:
        """A datagram comes in from a link, whether there is somebody to take it or not."""
        if self._life is Life.RUNNING:
            self.receive(interface, datagram)
        elif self._life is Life.CRASHED:
            self._drops["node_down"] += 1
        elif self._held_bytes[interface] + len(datagram) > RECEIVE_BUFFER_BYTES:
            self._overflows[interface] += 1
        else:
            self._held_bytes[interface] += len(datagram)
            self._held.append((interface, datagram))

    def take_keys(self, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """The keys of a link are these now; who stands still takes them when it goes on."""
        interfaces = [*self.config.interfaces]
        interfaces[interface] = replace(interfaces[interface], keys=keys)
        self.config = replace(self.config, interfaces=tuple(interfaces))
        if self._life is Life.RUNNING:
            self._core.use_keys(self._scheduler.now_ns, interface, keys)
            self._settle()
        elif self._life is Life.PAUSED:
            self._held_keys[interface] = keys

    @property
    def core(self) -> Core:
        """What decides."""
        return self._core

    def look_again(self) -> None:
        """Somebody has done something to the core: carry out what it asks for, if the node runs."""
        if self._life is Life.RUNNING:
            self._settle()

    def _stop(self, life: Life) -> None:
        self._life = life
        self._scheduler.withdraw(self)
        self._armed_ns = None

    @abstractmethod
    def receive(self, interface: int, datagram: bytes) -> None:
        """Take a datagram from a link."""

    def status(self) -> dict[str, object]:
        """The core's account of itself."""
        return self._core.status()

    def final_status(self) -> dict[str, object]:
        """For `logs/<node>.status.json`: the core's account and the counters, as a daemon reports them."""
        return {
            "core": self._core.status(),
            "interfaces": [self._counters(i) for i in self.config.interfaces],
            "drops": {"control": dict(sorted(self._drops.items())), "forwarding": dict(self._refused)},
        }

    def _counters(self, interface: InterfaceConfig) -> dict[str, object]:
        at = interface.index
        sent = {"tx_messages": self._sent_messages[at], **self.outgoing[at].sent()}
        received = {"rx_messages": self._received_messages[at], **self.incoming[at].received()}
        return {"name": interface.name, **sent, **received}

    def _settle(self) -> None:
        """Carry out what the core asks for and see to its next deadline."""
        for output in self._core.take_outputs():
            if type(output) is Send:
                self._send(output)
            else:
                self._carry_out(output)
        self._arm(self._core.next_deadline())

    def _carry_out(self, output: Output) -> None:
        if isinstance(output, Drop):
            self._drops[output.reason] += 1
        elif isinstance(output, Log):
            self._write_log(output)
        elif isinstance(output, SealMessages) and self._seals is not None:
            self._seals.use(output.interface, output.sending, output.receiving)

    def _opened(self, interface: int, datagram: bytes) -> bytes:
        """What is taken of a datagram: its messages if their seal lets them in."""
        if self._seals is None:
            return datagram
        taken, reason, messages = self._seals.open(interface, datagram)
        if messages:
            self._refused[DropReason(reason).name] += messages
        return taken

    def _send(self, output: Send) -> None:
        self.outgoing[output.interface].send(output.datagram, False)

    def _write_log(self, output: Log) -> None:
        header = {"time_ns": self._scheduler.now_ns, "node": self.config.name, "event": output.event}
        self._log({**header, **output.fields, **header})

    def _arm(self, deadline_ns: int | None) -> None:
        if deadline_ns is None or (self._armed_ns is not None and self._armed_ns <= deadline_ns):
            return  # an entry that fires too early looks again; one that fires too late would be wrong
        self._armed_ns = max(deadline_ns, self._scheduler.now_ns)
        self._scheduler.at(self._armed_ns, self._wake_action, self._armed_ns)

    def _wake(self, armed_ns: int, _: None) -> None:
        if armed_ns != self._armed_ns:
            return  # an earlier deadline took this entry's place
        self._armed_ns = None
        deadline_ns = self._core.next_deadline()
        if deadline_ns is not None and deadline_ns <= armed_ns:
            self._core.handle_timer(armed_ns)
            self._settle()
        else:
            self._arm(deadline_ns)


def _seals(config: NodeConfig) -> MessageSeals | None:
    """Those of a node that has just started, if messages are sealed."""
    mode = config.security.messages
    return None if mode is Messages.OFF else MessageSeals(len(config.interfaces), mode)


FOR_THE_CORE = frozenset(map(int, (PacketType.HELLO, PacketType.CONTROL, PacketType.ACK)))
"""What a data plane hands on as it is."""


class SimulatedRouter(SimulatedNode):
    """A router: messages through the FIB, the rest to the core."""

    def __init__(self, config: NodeConfig, core: Core, scheduler: Scheduler, log: Record) -> None:
        super().__init__(config, core, scheduler, log)
        self._forward: Forward = forward_without_fib
        self.compromised: Compromised | None = None
        """What stands before its core, once it attacks."""
        self._honest = core
        self._dropped = [0] * (max(DropReason) + 1)
        self.forwarded = 0

    def crash(self) -> None:
        """Stop without a word: all that the core knew is gone, and what waited for it."""
        self._stop(Life.CRASHED)
        self._held.clear()
        self._held_bytes.clear()
        self._held_keys.clear()
        self._forward = forward_without_fib

    def restart(self, core: Core) -> None:
        """Start anew, with a core that knows nothing yet, and is honest."""
        self._core = self._honest = core
        self.compromised = None
        self._seals = _seals(self.config)
        self._life = Life.RUNNING
        self._settle()

    def turn(self, compromised: Compromised) -> None:
        """From now on somebody stands between its core and the world."""
        self._core = self.compromised = compromised
        self._forward = compromised.forwarding(self._forward)

    @property
    def core(self) -> Core:
        """Its own, whatever stands before it."""
        return self._honest

    @property
    def recognising(self) -> bool:
        """Whether it holds messages back, to recognise patterns, or has matches under way to a neighbour."""
        core = self._honest
        return self._life is Life.RUNNING and isinstance(core, Router) and core.recognising

    def receive(self, interface: int, datagram: bytes) -> None:
        """Forward the messages of a datagram; hand the core what is left."""
        looked_into = self._seals is not None or self.compromised is not None
        if not looked_into and codec.lone_type(datagram) in FOR_THE_CORE:
            self._core.receive(self._scheduler.now_ns, interface, datagram)
            self._settle()
            return
        self._received_messages[interface] += count_messages(datagram)
        taken = self._opened(interface, datagram)
        if not taken:
            return
        control, outputs, drops = self._forward(taken, interface)
        inside: list[bytes] = []  # for the router's own monitors
        outgoing, sent, seals = self.outgoing, self._sent_messages, self._seals
        for egress, bundle in outputs:
            if egress == len(outgoing):
                inside = [bundle[at : at + size] for _, at, size in split_datagram(bundle)]
                continue
            sent[egress] += count_messages(bundle)
            outgoing[egress].send(bundle if seals is None else seals.seal(egress, bundle), True)
        self.forwarded += len(outputs) - bool(inside)
        for reason in drops:
            self._dropped[reason] += 1
        if control or inside:
            for packet in control:
                self._core.receive(self._scheduler.now_ns, interface, packet)
            for packet in inside:
                self._core.receive(self._scheduler.now_ns, len(outgoing), packet)
            self._settle()

    def final_status(self) -> dict[str, object]:
        """With the data plane's drops beside the core's."""
        forwarding = {
            reason.name: self._dropped[reason] + self._refused[reason.name] for reason in DropReason
        }
        drops = {"control": dict(sorted(self._drops.items())), "forwarding": forwarding}
        return {**super().final_status(), "drops": drops}

    def _carry_out(self, output: Output) -> None:
        if isinstance(output, Install):
            self._install(output.fib)
        else:
            super()._carry_out(output)

    def _install(self, fib: Fib) -> None:
        forward = fib.forward_datagram
        self._forward = forward if self.compromised is None else self.compromised.forwarding(forward)


NO_ACTION = ("deliver", "deliver_match")
"""Events of clients that are no actions of their scripts."""


class SimulatedClient(SimulatedNode):
    """A client: every packet to the core, and the script's events to the run."""

    def __init__(
        self,
        config: NodeConfig,
        core: Core,
        scheduler: Scheduler,
        log: Record,
        *,
        application: Application,
        events: Record,
    ) -> None:
        super().__init__(config, core, scheduler, log)
        self._application = application
        self._events = events
        self.acted = 0
        """Actions of the script that were carried out."""

    @property
    def recognising(self) -> bool:
        """Whether its application holds messages back."""
        return self._application.recognising

    def start_script(self) -> None:
        """The network is ready: time zero of the script."""
        self._application.start(self._scheduler.now_ns)
        self._settle()

    def receive(self, interface: int, datagram: bytes) -> None:
        """Hand the core every packet of a datagram."""
        try:
            packets = split_datagram(datagram)
        except WireError:
            self._drops[DropReason.MALFORMED.name] += 1
            return
        self._received_messages[interface] += count_messages(datagram)
        taken = self._opened(interface, datagram)
        if taken is not datagram:
            packets = split_datagram(taken) if taken else []
        for kind, at, size in packets:
            if kind not in FRAMING:
                self._core.receive(self._scheduler.now_ns, interface, taken[at : at + size])
        self._settle()

    def _send(self, output: Send) -> None:
        datagram, messages = output.datagram, count_messages(output.datagram)
        self._sent_messages[output.interface] += messages
        if self._seals is not None:
            datagram = self._seals.seal(output.interface, datagram)
        self.outgoing[output.interface].send(datagram, messages > 0)

    def _settle(self) -> None:
        super()._settle()
        for event in self._application.take_events():
            self._events(event)
            self.acted += event["event"] not in NO_ACTION
