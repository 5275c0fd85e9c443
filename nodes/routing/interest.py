"""Who wants what: the predicates of all routers, by sequence, and the steps by which they changed.

A router floods one predicate, the union of what its clients subscribed to,
reduced (M6: subscriptions of a predicate at an interface; RTE 2: pred(v)). Where clients have
to advertise, what they advertise is flooded in the same way, as another predicate (`OFFERS`). The
predicates themselves are in the router's store; here is which state of each
origin's predicate that is, and the latest changes as they were announced, so that
whoever holds an earlier state can be sent the difference.

A state is named by its sequence and the digest of its predicate. States of one
origin are ordered by both: of two with one sequence the greater digest wins
everywhere.

Not here: what is taken from neighbours and sent to them (`interest_exchange`).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fastpath.interests import Predicate
from nodes.routing.effects import Reason
from nodes.routing.numbers import OwnNumber
from nodes.routing.predicates import COUNT
from nodes.routing.records import HEAD
from nodes.routing.schemes.base import Source, of_router, offer_of_router
from nodes.routing.signatures import UNSIGNED, Signatures
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Kind

STEPS_MAX = 256
"""So many changes of one origin are kept to be passed on, if they are not larger than its predicate."""
ENCODED_MIN, ENCODED_MAX = 1 << 12, 1 << 25
"""Bytes of encoded predicates kept at hand, of one at least and of all at most: several neighbours are sent
the same at about the same time."""


class Subject(NamedTuple):
    """What the predicates are that are flooded."""

    record: Kind
    change: Kind
    gap: Reason
    """Why a change is dropped that does not follow from what is held."""
    named: Callable[[int], Source]
    """The store's name of a router's predicate."""


INTEREST = Subject(Kind.INTEREST, Kind.INTEREST_CHANGE, Reason.INTEREST_GAP, of_router)
"""What the clients of a router want."""
OFFERS = Subject(Kind.OFFER, Kind.OFFER_CHANGE, Reason.OFFER_GAP, offer_of_router)
"""What they advertise."""


class State(NamedTuple):
    """Which state of an origin's predicate; the greater is the later."""

    sequence: int
    digest: bytes


class Step(NamedTuple):
    """A change from one state to the next, as it was announced."""

    before: State
    after: State
    payload: bytes


@dataclass(slots=True)
class _Record:
    state: State
    signature: bytes
    steps: deque[Step] = field(default_factory=deque)
    step_bytes: int = 0


