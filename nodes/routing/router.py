"""The control plane of a router, sans-IO: what all three worlds run.

It keeps the adjacencies, floods its links and its clients' interest, and turns
what it knows into FIBs by the configured scheme. `effects` is the seam;
`docs/protocols.md` explains the protocols.

Not here: messages, which the data plane forwards by the installed FIB without
asking (`fastpath`), and what the tables hold, which is the scheme's to say.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

from fastpath import codec
from fastpath.codec import WireError
from fastpath.interests import Union
from nodes.config import NodeConfig
from nodes.model import UsageError
from nodes.routing import report
from nodes.routing.adjacency import draw_incarnation
from nodes.routing.ageing import Ageing
from nodes.routing.conversation import Conversation
from nodes.routing.drops import Reason
from nodes.routing.effects import Drop, Install, Log, Output
from nodes.routing.exchange import InterestExchange
from nodes.routing.flooding import Flooding
from nodes.routing.holdings import Holdings
from nodes.routing.identity import Identity
from nodes.routing.install import Installer
from nodes.routing.link import Arrived, Link, LinkEvent, LinkUp
from nodes.routing.linkstate import LinkStateDatabase
from nodes.routing.pending import Pending
from nodes.routing.predicates import COUNT, REDUCED_FILTERS_MAX
from nodes.routing.records import Verdict, head
from nodes.routing.schemes import make_scheme
from nodes.routing.schemes.base import FibSpec, View, of_client, of_router, talks
from nodes.routing.store import PredicateStore
from nodes.routing.subscriptions import Subscriptions
from nodes.wire.packets import Kind, Role

STORM_FACTOR = 16
"""How much longer than `install_delay_ms` a router waits, at most, while causes keep coming."""
NO_FORWARDING = FibSpec(0, (), ())
"""What a router whose id is another's forwards by."""
Handler = Callable[[int, Link, bytes], None]


