"""The shell around a core in the simulator: what a daemon does with sockets and timers, without either.

A router's data plane is the compiled FIB's `forward_datagram`; before the
first `Install` the data plane's own rule holds: messages are dropped as
NO_FIB, control passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from fastpath.codec import WireError, split_datagram
from fastpath.fib import DropReason, Fib
from nodes.config import NodeConfig
from nodes.routing.effects import Core, Drop, Install, Log, Output, Send
from nodes.wire.packets import PacketType
from testbed.sim.link import Channel
from testbed.sim.scheduler import Scheduler

Forward = Callable[[bytes, int], tuple[Sequence[bytes], Sequence[tuple[int, bytes]], Sequence[int]]]
"""(datagram, ingress) -> (control packets, (interface, datagram) to send, drop reasons)."""

Record = Callable[[dict[str, object]], None]


class Application(Protocol):
    """A client's script: starts at time zero and keeps the account of what happened."""

    def start(self, now_ns: int) -> None:
        """The network is ready: the script's clock starts."""

    def take_events(self) -> list[dict[str, object]]:
        """What happened since the last call."""


def forward_without_fib(
    datagram: bytes, ingress: int
) -> tuple[list[bytes], list[tuple[int, bytes]], list[int]]:
    """What the data plane does before it has a FIB."""
    del ingress
    try:
        packets = split_datagram(datagram)
    except WireError:
        return [], [], [DropReason.MALFORMED]
    control = [datagram[at : at + size] for kind, at, size in packets if kind > PacketType.MESSAGE]
    return control, [], [DropReason.NO_FIB for kind, _, _ in packets if kind == PacketType.MESSAGE]


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
        self._drops: Counter[str] = Counter()

    def start(self) -> None:
        """Let the core begin."""
        self._settle()

    @abstractmethod
    def receive(self, interface: int, datagram: bytes) -> None:
        """Take a datagram from a link."""

    def status(self) -> dict[str, object]:
        """The core's account of itself."""
        return self._core.status()

    def final_status(self) -> dict[str, object]:
        """For `logs/<node>.status.json`: the core's account and the counters, as a daemon reports them."""
        rows = zip(self.config.interfaces, self.outgoing, self.incoming, strict=True)
        return {
            "core": self._core.status(),
            "interfaces": [{"name": i.name, **tx.sent(), **rx.received()} for i, tx, rx in rows],
            "drops": {"control": dict(sorted(self._drops.items()))},
        }

    def _settle(self) -> None:
        """Carry out what the core asks for and see to its next deadline."""
        for output in self._core.take_outputs():
            self._carry_out(output)
        self._arm()

    def _carry_out(self, output: Output) -> None:
        if isinstance(output, Send):
            self._send(output)
        elif isinstance(output, Drop):
            self._drops[output.reason] += 1
        elif isinstance(output, Log):
            self._write_log(output)

    def _send(self, output: Send) -> None:
        self.outgoing[output.interface].send(output.datagram, False)

    def _write_log(self, output: Log) -> None:
        header = {"time_ns": self._scheduler.now_ns, "node": self.config.name, "event": output.event}
        self._log({**header, **output.fields, **header})

    def _arm(self) -> None:
        deadline_ns = self._core.next_deadline()
        if deadline_ns is None or (self._armed_ns is not None and self._armed_ns <= deadline_ns):
            return  # an entry that fires too early looks again; one that fires too late would be wrong
        self._armed_ns = max(deadline_ns, self._scheduler.now_ns)
        self._scheduler.at(self._armed_ns, self._wake, self._armed_ns)

    def _wake(self, armed_ns: int, _: None) -> None:
        if armed_ns != self._armed_ns:
            return  # an earlier deadline took this entry's place
        self._armed_ns = None
        deadline_ns = self._core.next_deadline()
        if deadline_ns is not None and deadline_ns <= armed_ns:
            self._core.handle_timer(armed_ns)
            self._settle()
        else:
            self._arm()


class SimulatedRouter(SimulatedNode):
    """A router: messages through the FIB, the rest to the core."""

    def __init__(self, config: NodeConfig, core: Core, scheduler: Scheduler, log: Record) -> None:
        super().__init__(config, core, scheduler, log)
        self._forward: Forward = forward_without_fib
        self._dropped = [0] * (max(DropReason) + 1)
        self.forwarded = 0

    def receive(self, interface: int, datagram: bytes) -> None:
        """Forward the messages of a datagram; hand the core what is left."""
        control, outputs, drops = self._forward(datagram, interface)
        outgoing = self.outgoing
        for egress, packet in outputs:
            outgoing[egress].send(packet, True)
        self.forwarded += len(outputs)
        for reason in drops:
            self._dropped[reason] += 1
        for packet in control:
            self._core.receive(self._scheduler.now_ns, interface, packet)
            self._settle()

    def final_status(self) -> dict[str, object]:
        """With the data plane's drops beside the core's."""
        forwarding = {reason.name: self._dropped[reason] for reason in DropReason}
        drops = {"control": dict(sorted(self._drops.items())), "forwarding": forwarding}
        return {**super().final_status(), "drops": drops}

    def _carry_out(self, output: Output) -> None:
        if isinstance(output, Install):
            self._install(output.fib)
        else:
            super()._carry_out(output)

    def _install(self, fib: Fib) -> None:
        self._forward = fib.forward_datagram


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
        for kind, at, size in packets:
            if kind != PacketType.PAD:
                self._core.receive(self._scheduler.now_ns, interface, datagram[at : at + size])
                self._settle()

    def _send(self, output: Send) -> None:
        kinds = split_datagram(output.datagram)
        self.outgoing[output.interface].send(
            output.datagram, any(kind == PacketType.MESSAGE for kind, _, _ in kinds)
        )

    def _settle(self) -> None:
        super()._settle()
        for event in self._application.take_events():
            self._events(event)
            self.acted += event["event"] != "deliver"
