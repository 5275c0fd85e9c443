"""A router that one neighbour floods, over real sockets on loopback, and what becomes of the others.

    mallory --- r1 --- r2
               /  \\
       publisher  subscriber

Routers are processes of their own, and so is mallory. The others' messages are published once a millisecond
and timed from end to end; what the routers know of their neighbours is read in their logs.
"""

from __future__ import annotations

import json
import random
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nodes.client.core import ClientCore
from nodes.config import LimitConfig, Neighbours, NodeConfig, SecurityConfig
from nodes.config_file import write_keys
from nodes.daemon.sockets import open_interface
from nodes.daemon.udp import UdpLink
from nodes.model import parse_predicate
from nodes.routing.effects import Deliver, Send
from nodes.wire.packets import Role
from tests.attacks.flooder import Flood, Flooder, Said
from tests.daemon.conftest import Loopback
from tests.routing.sealed import sealed_node

PERIOD_S = 0.001
IDS = {"r1": 1, "r2": 2, "mallory": 10, "publisher": 11, "subscriber": 12}
LINKS = ("r1", "r2"), ("r1", "mallory"), ("r1", "publisher"), ("r1", "subscriber")
MB = 1024**2


class _End:
    """A client of the others: its core over its socket."""

    def __init__(self, config: NodeConfig) -> None:
        self.core = ClientCore(config, random.Random(1))
        self._link = UdpLink(open_interface(config.interfaces[0]), config.interfaces[0].name)
        self.late_ns: list[int] = []

    def fileno(self) -> int:
        return self._link.fileno()

    def turn(self) -> None:
        while (datagram := self._link.receive()) is not None:
            came_ns = time.monotonic_ns()
            for packet in self._link.split(datagram):
                self.core.receive(came_ns, 0, packet)
        now_ns = time.monotonic_ns()
        due = self.core.next_deadline()
        if due is not None and due <= now_ns:
            self.core.handle_timer(now_ns)
        for output in self.core.take_outputs():
            if isinstance(output, Send):
                self._link.send(output.datagram)
            elif isinstance(output, Deliver):
                self.late_ns.append(now_ns - output.message.publish_time_ns)

    def close(self) -> None:
        self._link.close()


class Others:
    """A publisher and a subscriber, which hold their sessions and time what passes."""

    def __init__(self, publisher: NodeConfig, subscriber: NodeConfig) -> None:
        self._publisher, self._subscriber = _End(publisher), _End(subscriber)
        self._ends = self._publisher, self._subscriber
        self._subscriber.core.subscribe(time.monotonic_ns(), parse_predicate("probe > 0"))
        self._due_s = 0.0
        self.sent = 0

    def turn(self) -> None:
        """Take what came; publish if it is time."""
        now_s = time.monotonic()
        if now_s >= self._due_s and self._publisher.core.attached:
            self._due_s = max(self._due_s + PERIOD_S, now_s - PERIOD_S)
            self.sent += 1
            self._publisher.core.publish(time.monotonic_ns(), {"probe": self.sent})
        for end in self._ends:
            end.turn()
        select.select(self._ends, [], [], max(0.0, min(PERIOD_S, self._due_s - time.monotonic())))

    def taken(self) -> tuple[int, list[int]]:
        """How many were published since this was last asked, and how long each took that came, in order."""
        sent, self.sent = self.sent, 0
        late, self._subscriber.late_ns = self._subscriber.late_ns, []
        return sent, sorted(late)

    def close(self) -> None:
        for end in self._ends:
            end.close()


@dataclass(frozen=True, slots=True)
class Phase:
    """What was seen for a while."""

    seconds: float
    published: int
    late_ns: list[int]
    """Of those that came, in order."""
    said: Said
    resident_bytes: int
    """Of the flooded router, at the end."""

    def percentile_us(self, share: float) -> float:
        """So much of what came took no longer."""
        return self.late_ns[int(share * (len(self.late_ns) - 1))] / 1_000


