"""A client process: a script run by the sans-IO client over one UDP socket."""

from __future__ import annotations

from random import Random

from fastpath.fib import DropReason, Fib
from fastpath.wire.codec import WireError
from nodes.client.core import ClientCore
from nodes.client.recording import earlier_life
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
from nodes.routing.effects import Deliver, DeliverMatch, SealMessages, Shut

DATAGRAMS_A_TURN = 256
FLUSH_NS = NS


class ClientNode:
    """Runs a client's script and writes down what happens to it."""

    def __init__(
        self, config: NodeConfig, actions: tuple[Action, ...], core: ClientCore, clock: Clock, log: Journal
    ) -> None:
        self._script = ScriptedClient(core, actions)
        self._link = _open(config)
        self._loop: Loop | None = None
        self._aside = False
        """Whether a program has taken our place."""
        self._shared = False
        """Whether one has ever: then our counters are not those of the address."""
        self._events = Journal(config.events_path, BLOCK_BUFFERED) if config.events_path else None
        self._flush_due_ns = 0
        self._started = False
        self.shell = Shell(config, self._script, self, clock, log)

    def attach(self, loop: Loop) -> None:
        """Watch the socket."""
        self._loop = loop
        loop.watch(self._link.fileno(), self._on_readable)
        self.shell.log("started", role="client", receive_buffer_bytes=self._link.receive_buffer_bytes())

    def commands(self) -> dict[str, Command]:
        """What a client can be asked.

        `start` with `at_ns`: the script's time zero is then; `step_aside`, `come_back`; what is done by hand.
        """
        hands = by_hand.commands(self._script, self.shell.clock.now_ns, self.shell.carry_out)
        places = {"step_aside": self._step_aside, "come_back": self._come_back}
        return {"start": self._start, **places, **hands}

    def tick(self) -> int | None:
        """Do what is due; write down what has happened. Nothing is due while a program has our place."""
        if self._aside:
            return self._write_events(None)
        deadline_ns = self.shell.tick()
        return self._write_events(deadline_ns)

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send on the one interface a client has."""
        assert interface == 0
        return self._link.send(datagram)

    def install(self, fib: Fib) -> None:
        """A client forwards nothing; its core must not ask for this."""
        raise AssertionError(f"a client was to install {fib}")

    def seal_messages(self, output: SealMessages) -> None:
        """The one link does so from the next datagram on."""
        assert output.interface == 0
        self._link.seal_messages(output)

    def shut(self, output: Shut) -> None:
        """Nothing lies between the socket and the core, which drops what it does not take."""

    def deliver(self, output: Deliver | DeliverMatch) -> None:
        """The script has noted the delivery as an event already."""

    def status(self) -> dict[str, object]:
        """The core's status, with the shell's and the socket's counters."""
        return {
            "core": self.shell.core.status(),
            "interfaces": [] if self._shared else [self._link.counters()],
            "drops": {"control": self.shell.dropped(), "forwarding": dict(self._link.refused)},
        }

    def tables(self) -> dict[str, object]:
        """A client forwards nothing."""
        return {"text": "", "fib": None}

    def close(self) -> None:
        """Write what is left to write and close the socket."""
        self._write_events(None)
        if self._events is not None:
            self._events.close()
        if not self._aside:
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

    def _step_aside(self, _: Request) -> dict[str, object]:
        """Leave the network and give the address free; the router notices by the hold time at the latest."""
        if self._aside:
            raise RequestError("a program has taken this client's place already")
        self._script.step_aside(self.shell.clock.now_ns())
        self.shell.carry_out()
        self._write_events(None)
        if self._events is not None:
            self._events.flush()
        assert self._loop is not None
        self._loop.forget(self._link.fileno())
        self._link.close()
        self._aside = self._shared = True
        return {}

    def _come_back(self, _: Request) -> dict[str, object]:
        """Take the address again and go on; what the script was to do meanwhile is due now."""
        if not self._aside:
            raise RequestError("no program has taken this client's place")
        config = self.shell.config
        self._link = _open(config)
        events, last_sequence = earlier_life(config.events_path)
        now_ns = self.shell.clock.now_ns()
        rng = Random(f"{config.seed}/node/{config.name}/{now_ns}")
        core = ClientCore(config, rng, max(last_sequence, self._script.core.last_sequence))
        self._script.come_back(now_ns, core, events)
        self._aside = False
        assert self._loop is not None
        self._loop.watch(self._link.fileno(), self._on_readable)
        return {}

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


def _open(config: NodeConfig) -> UdpLink:
    interface = config.interfaces[0]
    return UdpLink(open_interface(interface), interface.name, config.security.messages)
