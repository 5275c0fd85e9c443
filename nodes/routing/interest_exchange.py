"""The exchange of interest between neighbours: what is news, refused or passed on, and what is sent next.

Of what clients want and, by a second exchange, of what they advertise (`interest.Subject`).

A record is all that an origin's clients want, a change leads from one state to
the next, a request asks for a record (docs/protocols.md, "Link state and
interest"). A change that does not fit what we hold is counted, and the record
requested; from a neighbour that keeps to the protocol there is none.

For every live link and every origin `Announcements` keeps which state the
neighbour holds at least: the last that we sent it or that it sent us. What it
is to be sent is promised to the channel and made when its turn comes: nothing
if the neighbour has it by then, the next step if it holds the state before,
else the whole record. So a queue holds one promise for each origin however fast
interest changes, a slow neighbour is sent the sum of what it missed, and a step
always fits.

Not here: what we hold (`interest`), for how long and how much (`records`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fastpath.interests import Predicate, read_change
from fastpath.wire import codec
from nodes.routing.interest import INTEREST, InterestDatabase, State, Subject
from nodes.routing.link import Link
from nodes.routing.numbers import Numbering, Order, of_last_class
from nodes.routing.outbound import Made
from nodes.routing.pending import Pending
from nodes.routing.predicates import filter_count
from nodes.routing.records import HEAD, Rules, head
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Kind

REFUSED_MAX = 65_536
"""So many (link, origin)s are remembered as refused, and as asked for: invented origins must not fill our
memory."""


class Announcements:
    """What each neighbour knows of everybody's interest, and what it is sent next."""

    def __init__(self, links: Sequence[Link], database: InterestDatabase, subject: Subject) -> None:
        self._links = links
        self._database = database
        self._subject = subject
        self._known: dict[int, dict[int, State]] = {link.interface.index: {} for link in self._links}

    def joined(self, now_ns: int, link: Link) -> None:
        """A new session: the neighbour is promised every record."""
        self._known[link.interface.index].clear()
        for origin in self._database.origins:
            self._promise(now_ns, link, origin)

    def spread(self, now_ns: int, origin: int) -> None:
        """An origin's interest has changed: all neighbours are to know."""
        for link in self._links:
            if link.up:
                self._promise(now_ns, link, origin)

    def learned(self, link: Link, origin: int, state: State) -> None:
        """A neighbour shows which state it holds, of an origin of which we hold one too."""
        if self._database.state(origin) is None:
            return
        known = self._known[link.interface.index]
        before = known.get(origin, state)
        known[origin] = max(state, before) if _comparable(state, before) else state

    def repeat(self, now_ns: int, link: Link, origin: int) -> None:
        """A neighbour turned out not to hold what we thought: it is sent the whole record."""
        self._known[link.interface.index].pop(origin, None)
        if self._database.state(origin) is not None:
            self._promise(now_ns, link, origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        for known in self._known.values():
            known.pop(origin, None)

    def _promise(self, now_ns: int, link: Link, origin: int) -> None:
        place = (self._subject.record, origin)
        link.promise(now_ns, place, partial(self._next, link.interface.index, origin))

    def _next(self, interface: int, origin: int) -> Made | None:
        held, known = self._database.state(origin), self._known[interface]
        if held is None or (origin in known and _comparable(known[origin], held) and known[origin] >= held):
            return None
        step = self._database.step_after(origin, known[origin]) if origin in known else None
        if step is None:
            known[origin] = held
            return Made(self._subject.record, self._database.payload(origin), more=False)
        known[origin] = step.after
        return Made(self._subject.change, step.payload, more=step.after != held)


def _comparable(a: State, b: State) -> bool:
    """Whether the greater of two states is the later one."""
    return of_last_class(a.sequence) is of_last_class(b.sequence)


class InterestExchange:
    """What neighbouring routers send us of interest, and what we send them.

    Args:
        node: Our id.
        links: Our links to routers.
        store: Where the predicates are kept.
        rules: What we hold, and for how long.
        renumber_ms: How long the last class of numbers is held.
        announcement: When what our clients want is to be announced anew.
        changed: Called with the time after every change.
        subject: What is exchanged.
    """

    def __init__(
        self,
        node: int,
        links: Sequence[Link],
        store: PredicateStore,
        *,
        rules: Rules,
        renumber_ms: int,
        announcement: Pending,
        changed: Callable[[int], None],
        subject: Subject = INTEREST,
    ) -> None:
        self.database = InterestDatabase(node, store, renumber_ms, subject, rules.signatures)
        self.numbering = Numbering(renumber_ms)
        self.announcement = announcement
        self._subject = subject
        self._announcements = Announcements(links, self.database, subject)
        self._node = node
        self._links = links
        self._pool = store.pool
        self._rules = rules
        self._changed = changed
        self._asked: dict[tuple[int, int], None] = {}
        self._refused: set[tuple[int, int]] = set()

    def joined(self, now_ns: int, link: Link) -> None:
        """A new session with a neighbouring router: it is sent everything."""
        interface = link.interface.index
        self._asked = {each: None for each in self._asked if each[0] != interface}
        self._refused = {each for each in self._refused if each[0] != interface}
        self._announcements.joined(now_ns, link)

    def originate(self, now_ns: int, removed: Predicate, added: Predicate) -> None:
        """Announce how what our clients want has changed, if it has."""
        if self.database.originate(now_ns, removed, added):
            self._spread(now_ns, self._node)

    @property
    def settled(self) -> bool:
        """Whether nothing is contradicted, and nothing known that is not taken yet."""
        return not self.database.own.contradicted and self.numbering.settled

    def handle_timer(self, now_ns: int) -> None:
        """Go back to ordinary numbers if it is time."""
        if self.database.own.go_back(now_ns):
            self._announcements.forget(self._node)
            self.database.withdraw()
            self.announcement.want(now_ns)

    @property
    def handlers(self) -> Mapping[int, Callable[[int, Link, bytes], None]]:
        """What takes the payloads, by their kind."""
        return {self._subject.record: self.take_record, self._subject.change: self.take_change}

    def take_record(self, now_ns: int, link: Link, payload: bytes) -> None:
        """INTEREST, or OFFER.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        origin, sequence = head(payload)
        place, held = (link.interface.index, origin), self.database.state(origin)
        self._asked.pop(place, None)
        if origin != self._node and held is not None and sequence != held.sequence:
            order = self.numbering.compare(now_ns, origin, held, State(sequence, b""))
            if order is not Order.NEWER:
                self._take_no_news(now_ns, link, State(sequence, b""), order, origin)
                return
        if self._rules.holdings.admits_filters(link, filter_count(memoryview(payload)[HEAD.size :])):
            self._take_state(now_ns, link, payload)
        else:
            self._refuse(place)

    def take_change(self, now_ns: int, link: Link, payload: bytes) -> None:
        """INTEREST_CHANGE, or OFFER_CHANGE.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        head(payload)
        change, signature = self._rules.signatures.split(payload)
        origin, sequence, digest, removed, added = read_change(self._pool, change)
        after = State(sequence, digest)
        if origin == self._node:
            self._take_own_change(now_ns, link, after)
            return
        order = self.numbering.compare(now_ns, origin, self.database.state(origin), after)
        if order is not Order.NEWER:
            self._take_no_news(now_ns, link, after, order, origin)
        elif not self._follows(origin, after, removed, added):
            link.drop(self._subject.gap)
            self._announcements.learned(link, origin, after)
            self.ask(now_ns, link, origin)
        elif not self._admits_change(link, origin, after, (removed, added), signature):
            return
        elif self._room(link, origin, removed, added):
            self.numbering.store(now_ns, origin, after.sequence - 1, after.sequence)
            self.database.take(origin, after, removed, added, payload, signature=signature)
            self._announcements.learned(link, origin, after)
            self._spread(now_ns, origin)
        else:
            self._refuse((link.interface.index, origin))

    def ask(self, now_ns: int, link: Link, origin: int) -> None:
        """Ask for an origin's records: once until they come, and not for what we had to refuse."""
        place = (link.interface.index, origin)
        if place not in self._asked and place not in self._refused:
            self._asked[place] = None
            if len(self._asked) > REFUSED_MAX:
                del self._asked[next(iter(self._asked))]
            link.send(now_ns, Kind.RECORD_REQUEST, codec.encode_record_request(origin))

    def returned(self, now_ns: int, origins: Iterable[int]) -> None:
        """Routers are listed again: ask for the records of those that we had forgotten."""
        for origin in self._rules.ageing.recall(origins):
            self.ask_all(now_ns, origin)

    def ask_all(self, now_ns: int, origin: int) -> None:
        """Ask all neighbours, also those that have been asked before and have not answered."""
        for link in self._links:
            self._asked.pop((link.interface.index, origin), None)
            if link.up:
                self.ask(now_ns, link, origin)

    def _refuse(self, place: tuple[int, int]) -> None:
        if len(self._refused) < REFUSED_MAX:
            self._refused.add(place)

    def answer(self, now_ns: int, link: Link, origin: int) -> None:
        """A neighbour asks what we hold of an origin: it is sent all of it."""
        self._announcements.repeat(now_ns, link, origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.database.forget(origin)
        self.numbering.forget(origin)
        self._announcements.forget(origin)
        self._rules.holdings.release(self._subject.record, origin)

    def _take_state(self, now_ns: int, link: Link, payload: bytes) -> None:
        origin, sequence = head(payload)
        record, signature = self._rules.signatures.split(payload)
        predicate = self._pool.read(record[HEAD.size :])
        after = State(sequence, predicate.digest())
        if origin == self._node:
            self._take_own(now_ns, link, after, record, signature)
            return
        order = self.numbering.compare(now_ns, origin, self.database.state(origin), after)
        if order is not Order.NEWER:
            self._take_no_news(now_ns, link, after, order, origin)
        elif not self._rules.signatures.admits(link, self._subject.record, origin, record, signature):
            return
        elif not self._rules.holdings.admits_origin(link, self._subject.record, origin, len(payload)):
            self._rules.ageing.refused(origin)
        elif not self._rules.holdings.admits_constraints(link, predicate.constraints):
            self._refuse((link.interface.index, origin))
        elif self._rules.holdings.charge(link, self._subject.record, origin, len(payload)):
            before = self.database.predicate(origin)
            returned = self._note(now_ns, origin, after)
            changes = before.minus(predicate), predicate.minus(before)
            self.database.take(origin, after, *changes, signature=signature)
            if not returned:
                self._announcements.learned(link, origin, after)
            self.database.remember(origin, payload)
            self._refused.discard((link.interface.index, origin))
            self._spread(now_ns, origin)
        else:
            self._refuse((link.interface.index, origin))

    def _take_own(self, now_ns: int, link: Link, state: State, record: bytes, signature: bytes) -> None:
        """A record in our own name, which may be later than ours (`Identity`)."""
        signatures = self._rules.signatures
        later = state != self.database.state(self._node) and state.sequence >= self.database.own.value
        if not later or signatures.admits(link, self._subject.record, self._node, record, signature):
            self._take_own_state(now_ns, link, state)

    def _take_own_change(self, now_ns: int, link: Link, state: State) -> None:
        """A change in our own name; what record it leads to only we could know, if we had made it."""
        if not self._rules.signatures.required:
            self._take_own_state(now_ns, link, state)
        elif state != self.database.state(self._node) and state.sequence >= self.database.own.value:
            self.ask(now_ns, link, self._node)

    def _take_own_state(self, now_ns: int, link: Link, state: State) -> None:
        database, identity = self.database, self._rules.identity
        order = database.own.receive(now_ns, database.state(self._node), state)
        if order is Order.STALE:
            self._announcements.repeat(now_ns, link, self._node)
        elif order is Order.NEWER:
            identity.superseded(now_ns, self._subject.record, state.sequence, self.announcement)
            database.withdraw()

    def _take_no_news(self, now_ns: int, link: Link, state: State, order: Order, origin: int) -> None:
        """A state that is not taken in place of ours: what it says about its sender."""
        unusual = self.numbering.is_unusual(origin) or origin == link.interface.peer_id
        deleted = not state.digest and self._rules.ageing.may_be_forgotten(now_ns, origin)
        if order is Order.STALE or (order is Order.OLDER and (unusual or deleted)):
            self._announcements.repeat(now_ns, link, origin)
        elif state.digest and order in (Order.SAME, Order.OLDER):
            self._announcements.learned(link, origin, state)

    def _note(self, now_ns: int, origin: int, after: State) -> bool:
        """This state will be held from now on; if its origin went back, all neighbours are to be sent it."""
        held = self.database.state(origin)
        returned = self.numbering.store(
            now_ns, origin, None if held is None else held.sequence, after.sequence
        )
        if returned:
            self._announcements.forget(origin)
        return returned

    def _follows(self, origin: int, after: State, removed: Predicate, added: Predicate) -> bool:
        held = self.database.state(origin)
        if held is None or after.sequence != held.sequence + 1:
            return False
        predicate = self.database.predicate(origin)
        return predicate.fits(removed, added) and predicate.digest_after(removed, added) == after.digest

    def _admits_change(
        self, link: Link, origin: int, after: State, change: tuple[Predicate, Predicate], signature: bytes
    ) -> bool:
        """Whether the origin has signed the record that its change (removed, added) leads to."""
        signatures = self._rules.signatures
        if not signatures.required:
            return True
        record = self.database.record_after(origin, after, *change)
        return signatures.admits(link, self._subject.record, origin, record, signature)

    def _room(self, link: Link, origin: int, removed: Predicate, added: Predicate) -> bool:
        predicate = self.database.predicate(origin)
        filters = len(predicate) - len(removed) + len(added)
        size = HEAD.size + predicate.encoded_bytes - removed.encoded_bytes + added.encoded_bytes
        constraints = predicate.constraints - removed.constraints + added.constraints
        holdings = self._rules.holdings
        admitted = holdings.admits_filters(link, filters) and holdings.admits_constraints(link, constraints)
        return admitted and self._rules.holdings.charge(link, self._subject.record, origin, size)

    def _spread(self, now_ns: int, origin: int) -> None:
        self._rules.ageing.stored(now_ns, origin)
        self._changed(now_ns)
        self._announcements.spread(now_ns, origin)
