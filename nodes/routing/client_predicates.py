"""What the clients of a router hold there by ids of their own: subscriptions and advertisements alike.

Each stays as the bytes that came, to be taken back as a whole. Not here: what is made of
them (`subscriptions`, `advertisements`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from fastpath import cover
from fastpath.wire.codec import WireError
from nodes.routing.digests import SetDigest
from nodes.routing.effects import Reason
from nodes.routing.holdings import NOTHING, RECORD_BYTES, Holdings, Size
from nodes.routing.link import Link
from nodes.routing.policy import WAITING_MAX, Policy, tell_refused
from nodes.routing.predicates import COUNT
from nodes.routing.room import Waiting
from nodes.wire.packets import Refusal, Refused


class Predicates:
    """What the client at one interface holds, by its own ids."""

    def __init__(self) -> None:
        self._predicates: dict[int, bytes] = {}
        self._size = NOTHING
        self._digest = SetDigest()

    def __len__(self) -> int:
        return len(self._predicates)

    def set(self, number: int, predicate: bytes) -> None:
        """Add or replace one.

        Raises:
            WireError: The predicate is malformed; nothing was changed.
        """
        self._check(predicate)
        self.discard(number)
        self._added(predicate)
        self._predicates[number] = predicate
        self._size = self._size.plus(size_of(predicate))
        self._digest.toggle(number, predicate)

    def discard(self, number: int) -> bool:
        """Withdraw one; False if there is none of this id."""
        predicate = self._predicates.pop(number, None)
        if predicate is None:
            return False
        self._removed(predicate)
        self._size = self._size.minus(size_of(predicate))
        self._digest.toggle(number, predicate)
        return True

    def clear(self) -> None:
        """The client is gone, and what it held with it."""
        for number in list(self._predicates):
            self.discard(number)

    @property
    def size(self) -> Size:
        """What all amount to."""
        return self._size

    def size_with(self, number: int, size: Size) -> Size:
        """What all would amount to with one of this size in the place of the one of this number."""
        held = self._predicates.get(number)
        return self._size.plus(size) if held is None else self._size.minus(size_of(held)).plus(size)

    def digest(self) -> str:
        """What client and router compare to know that they agree."""
        return self._digest.digest

    def _check(self, predicate: bytes) -> None:
        cover.count(predicate)

    def _added(self, predicate: bytes) -> None:
        """It is held now, once more."""

    def _removed(self, predicate: bytes) -> None:
        """It is held once less."""


HeldT = TypeVar("HeldT", bound=Predicates)


@dataclass(frozen=True, slots=True)
class Words:
    """How one kind of them is named."""

    one: str
    """With its article."""
    withdrawal: str
    """The control payload that withdraws one."""
    unknown: Reason
    """Why a withdrawal is dropped that names none."""
    refusal: Refusal
    """What a client is told of one that the policy does not permit."""
    over_limit: Refusal
    """Likewise, of one beyond what it may hold."""
    room: Refusal
    """Likewise, of one that was refused so, when there is room for it."""


class FromClients(ABC, Generic[HeldT]):
    """What all clients of a router hold there.

    Args:
        by_interface: What takes it, by the interface to each client.
        words: What it is called.
        holdings: How much a client may hold.
        policy: What it may be.
    """

    def __init__(
        self,
        by_interface: Mapping[int, HeldT],
        words: Words,
        holdings: Holdings,
        policy: Policy,
    ) -> None:
        self.by_interface = by_interface
        self._words = words
        self._holdings = holdings
        self._policy = policy
        self._waiting = {interface: Waiting() for interface in by_interface}
        """What was refused by the limits, by interface."""
        self._refused = dict.fromkeys(by_interface, 0)
        """How often that happened in this session."""

    def take(self, now_ns: int, link: Link, payload: bytes) -> None:
        """One is added or replaced.

        What the policy does not permit, or is more than the client may hold, is refused, and what had its
        number is withdrawn.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        number, predicate = self._number(payload), payload[COUNT.size :]
        interface, size = link.interface.index, size_of(predicate)
        held, waiting = self.by_interface[interface], self._waiting[interface]
        before, answers = held.size, waiting.remove(number)
        if not self._permits(interface, predicate):
            self._discard(now_ns, link, number)
            self._policy.refuse(now_ns, link, self._words.refusal, Refused.of(number, predicate))
        elif self._holdings.admits_of_client(link, held.size_with(number, size)):
            held.set(number, predicate)
            self._touch(now_ns, link)
        else:
            self._discard(now_ns, link, number)
            self._refuse(now_ns, link, Refused.of(number, predicate))
            waiting.add(Refused.of(number, predicate), size)
        if answers or not before.within(held.size):
            self._offer_room(now_ns, link)

    def take_back(self, now_ns: int, link: Link, payload: bytes) -> None:
        """One is withdrawn.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        number = self._number(payload)
        if len(payload) != COUNT.size:
            what = self._words.withdrawal
            raise WireError(f"an {what} has {COUNT.size} bytes; this has {len(payload)}")
        waiting = self._waiting[link.interface.index]
        if self._discard(now_ns, link, number) or waiting.remove(number):
            self._offer_room(now_ns, link)
        elif not waiting.forgotten:
            link.drop(self._words.unknown)

    def end_session(self, now_ns: int, link: Link) -> None:
        """A client went away, or came back as another: it has to say anew what it holds."""
        interface = link.interface.index
        self._waiting[interface].clear()
        self._refused[interface] = 0
        held = self.by_interface[interface]
        if len(held):
            held.clear()
            self._touch(now_ns, link)

    def _discard(self, now_ns: int, link: Link, number: int) -> bool:
        """Hold it no longer; False if there is none of this id."""
        there = self.by_interface[link.interface.index].discard(number)
        if there:
            self._touch(now_ns, link)
        return there

    def _refuse(self, now_ns: int, link: Link, refused: Refused) -> None:
        self._refused[link.interface.index] += 1
        count = self._refused[link.interface.index]
        tell_refused(now_ns, link, self._words.over_limit, count, refused)

    def _offer_room(self, now_ns: int, link: Link) -> None:
        """Tell the client what it may say again, as it holds less than before."""
        interface = link.interface.index
        room = self._holdings.of_client.minus(self.by_interface[interface].size)
        if link.waiting >= WAITING_MAX:
            return  # it does not read; what would not be sent must not be counted as offered
        for refused in self._waiting[interface].fitting(room):
            tell_refused(now_ns, link, self._words.room, 1, refused)

    @abstractmethod
    def _permits(self, interface: int, predicate: bytes) -> bool:
        """Whether the policy permits it to the client there; WireError if it is malformed."""

    @abstractmethod
    def _touch(self, now_ns: int, link: Link) -> None:
        """What the client at the end of a link holds has changed."""

    def _number(self, payload: bytes) -> int:
        if len(payload) < COUNT.size:
            one = self._words.one
            raise WireError(f"{one}'s id has {COUNT.size} bytes; this payload has {len(payload)}")
        return int(COUNT.unpack_from(payload)[0])


def predicates_digest(predicates: Mapping[int, bytes]) -> str:
    """The digest of all of them, as those who hold them keep it up to date."""
    whole = SetDigest()
    for number, predicate in predicates.items():
        whole.toggle(number, predicate)
    return whole.digest


def size_of(predicate: bytes) -> Size:
    """What a predicate amounts to; one without a filter counts as one of them.

    Raises:
        WireError: It is malformed.
    """
    filters, constraints = cover.count(predicate)
    return Size(max(1, filters), constraints, len(predicate) + RECORD_BYTES)
