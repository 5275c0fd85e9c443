"""A compromised node as a process: what an honest one is, until it is asked to attack, by its admin socket.

Requests to a router, besides those of every router: `attack` (with `what`, `by` and `share`), and `behave`
(with `what`), which answers how many packets something became of. Requests to a router or a client: `flood`
(with `number`, `by`, `times`, `every_ns` and `seed`), and `floods`, which answers how many acts each has had,
and whether it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from socket import socket
from typing import TypeGuard

from fastpath.seal import MessageSeals
from nodes.attacks.compromised import CompromisedCore
from nodes.attacks.floods import Floods
from nodes.attacks.plane import TurnedPlane
from nodes.attacks.ways import LASTING
from nodes.client.core import ClientCore
from nodes.config import Action, NodeConfig
from nodes.config_file import load_script
from nodes.daemon.admin import Command, Request, RequestError
from nodes.daemon.client import ClientNode
from nodes.daemon.clock import Clock
from nodes.daemon.journal import Journal
from nodes.daemon.router import RouterNode
from nodes.daemon.shell import Node
from nodes.wire.packets import Role


class CompromisedRouter(RouterNode):
    """A router whose core has somebody before it, and whose messages somebody sees."""

    def __init__(self, config: NodeConfig, rng: Random, clock: Clock, log: Journal) -> None:
        super().__init__(config, rng, clock, log, self._make_plane)
        self._turned = CompromisedCore(self._router, rng)
        self._turned_plane.turn(self._turned.forwarding)
        self.shell.core = self._turned
        self._floods = Floods(lambda: self._router, clock)

    def tick(self) -> int | None:
        """With the acts of floods that are due."""
        if self._floods.act():
            self.shell.carry_out()
        return self._floods.earlier(super().tick())

    def commands(self) -> dict[str, Command]:
        """With those to attack."""
        more: dict[str, Command] = {"attack": self._attack, "behave": self._behave}
        return {**super().commands(), **more, **self._floods.commands()}

    def _make_plane(self, config: NodeConfig, sockets: Sequence[socket], seals: MessageSeals) -> TurnedPlane:
        self._turned_plane = TurnedPlane(config, sockets, seals)
        return self._turned_plane

    def _attack(self, request: Request) -> object:
        what, by, share = request.get("what"), request.get("by"), request.get("share", 1.0)
        known = LASTING.get(str(what))
        if known is None or not isinstance(by, list) or not {*by} <= {*known} or not _is_share(share):
            expected = "; ".join(f"{name} by {', '.join(ways)}" for name, ways in LASTING.items())
            raise RequestError(f"expected what, by, and a share above 0, at most 1: {expected}")
        self._turned.begin(self.shell.clock.now_ns(), str(what), by, share)
        self.shell.carry_out()
        return {}

    def _behave(self, request: Request) -> object:
        what = str(request.get("what"))
        acts = self._turned.end(self.shell.clock.now_ns(), what) if self._turned.does(what) else 0
        self.shell.carry_out()
        return {"acts": acts}


class CompromisedClient(ClientNode):
    """A client that floods its router."""

    def __init__(
        self, config: NodeConfig, actions: tuple[Action, ...], core: ClientCore, clock: Clock, log: Journal
    ) -> None:
        super().__init__(config, actions, core, clock, log)
        self._floods = Floods(lambda: self._script.core, clock)

    def tick(self) -> int | None:
        """With the acts of floods that are due; none while a program has its place."""
        if self._aside:
            return super().tick()
        if self._floods.act():
            self.shell.carry_out()
        return self._floods.earlier(super().tick())

    def commands(self) -> dict[str, Command]:
        """With those to attack."""
        return {**super().commands(), **self._floods.commands()}


def compromised(config: NodeConfig, clock: Clock, log: Journal) -> Node:
    """The router or client that the configuration asks for, which will attack if it is asked to."""
    rng = Random(f"{config.seed}/node/{config.name}/{clock.now_ns()}")
    if config.role is Role.ROUTER:
        return CompromisedRouter(config, rng, clock, log)
    actions = load_script(config.script_path) if config.script_path else ()
    return CompromisedClient(config, actions, ClientCore(config, rng), clock, log)


def _is_share(share: object) -> TypeGuard[float]:
    return isinstance(share, int | float) and not isinstance(share, bool) and 0 < share <= 1
