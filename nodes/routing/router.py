"""The control plane of a router, sans-IO: what all three worlds run.

It wires its exchanges with its neighbours (links, interest, what is advertised, and a scheme's
own payloads) to its clients' subscriptions and its tables, and dispatches what
arrives. `effects` is the seam; `docs/protocols.md` explains the protocols, and
"Walks" in `docs/architecture.md` follows a subscription through them.

A changed subscription reaches the tables as a difference. The scheme runs only
when what it depends on changed: the topology, the live interfaces, which routers
want anything at all, or names that the scheme itself gave.

Not here: messages, which the data plane forwards by the installed FIB without
asking (`fastpath`), and what the tables hold, which is the scheme's to decide.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from mypy_extensions import mypyc_attr

from fastpath.fib import Fib, Gate
from fastpath.wire import codec
from fastpath.wire.codec import WireError
from nodes.config import LinkKey, NodeConfig
from nodes.model import UsageError
from nodes.routing import report
from nodes.routing.adjacency import draw_incarnation
from nodes.routing.advertisements import ClientAdvertisements
from nodes.routing.ageing import Ageing
from nodes.routing.effects import Drop, Install, Log, Output, Reason
from nodes.routing.holdings import Holdings
from nodes.routing.identity import Identity
from nodes.routing.install import Installer
from nodes.routing.interest import OFFERS
from nodes.routing.interest_exchange import InterestExchange
from nodes.routing.link import Arrived, Link, LinkEvent, LinkUp
from nodes.routing.linkstate import LinkStateExchange
from nodes.routing.numbers import Numbering
from nodes.routing.offers import Offers
from nodes.routing.patterns import Patterns
from nodes.routing.pending import Pending, earlier
from nodes.routing.policy import MessageRefusals, Policy
from nodes.routing.records import Rules
from nodes.routing.scheme_exchange import SchemeExchange
from nodes.routing.schemes import make_scheme
from nodes.routing.schemes.base import FibSpec, Scheme, View, of_router
from nodes.routing.signatures import Signatures
from nodes.routing.store import PredicateStore
from nodes.routing.subscriptions import ClientSubscriptions
from nodes.scheme_catalog import factors_patterns
from nodes.wire.packets import Kind, Refusal, Role

STORM_FACTOR = 16
"""How much longer than `install_delay_ms` a router waits, at most, while causes keep coming."""
NO_FORWARDING = FibSpec(0, (), ())
"""What a router that has withdrawn forwards by."""
Handler = Callable[[int, Link, bytes], None]


@mypyc_attr(allow_interpreted_subclasses=True)
class Router:
    """One router.

    Args:
        config: Its identity and what it is joined to.
        rng: Randomness for incarnations and jitter. A restarted router must be given
            another seed than before: an incarnation must not come twice.

    Raises:
        UsageError: The configuration is not a router's.
    """

    def __init__(self, config: NodeConfig, rng: random.Random) -> None:
        if config.role is not Role.ROUTER:
            raise UsageError(f"{config.name} is configured as a {config.role.name.lower()}, not a router")
        self.config = config
        self.incarnation = draw_incarnation(rng)
        self.links = [Link(config, interface, self.incarnation, rng) for interface in config.interfaces]
        self.store = PredicateStore()
        factors = factors_patterns(config.scheme_options)
        self.inner = [len(config.interfaces)] if factors else []
        """The interface to our own monitors, if we recognise patterns."""
        ports = len(config.interfaces) + len(self.inner)
        self.gate = Gate(ports) if config.scheme_options.get("advertisements") else None
        """What clients have advertised; None: they need not."""
        self.policy = Policy(config.interfaces)
        self.permits = self.policy.permits(ports)
        """What clients may publish by the policy; None: anything."""
        self.installer = Installer(config, self.store, self.gate, self.permits, inner=factors)
        self._message_refusals = self._told_of_messages()
        self.drops: Counter[str] = Counter()
        self._outputs: list[Output] = []
        self._begun = False
        self._scheme = make_scheme(config.scheme, config.scheme_options)
        self._install_due = self._pending()
        self._link_events = 0
        self._stale = True
        """Whether something may be due at another time than `_own_due`."""
        self._own_due: int | None = None
        self._view: View | None = None
        self._view_version: tuple[int, int, int] | None = None
        self._aged_version: object = None
        self._compiled: tuple[View, int, bool] | None = None
        """What the scheme last ran with: the view, the version of its names, whether our id is refused."""
        self._wire(rng)

    def _wire(self, rng: random.Random) -> None:
        config, node, want_install = self.config, self.config.node_id, self._install_due.want
        to_routers = [link for link in self.links if link.interface.peer_role is Role.ROUTER]
        identity = Identity(node, self._log, self._withdraw_or_return)
        self.rules = Rules(Holdings(config.limits), Ageing(config.timers), identity, Signatures.of(config))
        floods = partial(
            InterestExchange,
            node,
            to_routers,
            self.store,
            rules=self.rules,
            renumber_ms=config.timers.renumber_ms,
        )
        self.interest = floods(announcement=self._pending(), changed=want_install)
        self.offer_exchange: InterestExchange | None = None
        """Of what clients advertise, if every router must know that."""
        self._offers: Offers | None = None
        if self.gate is not None and self._scheme.floods_offers:
            changed = self._subscriptions_changed
            self.offer_exchange = floods(announcement=self._pending(), changed=changed, subject=OFFERS)
            self._offers = Offers(node, self.store)
        self._floods = [each for each in (self.interest, self.offer_exchange) if each is not None]
        self.linkstate = LinkStateExchange(
            node,
            to_routers,
            rules=self.rules,
            renumber_ms=config.timers.renumber_ms,
            announcement=self._pending(),
            changed=want_install,
            returned=self.interest.returned,
        )
        to_clients = [i.index for i in config.interfaces if i.peer_role is Role.CLIENT]
        self.clients = ClientSubscriptions(
            [*to_clients, *self.inner],
            self.store,
            self.rules.holdings,
            self.policy,
            self._subscriptions_changed,
        )
        self.advertisements = ClientAdvertisements(
            to_clients,
            self.rules.holdings,
            self.policy,
            gate=self.gate,
            store=self.store,
            changed=self._advertisements_changed,
        )
        self.scheme_exchange = SchemeExchange(
            node,
            self.links,
            self.store,
            config.limits,
            config.timers,
            rules=self.rules,
            scheme=self._scheme,
            rng=rng,
            changed=want_install,
        )
        self.patterns: Patterns | None = None
        """What is sought here, if routers recognise patterns."""
        if self.inner:
            self.patterns = Patterns(
                self.links,
                self.store,
                self.clients,
                holdings=self.rules.holdings,
                policy=self.policy,
                limits=config.limits,
                changed=want_install,
            )
        self._handlers = self._handlers_by_role()

    def _told_of_messages(self) -> list[MessageRefusals]:
        """Who tells clients which of their messages the data plane refuses, reason by reason."""
        told = []
        if self.gate is not None:
            told.append(MessageRefusals(Refusal.UNADVERTISED, self.gate.refused))
        if self.permits is not None:
            told.append(MessageRefusals(Refusal.MESSAGE_NOT_PERMITTED, self.permits.refused))
        return told

    def _handlers_by_role(self) -> dict[Role, dict[int, Handler]]:
        from_routers: dict[int, Handler] = {
            Kind.LINK_STATE: self.linkstate.take_record,
            Kind.RECORD_REQUEST: self._take_request,
            **self.scheme_exchange.handlers,
        }
        if self._scheme.floods_interest:
            from_routers |= self.interest.handlers
        if self.offer_exchange is not None:
            from_routers |= self.offer_exchange.handlers
        from_clients: dict[int, Handler] = {
            Kind.SUBSCRIBE: self.clients.take,
            Kind.UNSUBSCRIBE: self.clients.take_back,
            Kind.ADVERTISE: self.advertisements.take,
            Kind.UNADVERTISE: self.advertisements.take_back,
        }
        if self.patterns is not None:
            sought: dict[int, Handler] = {
                Kind.SUBSCRIBE_PATTERN: self.patterns.take,
                Kind.UNSUBSCRIBE_PATTERN: self.patterns.take_back,
            }
            from_routers |= {
                **sought,
                Kind.MATCH: self.patterns.take_match,
                Kind.REFUSED: self.patterns.take_refused,
            }
            from_clients |= sought
        return {Role.ROUTER: from_routers, Role.CLIENT: from_clients}

    def _pending(self) -> Pending:
        return Pending(self.config.timers.install_delay_ms, STORM_FACTOR, self._note_due)

    def _note_due(self) -> None:
        self._stale = True

    @property
    def scheme(self) -> Scheme:
        """What decides what its tables hold, for those who look on."""
        return self._scheme

    @property
    def settled(self) -> bool:
        """Whether nothing is under way: all is acknowledged, announced and installed."""
        numbers_settled = self.linkstate.database.records.settled and all(f.settled for f in self._floods)
        named = numbers_settled and not self.rules.identity.refused
        sought = self.patterns is None or not self.patterns.pending
        idle = self._due() == [] and self.scheme_exchange.settled and named and sought
        return self._begun and idle and all(link.quiet for link in self.links)

    @property
    def contradicted(self) -> bool:
        """Whether something else may stand in our name, and we cannot go above it yet (`numbers`)."""
        owns = [self.linkstate.database.records.own, *(flood.database.own for flood in self._floods)]
        return any(own.contradicted for own in owns)

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on an interface, or a message for our monitors."""
        if not self._begun:
            self._begin(now_ns)
        if interface in self.inner:
            self._stale = True
            assert self.patterns is not None
            self.patterns.receive(now_ns, packet)
            return
        link = self.links[interface]
        for event in link.receive(now_ns, packet):
            self._take(now_ns, link, event)

    def use_keys(self, now_ns: int, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """The keys of a link are these now."""
        self.links[interface].use_keys(now_ns, keys)

    def use_signers(self, signers: Mapping[int, bytes]) -> None:
        """The public keys of routers are these now; what is held was looked at before."""
        self.rules.signatures.use(signers)

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""
        self._begin(now_ns)
        for link in self.links:
            if link.next_deadline() <= now_ns:
                for event in link.handle_timer(now_ns):
                    self._take(now_ns, link, event)
                if link.interface.peer_role is Role.CLIENT:
                    for refusals in self._message_refusals:
                        refusals.tell(now_ns, link)
        due = self._own_deadline()
        if due is not None and due <= now_ns:
            self._stale = True
            self._do_own(now_ns)

    def _do_own(self, now_ns: int) -> None:
        """Do what is due but for the links."""
        self.linkstate.handle_timer(now_ns)
        for flood in self._floods:
            flood.handle_timer(now_ns)
        self.rules.identity.handle_timer(now_ns)
        for numbering in self._numberings():
            for origin in numbering.take_due(now_ns):
                self.interest.ask_all(now_ns, origin)
        if self.offer_exchange is not None and self.offer_exchange.announcement.take(now_ns):
            assert self._offers is not None
            self.offer_exchange.originate(now_ns, *self._offers.settle())
        if self.interest.announcement.take(now_ns):
            self._announce_interest(now_ns)
        self.scheme_exchange.handle_timer(now_ns)
        for origin in self.rules.ageing.take_due(now_ns):
            self._forget(origin)
        if self._install_due.take(now_ns):
            self._install(now_ns)
        if self.patterns is not None:
            self.patterns.handle_timer(now_ns)

    @property
    def recognising(self) -> bool:
        """Whether messages are held back to recognise patterns, or what we have told may not have arrived."""
        if self.patterns is None:
            return False
        return self.patterns.next_deadline() is not None or not all(link.idle for link in self.links)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted; 0 until it was called first."""
        if not self._begun:
            return 0
        earliest = self._own_deadline()
        for link in self.links:
            at = link.deadline or link.next_deadline()
            if earliest is None or at < earliest:
                earliest = at
        return earliest

    def _own_deadline(self) -> int | None:
        """When something is due that is not a link's; found anew after something has come or was done."""
        if self._stale:
            self._stale = False
            self._own_due = self._first_due()
        return self._own_due

    def _first_due(self) -> int | None:
        records = self.linkstate.database.records
        due = earlier(self.linkstate.announcement.at, self._install_due.at)
        due = earlier(due, self.scheme_exchange.next_deadline())
        due = earlier(due, self.rules.ageing.next_deadline())
        due = earlier(due, self.rules.identity.next_deadline())
        due = earlier(due, earlier(records.own.returns_at, records.numbering.next_deadline()))
        if self.patterns is not None:
            due = earlier(due, self.patterns.next_deadline())
        for flood in self._floods:
            due = earlier(due, earlier(flood.announcement.at, flood.database.own.returns_at))
            due = earlier(due, flood.numbering.next_deadline())
        return due

    def take_outputs(self) -> list[Output]:
        """What is to be done, in order."""
        outputs, self._outputs = self._outputs, []
        for link in self.links:
            if link.stirred:
                outputs += link.take_outputs()
        for output in outputs:
            if type(output) is Drop:
                self.drops[str(output.reason)] += 1
        return outputs

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the state."""
        return report.status(self)

    def tables(self) -> str:
        """What the router holds and forwards by, for a person."""
        return report.tables(self)

    def _begin(self, now_ns: int) -> None:
        if not self._begun:
            self._begun = self._stale = True
            self.linkstate.announcement.want(now_ns)
            self._install(now_ns)

    def _numberings(self) -> list[Numbering]:
        return [self.linkstate.database.records.numbering, *(flood.numbering for flood in self._floods)]

    def _due(self) -> list[int]:
        announcements = [self.linkstate.announcement, *(flood.announcement for flood in self._floods)]
        waiting = (*(each.at for each in announcements), self._install_due.at)
        return [at for at in waiting if at is not None]

    def _take(self, now_ns: int, link: Link, event: LinkEvent) -> None:
        self._stale = True
        if isinstance(event, Arrived):
            self._take_payload(now_ns, link, event)
        elif link.interface.peer_role is Role.CLIENT:
            self.clients.end_session(now_ns, link)
            self.advertisements.end_session(now_ns, link)
            self.policy.end_session(link)
            self.rules.holdings.reset(link)
            for refusals in self._message_refusals:
                refusals.end_session(link)
            if self.patterns is not None:
                self.patterns.end_session(now_ns, link)
        else:
            self._link_events += 1
            self.linkstate.announcement.want(now_ns)
            self._install_due.want(now_ns)
            if isinstance(event, LinkUp):
                self.rules.holdings.reset(link)
                self.rules.signatures.reset(link)
                self.linkstate.joined(now_ns, link)
                for flood in self._floods:
                    flood.joined(now_ns, link)
            self.scheme_exchange.take_event(now_ns, link, event, self._look)
            if self.patterns is not None:
                self.patterns.end_session(now_ns, link)
                if isinstance(event, LinkUp):
                    self.patterns.joined(now_ns, link)

    def _take_payload(self, now_ns: int, link: Link, event: Arrived) -> None:
        handler = self._handlers[link.interface.peer_role].get(event.kind)
        if handler is None:
            known = any(event.kind == kind for kind in Kind)
            link.drop(Reason.UNEXPECTED_KIND if known else Reason.UNKNOWN_KIND)
            return
        try:
            handler(now_ns, link, event.payload)
        except WireError as error:
            link.drop(Reason.MALFORMED_PAYLOAD, kind=event.kind, why=str(error))
        if self.patterns is not None and self.patterns.pending:
            self._install_due.want(now_ns)

    def _take_request(self, now_ns: int, link: Link, payload: bytes) -> None:
        origin = codec.decode_record_request(payload)
        self.linkstate.answer(now_ns, link, origin)
        for flood in self._floods:
            flood.answer(now_ns, link, origin)
        self.scheme_exchange.answer(now_ns, link, origin)

    def _log(self, log: Log) -> None:
        self._outputs.append(log)

    def _withdraw_or_return(self, now_ns: int) -> None:
        for flood in self._floods:
            flood.announcement.want(now_ns)
        self.linkstate.announcement.want(now_ns)
        self._install_due.want(now_ns)

    def _subscriptions_changed(self, now_ns: int) -> None:
        self.interest.announcement.want(now_ns)
        self._install_due.want(now_ns)

    def _advertisements_changed(self, now_ns: int) -> None:
        if self.offer_exchange is not None:
            self.offer_exchange.announcement.want(now_ns)
        self._install_due.want(now_ns)

    def _forget(self, origin: int) -> None:
        self.linkstate.forget(origin)
        for flood in self._floods:
            flood.forget(origin)
        self.scheme_exchange.forget(origin)

    def _announce_interest(self, now_ns: int) -> None:
        removed, added = self.clients.settle()
        if self._offers is not None:
            removed, added = self._offers.told(removed, added)
        if self._scheme.floods_interest:
            self.interest.originate(now_ns, removed, added)
        else:
            self.store.change(of_router(self.config.node_id), removed, added)
        self.scheme_exchange.look(now_ns, self._look())

    def _look(self) -> View:
        """What the scheme goes by: the same object until something in it differs."""
        links, interest = self.linkstate.database, self.interest.database
        version = (links.records.version, interest.version, self._link_events)
        if self._view is None or version != self._view_version:
            topology = links.topology()
            view = View(
                node=self.config.node_id,
                topology=topology,
                interfaces=self.linkstate.interfaces(),
                wanting=interest.wanted(topology.nodes),
                clients=tuple(self.clients.by_interface),
            )
            self._view = self._view if view == self._view else view
            self._view_version = version
        return self._view

    def _install(self, now_ns: int) -> None:
        self.clients.store_changes()
        view = self._look()
        flooded = tuple(flood.database.version for flood in self._floods)
        held_version = (self._view_version, flooded, self.scheme_exchange.records_version)
        if self._aged_version != held_version:
            self._aged_version = held_version
            self._look_at_origins(now_ns, view)
        if self._offers is not None and self._offers.see(view.topology.nodes):
            self.interest.announcement.want(now_ns)
        self.scheme_exchange.look(now_ns, view)
        if self.patterns is not None:
            self.patterns.settle(now_ns, view)
        fib = self._make_fib(view)
        if fib is not None:
            self._outputs.append(Install(fib))

    def _make_fib(self, view: View) -> Fib | None:
        """Run the scheme if what it depends on has changed; else only predicates may have."""
        compiled = (view, self.scheme_exchange.names_version, self.rules.identity.refused)
        if compiled == self._compiled:
            return self.installer.refresh()
        self._compiled = compiled
        return self.installer.build(NO_FORWARDING if compiled[2] else self._scheme.compile(view))

    def _look_at_origins(self, now_ns: int, view: View) -> None:
        """The network has changed: who is gone, who is listed, who lists us."""
        links, rules = self.linkstate.database, self.rules
        last_class = set().union(*(numbering.last_class() for numbering in self._numberings()))
        listed = links.listed()
        rules.ageing.look(now_ns, self._origins(), listed, last_class)
        rules.holdings.see_listed(listed)
        rules.identity.see(links.listed_by(view.interfaces))
        self.interest.returned(now_ns, sorted(listed))

    def _origins(self) -> set[int]:
        held = {origin for origin, _ in self.linkstate.database.records.payloads()}
        flooded = (flood.database.origins for flood in self._floods)
        return held.union(*flooded, self.scheme_exchange.origins()) - {self.config.node_id}
