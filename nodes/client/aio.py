"""The library applications are written with: a client of a content-based network, for asyncio.

    async with Client.connect(local="10.0.0.2", router="10.0.0.1", node_id=7, router_id=1) as client:
        await client.subscribe('dest = "ORD" and price < 400')
        await client.publish({"dest": "JFK", "price": 210.5})
        async for delivery in client:
            print(delivery.attributes)

`docs/writing-applications.md` explains it. Here: sockets, timers, waiting. Not
here: the protocol, which is `nodes.client.core`.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastpath.wire.codec import WireError
from nodes.client.core import ClientCore, NotAttached
from nodes.config import InterfaceConfig, NodeConfig
from nodes.daemon.clock import Clock
from nodes.daemon.sockets import open_interface
from nodes.daemon.udp import UdpLink
from nodes.model import Predicate, Value, parse_message, parse_predicate
from nodes.routing.effects import Deliver, Send
from nodes.wire.packets import PORT, Role

DATAGRAMS_A_TURN = 256
QUEUE_LIMIT = 65_536
ATTACH_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Subscription:
    """What `subscribe` returns and `unsubscribe` takes."""

    number: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that matched one of the client's subscriptions."""

    source: int
    """Id of the publishing client."""
    sequence: int
    """Its number at the publisher; (source, sequence) is the message's id."""
    attributes: Mapping[str, Value]
    hop_count: int
    """How many routers it passed."""
    publish_time_ns: int
    """When it was published, by the publisher's clock, in ns since 1970."""
    latency_ns: int
    """From then until it arrived here; two machines' clocks may disagree."""


