"""CBCB: push and pull of predicates along broadcast trees (FWD 2.1, P1-P3).

Routers hold one predicate an interface. Receiver advertisements (RA) widen it,
sender requests (SR) and their update replies (UR) replace it. A message goes
down its source's tree as in PIF, with which the settled tables agree (E7).

Theory of operation, beyond the paper:

- **Eras** (`cbcb_era`). Requests, replies and advertisements belong to an era.
  In a new one every router asks anew, on all branches, for its trees or what it
  learned may have changed. What belongs to another era is stale and dropped;
  only a request may be early, and waits for us to get there.
- **An advertisement that is dropped as stale was not needed.** The way between
  two routers is the same in both directions (E7). So a router that has our
  reply in this era is behind routers that are all in this era, and our
  advertisements reach it; and one that is not will have our reply later.
- **An advertisement may arrive before a reply** that waits on its way for others. It
  is added to what waits, for the reply will replace what it widens.
- **`safe` and `literal`** (E6). An RA stops where it adds nothing: in `safe` to
  what the same issuer advertised before, as its revision shows; in `literal`
  to the whole predicate of the interface, whoever it came from. On graphs with
  cycles the latter leaves routers without what they need until they ask.
- **Withdrawals.** With `sr_on_change` an RA is flagged if its issuer wants less,
  passes everywhere, and every router asks the branch the issuer is in.

Not here: bytes (`nodes.wire`), eras and links (`cbcb_era`), the bookkeeping of requests and
the timers (`cbcb_pull`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import ClassVar

from fastpath import cover
from nodes.routing.effects import Reason
from nodes.routing.predicates import NOTHING, filter_count
from nodes.routing.schemes.base import FibSpec, Options, Talk, View, learned, of_router
from nodes.routing.schemes.cbcb_era import Eras, Links
from nodes.routing.schemes.cbcb_pull import Asking, Relay, Timers, Unions
from nodes.routing.schemes.sources import source_classes
from nodes.wire.codec import WireError
from nodes.wire.packets import Kind
from nodes.wire.scheme_payloads import Advertisement, Reply, Request

Handler = Callable[[int, int, bytes], None]
NUMBERS = 1 << 32
"""So many revisions and requests there are; only whether two are equal counts, so they begin again."""
EARLY_MAX = 65_536
"""So many requests wait for their era; more than any network this is made for."""


class Cbcb:
    """One router's part in the protocol."""

    floods_interest: ClassVar[bool] = False
    floods_offers: ClassVar[bool] = True
    names_version = 0
    """What was learned from a neighbour has one name, whatever it is."""
    kinds: ClassVar[frozenset[int]] = frozenset({Kind.CBCB_RA, Kind.CBCB_SR, Kind.CBCB_UR, Kind.CBCB_ERA})

    def __init__(self, options: Options) -> None:
        self._options = options
        self._literal = options["mode"] == "literal"
        self._asks_on_change = bool(options["sr_on_change"])
        self._handlers: dict[int, Handler] = {
            Kind.CBCB_RA: self._take_advertisement,
            Kind.CBCB_SR: self._take_request,
            Kind.CBCB_UR: self._take_reply,
            Kind.CBCB_ERA: self._take_era,
        }

    def compile(self, view: View) -> FibSpec:
        """The classes of PIF over what was learned, by interface."""
        branches = sorted(set(view.topology.first_hops(view.node).values()) & {*view.interfaces})
        table = {view.interfaces[branch][0]: (learned(branch),) for branch in branches}
        return FibSpec(view.node, source_classes(view), ({**table, **view.client_tables},))

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """Begin."""
        self._talk = talk
        self._view: View | None = None
        self._eras = Eras(talk, rng)
        self._links = Links()
        self._timers = Timers(self._options, rng)
        self._asking = Asking(0, ())
        self._relays: dict[int, Relay] = {}
        self._revisions: dict[int, int] = {}
        self._early: dict[tuple[int, int], Request] = {}
        self._unions = Unions()
        self._revision = 0
        self._own = NOTHING

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        """A neighbour is there: it is sent the records, and the era ends."""
        self._links.join(interface, neighbour)
        for payload in self._eras.everything():
            self._send(now_ns, interface, Kind.CBCB_ERA, payload)
        self._timers.renew.want(now_ns)

    def lost(self, now_ns: int, interface: int) -> None:
        """A link is gone; if another one leads to the same neighbour, the topology will not show it."""
        neighbour = self._links.leave(interface)
        if self._links.to(neighbour):
            self._timers.renew.want(now_ns)
        self._early = {key: early for key, early in self._early.items() if key[0] != interface}

    def look(self, now_ns: int, view: View) -> None:
        """See whether it is a new era, and whether our clients want something else."""
        self._view = view
        before, self._own = self._own, self._talk.store.predicate(of_router(self._talk.node))
        if not self._enter(now_ns) and self._own != before:
            self._advertise(now_ns, before)

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """Take a payload; WireError if it is malformed or its sender had no business to send it."""
        self._links.note_received(interface, kind, payload)
        self._handlers[kind](now_ns, interface, payload)

    def origins(self) -> Collection[int]:
        """The other routers whose records of an era are held."""
        return self._eras.origins()

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        self._eras.forget(origin)

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """A neighbour asks for a router's record of an era."""
        record = self._eras.payload(origin)
        if record is not None and interface in self._links:
            self._send(now_ns, interface, Kind.CBCB_ERA, record)

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""
        timers = self._timers
        self._take_due_records(now_ns)
        if timers.renew.take(now_ns):
            self._spread_era(now_ns, self._eras.renew(now_ns))
            self._enter(now_ns)
        if timers.refresh.take(now_ns):
            self._asking.want_all()
            self._ask(now_ns)
        if timers.repeat.take(now_ns) and self._own != NOTHING:
            self._issue(now_ns, narrowed=False, predicate=self._own)
        if timers.ask.take(now_ns):
            self._ask(now_ns)
        if timers.retry.take(now_ns):
            self._ask_again(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        times = (self._timers.next_deadline(), self._eras.next_deadline())
        return min((at for at in times if at is not None), default=None)

    @property
    def settled(self) -> bool:
        """Whether we have asked, been answered, and answered; periodic repetition apart."""
        relayed = all(relay.request.periodic for relay in self._relays.values())
        renewed = self._timers.renew.at is None and self._eras.settled
        return self._view is not None and renewed and relayed and self._asking.settled

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """Digests of what was sent and received, by interface, with the era."""
        return self._links.accounts(self._eras.id)

    # Eras.

    def _take_era(self, now_ns: int, interface: int, payload: bytes) -> None:
        news, lacking, ours = self._eras.take(now_ns, (interface, self._links.neighbour(interface)), payload)
        for each in lacking:
            self._send(now_ns, interface, Kind.CBCB_ERA, each)
        if ours:
            self._timers.renew.want(now_ns)
        if news:
            self._spread_era(now_ns, news, interface)
            self._enter(now_ns)

    def _take_due_records(self, now_ns: int) -> None:
        """Go back to ordinary numbers, and take the records of others that have (`numbers`)."""
        news, ours = self._eras.take_due(now_ns)
        if ours:
            self._timers.renew.want(now_ns)
        if news:
            self._spread_era(now_ns, news)
            self._enter(now_ns)

    def _spread_era(self, now_ns: int, payloads: list[bytes], source: int | None = None) -> None:
        for interface in self._links:
            if interface != source:
                for payload in payloads:
                    self._send(now_ns, interface, Kind.CBCB_ERA, payload)

    def _enter(self, now_ns: int) -> bool:
        """Begin anew if it is another era; whether it is."""
        if self._view is None or not self._eras.see(self._view):
            return False
        self._relays.clear()
        self._revisions.clear()
        self._revision = 0
        branches = self._eras.children(self._talk.node)
        for neighbour in sorted({self._links.neighbour(interface) for interface in self._links}):
            if neighbour not in branches:
                self._learn(now_ns, neighbour, NOTHING)
        self._asking = Asking(self._eras.id, branches)
        self._timers.begin(now_ns)
        self._take_early(now_ns)
        return True

    # Requests and replies (P3).

    def _ask(self, now_ns: int) -> None:
        requests = self._asking.ask(self._talk.node)
        for branch, request in requests.items():
            self._send_to(now_ns, branch, Kind.CBCB_SR, self._signed(request))
        if requests:
            self._timers.await_replies(now_ns)

    def _ask_again(self, now_ns: int) -> None:
        """Replies are long in coming: who has lost our request gets it again, who has not ignores it."""
        for branch, request in self._asking.awaited.items():
            self._send_to(now_ns, branch, Kind.CBCB_SR, self._signed(request))
        self._timers.retry_later(now_ns)

    def _signed(self, request: Request) -> bytes:
        return self._talk.signatures.signed(Kind.CBCB_SR, request.encode())

    def _take_request(self, now_ns: int, interface: int, payload: bytes) -> None:
        record, signature = self._talk.signatures.split(payload)
        request = Request.decode(record, signature)
        if not self._talk.admits(interface, Kind.CBCB_SR, request.origin, payload):
            return
        key = (interface, request.origin)
        if request.era == self._eras.id:
            self._relay(now_ns, interface, request)
        elif key in self._early or len(self._early) < EARLY_MAX:
            self._early[key] = request
        else:
            self._talk.drop(interface, Reason.STALE_PAYLOAD)

    def _take_early(self, now_ns: int) -> None:
        """Take the requests that were waiting for this era."""
        due = sorted(key for key, request in self._early.items() if request.era == self._eras.id)
        for key in due:
            try:
                self._relay(now_ns, key[0], self._early.pop(key))
            except WireError as error:
                self._talk.drop(key[0], Reason.MALFORMED_PAYLOAD, kind=Kind.CBCB_SR, why=str(error))

    def _relay(self, now_ns: int, interface: int, request: Request) -> None:
        """Pass a request on, or answer it if it ends here."""
        back = self._check_reverse_path(interface, request.origin)
        relay = self._relays.get(request.origin)
        if relay is None or relay.request.number != request.number:
            relay = Relay(request, back, set(self._eras.children(request.origin)))
            self._relays[request.origin] = relay
        for child in sorted(relay.waiting):
            self._send_to(now_ns, child, Kind.CBCB_SR, request.encode() + request.signature)
        self._reply(now_ns, relay)

    def _reply(self, now_ns: int, relay: Relay) -> None:
        if not relay.waiting:
            request = relay.request
            del self._relays[request.origin]
            predicate = self._unions.of((self._own, *relay.parts))
            reply = Reply(request.origin, request.era, request.number, predicate)
            self._send_to(now_ns, relay.back, Kind.CBCB_UR, reply.encode())

    def _take_reply(self, now_ns: int, interface: int, payload: bytes) -> None:
        reply, branch = Reply.decode(payload), self._links.neighbour(interface)
        if not self._awaits(branch, reply):
            self._talk.drop(interface, Reason.STALE_PAYLOAD)
            return
        predicate = reply.predicate
        if not self._within_limit(interface, filter_count(predicate)):
            predicate = self._talk.store.predicate(learned(branch))
        if reply.origin == self._talk.node:
            self._conclude(now_ns, branch, reply.number, predicate)
        else:
            relay = self._relays[reply.origin]
            relay.reply(branch, predicate)
            self._reply(now_ns, relay)

    def _awaits(self, branch: int, reply: Reply) -> bool:
        if reply.era != self._eras.id:
            return False
        if reply.origin == self._talk.node:
            awaited = self._asking.awaited.get(branch)
            return awaited is not None and awaited.number == reply.number
        relay = self._relays.get(reply.origin)
        return relay is not None and relay.request.number == reply.number and branch in relay.waiting

    def _conclude(self, now_ns: int, branch: int, number: int, predicate: bytes) -> None:
        """A branch has answered our own request: this is what is behind it."""
        self._asking.answer(branch, number)
        self._learn(now_ns, branch, predicate)
        if self._asking.awaited:
            self._timers.await_replies(now_ns)
        else:
            self._timers.retry.at = None
        if self._asking.wanted:
            self._timers.ask.want(now_ns)

    # Advertisements (P2).

    def _advertise(self, now_ns: int, before: bytes) -> None:
        """Tell what we want now and did not want before, and whether that was all."""
        added = cover.difference(self._own, before)
        less = self._unions.of((before, self._own)) != self._unions.of((self._own,))
        if added != NOTHING or (less and self._asks_on_change):
            self._revision = (self._revision + 1) % NUMBERS
            self._issue(now_ns, less and self._asks_on_change, added)

    def _issue(self, now_ns: int, narrowed: bool, predicate: bytes) -> None:
        node = self._talk.node
        record = Advertisement(node, self._eras.id, self._revision, narrowed, predicate).encode()
        payload = self._talk.signatures.signed(Kind.CBCB_RA, record)
        for child in self._eras.children(node):
            self._send_to(now_ns, child, Kind.CBCB_RA, payload)

    def _take_advertisement(self, now_ns: int, interface: int, payload: bytes) -> None:
        received = Advertisement.decode(self._talk.signatures.record(payload))
        if received.era != self._eras.id:
            self._talk.drop(interface, Reason.STALE_PAYLOAD)
            return
        branch = self._check_reverse_path(interface, received.origin)
        if not self._talk.admits(interface, Kind.CBCB_RA, received.origin, payload):
            return
        held = filter_count(self._talk.store.predicate(learned(branch)))
        if not self._within_limit(interface, held + filter_count(received.predicate)):
            return
        # A channel keeps the order, so what differs is new; a forged revision hides none that follow.
        news = received.revision != self._revisions.get(received.origin, 0)
        self._revisions[received.origin] = received.revision
        for relay in self._relays.values():
            if relay.has_reply_from(branch) and self._eras.between(received.origin, relay.request.origin):
                relay.add(received.predicate)
        grown = self._widen(now_ns, branch, received.predicate)
        if news and received.narrowed:
            self._asking.want(branch)
            self._timers.ask.want(now_ns)
        if (news and received.narrowed) or (grown if self._literal else news):
            for child in self._eras.children(received.origin):
                self._send_to(now_ns, child, Kind.CBCB_RA, payload)

    def _widen(self, now_ns: int, branch: int, predicate: bytes) -> bool:
        """Add to what is behind a neighbour; whether that adds anything."""
        if predicate == NOTHING:
            return False
        held = self._talk.store.predicate(learned(branch))
        return self._learn(now_ns, branch, self._unions.of((held, predicate)))

    # What all share.

    def _learn(self, now_ns: int, branch: int, predicate: bytes) -> bool:
        changed = self._talk.store.replace(learned(branch), predicate)
        if changed:
            self._talk.changed(now_ns)
        return changed

    def _check_reverse_path(self, interface: int, issuer: int) -> int:
        """The neighbour at an interface, which is next on the way to an issuer (P1).

        Raises:
            WireError: It is not.
        """
        neighbour = self._links.neighbour(interface)
        if self._eras.hops.get(issuer) != neighbour:
            raise WireError(f"router {issuer} is not behind neighbour {neighbour} in the trees of this era")
        return neighbour

    def _within_limit(self, interface: int, filters: int) -> bool:
        limit = self._talk.limits.filters_per_neighbour
        if filters > limit:
            setting = "limits.filters_per_neighbour"
            self._talk.drop(interface, Reason.TOO_MANY_FILTERS, filters=filters, limit=limit, setting=setting)
        return filters <= limit

    def _send_to(self, now_ns: int, neighbour: int, kind: int, payload: bytes) -> None:
        """Send to a neighbour; if it is not there any more, a new era will begin."""
        assert self._view is not None
        for interface in self._view.interfaces.get(neighbour, ())[:1]:
            if interface in self._links:
                self._send(now_ns, interface, kind, payload)

    def _send(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        self._links.note_sent(interface, kind, payload)
        self._talk.send(now_ns, interface, kind, payload)