class Router:
    """One router.

    Args:
        config: Who it is and what it is joined to.
        rng: Luck for incarnations and jitter. A restarted router must be given
            other luck than before: an incarnation must not come twice.

    Raises:
        UsageError: The configuration is not a router's.
    """

    def __init__(self, config: NodeConfig, rng: random.Random) -> None:
        if config.role is not Role.ROUTER:
            raise UsageError(f"{config.name} is configured as a {config.role.name.lower()}, not a router")
        self.config = config
        self.incarnation = draw_incarnation(rng)
        self.links = [Link(config, interface, self.incarnation, rng) for interface in config.interfaces]
        self.network = LinkStateDatabase(config.node_id)
        self.identity = Identity()
        self.holdings = Holdings(config.limits)
        self._ageing = Ageing(config.timers.forget_ms)
        self.store = PredicateStore()
        self.subscriptions = {
            i.index: Subscriptions(self.store.pool) for i in config.interfaces if i.peer_role is Role.CLIENT
        }
        self._resubscribed: set[int] = set()
        self._wanted = Union(self.store.pool, REDUCED_FILTERS_MAX)
        self.installer = Installer(config, self.store)
        self.drops: Counter[str] = Counter()
        self._flooding = Flooding(self.links)
        self._scheme = make_scheme(config.scheme, config.scheme_options)
        delay_ms = config.timers.install_delay_ms
        self._say_links = Pending(delay_ms, STORM_FACTOR)
        self._say_interest = Pending(delay_ms, STORM_FACTOR)
        self._compile = Pending(delay_ms, STORM_FACTOR)
        self._exchange = InterestExchange(
            config.node_id,
            self.links,
            self.store,
            holdings=self.holdings,
            ageing=self._ageing,
            changed=self._compile.want,
            ours=self._outdo,
        )
        self.interest = self._exchange.database
        self._handlers: dict[tuple[Role, int], Handler] = {
            (Role.ROUTER, Kind.LINK_STATE): self._take_links,
            (Role.ROUTER, Kind.INTEREST): self._exchange.take_record,
            (Role.ROUTER, Kind.INTEREST_CHANGE): self._exchange.take_change,
            (Role.ROUTER, Kind.RECORD_REQUEST): self._take_request,
            (Role.CLIENT, Kind.SUBSCRIBE): self._take_subscribe,
            (Role.CLIENT, Kind.UNSUBSCRIBE): self._take_unsubscribe,
        }
        if not self._scheme.floods_interest:
            for kind in (Kind.INTEREST, Kind.INTEREST_CHANGE):
                del self._handlers[Role.ROUTER, kind]
        self.conversation = Conversation(
            config.node_id, self.links, self.store, config.limits, self._compile.want
        )
        if talks(self._scheme):
            self.conversation.join(self._scheme, rng)
        self._outputs: list[Output] = []
        self._begun = False

    @property
    def settled(self) -> bool:
        """Whether nothing is under way: all is acknowledged, announced and installed."""
        waiting = (self._say_links.at, self._say_interest.at, self._compile.at)
        idle = waiting == (None, None, None) and self.conversation.settled
        return self._begun and idle and all(link.quiet for link in self.links)

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on an interface."""
        self._begin(now_ns)
        for event in self.links[interface].receive(now_ns, packet):
            self._take(now_ns, interface, event)

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""
        self._begin(now_ns)
        for interface, link in enumerate(self.links):
            if link.next_deadline() <= now_ns:
                for event in link.handle_timer(now_ns):
                    self._take(now_ns, interface, event)
        if self._say_links.take(now_ns):
            self._flood(now_ns, self.network.originate(self._neighbour_costs()))
        if self._say_interest.take(now_ns):
            self._say_what_we_want(now_ns)
        self.conversation.handle_timer(now_ns)
        for origin in self._ageing.take_due(now_ns):
            self._forget(origin)
        if self._compile.take(now_ns):
            self._install(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted; 0 until it was called first."""
        if not self._begun:
            return 0
        deadlines = [link.next_deadline() for link in self.links]
        pending = (self._say_links.at, self._say_interest.at, self._compile.at)
        others = (*pending, self.conversation.next_deadline(), self._ageing.next_deadline())
        return min(deadlines + [at for at in others if at is not None], default=None)

    def take_outputs(self) -> list[Output]:
        """What is to be done, in order."""
        outputs, self._outputs = self._outputs, []
        for link in self.links:
            if link.has_outputs:
                outputs += link.take_outputs()
        for output in outputs:
            if isinstance(output, Drop):
                self.drops[str(output.reason)] += 1
        return outputs

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the state."""
        return report.status(self)

    def tables(self) -> str:
        """What the router knows and forwards by, for a person."""
        return report.tables(self)

    def _begin(self, now_ns: int) -> None:
        if not self._begun:
            self._begun = True
            self._say_links.want(now_ns)
            self._install(now_ns)

    def _take(self, now_ns: int, interface: int, event: LinkEvent) -> None:
        if isinstance(event, Arrived):
            self._take_payload(now_ns, interface, event)
        elif self.links[interface].interface.peer_role is Role.ROUTER:
            self._say_links.want(now_ns)
            self._compile.want(now_ns)
            if isinstance(event, LinkUp):
                self.holdings.reset(self.links[interface])
                self._flooding.exchange(now_ns, self.links[interface], self.network.records)
                self._exchange.joined(now_ns, self.links[interface])
            self.conversation.note(now_ns, self.links[interface], event, self._view)
        elif len(self.subscriptions[interface]):
            # A client that went away, or came back as another, has to say anew what it wants.
            self.subscriptions[interface].clear()
            self._changed_subscriptions(now_ns, interface)

    def _take_payload(self, now_ns: int, interface: int, event: Arrived) -> None:
        link = self.links[interface]
        handler = self._handlers.get((link.interface.peer_role, event.kind))
        if link.interface.peer_role is Role.ROUTER and self.conversation.hears(event.kind):
            handler = partial(self._converse, event.kind)
        if handler is None:
            known = any(event.kind == kind for kind in Kind)
            link.drop(Reason.UNEXPECTED_KIND if known else Reason.UNKNOWN_KIND)
            return
        try:
            handler(now_ns, link, event.payload)
        except WireError as error:
            link.drop(Reason.MALFORMED_PAYLOAD, kind=event.kind, why=str(error))

    def _converse(self, kind: int, now_ns: int, link: Link, payload: bytes) -> None:
        self.conversation.take(now_ns, link, kind, payload)

    def _take_links(self, now_ns: int, link: Link, payload: bytes) -> None:
        records, origin = self.network.records, head(payload)[0]
        verdict = self._flooding.consider(link, records, payload)
        if verdict is Verdict.OURS:
            self._outdo(now_ns, Kind.LINK_STATE, head(payload)[1])
        elif verdict is Verdict.OLDER and self._ageing.may_be_forgotten(now_ns, origin):
            self._flooding.answer(now_ns, link, records, origin)
        elif verdict in (Verdict.NEWER, Verdict.CONTRADICTION):
            self.network.check(payload)
            if self.holdings.charge(link, Kind.LINK_STATE, origin, len(payload)):
                self.network.store(payload)
                self._ageing.stored(now_ns, origin)
                self._flood(now_ns, payload, link)
                self._recall(now_ns, origin)

    def _recall(self, now_ns: int, origin: int) -> None:
        """Ask for what we had forgotten, and hear of again."""
        for each in self._ageing.recall([origin, *self.network.neighbours(origin)]):
            for link in self.links:
                if link.up and link.interface.peer_role is Role.ROUTER:
                    self._exchange.ask(now_ns, link, each)

    def _take_request(self, now_ns: int, link: Link, payload: bytes) -> None:
        origin = codec.decode_record_request(payload)
        self._flooding.answer(now_ns, link, self.network.records, origin)
        self._exchange.answer(now_ns, link, origin)

    def _outdo(self, now_ns: int, kind: Kind, sequence: int) -> None:
        """Speak again, louder; waiting for it keeps two routers with one id from drowning the network."""
        say = self._say_links if kind is Kind.LINK_STATE else self._say_interest
        if self.identity.refused:
            return
        if kind is Kind.LINK_STATE:
            self.network.records.outdo(sequence)
        else:
            self._exchange.jump_above(sequence)
        if say.at is None:
            self._say_outdone(now_ns, kind, sequence)
        say.want(now_ns)

    def _say_outdone(self, now_ns: int, kind: Kind, sequence: int) -> None:
        why = "from before our restart, or another router has our id"
        event, fields = "own_record_heard", {"kind": kind.name, "sequence": sequence, "why": why}
        if self.identity.challenged(now_ns):
            event = "node_id_collision"
            fields |= {"node_id": self.config.node_id, "why": "another router has our id; we fall silent"}
            self._say_links.want(now_ns)
            self._compile.want(now_ns)
        self._outputs.append(Log(event, fields))

    def _flood(self, now_ns: int, payload: bytes | None, source: Link | None = None) -> None:
        if payload is not None:
            self._compile.want(now_ns)
            self._flooding.spread(now_ns, Kind.LINK_STATE, payload, source)

    def _forget(self, origin: int) -> None:
        self.network.forget(origin)
        self._exchange.forget(origin)
        self.holdings.release(Kind.LINK_STATE, origin)

    def _take_subscribe(self, now_ns: int, link: Link, payload: bytes) -> None:
        subscription, predicate = _subscription(payload), payload[COUNT.size :]
        held = self.subscriptions[link.interface.index]
        if self.holdings.admits_filters(link, held.filters_with(subscription, predicate)):
            held.set(subscription, predicate)
            self._changed_subscriptions(now_ns, link.interface.index)

    def _take_unsubscribe(self, now_ns: int, link: Link, payload: bytes) -> None:
        subscription = _subscription(payload)
        if len(payload) != COUNT.size:
            raise WireError(f"an UNSUBSCRIBE has {COUNT.size} bytes; this has {len(payload)}")
        if self.subscriptions[link.interface.index].discard(subscription):
            self._changed_subscriptions(now_ns, link.interface.index)
        else:
            link.drop(Reason.UNKNOWN_SUBSCRIPTION)

    def _changed_subscriptions(self, now_ns: int, interface: int) -> None:
        self._resubscribed.add(interface)
        self._say_interest.want(now_ns)
        self._compile.want(now_ns)

    def _take_up_subscriptions(self) -> None:
        """Many changes of one client's subscriptions cost one."""
        for interface in sorted(self._resubscribed):
            removed, added = self.subscriptions[interface].settle()
            self.store.change(of_client(interface), removed, added)
            self._wanted.add(added)
            self._wanted.remove(removed)
        self._resubscribed.clear()

    def _say_what_we_want(self, now_ns: int) -> None:
        self._take_up_subscriptions()
        removed, added = self._wanted.settle()
        if self._scheme.floods_interest:
            self._exchange.originate(now_ns, removed, added)
        else:
            self.store.change(of_router(self.config.node_id), removed, added)
        self.conversation.look(now_ns, self._view())

    def _neighbour_costs(self) -> dict[int, int]:
        if self.identity.refused:
            return {}
        return {n: self.links[best].interface.cost for n, (best, *_) in self._live_interfaces().items()}

    def _live_interfaces(self) -> dict[int, tuple[int, ...]]:
        """The live interfaces to each neighbouring router, the cheapest first."""
        found: dict[int, list[tuple[int, int]]] = {}
        for link in self.links:
            if link.up and link.interface.peer_role is Role.ROUTER:
                interface = link.interface
                found.setdefault(interface.peer_id, []).append((interface.cost, interface.index))
        return {peer: tuple(index for _, index in sorted(pairs)) for peer, pairs in sorted(found.items())}

    def _view(self) -> View:
        topology = self.network.topology()
        return View(
            node=self.config.node_id,
            topology=topology,
            interfaces=self._live_interfaces(),
            wanting=self.interest.wanted(topology.nodes),
            clients=tuple(self.subscriptions),
        )

    def _install(self, now_ns: int) -> None:
        self._take_up_subscriptions()
        view = self._view()
        self._ageing.look(now_ns, self._origins(), set(view.topology.nodes))
        self.conversation.look(now_ns, view)
        spec = NO_FORWARDING if self.identity.refused else self._scheme.compile(view)
        fib = self.installer.build(spec)
        if fib is not None:
            self._outputs.append(Install(fib))

    def _origins(self) -> set[int]:
        others = {origin for origin, _ in self.network.records.payloads()} | {*self.interest.origins}
        return others - {self.config.node_id}


def _subscription(payload: bytes) -> int:
    if len(payload) < COUNT.size:
        raise WireError(f"a subscription's id has {COUNT.size} bytes; this payload has {len(payload)}")
    return int(COUNT.unpack_from(payload)[0])