class InterestDatabase:
    """What the clients of every router want, or what they advertise."""

    def __init__(
        self,
        node: int,
        store: PredicateStore,
        renumber_ms: int,
        subject: Subject = INTEREST,
        signatures: Signatures = UNSIGNED,
    ) -> None:
        self.own = OwnNumber(renumber_ms, from_clock=signatures.required)
        self.version = 0
        """Another number when an origin came, went, or began or ceased to want anything."""
        self._node = node
        self._store = store
        self._named = subject.named
        self._kind = subject.record
        self._signatures = signatures
        self._records: dict[int, _Record] = {}
        self._encoded: OrderedDict[int, tuple[State, bytes]] = OrderedDict()
        self._encoded_bytes = 0

    @property
    def origins(self) -> list[int]:
        """Of whom anything is known, ascending."""
        return sorted(self._records)

    def state(self, origin: int) -> State | None:
        """What is held of an origin."""
        record = self._records.get(origin)
        return None if record is None else record.state

    def predicate(self, origin: int) -> Predicate:
        """What an origin wants."""
        return self._store.named(self._named(origin))

    def originate(self, now_ns: int, removed: Predicate, added: Predicate) -> bool:
        """Our clients want something else; False if they do not, and it was announced."""
        if not len(removed) and not len(added) and self._node in self._records:
            return False
        before = self.state(self._node)
        digest = self.predicate(self._node).digest_after(removed, added)
        after = State(self.own.take_next(now_ns), digest)
        signature = self._sign(after, removed, added)
        step = None
        if before is not None and after.sequence == before.sequence + 1:
            step = (
                HEAD.pack(self._node, after.sequence) + digest + removed.encode() + added.encode() + signature
            )
        self.take(self._node, after, removed, added, step, signature=signature)
        return True

    def _sign(self, after: State, removed: Predicate, added: Predicate) -> bytes:
        """The signature of our own record that a change leads to."""
        if not self._signatures.required:
            return b""
        record = self.record_after(self._node, after, removed, added)
        return self._signatures.split(self._signatures.signed(self._kind, record))[1]

    def record_after(self, origin: int, after: State, removed: Predicate, added: Predicate) -> bytes:
        """The whole record that a change leads to, without its signature."""
        predicate = self.predicate(origin).minus(Predicate(self._store.pool))
        predicate.change(removed, added)
        return predicate.encode(HEAD.pack(origin, after.sequence))

    def withdraw(self) -> None:
        """Forget what we announced, so that the next `originate` announces all, under another number."""
        self._records.pop(self._node, None)
        self.version += 1

    def take(
        self,
        origin: int,
        after: State,
        removed: Predicate,
        added: Predicate,
        step: bytes | None = None,
        *,
        signature: bytes = b"",
    ) -> None:
        """Hold a later state of an origin.

        Args:
            origin: Whose.
            after: The state.
            removed: What it does not have of the one that is held.
            added: What it has besides.
            step: The change as announced; None if it was not.
            signature: Of the whole record that it is, where records are signed.
        """
        wanted = self._wants(origin)
        self._store.change(self._named(origin), removed, added)
        record = self._records.get(origin)
        if record is None:
            record = self._records[origin] = _Record(after, signature)
            step = None
            self.version += 1
        elif self._wants(origin) is not wanted:
            self.version += 1
        if step is None:
            record.steps.clear()
            record.step_bytes = 0
        else:
            record.steps.append(Step(record.state, after, step))
            record.step_bytes += len(step)
        record.state, record.signature = after, signature
        whole = HEAD.size + self.predicate(origin).encoded_bytes
        while record.steps and (record.step_bytes > whole or len(record.steps) > STEPS_MAX):
            record.step_bytes -= len(record.steps.popleft().payload)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self._records.pop(origin, None)
        self.version += 1
        self._drop_encoded(origin)
        self._store.forget(self._named(origin))

    def step_after(self, origin: int, known: State) -> Step | None:
        """The change to send to a holder of an earlier state; None if it must be sent everything."""
        steps = self._records[origin].steps
        if steps and 0 <= (at := known.sequence - steps[0].before.sequence) < len(steps):
            return steps[at] if steps[at].before == known else None
        return None

    def payload(self, origin: int) -> bytes:
        """All of an origin's record, as it is flooded."""
        record = self._records[origin]
        state, held = record.state, self._encoded.get(origin)
        if held is None or held[0] != state:
            encoded = self.predicate(origin).encode(HEAD.pack(origin, state.sequence)) + record.signature
            self.remember(origin, encoded)
            return encoded
        self._encoded.move_to_end(origin)
        return held[1]

    def remember(self, origin: int, encoded: bytes) -> None:
        """Keep at hand what others will soon be sent."""
        self._drop_encoded(origin)
        if len(encoded) < ENCODED_MIN:
            return
        self._encoded[origin] = (self._records[origin].state, encoded)
        self._encoded_bytes += len(encoded)
        while self._encoded_bytes > ENCODED_MAX:
            self._drop_encoded(next(iter(self._encoded)))

    def _drop_encoded(self, origin: int) -> None:
        _, encoded = self._encoded.pop(origin, (None, b""))
        self._encoded_bytes -= len(encoded)

    def wanted(self, origins: Iterable[int]) -> tuple[int, ...]:
        """Those of these routers that want anything."""
        return tuple(origin for origin in origins if self._wants(origin))

    def digest(self, origins: Iterable[int]) -> str:
        """SHA-256 over what these routers want, in the order given."""
        whole = hashlib.sha256()
        for origin in self.wanted(origins):
            whole.update(COUNT.pack(origin) + self._records[origin].state.digest)
        return whole.hexdigest()

    def _wants(self, origin: int) -> bool:
        return origin in self._records and len(self.predicate(origin)) > 0
