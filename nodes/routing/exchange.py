"""What neighbours say of interest: which of it is news, what is refused, what is passed on.

Records say all that an origin's clients want, changes lead from one state to
the next, requests ask for a record (docs/protocols.md, "Link state and
interest"). A change that does not fit what we hold is counted, and the record
asked for; from a neighbour that keeps to the protocol there is none.

Not here: what we hold (`interest`), what neighbours are told (`telling`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastpath import codec
from fastpath.interests import Predicate, read_change
from nodes.routing.ageing import Ageing
from nodes.routing.drops import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.interest import InterestDatabase, State
from nodes.routing.link import Link
from nodes.routing.predicates import filter_count
from nodes.routing.records import HEAD, head
from nodes.routing.store import PredicateStore
from nodes.routing.telling import Telling
from nodes.wire.packets import Kind

REFUSED_MAX = 65_536
"""So many (link, origin)s are remembered as refused; made-up origins must not fill our memory."""
Changed = Callable[[int], None]
Ours = Callable[[int, Kind, int], None]
"""Told (time, kind, sequence) of a record in our own name that we did not say."""


class InterestExchange:
    """Everybody's interest, as neighbours tell it and are told.

    Args:
        node: Our id.
        links: All our links.
        store: Where the predicates are kept.
        holdings: What a neighbour may make us hold.
        ageing: What may have been forgotten.
        changed: To be told of every change, with the time.
        ours: To be told of what is said in our name.
    """

    def __init__(
        self,
        node: int,
        links: Sequence[Link],
        store: PredicateStore,
        *,
        holdings: Holdings,
        ageing: Ageing,
        changed: Changed,
        ours: Ours,
    ) -> None:
        self.database = InterestDatabase(node, store)
        self.told = Telling(links, self.database)
        self._node = node
        self._pool = store.pool
        self._holdings = holdings
        self._ageing = ageing
        self._changed = changed
        self._ours = ours
        self._asked: set[tuple[int, int]] = set()
        self._refused: set[tuple[int, int]] = set()

    def joined(self, now_ns: int, link: Link) -> None:
        """A new session with a neighbouring router: everything is told."""
        interface = link.interface.index
        self._asked = {each for each in self._asked if each[0] != interface}
        self._refused = {each for each in self._refused if each[0] != interface}
        self.told.joined(now_ns, link)

    def originate(self, now_ns: int, removed: Predicate, added: Predicate) -> None:
        """Our clients want something else: say so, if that is so."""
        if self.database.originate(removed, added):
            self._spread(now_ns, self._node)

    def jump_above(self, sequence: int) -> None:
        """Our next word is to outdo this one."""
        self.database.jump_above(sequence)

    def take_record(self, now_ns: int, link: Link, payload: bytes) -> None:
        """INTEREST.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        origin, sequence = head(payload)
        place, held = (link.interface.index, origin), self.database.state(origin)
        self._asked.discard(place)
        if origin != self._node and held is not None and sequence < held.sequence:
            if self._ageing.may_be_forgotten(now_ns, origin):
                self.told.again(now_ns, link, origin)
        elif self._holdings.admits_filters(link, filter_count(memoryview(payload)[HEAD.size :])):
            self._take_state(now_ns, link, payload)
        else:
            self._refuse(place)

    def take_change(self, now_ns: int, link: Link, payload: bytes) -> None:
        """INTEREST_CHANGE.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        head(payload)
        origin, sequence, digest, removed, added = read_change(self._pool, payload)
        after, held = State(sequence, digest), self.database.state(origin)
        if origin == self._node:
            self._hear_ourselves(now_ns, after)
        elif held is not None and after <= held:
            self.told.heard(link, origin, after)
        elif not self._follows(origin, after, removed, added):
            link.drop(Reason.INTEREST_GAP)
            self.told.heard(link, origin, after)
            self.ask(now_ns, link, origin)
        elif self._room(link, origin, removed, added):
            self.database.take(origin, after, removed, added, payload)
            self.told.heard(link, origin, after)
            self._spread(now_ns, origin)
        else:
            self._refuse((link.interface.index, origin))

    def ask(self, now_ns: int, link: Link, origin: int) -> None:
        """Ask for an origin's records: once until they come, and not for what we had to refuse."""
        place = (link.interface.index, origin)
        if place not in self._asked and place not in self._refused:
            self._asked.add(place)
            link.send(now_ns, Kind.RECORD_REQUEST, codec.encode_record_request(origin))

    def _refuse(self, place: tuple[int, int]) -> None:
        if len(self._refused) < REFUSED_MAX:
            self._refused.add(place)

    def answer(self, now_ns: int, link: Link, origin: int) -> None:
        """A neighbour asks what we hold of an origin: it is told all."""
        self.told.again(now_ns, link, origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.database.forget(origin)
        self.told.forget(origin)
        self._holdings.release(Kind.INTEREST, origin)

    def _take_state(self, now_ns: int, link: Link, payload: bytes) -> None:
        origin, sequence = head(payload)
        predicate = self._pool.read(payload[HEAD.size :])
        after, held = State(sequence, predicate.digest()), self.database.state(origin)
        if origin == self._node:
            self._hear_ourselves(now_ns, after)
        elif held is not None and after <= held:
            self.told.heard(link, origin, after)
        elif self._holdings.charge(link, Kind.INTEREST, origin, len(payload)):
            before = self.database.predicate(origin)
            self.database.take(origin, after, before.minus(predicate), predicate.minus(before))
            self.database.remember(origin, payload)
            self.told.heard(link, origin, after)
            self._refused.discard((link.interface.index, origin))
            self._spread(now_ns, origin)
        else:
            self._refuse((link.interface.index, origin))

    def _hear_ourselves(self, now_ns: int, state: State) -> None:
        held = self.database.state(self._node)
        if state.sequence > self.database.sequence or (
            state.sequence == self.database.sequence and state != held
        ):
            self._ours(now_ns, Kind.INTEREST, state.sequence)

    def _follows(self, origin: int, after: State, removed: Predicate, added: Predicate) -> bool:
        held = self.database.state(origin)
        if held is None or after.sequence != held.sequence + 1:
            return False
        predicate = self.database.predicate(origin)
        return predicate.fits(removed, added) and predicate.digest_after(removed, added) == after.digest

    def _room(self, link: Link, origin: int, removed: Predicate, added: Predicate) -> bool:
        predicate = self.database.predicate(origin)
        filters = len(predicate) - len(removed) + len(added)
        size = HEAD.size + predicate.encoded_bytes - removed.encoded_bytes + added.encoded_bytes
        admitted = self._holdings.admits_filters(link, filters)
        return admitted and self._holdings.charge(link, Kind.INTEREST, origin, size)

    def _spread(self, now_ns: int, origin: int) -> None:
        self._ageing.stored(now_ns, origin)
        self._changed(now_ns)
        self.told.spread(now_ns, origin)
