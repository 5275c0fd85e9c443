"""What a routing scheme is: from what a router knows to what it forwards by.

A scheme is a pure function from a `View` to a `FibSpec`. All schemes share one
FIB shape, *header class -> (interface mask, predicate table, rewrite)*, so the
data plane knows none of them. Tables are given in names: which predicates of
the router's store are united at which interface. So a scheme never touches a
filter, and a change of a predicate costs what changed (`install`).

A scheme whose routers exchange more than links and interest (CBCB, Siena) is
a `TalkingScheme` besides. A new scheme is a module with a class, which derives
from `Scheme`, and an entry in the catalog (`nodes.scheme_catalog`).

Not here: predicates (`nodes.routing.store`), the compiled FIB (`install`),
the exchange of links and interest (`linkstate`, `interest_exchange`).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeGuard

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.effects import Reason
from nodes.routing.signatures import Signatures
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Topology
from nodes.scheme_catalog import OptionValue
from nodes.wire.packets import Kind

Options = Mapping[str, OptionValue]
"""A scenario's `scheme_options`, completed with defaults."""


class Source(NamedTuple):
    """The name of a predicate in the router's store."""

    kind: str
    """`router`: what the clients of a router want; `client`: what the client at an interface wants;
    `offer` and `publisher`: what they advertise (not to be matched); `provided`: what is advertised beyond an
    interface, if a talking scheme knows it; `learned`: what a talking scheme
    holds, numbered as it likes; `everything`: what every message matches."""
    number: int


ISSUER_BITS = 32
EVERYTHING = Source("everything", 0)


def of_router(router: int) -> Source:
    """What the clients of a router want, our own included."""
    return Source("router", router)


def of_client(interface: int) -> Source:
    """What the client at an interface wants."""
    return Source("client", interface)


def offer_of_router(router: int) -> Source:
    """What the clients of a router advertise, our own included."""
    return Source("offer", router)


def of_publisher(interface: int) -> Source:
    """What the client at an interface advertises."""
    return Source("publisher", interface)


def provided(interface: int, issuer: int) -> Source:
    """What is advertised beyond an interface to a neighbour, on behalf of an issuer."""
    return Source("provided", interface << ISSUER_BITS | issuer)


def interface_provided(source: Source) -> int:
    """The interface of a `provided`."""
    return source.number >> ISSUER_BITS


def learned(number: int) -> Source:
    """What a talking scheme has put into the store."""
    return Source("learned", number)


@dataclass(frozen=True, slots=True)
class View:
    """What a router knows when it makes its tables."""

    node: int
    topology: Topology
    interfaces: Mapping[int, tuple[int, ...]]
    """The live interfaces to each neighbouring router, the one to send on first."""
    wanting: tuple[int, ...]
    """The reachable routers whose clients want anything, ours included, ascending; none if interest is
    not flooded."""
    clients: tuple[int, ...]
    """The interfaces to clients."""

    @property
    def client_mask(self) -> int:
        """The interfaces to clients."""
        return mask(self.clients)

    @property
    def client_tables(self) -> TableSpec:
        """What the client at each interface wants."""
        return {interface: (of_client(interface),) for interface in self.clients}


@dataclass(frozen=True, slots=True)
class ClassSpec:
    """One row of the FIB, as `fastpath.fib.ClassEntry`."""

    header_class: int
    accept: int
    out: int
    table: int
    rewrite: int
    routed: bool = False
    """Copies for routers go by the destinations in the message's header (`RouteSpec`), not by the table;
    `out` then says which clients there are."""


TableSpec = Mapping[int, tuple[Source, ...]]
"""Whose predicates are united at each interface, ascending."""


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """How messages that carry their destinations are forwarded (DRP: RTE 3.4, T5).

    The first router matches the message against `table` and finds its
    destinations; each router sends a copy to each next hop of what is left.
    """

    table: int
    """The table whose "interfaces" are positions in `destinations`."""
    destinations: tuple[tuple[int, int], ...]
    """(router, interface towards it), ascending, every reachable router but ourselves."""
    one_each: bool = False
    """A copy for every destination, not one a next hop: unicast."""


@dataclass(frozen=True, slots=True)
class FibSpec:
    """What a router forwards by, as plain data."""

    origin_class: int
    classes: tuple[ClassSpec, ...]
    tables: tuple[TableSpec, ...]
    route: RouteSpec | None = None


