"""Runs a sans-IO core: hands it packets and time, and does what it asks for.

The same for routers and clients; what carries the packets differs and is a
`Carrier`. No decision lives here (`nodes.routing.effects` is the seam).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fastpath.fib import Fib
from nodes.config import NodeConfig
from nodes.config_file import with_keys
from nodes.daemon.admin import Command
from nodes.daemon.clock import Clock
from nodes.daemon.journal import Journal
from nodes.daemon.loop import Loop
from nodes.routing.effects import (
    Core,
    Deliver,
    DeliverMatch,
    Drop,
    Install,
    Log,
    Output,
    SealMessages,
    Send,
    Shut,
)

PACKETS_A_TURN = 64
"""How many packets the core takes before what it asks for is done."""


class Carrier(Protocol):
    """What carries a node's packets."""

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send one datagram; False if it could not be sent."""

    def install(self, fib: Fib) -> None:
        """Forward with this FIB from now on."""

    def deliver(self, output: Deliver | DeliverMatch) -> None:
        """Hand a message, or a match, to the application."""

    def seal_messages(self, output: SealMessages) -> None:
        """Seal messages, and take sealed ones, with these keys from now on."""

    def shut(self, output: Shut) -> None:
        """What the core would drop at an interface need not be brought to it; or it takes it again."""


class Shell:
    """A core, its carrier, its clock and its log."""

    def __init__(self, config: NodeConfig, core: Core, carrier: Carrier, clock: Clock, log: Journal) -> None:
        self.config = config
        self.core = core
        self.clock = clock
        self.drops: Counter[str] = Counter()
        self._carrier = carrier
        self._log = log

    def receive(self, interface: int, packet: bytes) -> None:
        """Give the core one packet and do what it then asks for."""
        self.core.receive(self.clock.now_ns(), interface, packet)
        self.carry_out()

    def receive_all(self, packets: Sequence[tuple[int, bytes]]) -> None:
        """Give the core what came on any interface, and then do what it asks for.

        What waited together is answered together: one acknowledgement, and
        datagrams with several packets in them. A node that does not keep up
        has more waiting each time, and so catches up.
        """
        for at in range(0, len(packets), PACKETS_A_TURN):
            for interface, packet in packets[at : at + PACKETS_A_TURN]:
                self.core.receive(self.clock.now_ns(), interface, packet)
            self.carry_out()

    def tick(self) -> int | None:
        """Let the core do what is due; returns when it wants to be called next."""
        deadline_ns = self.core.next_deadline()
        now_ns = self.clock.now_ns()
        if deadline_ns is not None and deadline_ns <= now_ns:
            self.core.handle_timer(now_ns)
            self.carry_out()
            deadline_ns = self.core.next_deadline()
        return deadline_ns

    def take_keys(self) -> None:
        """Read the keys of the links, and of routers, anew, and use them from now on.

        Raises:
            ConfigError: Their file cannot be used. All stays as it was.
            RecordError: It, or one of the keys, is not there; likewise.
        """
        self.config = with_keys(self.config)
        for interface in self.config.interfaces if self.config.security.seals else ():
            self.core.use_keys(self.clock.now_ns(), interface.index, interface.keys)
        self.core.use_signers(self.config.signers)
        self.carry_out()
        numbers = {each.name: [key.key_id for key in each.keys] for each in self.config.interfaces}
        self.log("keys", numbers=numbers)

    def carry_out(self) -> None:
        """Do, in order, what the core has asked for."""
        for output in self.core.take_outputs():
            self._do(output)

    def dropped(self) -> dict[str, int]:
        """What was dropped, by reason."""
        return dict(sorted(self.drops.items()))

    def log(self, event: str, **fields: object) -> None:
        """Write one line to the node's log."""
        self._write(Log(event, fields))

    def _write(self, said: Log) -> None:
        header = {"time_ns": self.clock.now_ns(), "node": self.config.name, "event": said.event}
        self._log.write({**header, **said.fields, **header})

    def _do(self, output: Output) -> None:
        match output:
            case Send(interface=interface, datagram=datagram):
                if not self._carrier.send(interface, datagram):
                    self.drops["send_failed"] += 1
            case Install(fib):
                self._carrier.install(fib)
            case Deliver() | DeliverMatch():
                self._carrier.deliver(output)
            case SealMessages():
                self._carrier.seal_messages(output)
            case Shut():
                self._carrier.shut(output)
            case Drop(_, reason):
                self.drops[reason] += 1
            case Log():
                self._write(output)


class Node(Protocol):
    """A router or a client as the process's main program sees it."""

    shell: Shell

    def attach(self, loop: Loop) -> None:
        """Begin: watch the descriptors, start the threads."""

    def tick(self) -> int | None:
        """Do what is due; returns the next deadline."""

    def status(self) -> dict[str, object]:
        """A JSON-ready account of core, carrier and drops."""

    def tables(self) -> dict[str, object]:
        """A JSON-ready account of what messages are forwarded by."""

    def commands(self) -> dict[str, Command]:
        """What can be asked of this kind of node beyond what every node answers."""

    def close(self) -> None:
        """End threads, close sockets and files."""


def status_path(config: NodeConfig) -> Path | None:
    """Where the last status goes: beside the log, or nowhere if that is standard error."""
    return Path(config.log_path).with_suffix(".status.json") if config.log_path else None


def status_of(node: Node, loop: Loop) -> dict[str, object]:
    """What a node answers to `status`: its own account, and how late its loop met deadlines."""
    return {**node.status(), "lateness": loop.lateness.status()}


def write_status(node: Node, loop: Loop) -> None:
    """Write the last status, whole or not at all."""
    target = status_path(node.shell.config)
    if target is None:
        return
    partial = target.with_name(target.name + ".partial")
    partial.write_text(json.dumps(status_of(node, loop), indent=1, default=repr) + "\n", encoding="utf-8")
    partial.replace(target)