class Client:
    """A client, attached to its router. Make one with `connect`."""

    def __init__(self, config: NodeConfig, queue_limit: int = QUEUE_LIMIT) -> None:
        """Open the socket; `attach` does the rest. Must be called in a running loop."""
        self._core = ClientCore(config, random.SystemRandom())
        self._clock = Clock(config.dilate, config.dilate_from_ns)
        self._loop = asyncio.get_running_loop()
        self._link = UdpLink(open_interface(config.interfaces[0]), config.interfaces[0].name)
        self._queue: deque[Delivery] = deque()
        self._queue_limit = queue_limit
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._failure: BaseException | None = None
        self._closed = False
        self.overflows = 0
        """Deliveries that were dropped because the application did not take them in time."""
        self.malformed = 0
        """Datagrams that were dropped because they were not what the wire format says."""
        self._loop.add_reader(self._link.fileno(), self._guarded, self._on_readable)
        self._guarded(self._advance)

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        *,
        local: str,
        router: str,
        node_id: int,
        router_id: int,
        port: int = PORT,
        router_port: int = PORT,
        mtu: int = 1500,
        queue_limit: int = QUEUE_LIMIT,
        attach_timeout_s: float = ATTACH_TIMEOUT_S,
    ) -> AsyncIterator[Client]:
        """A client attached to the router at an address.

        Args:
            local: our IPv4 address; the router has an interface that expects us there.
            router: the router's IPv4 address.
            node_id: our id, as the router's interface expects it.
            router_id: the router's id.
            port: our UDP port.
            router_port: the router's UDP port.
            mtu: of the link between us; no message may exceed it.
            queue_limit: how many deliveries wait for the application before further ones are dropped.
            attach_timeout_s: how long to wait for the router.

        Raises:
            TimeoutError: the router did not answer in time.
            BindError: `local` cannot be used.
        """
        interface = InterfaceConfig(
            0, "link", local, router, f"node {router_id}", router_id, Role.ROUTER, 1, mtu, port, router_port
        )
        config = NodeConfig(f"node {node_id}", node_id, Role.CLIENT, "", 0, (interface,))
        async with cls.from_config(config, queue_limit, attach_timeout_s) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def from_config(
        cls, config: NodeConfig, queue_limit: int = QUEUE_LIMIT, attach_timeout_s: float = ATTACH_TIMEOUT_S
    ) -> AsyncIterator[Client]:
        """A client as a `node.toml` describes it (`nodes.config_file.load_config` reads one)."""
        client = cls(config, queue_limit)
        try:
            await client.attach(attach_timeout_s)
            yield client
        finally:
            client.close()

    @property
    def attached(self) -> bool:
        """Whether the session with the router is up."""
        return self._core.attached

    async def attach(self, timeout_s: float = ATTACH_TIMEOUT_S) -> None:
        """Wait until attached: at the start, or after the router was lost.

        Raises:
            TimeoutError: the router did not answer in time.
        """
        interface = self._core.config.interfaces[0]
        try:
            await asyncio.wait_for(self._until(lambda: self.attached), timeout_s)
        except TimeoutError:
            raise TimeoutError(
                f"the router at {interface.peer_address}:{interface.peer_port} did not answer within "
                f"{timeout_s:g} s; does it run, and has it an interface for node {self._core.config.node_id} "
                f"at {interface.address}?"
            ) from None

    async def subscribe(self, predicate: str | Predicate) -> Subscription:
        """Want what matches; returns when our router has taken note.

        The rest of the network learns of it from there: messages published
        elsewhere a moment later may still miss us.

        Raises:
            PredicateSyntaxError: the text is no predicate; the error points at the column.
        """
        wanted = parse_predicate(predicate) if isinstance(predicate, str) else predicate
        number = self._core.subscribe(self._clock.now_ns(), wanted)
        await self._acknowledged()
        return Subscription(number, wanted)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Want it no longer; returns when our router has taken note.

        Raises:
            UsageError: it was withdrawn before.
        """
        self._core.unsubscribe(self._clock.now_ns(), subscription.number)
        await self._acknowledged()

    async def publish(self, message: str | Mapping[str, Value]) -> tuple[int, int]:
        """Send a message; returns its id, (source, sequence). Nobody tells whether it arrives.

        Raises:
            NotAttached: there is no router to give it to.
            UsageError: the network cannot carry it.
        """
        attributes = parse_message(message) if isinstance(message, str) else message
        self._check()
        published = self._core.publish(self._clock.now_ns(), attributes)
        self._guarded(self._advance)
        # Let the loop breathe: a publisher in a tight loop must not starve its own deliveries.
        await asyncio.sleep(0)
        return published

    def __aiter__(self) -> Client:
        return self

    async def __anext__(self) -> Delivery:
        await self._until(lambda: bool(self._queue) or self._closed)
        if not self._queue:
            raise StopAsyncIteration
        return self._queue.popleft()

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the protocol's state and of the link's counters."""
        return {"core": self._core.status(), "interfaces": [self._link.counters()]}

    def close(self) -> None:
        """End: deliveries that wait can still be taken, then iteration ends."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._link.fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._link.close()
        self._changed.set()

    async def _acknowledged(self) -> None:
        self._guarded(self._advance)
        await self._until(lambda: self.attached and self._core.link.quiet)

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that only a packet, a timer or `close` can bring about."""
        while not condition():
            self._check()
            if self._closed:
                raise NotAttached(f"{self._core.config.name} has been closed")
            self._changed.clear()
            await self._changed.wait()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _guarded(self, step: Callable[[], None]) -> None:
        """A defect in a callback would otherwise reach the loop's log and not the application."""
        try:
            step()
        except Exception as error:
            self._failure = error
            self.close()
            return
        self._changed.set()

    def _on_readable(self) -> None:
        for _ in range(DATAGRAMS_A_TURN):
            datagram = self._link.receive()
            if datagram is None:
                break
            self._take(datagram)
        self._advance()

    def _take(self, datagram: bytes) -> None:
        try:
            packets = self._link.split(datagram)
        except WireError:
            self.malformed += 1
            return
        for packet in packets:
            self._core.receive(self._clock.now_ns(), 0, packet)

    def _advance(self) -> None:
        """Do what is due and what the core asks for, and set the timer for the next time."""
        if self._closed:
            return
        now_ns = self._clock.now_ns()
        deadline_ns = self._core.next_deadline()
        if deadline_ns is not None and deadline_ns <= now_ns:
            self._core.handle_timer(now_ns)
        for output in self._core.take_outputs():
            if isinstance(output, Send):
                self._link.send(output.datagram)
            elif isinstance(output, Deliver):
                self._enqueue(now_ns, output)
        self._arm(self._core.next_deadline())

    def _enqueue(self, now_ns: int, output: Deliver) -> None:
        if len(self._queue) >= self._queue_limit:
            self.overflows += 1
            return
        m = output.message
        latency_ns = now_ns - m.publish_time_ns
        self._queue.append(
            Delivery(m.source, m.sequence, m.attributes, m.hop_count, m.publish_time_ns, latency_ns)
        )

    def _arm(self, deadline_ns: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ns is not None:
            delay_s = self._clock.real_wait_s(max(0, deadline_ns - self._clock.now_ns()))
            self._timer = self._loop.call_later(delay_s, self._guarded, self._advance)
