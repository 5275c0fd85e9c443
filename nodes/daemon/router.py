"""A router process: the sans-IO router above, the compiled data plane below.

MESSAGE packets never reach Python; everything else waits in the data plane's
queue until the loop takes it to the core.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from socket import socket
from typing import Protocol

from fastpath.dataplane import DataPlane
from fastpath.fib import Fib
from fastpath.seal import MessageSeals
from nodes.config import NodeConfig
from nodes.daemon.admin import Command
from nodes.daemon.clock import Clock
from nodes.daemon.journal import Journal
from nodes.daemon.loop import Loop
from nodes.daemon.shell import Shell
from nodes.daemon.sockets import open_interfaces, receive_buffer_bytes
from nodes.routing.effects import Deliver, DeliverMatch, Reason, SealMessages, Shut
from nodes.routing.router import Router
from nodes.scheme_catalog import factors_patterns


class Plane(Protocol):
    """What forwards messages: see `fastpath.dataplane.DataPlane`."""

    def install(self, fib: Fib) -> None:
        """Forward by this from now on."""

    def run(self) -> None:
        """Forward until `stop`, in a thread of its own."""

    def stop(self) -> None:
        """Let `run` return."""

    def shut(self, interface: int, shut: bool) -> None:
        """The control plane takes neither CONTROL nor ACK from there, or does so again."""

    def control_fd(self) -> int:
        """Readable while there is something to take."""

    def take_control(self) -> Sequence[tuple[int, bytes]]:
        """What the control plane is to have, by interface."""

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send what the control plane has to say."""

    def counters(self) -> Mapping[str, object]:
        """How much has passed, and what was lost."""


MakePlane = Callable[[NodeConfig, Sequence[socket], MessageSeals], Plane]


def compiled_plane(config: NodeConfig, sockets: Sequence[socket], seals: MessageSeals) -> Plane:
    """The one that routers have."""
    inner = factors_patterns(config.scheme_options)
    descriptors = [s.fileno() for s in sockets]
    return DataPlane(descriptors, inner=inner, seals=seals if config.security.messages else None)


class RouterNode:
    """Carries out what a `Router` wants over one UDP socket an interface."""

    def __init__(
        self,
        config: NodeConfig,
        rng: Random,
        clock: Clock,
        log: Journal,
        make_plane: MakePlane = compiled_plane,
    ) -> None:
        self._sockets = open_interfaces(config.interfaces)
        self._seals = MessageSeals(len(self._sockets), config.security.messages)
        self._plane = make_plane(config, self._sockets, self._seals)
        self._thread = threading.Thread(target=self._forward, name="dataplane", daemon=True)
        self._fib: Fib | None = None
        self._loop: Loop | None = None
        self._defect: BaseException | None = None
        self._router = Router(config, rng)
        self.shell = Shell(config, self._router, self, clock, log)

    def attach(self, loop: Loop) -> None:
        """Start forwarding and watch for control packets."""
        self._loop = loop
        loop.watch(self._plane.control_fd(), self._take_control)
        self._thread.start()
        sizes = [receive_buffer_bytes(s) for s in self._sockets]
        self.shell.log("started", role="router", receive_buffer_bytes=min(sizes, default=0))

    def tick(self) -> int | None:
        """Do what is due; a defect of the data plane's thread surfaces here."""
        if self._defect is not None:
            raise self._defect
        return self.shell.tick()

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send what the control plane has to say."""
        return self._plane.send(interface, datagram)

    def install(self, fib: Fib) -> None:
        """Forward with this FIB from now on."""
        self._fib = fib
        self._plane.install(fib)

    def seal_messages(self, output: SealMessages) -> None:
        """The data plane does so from the next datagram on."""
        self._seals.use(output.interface, output.sending, output.receiving)

    def shut(self, output: Shut) -> None:
        """The data plane drops there what counts, or lets it through again."""
        self._plane.shut(output.interface, output.shut)

    def deliver(self, output: Deliver | DeliverMatch) -> None:
        """A router has no application; its core must not ask for this."""
        raise AssertionError(f"a router was to deliver {output}")

    def status(self) -> dict[str, object]:
        """The core's status, with the shell's and the data plane's counters."""
        counters = self._plane.counters()
        interfaces = self._interfaces(counters["interfaces"])
        return {
            "core": self.shell.core.status(),
            "interfaces": interfaces,
            "inner": counters["inner"],
            "drops": {"control": self._control_drops(interfaces), "forwarding": counters["drops"]},
        }

    def tables(self) -> dict[str, object]:
        """What the router knows and forwards by, as text, and the size of the installed FIB."""
        fib = self._fib.stats() if self._fib is not None else None
        return {"text": self._router.tables(), "fib": fib}

    def commands(self) -> dict[str, Command]:
        """`settled`: whether nothing is under way, which takes less time than a whole status."""
        return {"settled": lambda _: {"settled": self._router.settled}}

    def close(self) -> None:
        """End forwarding, then give the sockets back: the data plane does not own them."""
        self._plane.stop()
        if self._thread.is_alive():
            self._thread.join()
        for sock in self._sockets:
            sock.close()

    def _control_drops(self, interfaces: list[dict[str, object]]) -> dict[str, int]:
        """Those of the core, and those that the data plane has spared it."""
        drops = Counter(self.shell.drops)
        for row in interfaces:
            spared = row[Reason.OVER_SHARE]
            assert isinstance(spared, int)
            drops[Reason.OVER_SHARE] += spared
        return dict(sorted((+drops).items()))

    def _interfaces(self, rows: object) -> list[dict[str, object]]:
        assert isinstance(rows, list)
        return [
            {"name": config.name, **row}
            for config, row in zip(self.shell.config.interfaces, rows, strict=True)
        ]

    def _take_control(self) -> None:
        self.shell.receive_all(self._plane.take_control())

    def _forward(self) -> None:
        assert self._loop is not None
        try:
            self._plane.run()
        except BaseException as error:
            self._defect = error
            self._loop.wake()
