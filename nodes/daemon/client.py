"""A client process: a script run by the sans-IO client over one UDP socket."""

from __future__ import annotations

from fastpath.fib import DropReason, Fib
from fastpath.wire.codec import WireError
from nodes.client.core import ClientCore
from nodes.client.script import ScriptedClient
from nodes.config import Action, NodeConfig
from nodes.daemon import by_hand
from nodes.daemon.admin import Command, Request, RequestError
from nodes.daemon.clock import NS, Clock
from nodes.daemon.journal import BLOCK_BUFFERED, Journal
from nodes.daemon.loop import Loop
from nodes.daemon.shell import Shell
from nodes.daemon.sockets import open_interface
from nodes.daemon.udp import UdpLink
from nodes.routing.effects import Deliver

DATAGRAMS_A_TURN = 256
FLUSH_NS = NS


class ClientNode:
    """Runs a client's script and writes down what happens to it."""

    def __init__(
        self, config: NodeConfig, actions: tuple[Action, ...], core: ClientCore, clock: Clock, log: Journal
    ) -> None:
        self._script = ScriptedClient(core, actions)
        self._link = UdpLink(open_interface(config.interfaces[0]), config.interfaces[0].name)
        self._events = Journal(config.events_path, BLOCK_BUFFERED) if config.events_path else None
        self._flush_due_ns = 0
        self._started = False
        self.shell = Shell(config, self._script, self, clock, log)

    def attach(self, loop: Loop) -> None:
        """Watch the socket."""
        loop.watch(self._link.fileno(), self._on_readable)
        self.shell.log("started", role="client", receive_buffer_bytes=self._link.receive_buffer_bytes())

    def commands(self) -> dict[str, Command]:
        """`start` with `at_ns`: the script's time zero is then; and what is done by hand."""
        hands = by_hand.commands(self._script, self.shell.clock.now_ns, self.shell.carry_out)
        return {"start": self._start, **hands}

    def tick(self) -> int | None:
        """Do what is due; write down what has happened."""
        deadline_ns = self.shell.tick()
        return self._write_events(deadline_ns)

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send on the one interface a client has."""
        assert interface == 0
        return self._link.send(datagram)

    def install(self, fib: Fib) -> None:
        """A client forwards nothing; its core must not ask for this."""
        raise AssertionError(f"a client was to install {fib}")

    def deliver(self, output: Deliver) -> None:
        """The script has noted the delivery as an event already."""

    def status(self) -> dict[str, object]:
        """The core's status, with the shell's and the socket's counters."""
        return {
            "core": self.shell.core.status(),
            "interfaces": [self._link.counters()],
            "drops": {"control": self.shell.dropped()},
        }

    def tables(self) -> dict[str, object]:
        """A client forwards nothing."""
        return {"text": "", "fib": None}

    def close(self) -> None:
        """Write what is left to write and close the socket."""
        self._write_events(None)
        if self._events is not None:
            self._events.close()
        self._link.close()

    def _start(self, request: Request) -> dict[str, object]:
        at_ns = request.get("at_ns")
        if not isinstance(at_ns, int) or isinstance(at_ns, bool) or not 0 <= at_ns < 2**63:
            raise RequestError(f'"start" needs "at_ns", a time in ns since 1970; got {at_ns!r}')
        if self._started:
            raise RequestError("the script has been started before")
        self._started = True
        self._script.start(at_ns)
        self.shell.carry_out()
        self.shell.log("script", at_ns=at_ns)
        return {"now_ns": self.shell.clock.now_ns()}

    def _on_readable(self) -> None:
        for _ in range(DATAGRAMS_A_TURN):
            datagram = self._link.receive()
            if datagram is None:
                return
            self._take(datagram)

    def _take(self, datagram: bytes) -> None:
        try:
            packets = self._link.split(datagram)
        except WireError:
            self.shell.drops[DropReason.MALFORMED.name] += 1
            return
        for packet in packets:
            self.shell.receive(0, packet)

    def _write_events(self, deadline_ns: int | None) -> int | None:
        """Write new events; returns the deadline, brought forward if a flush is due before it."""
        events = self._script.take_events()
        if self._events is None:
            return deadline_ns
        for event in events:
            self._events.write(event)
        now_ns = self.shell.clock.now_ns()
        if events and not self._flush_due_ns:
            self._flush_due_ns = now_ns + FLUSH_NS
        if self._flush_due_ns and self._flush_due_ns <= now_ns:
            self._events.flush()
            self._flush_due_ns = 0
        due = [at for at in (deadline_ns, self._flush_due_ns) if at]
        return min(due, default=None)
