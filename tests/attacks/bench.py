"""A router under attack, with an honest neighbour, a client of each, and a forger; no network in between.

    client c1 --- r1 --- r2 --- client c2
                   |
                 forger (r3)

Packets arrive at once and in order. The forger is nothing but the end of a link: it
keeps a real session and sends what it is given. Time passes only when it is told to.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import replace

from fastpath.fib import Fib
from fastpath.wire import codec
from nodes.client.core import ClientCore
from nodes.config import NodeConfig, TimerConfig
from nodes.convergence import unconverged
from nodes.model import parse_message, parse_predicate
from nodes.routing.effects import Install, Log, Send
from nodes.routing.link import Link
from nodes.routing.router import Router
from nodes.wire.codec import encode
from nodes.wire.packets import Message
from tests.routing.fabric import EPOCH_NS, MS, SECOND, configure
from tests.routing.signed import signed as sign_records

R1, R2, FORGER = 1, 2, 3
TIMERS = TimerConfig(renumber_ms=1_000)
WANTED = {"c1": "a > 1", "c2": "b > 1"}
MATCHING = {"c1": "a = 2", "c2": "b = 2"}


class Forger:
    """The end of a link with a real session."""

    def __init__(self, config: NodeConfig, rng: random.Random) -> None:
        self.link = Link(config, config.interfaces[0], rng.randrange(1, 1 << 64), rng)

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        del interface
        self.link.receive(now_ns, packet)

    def handle_timer(self, now_ns: int) -> None:
        self.link.handle_timer(now_ns)

    def next_deadline(self) -> int:
        return self.link.next_deadline()

    def take_outputs(self) -> list[object]:
        return list(self.link.take_outputs())


Core = Router | ClientCore | Forger


class Bench:
    """The five nodes; what one sends arrives before anything else happens."""

    def __init__(
        self,
        seed: object,
        scheme: str = "pif",
        options: dict[str, str] | None = None,
        *,
        signed: bool = False,
    ) -> None:
        self.rng = random.Random(f"{seed}/bench")
        self.now_ns = EPOCH_NS
        found = configure([(1, 2, 1), (1, 3, 1)], {"c1": 1, "c2": 2}, timers=TIMERS)
        self.configs = {
            name: replace(config, scheme=scheme, scheme_options=options or {})
            for name, config in found.items()
        }
        self.configs = sign_records(self.configs) if signed else self.configs
        self.cores: dict[str, Core] = {}
        self.fibs: dict[str, Fib] = {}
        self.logs: list[tuple[str, Log]] = []
        self.cut = False
        self._flying: deque[tuple[str, int, bytes]] = deque()
        self._ends = {
            (name, i.index): (i.peer_name, self._index(i.peer_name, name))
            for name, config in found.items()
            for i in config.interfaces
        }
        for name in found:
            self.start(name)
        self.wait(SECOND)

    def start(self, name: str) -> None:
        """A node begins, or begins again without any memory."""
        config, rng = self.configs[name], random.Random(self.rng.random())
        if name == "r3":
            self.cores[name] = Forger(config, rng)
        elif name.startswith("r"):
            self.cores[name] = Router(config, rng)
        else:
            client = self.cores[name] = ClientCore(config, rng)
            client.subscribe(self.now_ns, parse_predicate(WANTED[name]), 1)

    def router(self, name: str) -> Router:
        core = self.cores[name]
        assert isinstance(core, Router)
        return core

    @property
    def forger(self) -> Forger:
        core = self.cores["r3"]
        assert isinstance(core, Forger)
        return core

    def remove_forger(self) -> None:
        """It is gone, and its link dead."""
        self.cores.pop("r3")

    def forge(self, kind: int, payload: bytes) -> bool:
        """Send a payload to r1; False if there is no session at this moment."""
        if not self.forger.link.up:
            return False
        self.forger.link.send(self.now_ns, kind, payload)
        self.deliver("r3")
        return True

    def deliver(self, name: str) -> None:
        """Carry what a node sends, and what is sent because of it."""
        self._collect(name)
        while self._flying:
            target, interface, datagram = self._flying.popleft()
            core = self.cores.get(target)
            if core is None:
                continue
            for _, start, length in codec.split_datagram(datagram):
                core.receive(self.now_ns, interface, datagram[start : start + length])
            self._collect(target)

    def wait(self, for_ns: int) -> None:
        """Let time pass."""
        end = self.now_ns + for_ns
        while True:
            at, name = min((self._due(core), name) for name, core in self.cores.items())
            if at > end:
                break
            self.now_ns = int(at)
            self.cores[name].handle_timer(self.now_ns)
            self.deliver(name)
        self.now_ns = end

    def _due(self, core: Core) -> float:
        deadline = core.next_deadline()
        return math.inf if deadline is None else max(deadline, self.now_ns)

    def reasons(self) -> list[str]:
        """Why the honest nodes have not converged."""
        down: tuple[str, ...] = ("r1-eth0", "r2-eth0") if self.cut else ()
        down += ("r3",) if "r3" not in self.cores else ()
        statuses = {n: c.status() for n, c in self.cores.items() if not isinstance(c, Forger)}
        return unconverged(statuses, down)

    def converge(self, within_ns: int) -> int:
        """How long it takes until all is as it should be."""
        began = self.now_ns
        while reasons := [*self.reasons(), *self.unreached()]:
            assert self.now_ns - began < within_ns, reasons
            self.wait(20 * MS)
        return self.now_ns - began

    def unreached(self) -> list[str]:
        """Which client would not get a message that it wants from the other one."""
        if self.cut:
            return []
        return [f"{to} would not get what it wants" for to in WANTED if not self.reaches(to)]

    def reaches(self, client: str) -> bool:
        """Whether a message that the client wants comes to it, through the tables as they are."""
        source = "c2" if client == "c1" else "c1"
        sender = self.cores[source]
        assert isinstance(sender, ClientCore)
        message = Message(sender.config.node_id, 1, self.now_ns, parse_message(MATCHING[client]))
        at = [(*self._ends[source, 0], encode(message))]
        for name, interface, packet in at:  # grows while it is walked
            if name == client:
                return True
            if name in self.fibs:
                _, copies = self.fibs[name].forward(packet, interface)
                at += [(*self._ends[name, out], copy) for out, copy in copies]
        return False

    def _collect(self, name: str) -> None:
        for output in self.cores[name].take_outputs():
            match output:
                case Send(interface=interface, datagram=datagram):
                    target, at = self._ends[name, interface]
                    if not (self.cut and {name, target} == {"r1", "r2"}):
                        self._flying.append((target, at, datagram))
                case Install(fib):
                    self.fibs[name] = fib
                case Log():
                    self.logs.append((name, output))

    def _index(self, name: str, peer: str) -> int:
        return next(i.index for i in self.configs[name].interfaces if i.peer_name == peer)
