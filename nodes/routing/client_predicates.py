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
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.policy import Policy
from nodes.routing.predicates import COUNT, filter_count
from nodes.wire.packets import Refusal, Refused


class Predicates:
    """What the client at one interface holds, by its own ids."""

    def __init__(self) -> None:
        self._predicates: dict[int, bytes] = {}
        self._filters = 0
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
        self._filters += _weight(predicate)
        self._digest.toggle(number, predicate)

    def discard(self, number: int) -> bool:
        """Withdraw one; False if there is none of this id."""
        predicate = self._predicates.pop(number, None)
        if predicate is None:
            return False
        self._removed(predicate)
        self._filters -= _weight(predicate)
        self._digest.toggle(number, predicate)
        return True

    def clear(self) -> None:
        """The client is gone, and what it held with it."""
        for number in list(self._predicates):
            self.discard(number)

    def filters_with(self, number: int, predicate: bytes) -> int:
        """How many filters there would be with this one; a predicate without any counts as one."""
        held = self._predicates.get(number)
        return self._filters + _weight(predicate) - (0 if held is None else _weight(held))

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

    def take(self, now_ns: int, link: Link, payload: bytes) -> None:
        """One is added or replaced; what the policy does not permit takes the place of none, and is refused.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        number, predicate = self._number(payload), payload[COUNT.size :]
        held = self.by_interface[link.interface.index]
        if not self._permits(link.interface.index, predicate):
            if held.discard(number):
                self._touch(now_ns, link)
            self._policy.refuse(now_ns, link, self._words.refusal, Refused.of(number, predicate))
        elif self._holdings.admits_filters(link, held.filters_with(number, predicate)):
            held.set(number, predicate)
            self._touch(now_ns, link)

    def take_back(self, now_ns: int, link: Link, payload: bytes) -> None:
        """One is withdrawn.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        number = self._number(payload)
        if len(payload) != COUNT.size:
            what = self._words.withdrawal
            raise WireError(f"an {what} has {COUNT.size} bytes; this has {len(payload)}")
        if self.by_interface[link.interface.index].discard(number):
            self._touch(now_ns, link)
        else:
            link.drop(self._words.unknown)

    def end_session(self, now_ns: int, link: Link) -> None:
        """A client went away, or came back as another: it has to say anew what it holds."""
        held = self.by_interface[link.interface.index]
        if len(held):
            held.clear()
            self._touch(now_ns, link)

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


def _weight(predicate: bytes) -> int:
    return max(1, filter_count(predicate))
