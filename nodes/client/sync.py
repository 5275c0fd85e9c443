"""The library for programs without asyncio: the same client, whose calls wait for what they ask.

    with sync.Client.from_environment() as client:
        flights = client.subscribe('dest = "ORD" and price < 400')
        client.publish({"dest": "JFK", "price": 210.5})
        for delivery in flights:
            print(delivery.attributes)

The client itself (`nodes.client.aio`) runs in a thread of its own, so that its router hears of it while the
program computes. Any thread may call it.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Generic, TypeVar

from nodes.client import aio
from nodes.client.delivery import Advertisement, Delivery
from nodes.client.environment import configuration, sigterm_is_free
from nodes.client.seeking import Match
from nodes.config import NodeConfig
from nodes.model import Pattern, Predicate

T = TypeVar("T")
Wait = Callable[[Coroutine[Any, Any, T]], T]


class _Deliveries(Generic[T]):
    """Deliveries or matches, one after the other, fetched in batches."""

    def __init__(self, client: Client, batch: Callable[[], Coroutine[Any, Any, list[T]]]) -> None:
        self._client = client
        self._batch = batch
        self._fetched: Iterator[T] = iter(())

    def next(self, timeout_s: float | None = None) -> T:
        """The oldest; waits for one.

        Raises:
            StopIteration: None can come any more.
            TimeoutError: None came in that time.
        """
        found = next(self._fetched, None)
        if found is None:
            self._fetched = iter(self._client.wait(self._fetch(timeout_s)))
            found = next(self._fetched)
        return found

    async def _fetch(self, timeout_s: float | None) -> list[T]:
        async with asyncio.timeout(timeout_s):
            return await self._batch()


class Subscription:
    """A predicate that a client wants, and an iterator over what matches it."""

    def __init__(self, client: Client, inner: aio.Subscription) -> None:
        self.number = inner.number
        self.predicate = inner.predicate
        self._client = client
        self._inner = inner
        self._deliveries = _Deliveries(client, inner.batch)

    def settled(self) -> None:
        """Wait until every router knows of it: see `aio.Subscription.settled`."""
        self._client.wait(self._inner.settled())

    def unsubscribe(self) -> None:
        """Want it no longer; returns when our router has taken note."""
        self._client.wait(self._inner.unsubscribe())

    def get(self, timeout_s: float | None = None) -> Delivery:
        """The next delivery; `TimeoutError` if none comes in that time, `StopIteration` if none can."""
        return self._deliveries.next(timeout_s)

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Delivery:
        return self._deliveries.next()


class PatternSubscription:
    """A pattern that a client seeks, and an iterator over its matches."""

    def __init__(self, client: Client, inner: aio.PatternSubscription) -> None:
        self.number = inner.number
        self.pattern = inner.pattern
        self._client = client
        self._inner = inner
        self._matches = _Deliveries(client, inner.batch)

    def settled(self) -> None:
        """Wait until every router knows of it: see `aio.Subscription.settled`."""
        self._client.wait(self._inner.settled())

    def unsubscribe(self) -> None:
        """Seek it no longer; returns when our router has taken note."""
        self._client.wait(self._inner.unsubscribe())

    def get(self, timeout_s: float | None = None) -> Match:
        """The next match; `TimeoutError` if none comes in that time, `StopIteration` if none can.

        `PatternRefused` if our router does not seek it.
        """
        return self._matches.next(timeout_s)

    def __iter__(self) -> PatternSubscription:
        return self

    def __next__(self) -> Match:
        return self._matches.next()


class Client:
    """A client, attached to its router. Make one with `connect`, `from_environment` or `from_config`."""

    def __init__(self, inner: aio.Client, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._deliveries = _Deliveries(self, inner.batch)

    @classmethod
    @contextmanager
    def connect(cls, **about: Any) -> Iterator[Client]:
        """As `aio.Client.connect`."""
        with _running(cls, lambda: aio.Client.connect(**about)) as client:
            yield client

    @classmethod
    @contextmanager
    def from_config(cls, config: NodeConfig, **limits: Any) -> Iterator[Client]:
        """As `aio.Client.from_config`."""
        with _running(cls, lambda: aio.Client.from_config(config, **limits)) as client:
            yield client

    @classmethod
    @contextmanager
    def from_environment(cls, **limits: Any) -> Iterator[Client]:
        """As `aio.Client.from_environment`; SIGTERM leaves the block by `SystemExit`, with status 0."""
        config = configuration()
        with _ended_by_sigterm(), cls.from_config(config, **limits) as client:
            yield client

    @property
    def attached(self) -> bool:
        """Whether the session with the router is up."""
        return self._inner.attached

    def attach(self, timeout_s: float = aio.ATTACH_TIMEOUT_S) -> None:
        """Wait until attached; `TimeoutError` if the router does not answer in time."""
        self.wait(self._inner.attach(timeout_s))

    def subscribe(self, predicate: str | Predicate) -> Subscription:
        """Want what matches; returns when our router has taken note.

        `NotPermitted` if its policy does not permit it.
        """
        return Subscription(self, self.wait(self._inner.subscribe(predicate)))

    def subscribe_pattern(self, pattern: str | Pattern) -> PatternSubscription:
        """Seek messages that belong together; returns when our router has taken note.

        `PatternRefused` if it does not seek it.
        """
        return PatternSubscription(self, self.wait(self._inner.subscribe_pattern(pattern)))

    def advertise(self, advertisements: str | Predicate) -> Advertisement:
        """Announce what will be published; returns when our router knows.

        `NotPermitted` if its policy does not permit it.
        """
        return self.wait(self._inner.advertise(advertisements))

    def unadvertise(self, advertisement: Advertisement) -> None:
        """Announce it no longer; returns when our router knows."""
        self.wait(self._inner.unadvertise(advertisement))

    @property
    def refused(self) -> Mapping[str, int]:
        """How much of what we sent the router has not taken: see `aio.Client.refused`."""
        return self._inner.refused

    def publish(self, message: aio.Content, payload: bytes = b"") -> tuple[int, int]:
        """Send a message; returns its id, (source, sequence)."""
        return self.wait(self._inner.publish(message, payload))

    def publish_many(
        self, messages: Iterable[aio.Content | tuple[aio.Content, bytes]]
    ) -> list[tuple[int, int]]:
        """Send messages at once; returns their ids."""
        return self.wait(self._inner.publish_many(messages))

    def get(self, timeout_s: float | None = None) -> Delivery:
        """The next delivery that no subscription takes itself; see `Subscription.get`."""
        return self._deliveries.next(timeout_s)

    def __iter__(self) -> Client:
        return self

    def __next__(self) -> Delivery:
        return self._deliveries.next()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What the client's thread makes of it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def _running(
    kind: type[Client], connect: Callable[[], AbstractAsyncContextManager[aio.Client]]
) -> Iterator[Client]:
    """A client in a thread of its own, which ends with the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="cbn client", daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    connected = wait(_called(connect))
    try:
        inner = wait(connected.__aenter__())
        try:
            yield kind(inner, loop)
        finally:
            wait(connected.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _called(make: Callable[[], T]) -> T:
    """Within the loop, which some constructors ask for."""
    return make()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises SystemExit in the main thread, unless it does something else already."""
    if not sigterm_is_free():
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