class Scheme(Protocol):
    """A routing scheme (RTE 2.1): Init is the origin class, Fwd and Hdr are the classes."""

    floods_interest: ClassVar[bool] = True
    """Whether every router must know what the clients of every other want."""
    floods_offers: ClassVar[bool] = True
    """Whether, where clients have to advertise, every router must know what those of every other do."""

    def __init__(self, options: Options) -> None:
        """Take all options that the catalog lists, their values checked (`nodes.scheme_catalog`)."""
        del options

    def compile(self, view: View) -> FibSpec:
        """The tables for what the router knows now.

        A pure function of the view, for a talking scheme also of its names: it is called
        only when one of them has changed, and not when a predicate has.
        """


class Talk(Protocol):
    """What a talking scheme may ask of its router."""

    node: int
    store: PredicateStore
    """To read `of_router(node)`, what our clients want, and to keep `learned` predicates in."""
    limits: LimitConfig
    """What a neighbour may make us hold."""
    timers: TimerConfig
    signatures: Signatures
    """To sign what others pass on of us, and to read what they signed."""

    def admits(self, interface: int, kind: Kind, origin: int, payload: bytes) -> bool:
        """Whether its origin has signed what came over a link; if not, it is counted."""

    def send(self, now_ns: int, interface: int, kind: int, payload: bytes, key: Hashable = None) -> None:
        """Send a payload over a link that has joined: whole, once, in order, until it is lost.

        It takes the place of one with the same key (None: none) that still waits to be sent.
        """

    def hold(self, now_ns: int, interface: int, kind: Kind, origin: int, size: int) -> bool:
        """Whether there is room for a router's record that came over a link; if so, it counts from now on.

        There is one record of each kind and origin. It is held until `forget` is called.
        """

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """Whether a neighbour that had our record of an origin may have forgotten it since."""

    def drop(self, interface: int, reason: Reason, **fields: object) -> None:
        """Count a payload that was well-formed and is not taken; with fields, also log it."""

    def changed(self, now_ns: int) -> None:
        """A learned predicate or `names_version` has changed: the FIB is to be made anew soon."""


class TalkingScheme(Protocol):
    """A scheme whose routers exchange payloads of its own. All of it is sans-IO, as the router is.

    Each link to a router is a conversation apart, also where two lead to the same neighbour.
    What was sent and received over a link counts until the link is lost; after `joined`
    all must be sent anew.
    """

    kinds: ClassVar[frozenset[int]]
    """The kinds of its payloads (`nodes.wire.packets.Kind`)."""
    names_version: int
    """Another number when `compile` would give other names for the same view; constant if it never does."""

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """Called once, before all else."""

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        """A link to a neighbouring router is up; `look` follows at once."""

    def lost(self, now_ns: int, interface: int) -> None:
        """It is not any more; what was received over it is void. `look` follows at once."""

    def look(self, now_ns: int, view: View) -> None:
        """The topology, the links, or what our clients want may have changed."""

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """A payload from a link that has joined; WireError if malformed, and nothing was changed."""

    def origins(self) -> Collection[int]:
        """The other routers of which it holds records (`Talk.hold`)."""

    def forget(self, origin: int) -> None:
        """A router is gone for good."""

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """A neighbour asks for what is held of a router: send it the record."""

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""

    @property
    def settled(self) -> bool:
        """Whether all that was received has been acted upon (periodic repetition apart)."""

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """For each link that has joined, digests of (what we have sent over it, what we have received).

        Where each end's first is the other's second, the network agrees.
        """


class HoldsDescriptors(Protocol):
    """A scheme that holds descriptors of sorts, and matches of them (MM 2)."""

    @property
    def descriptors(self) -> Mapping[str, int]:
        """How many are held, by sort."""


def holds_descriptors(scheme: Scheme) -> TypeGuard[HoldsDescriptors]:
    """Whether a scheme is a `HoldsDescriptors`."""
    return hasattr(type(scheme), "descriptors")


def talks(scheme: Scheme) -> TypeGuard[TalkingScheme]:
    """Whether a scheme is a `TalkingScheme`: by its class, as before `attach` it may not know its state."""
    return hasattr(type(scheme), "kinds")


def mask(interfaces: Mapping[int, object] | tuple[int, ...]) -> int:
    """The bit mask of interfaces."""
    bits = 0
    for interface in interfaces:
        bits |= 1 << interface
    return bits
