"""A router as models have it: its scheme with its predicates, without links and tables.

What it is asked is what `nodes.routing.router` asks, and what it says is caught. Time stands still.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.predicates import NOTHING
from nodes.routing.schemes.base import TalkingScheme, View, of_client, of_publisher, of_router
from nodes.routing.signatures import UNSIGNED
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Topology
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind
from tests.models.machines import Input, content
from tests.models.network import Payload

NOW_NS = 1_000_000_000_000
LIFE_NS = 1_000_000_000
"""A router that starts again does so this much later."""
SchemeT = TypeVar("SchemeT", bound=TalkingScheme)


class Host(Generic[SchemeT]):
    """A router's scheme, and what it asks of its router (`Talk`).

    Args:
        node: The router.
        life: How often it has been started again.
        make: Makes its scheme.
        never: Why honest neighbours make it drop nothing.
        clients: The interfaces to its clients.
        rng: What it draws from.
    """

    def __init__(
        self,
        node: int,
        life: int,
        make: Callable[[], SchemeT],
        never: Collection[Reason],
        clients: tuple[int, ...] = (),
        rng: random.Random | None = None,
    ) -> None:
        self.node = node
        self.clients = clients
        self.never = never
        self.now_ns = NOW_NS + life * LIFE_NS
        self.store = PredicateStore()
        self.limits = LimitConfig()
        self.timers = TimerConfig()
        self.signatures = UNSIGNED
        self.sent: list[Payload] = []
        self.disagreements = 0
        """How often it dropped what it never should have to."""
        self.scheme = make()
        self.scheme.attach(self, rng or random.Random(1))

    def send(self, now_ns: int, interface: int, kind: int, payload: bytes, key: Hashable = None) -> None:
        """As `Talk` says; nothing is replaced."""
        del now_ns, key
        self.sent.append((interface, int(kind), payload))

    def admits(self, interface: int, kind: Kind, origin: int, payload: bytes) -> bool:
        """As `Talk` says: nothing is signed."""
        del interface, kind, origin, payload
        return True

    def hold(self, now_ns: int, interface: int, kind: Kind, origin: int, size: int) -> bool:
        """As `Talk` says: there is room."""
        del now_ns, interface, kind, origin, size
        return True

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """As `Talk` says."""
        del now_ns, origin
        return False

    def drop(self, interface: int, reason: Reason, **fields: object) -> None:
        """As `Talk` says; what honest neighbours must not cause is counted."""
        del interface, fields
        self.disagreements += reason in self.never

    def changed(self, now_ns: int) -> None:
        """As `Talk` says; tables are no part of a model."""


HELD_AS = {"advertise": of_publisher, "subscribe": of_client, "want": of_router}
AnyHost = Host[TalkingScheme]
HOST_LEFT_OUT = frozenset((Host, name) for name in ("limits", "timers", "sent", "never", "clients"))
"""What makes no difference to a router: it stays as it is, or is taken at once."""


def _hold(host: AnyHost, what: object, client: object, text: object) -> None:
    """A client holds this from now on, or all of a router's together; nothing if the text is empty."""
    name = HELD_AS[str(what)](int(str(client)))
    host.store.replace(name, encode_predicate(parse_predicate(str(text))) if text else NOTHING)


def _look(host: AnyHost, edges: object, live: object) -> None:
    assert isinstance(edges, tuple)
    assert isinstance(live, tuple)
    topology = Topology.around(host.node, edges)
    interfaces = {peer: (interface,) for peer, interface in live}
    host.scheme.look(host.now_ns, View(host.node, topology, interfaces, (), host.clients))


GIVEN_TO_ALL: Mapping[str, Callable[..., None]] = {
    "joined": lambda host, interface, peer: host.scheme.joined(host.now_ns, interface, peer),
    "lost": lambda host, interface: host.scheme.lost(host.now_ns, interface),
    "take": lambda host, *what: host.scheme.take(host.now_ns, *what),
    "look": _look,
    "hold": _hold,
}


class HostAdapter(Generic[SchemeT]):
    """What routers of all schemes have in common as machines (`machines.Adapter`)."""

    given: Mapping[str, Callable[..., None]] = GIVEN_TO_ALL
    """What a router can be given."""
    left_out: Collection[tuple[type, str]] = HOST_LEFT_OUT
    writers: Mapping[type, Callable[..., object]] = {}
    """As `machines.content` takes them, besides those of all."""

    def give(self, core: Host[SchemeT], what: Input) -> Hashable:
        """What it sends."""
        self.given[str(what[0])](core, *what[1:])
        sent, core.sent = tuple(core.sent), []
        return sent

    def content(self, core: Host[SchemeT]) -> Hashable:
        """All that can make a difference."""
        return content(core, self.left_out, {**WRITERS, **self.writers})


WRITERS: Mapping[type, Callable[..., object]] = {
    PredicateStore: lambda store: {name: store.predicate(name) for name in store._predicates},
    Topology: lambda topology: (topology.nodes, topology.edges),
}
