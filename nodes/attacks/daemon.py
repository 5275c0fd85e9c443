"""A compromised router as a process: what an honest one is, until it is asked to attack, by its admin socket.

Requests, besides those of every router: `attack` (with `what`, `by` and `share`), and `behave` (with `what`),
which answers how many packets something became of. Messages are forwarded in compiled code, which can keep
them to itself, all of them, and nothing else.
"""

from __future__ import annotations

from random import Random

from fastpath.fib import Fib
from nodes.attacks.compromised import CompromisedCore
from nodes.attacks.ways import OF_PROCESSES
from nodes.config import NodeConfig
from nodes.daemon.admin import Command, Request, RequestError
from nodes.daemon.clock import Clock
from nodes.daemon.journal import Journal
from nodes.daemon.router import RouterNode
from nodes.daemon.shell import Node
from nodes.wire.packets import Role

KEPT_BACK = {("mute", "message"), ("lie", "drop")}
"""Ways in which no message is forwarded."""


class CompromisedRouter(RouterNode):
    """A router whose core has somebody before it."""

    def __init__(self, config: NodeConfig, rng: Random, clock: Clock, log: Journal) -> None:
        super().__init__(config, rng, clock, log)
        self._turned = CompromisedCore(self._router, rng)
        self.shell.core = self._turned
        self._clock = clock
        clients = [i.peer_id if i.peer_role is Role.CLIENT else 0 for i in config.interfaces]
        self._nothing = Fib(0, clients, [], [])
        """Forwards no message."""
        self._kept_back: dict[str, int] = {}
        """By attack: how many messages had come when it began to keep them back."""

    def install(self, fib: Fib) -> None:
        """As a router, unless messages are kept back: then once they are not."""
        self._fib = fib
        if not self._kept_back:
            self._plane.install(fib)

    def commands(self) -> dict[str, Command]:
        """With those to attack."""
        return {**super().commands(), "attack": self._attack, "behave": self._behave}

    def _attack(self, request: Request) -> object:
        what, by, share = request.get("what"), request.get("by"), request.get("share", 1.0)
        known = OF_PROCESSES.get(str(what))
        if known is None or not isinstance(by, list) or not {*by} <= {*known} or share != 1:
            expected = "; ".join(f"{name} by {', '.join(ways)}" for name, ways in OF_PROCESSES.items())
            raise RequestError(f"expected what, by, and share 1: {expected}")
        self._turned.begin(self._clock.now_ns(), str(what), by, 1.0)
        if any((what, way) in KEPT_BACK for way in by):
            self._kept_back[str(what)] = self._messages()
            self._plane.install(self._nothing)
        self.shell.carry_out()
        return {}

    def _behave(self, request: Request) -> object:
        what = str(request.get("what"))
        acts = self._turned.end(self._clock.now_ns(), what) if self._turned.does(what) else 0
        if what in self._kept_back:
            acts += self._messages() - self._kept_back.pop(what)
        if not self._kept_back and self._fib is not None:
            self._plane.install(self._fib)
        self.shell.carry_out()
        return {"acts": acts}

    def _messages(self) -> int:
        """How many have come."""
        rows = self._plane.counters()["interfaces"]
        assert isinstance(rows, list)
        return sum(int(row["rx_messages"]) for row in rows)


def compromised(config: NodeConfig, clock: Clock, log: Journal) -> Node:
    """The router that the configuration asks for, which will attack if it is asked to."""
    return CompromisedRouter(config, Random(f"{config.seed}/node/{config.name}/{clock.now_ns()}"), clock, log)
