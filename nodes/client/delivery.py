"""What a client receives, and which of its subscriptions want it.

A delivery is given to each subscription that takes its own (it has a callback, or somebody iterates over it),
and else to the client, over which one can iterate too. Not here: sockets, waiting (`aio`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from fastpath.fib import ForwardingTable
from nodes.model import Predicate, Value
from nodes.wire.codec import encode_filter

if TYPE_CHECKING:
    from nodes.client.aio import Client


class Delivery(NamedTuple):
    """A message that matched subscriptions of the client."""

    source: int
    """Id of the publishing client."""
    sequence: int
    """Its number at the publisher; (source, sequence) is the message's id."""
    attributes: Mapping[str, Value]
    payload: bytes
    """What the publisher sent besides; often nothing."""
    hop_count: int
    """How many routers it passed."""
    publish_time_ns: int
    """When it was published, by the publisher's clock, in ns since 1970."""
    latency_ns: int
    """From then until it arrived here; two machines' clocks may disagree."""
    subscriptions: tuple[Subscription, ...]
    """Those that it matched, in order of their numbers."""


class Advertisement(NamedTuple):
    """What a client has announced that it will publish."""

    number: int
    predicate: Predicate
    """Its filters are read as advertisements (docs/predicate-syntax.md)."""


Callback = Callable[[Delivery], object]


T = TypeVar("T")


class Inbox(Generic[T]):
    """Deliveries, or matches, that wait to be taken, in order of arrival; bounded."""

    def __init__(self, limit: int, wait: Callable[[Callable[[], bool]], Awaitable[bool]]) -> None:
        self._limit = limit
        self._wait = wait
        self._waiting: deque[T] = deque()
        self.overflows = 0
        """Deliveries that were dropped because nobody took them in time."""

    def put(self, deliveries: list[T]) -> None:
        """Add some; what there is no room for is dropped and counted."""
        room = self._limit - len(self._waiting)
        self._waiting.extend(deliveries if len(deliveries) <= room else deliveries[: max(0, room)])
        self.overflows += max(0, len(deliveries) - room)

    def take_if(self, chosen: Callable[[T], bool]) -> list[T]:
        """Take those that are chosen out."""
        taken = [delivery for delivery in self._waiting if chosen(delivery)]
        if taken:
            self._waiting = deque(delivery for delivery in self._waiting if not chosen(delivery))
        return taken

    async def next(self) -> T:
        """The oldest; waits for one. `StopAsyncIteration` when none can come any more."""
        if not self._waiting and not await self._wait(lambda: bool(self._waiting)):
            raise StopAsyncIteration
        return self._waiting.popleft()

    async def batch(self) -> list[T]:
        """All that wait; waits for one. Empty when none can come any more."""
        if not self._waiting:
            await self._wait(lambda: bool(self._waiting))
        taken = list(self._waiting)
        self._waiting.clear()
        return taken


class Subscription:
    """A predicate that a client wants, and an asynchronous iterator over what matches it."""

    def __init__(
        self,
        client: Client,
        number: int,
        predicate: Predicate,
        *,
        inbox: Inbox[Delivery],
        callback: Callback | None,
        known_ns: int,
    ) -> None:
        self.number = number
        self.predicate = predicate
        self.callback = callback
        self.inbox = inbox
        self.known_ns = known_ns
        """When every router knows of it."""
        self.takes = callback is not None
        """Whether it takes its deliveries itself."""
        self._client = client

    @property
    def overflows(self) -> int:
        """Deliveries that were dropped because the application did not take them in time."""
        return self.inbox.overflows

    @property
    def refused(self) -> str | None:
        """Why our router has not taken it, as a sentence, if it has said so since we were last attached.

        Who waits for a delivery is raised `NotPermitted`. When we are attached anew, it is asked for again.
        """
        return self._client.why_refused(self.number)

    async def settled(self) -> None:
        """Wait until every router knows of it, unless the network is disturbed meanwhile.

        Only our own router tells that it has taken note. For the others there is a time within which they
        know, `settle_ms` of the configuration; what is published once it is over must be delivered,
        and a run's verdict counts by the same time (docs/analysis.md).
        """
        await self._client.settled(self)

    async def unsubscribe(self) -> None:
        """Want it no longer; returns when our router has taken note."""
        await self._client.unsubscribe(self)

    async def batch(self) -> list[Delivery]:
        """What was delivered since the last time, at once: for many messages a second.

        Waits for one delivery; the list is empty when none can come any more.
        """
        self._take()
        return await self.inbox.batch()

    def __aiter__(self) -> Subscription:
        self._take()
        return self

    async def __anext__(self) -> Delivery:
        self._take()
        return await self.inbox.next()

    def __repr__(self) -> str:
        return f"<Subscription {self.number}>"

    def _take(self) -> None:
        if not self.takes:
            self.takes = True
            self._client.hand_over(self)


class Wanted:
    """Subscriptions by what they match, in compiled code."""

    def __init__(self) -> None:
        self.held: dict[int, Subscription] = {}
        self._table = ForwardingTable()
        self._filters: dict[int, list[int]] = {}
        self._named: dict[tuple[int, ...], tuple[Subscription, ...]] = {}

    def add(self, subscription: Subscription) -> None:
        """From now on what matches it is its."""
        number = subscription.number
        self.held[number] = subscription
        encoded = [encode_filter(one) for one in subscription.predicate.filters]
        self._filters[number] = [self._table.add(number, one) for one in encoded]
        self._commit()

    def remove(self, number: int) -> None:
        """From now on nothing is."""
        del self.held[number]
        for one in self._filters.pop(number):
            self._table.remove(one)
        self._commit()

    def of(self, packets: list[bytes]) -> list[tuple[Subscription, ...]]:
        """For each MESSAGE the subscriptions that it matches."""
        named = self._named
        return [named[m] if m in named else self._name(m) for m in self._table.match_many(packets)]

    def _name(self, numbers: tuple[int, ...]) -> tuple[Subscription, ...]:
        found = self._named[numbers] = tuple(self.held[number] for number in sorted(numbers))
        return found

    def _commit(self) -> None:
        self._table.commit()
        self._named.clear()
