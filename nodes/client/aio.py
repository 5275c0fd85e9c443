"""The library applications are written with: a client of a content-based network, for asyncio.

    async with Client.from_environment() as client:
        await client.subscribe('dest = "ORD" and price < 400')
        await client.publish({"dest": "JFK", "price": 210.5})
        async for delivery in client:
            print(delivery.attributes)

`docs/writing-applications.md` explains it. Here: sockets, timers, waiting. Not
here: the protocol, which is `nodes.client.core`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastpath.wire.codec import WireError
from nodes.client.core import ClientCore, NotAttached
from nodes.client.recording import Recording
from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig
from nodes.config_file import ConfigError, load_config
from nodes.daemon.clock import Clock
from nodes.daemon.sockets import open_interface
from nodes.daemon.udp import UdpLink
from nodes.model import Predicate, Value, parse_message, parse_predicate
from nodes.routing.effects import Deliver, Send
from nodes.wire.packets import PORT, Role

DATAGRAMS_A_TURN = 256
QUEUE_LIMIT = 65_536
ATTACH_TIMEOUT_S = 10.0
LEAVE_TIMEOUT_S = 1.0
"""How long a client that ends waits for its router to know that it wants nothing any more."""
CONFIG_VARIABLE = "CBN_NODE"
"""The environment's variable that names the client's configuration."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What `subscribe` returns and `unsubscribe` takes."""

    number: int
    predicate: Predicate
    _client: Client = field(repr=False)
    _known_ns: int = field(repr=False)

    async def settled(self) -> None:
        """Wait until every router knows of it, unless the network is disturbed meanwhile.

        Only our own router tells that it has taken note. For the others there is a time within which they
        know, `settle_ms` of the configuration; what is published once it is over must be delivered,
        and a run's verdict counts by the same time (docs/analysis.md).
        """
        await self._client.wait_until(self._known_ns)


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


@asynccontextmanager
async def _left_on_sigterm() -> AsyncIterator[None]:
    """Leave the block when SIGTERM comes, if nobody else has said what it is to do."""
    task, asked = asyncio.current_task(), False
    assert task is not None
    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def leave() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    loop = asyncio.get_running_loop()
    if ours:
        loop.add_signal_handler(signal.SIGTERM, leave)
    try:
        yield
    except asyncio.CancelledError:
        if not asked or task.uncancel() > 0:
            raise
    finally:
        if ours:
            loop.remove_signal_handler(signal.SIGTERM)


class Client:
    """A client, attached to its router. Make one with `connect`."""

    def __init__(self, config: NodeConfig, queue_limit: int = QUEUE_LIMIT) -> None:
        """Open the socket; `attach` does the rest. Must be called in a running loop."""
        self._recording = Recording(config) if config.events_path else None
        last_sequence = self._recording.last_sequence if self._recording else 0
        self._core = ClientCore(config, random.SystemRandom(), last_sequence)
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
            await client.leave()

    @classmethod
    @asynccontextmanager
    async def from_environment(
        cls, queue_limit: int = QUEUE_LIMIT, attach_timeout_s: float = ATTACH_TIMEOUT_S
    ) -> AsyncIterator[Client]:
        """The client that this program is: the environment's `CBN_NODE` names its `node.toml`.

        A run sets it for a program that a scenario has under `run`. At the end of the run the
        program is sent SIGTERM: then the block is left, as if it had come to its end.

        Raises:
            ConfigError: The environment names no file, or it is none.
        """
        path = os.environ.get(CONFIG_VARIABLE)
        if not path:
            raise ConfigError(
                f"{CONFIG_VARIABLE} is not set: it names the file with who this client is; "
                "a run sets it for a program (`run:` of a client in a scenario)"
            )
        async with (
            _left_on_sigterm(),
            cls.from_config(load_config(path), queue_limit, attach_timeout_s) as it,
        ):
            yield it

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
        now_ns = self._clock.now_ns()
        number = self._core.subscribe(now_ns, wanted)
        if self._recording is not None:
            self._recording.events.subscribed(now_ns, number, wanted)
        await self._acknowledged()
        settle_ns = self._core.config.settle_ms * MILLISECOND_NS
        return Subscription(number, wanted, self, now_ns + settle_ns)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Want it no longer; returns when our router has taken note.

        Raises:
            UsageError: it was withdrawn before.
        """
        self._withdraw(subscription.number)
        await self._acknowledged()

    async def publish(self, message: str | Mapping[str, Value]) -> tuple[int, int]:
        """Send a message; returns its id, (source, sequence). Nobody tells whether it arrives.

        Raises:
            NotAttached: there is no router to give it to.
            UsageError: the network cannot carry it.
        """
        attributes = parse_message(message) if isinstance(message, str) else message
        self._check()
        now_ns = self._clock.now_ns()
        published = self._core.publish(now_ns, attributes)
        if self._recording is not None:
            self._recording.events.published(now_ns, published, attributes)
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

    async def wait_until(self, time_ns: int) -> None:
        """Wait until the run's clock shows that time."""
        while (left_ns := time_ns - self._clock.now_ns()) > 0:
            await asyncio.sleep(self._clock.real_wait_s(left_ns))

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the protocol's state and of the link's counters."""
        return {"core": self._core.status(), "interfaces": [self._link.counters()]}

    async def leave(self, timeout_s: float = LEAVE_TIMEOUT_S) -> None:
        """Withdraw all subscriptions, let the router know, and close."""
        if self._closed:
            return
        for number in self._core.held:
            self._withdraw(number)
        try:
            if self.attached:
                await asyncio.wait_for(self._acknowledged(), timeout_s)
        except (TimeoutError, NotAttached):
            pass  # the router does not answer: it will notice by itself that we have gone
        finally:
            self.close()

    def close(self) -> None:
        """End at once: deliveries that wait can still be taken, then iteration ends."""
        if self._closed:
            return
        self._closed = True
        if self._recording is not None:
            for number in self._core.held:
                self._withdraw(number)
            self._recording.close()
        self._loop.remove_reader(self._link.fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._link.close()
        self._changed.set()

    def _withdraw(self, number: int) -> None:
        now_ns = self._clock.now_ns()
        self._core.unsubscribe(now_ns, number)
        if self._recording is not None:
            self._recording.events.unsubscribed(now_ns, number)

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
        outputs = self._core.take_outputs()
        for output in outputs:
            if isinstance(output, Deliver):
                self._enqueue(now_ns, output)
        if self._recording is not None:
            self._recording.write()  # before anything is sent: else others knew more of us than the run
            self._recording.note_state(self._core.state, self.status)
        for output in outputs:
            if isinstance(output, Send):
                self._link.send(output.datagram)
        self._arm(self._core.next_deadline())

    def _enqueue(self, now_ns: int, output: Deliver) -> None:
        m = output.message
        if self._recording is not None:
            self._recording.events.delivered(now_ns, m)
        if len(self._queue) >= self._queue_limit:
            self.overflows += 1
            return
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