class Flooded:
    """The network, running."""

    def __init__(self, net: Loopback, mallory: NodeConfig, flood: Flood, others: Others) -> None:
        self.net = net
        self.flooder = Flooder(mallory, flood)
        self._others = others

    def converge(self, within_s: float) -> None:
        """Until all neighbours are up and the others' messages pass."""
        deadline_s = time.monotonic() + within_s
        while not (self._others.taken()[1] and self._all_up()):
            assert time.monotonic() < deadline_s, f"not up within {within_s} s: {self.states()}"
            self._go_on(lambda: False, 0.1)
        self._go_on(lambda: False, 0.2)
        self._others.taken()

    def watch(self, seconds: float, until: Callable[[Said], bool] = lambda _: False) -> Phase:
        """Publish for so long, or until something is so of what mallory has said."""
        began_s = time.monotonic()
        before = self.flooder.said
        self._go_on(lambda: until(self.flooder.said), seconds)
        sent, late_ns = self._others.taken()
        said = self.flooder.said
        grown = replace(
            said,
            offered=said.offered - before.offered,
            acknowledged=said.acknowledged - before.acknowledged,
        )
        return Phase(time.monotonic() - began_s, sent, late_ns, grown, self.resident("VmRSS"))

    def _go_on(self, over: Callable[[], bool], seconds: float) -> None:
        end_s = time.monotonic() + seconds
        look_s = 0.0
        while (now_s := time.monotonic()) < end_s:
            if now_s >= look_s:
                look_s = now_s + 0.1
                if over():
                    return
            self._others.turn()

    def status(self) -> dict[str, object]:
        """Of the flooded router."""
        return dict(self.net.admins["r1"].ask("status"))

    def states(self) -> dict[str, str]:
        """How far its neighbours are, by name."""
        return {each["peer"]: each["state"] for each in self.net.cores()["r1"]["adjacencies"]}

    def _all_up(self) -> bool:
        return set(self.states().values()) == {"up"}

    def resident(self, what: str) -> int:
        """Bytes of the flooded router: VmRSS now, or VmHWM at most so far."""
        path = Path(f"/proc/{self.net.processes['r1'].pid}/status")
        row = next(line for line in path.read_text().splitlines() if line.startswith(what))
        return int(row.split()[1]) * 1024

    def honest_down(self) -> list[tuple[str, str]]:
        """(router, neighbour) of each time that an honest one was lost."""
        found = []
        for router in ("r1", "r2"):
            for line in (self.net.folder / f"{router}.jsonl").read_text().splitlines():
                event = json.loads(line)
                if event["event"] == "adjacency_down" and event["peer"] != "mallory":
                    found.append((router, event["peer"]))
        return found

    def refused(self) -> dict[str, int]:
        """What the flooded router has dropped of control, by reason."""
        drops = self.status()["drops"]
        assert isinstance(drops, dict)
        return dict(drops["control"])


@contextmanager
def flooded(
    folder: Path, flood: Flood, limits: LimitConfig, seals: Neighbours = Neighbours.OFF
) -> Iterator[Flooded]:
    """Start it all, and end it."""
    net = Loopback(folder)
    for name, number in IDS.items():
        net.node(name, number, Role.ROUTER if name.startswith("r") else Role.CLIENT)
    for one, other in LINKS:
        net.link(one, other)
    more = {"limits": limits, "security": SecurityConfig(seals)}
    configs = {name: sealed_node(net.config(name, **more), seals, (1,) if seals else ()) for name in IDS}
    for name in ("r1", "r2"):
        keys = folder / f"{name}.keys.toml"
        write_keys(configs[name], keys)
        net.start(name, **more, keys_path=str(keys) if seals else "")
    others = Others(configs["publisher"], configs["subscriber"])
    made = Flooded(net, configs["mallory"], flood, others)
    try:
        net.until(lambda: all(admin.connect() for admin in net.admins.values()), "both routers listen")
        made.converge(within_s=60)
        yield made
    finally:
        made.flooder.stop()
        others.close()
        net.kill()
