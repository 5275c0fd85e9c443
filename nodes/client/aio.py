"""The library applications are written with: a client of a content-based network, for asyncio.

    async with Client.from_environment() as client:
        flights = await client.subscribe('dest = "ORD" and price < 400')
        await client.publish({"dest": "JFK", "price": 210.5})
        async for delivery in flights:
            print(delivery.attributes)

`docs/writing-applications.md` explains it. Here: sockets, timers, waiting. Not
here: the protocol (`nodes.client.core`), who is given a delivery (`delivery`).
The file is long because the class `Client` is what applications see, and is read as a whole.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from fastpath.wire.codec import WireError
from nodes.client.core import ClientCore, NotAttached
from nodes.client.delivery import Advertisement, Callback, Delivery, Inbox, Subscription, Wanted
from nodes.client.environment import configuration, left_on_sigterm
from nodes.client.recording import Recording
from nodes.client.refused import PatternRefused
from nodes.client.seeking import Match, MatchCallback, PatternSubscription, Seeking
from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig
from nodes.daemon.clock import Clock
from nodes.daemon.sockets import open_interface
from nodes.daemon.udp import Received, UdpLink
from nodes.model import Components, Pattern, Predicate, Value, parse_message, parse_pattern, parse_predicate
from nodes.routing.effects import DeliverMatch, SealMessages, Send
from nodes.scheme_catalog import factors_patterns
from nodes.wire.packets import PORT, Role

__all__ = ["Advertisement", "Client", "Delivery", "Match", "PatternSubscription", "Subscription"]

DATAGRAMS_A_TURN = 256
QUEUE_LIMIT = 65_536
ATTACH_TIMEOUT_S = 10.0
LEAVE_TIMEOUT_S = 1.0
"""How long a client that ends waits for its router to know that it wants nothing any more."""
T = TypeVar("T")
Content = str | Mapping[str, Value]
"""The attributes of a message, also as text."""


class Client:
    """A client, attached to its router. Make one with `connect`, `from_environment` or `from_config`."""

    def __init__(self, config: NodeConfig, queue_limit: int = QUEUE_LIMIT) -> None:
        """Open the socket; `attach` does the rest. Must be called in a running loop."""
        interface = config.interfaces[0]
        self._link = UdpLink(open_interface(interface), interface.name, config.security.messages)
        self._recording = Recording(config) if config.events_path else None
        last_sequence = self._recording.last_sequence if self._recording else 0
        self._core = ClientCore(config, random.SystemRandom(), last_sequence)
        self._clock = Clock(config.dilate, config.dilate_from_ns)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Future[object]] = set()
        self._failure: BaseException | None = None
        self._closed = False
        self._queue_limit = queue_limit
        self._inbox: Inbox[Delivery] = Inbox(queue_limit, self._wait)
        self._wanted = Wanted()
        self._seeking = Seeking(self._note_match)
        self._last_number = 0
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
        config = configuration()
        async with left_on_sigterm(), cls.from_config(config, queue_limit, attach_timeout_s) as client:
            yield client

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

    @property
    def overflows(self) -> int:
        """Deliveries that were dropped because the application did not take them in time."""
        of_matches = sum(each.overflows for each in self._seeking.held.values())
        return self._inbox.overflows + of_matches + sum(each.overflows for each in self._wanted.held.values())

    async def subscribe(self, predicate: str | Predicate, callback: Callback | None = None) -> Subscription:
        """Want what matches; returns when our router has taken note.

        The rest of the network learns of it from there: messages published elsewhere a moment
        later may still miss us (`Subscription.settled`).

        Args:
            predicate: what is wanted.
            callback: called with each delivery; if it returns an awaitable, that is awaited beside all else.
                An error in it ends the client, and every later call raises it.

        Raises:
            PredicateSyntaxError: the text is no predicate; the error points at the column.
            NotPermitted: the policy of our router does not permit it.
            LimitReached: our router holds as much of us as it may.
        """
        wanted = parse_predicate(predicate) if isinstance(predicate, str) else predicate
        self._check()
        now_ns = self._clock.now_ns()
        subscription = self._subscribed(now_ns, wanted, callback)
        await self._acknowledged()
        refused = self._core.refusal(subscription.number)
        if refused is not None:
            await self.unsubscribe(subscription)
            raise refused
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Want it no longer; returns when our router has taken note. Who iterates over it comes to the end.

        Raises:
            UsageError: it was withdrawn before.
        """
        self._withdraw(subscription.number)
        try:
            await self._acknowledged()
        finally:  # what the router sent before it knew has arrived before its acknowledgement
            self._wanted.remove(subscription.number)
            self._changed.set()

    async def subscribe_pattern(
        self, pattern: str | Pattern, callback: MatchCallback | None = None
    ) -> PatternSubscription:
        """Seek messages that belong together; returns when our router has taken note.

        We subscribe to all that the parts of the pattern match, and recognise it here; where the scheme has
        routers recognise patterns, our router seeks it for us. What is delivered for that alone is not given
        to the application but in matches.

        Args:
            pattern: what is sought (docs/patterns.md).
            callback: called with each match, as that of `subscribe` with each delivery.

        Raises:
            PredicateSyntaxError: the text is no pattern; the error points at the column.
            PatternRefused: our router does not seek it, for example as it seeks too many for us already.
        """
        meant = parse_pattern(pattern) if isinstance(pattern, str) else pattern
        self._check()
        sought = self._sought(self._clock.now_ns(), meant, callback)
        self._seeking.add(sought)
        await self._acknowledged()
        why_not = sought.refused
        if why_not is not None:
            await self.unsubscribe_pattern(sought)
            raise PatternRefused(why_not)
        return sought

    def why_refused(self, number: int) -> str | None:
        """See `Subscription.refused` and `PatternSubscription.refused`."""
        return self._core.why_refused(number)

    def _sought(self, now_ns: int, pattern: Pattern, callback: MatchCallback | None) -> PatternSubscription:
        subscription = None
        if factors_patterns(self._core.config.scheme_options):
            number = self._core.subscribe_pattern(now_ns, pattern, self._next_number())
        else:
            subscription = self._subscribed(now_ns, pattern.union, _let_go)
            number = subscription.number
        if self._recording is not None:
            self._recording.events.sought(now_ns, number, pattern)

        def waits(condition: Callable[[], bool]) -> Awaitable[bool]:
            return self._wait(lambda: condition() or self._check_sought(number), number)

        inbox: Inbox[Match] = Inbox(self._queue_limit, waits)
        known_ns = self._known_ns(now_ns)
        return PatternSubscription(
            self, number, pattern, subscription, inbox=inbox, callback=callback, known_ns=known_ns
        )

    def _check_sought(self, number: int) -> bool:
        """Raise if our router does not seek a pattern; else False."""
        why = self._core.why_refused(number)
        if why is not None:
            raise PatternRefused(why)
        return False

    def _check_permitted(self, number: int) -> bool:
        """Raise if our router does not take a subscription; else False."""
        refused = self._core.refusal(number)
        if refused is not None:
            raise refused
        return False

    async def unsubscribe_pattern(self, sought: PatternSubscription) -> None:
        """Seek it no longer; returns when our router has taken note. Who iterates over it comes to the end.

        Raises:
            UsageError: it was withdrawn before.
        """
        if sought.subscription is not None:
            self._seeking.remove(sought.number)
            await self.unsubscribe(sought.subscription)
            return
        self._withdraw(sought.number)
        try:
            await self._acknowledged()
        finally:
            self._seeking.remove(sought.number)
            self._changed.set()

    async def patterns(self, pattern: str | Pattern) -> AsyncIterator[Match]:
        """The matches of a pattern, which is sought until the iterator is closed.

        Raises:
            PredicateSyntaxError: the text is no pattern; the error points at the column.
        """
        sought = await self.subscribe_pattern(pattern)
        try:
            async for match in sought:
                yield match
        finally:
            if not self._closed:
                await sought.unsubscribe()

    @property
    def unrecognised(self) -> Mapping[str, int]:
        """Messages that recognising patterns did not use, by why not (docs/patterns.md)."""
        return dict(self._seeking.counts)

    async def advertise(self, advertisements: str | Predicate) -> Advertisement:
        """Announce that messages will be published that are within these; returns when our router knows.

        Where publishers have to advertise, the router takes from then on what is within them, and refuses
        the rest (`refused`).

        Raises:
            PredicateSyntaxError: the text is none; the error points at the column.
            UsageError: one of them declares no attribute: no message but the empty one is within it.
            NotPermitted: the policy of our router does not permit it.
            LimitReached: our router holds as much of us as it may.
        """
        meant = parse_predicate(advertisements) if isinstance(advertisements, str) else advertisements
        self._check()
        now_ns = self._clock.now_ns()
        number = self._core.advertise(now_ns, meant)
        if self._recording is not None:
            self._recording.events.advertised(now_ns, number, meant)
        await self._acknowledged()
        refused = self._core.refusal_of_advertisement(number)
        if refused is not None:
            self._take_back(number)
            raise refused
        return Advertisement(number, meant)

    async def unadvertise(self, advertisement: Advertisement) -> None:
        """Announce it no longer; returns when our router knows.

        Raises:
            UsageError: it was withdrawn before.
        """
        self._take_back(advertisement.number)
        await self._acknowledged()

    @property
    def refused(self) -> Mapping[str, int]:
        """How much of what we sent the router has not taken in this session, by why not.

        The router tells of them from time to time, not of each at once.
        """
        return dict(self._core.refused)

    async def settled(self, subscription: Subscription | PatternSubscription) -> None:
        """See `Subscription.settled`."""
        while (left_ns := subscription.known_ns - self._clock.now_ns()) > 0:
            await asyncio.sleep(self._clock.real_wait_s(left_ns))

    async def publish(self, message: Content, payload: bytes = b"") -> tuple[int, int]:
        """Send a message; returns its id, (source, sequence). Nobody tells whether it arrives.

        Raises:
            NotAttached: there is no router to give it to.
            UsageError: the network cannot carry it.
        """
        attributes = parse_message(message) if isinstance(message, str) else message
        self._check()
        now_ns = self._clock.now_ns()
        identity = self._core.publish(now_ns, attributes, payload)
        if self._recording is not None:
            self._recording.events.published(now_ns, identity, attributes)
        self._guarded(self._advance)
        # Let the loop breathe: a publisher in a tight loop must not starve its own deliveries.
        await asyncio.sleep(0)
        return identity

    async def publish_many(
        self, messages: Iterable[Content | tuple[Content, bytes]]
    ) -> list[tuple[int, int]]:
        """Send messages at once, each with or without a payload, as few datagrams; returns their ids.

        All are sent or, if one cannot be, none. The network has no memory: a batch that is larger than the
        buffers on its way loses messages.

        Raises:
            NotAttached: there is no router to give them to.
            UsageError: the network cannot carry one; the text says which.
        """
        batch = [_with_payload(message) for message in messages]
        self._check()
        now_ns = self._clock.now_ns()
        ids = self._core.publish_many(now_ns, batch)
        if self._recording is not None:
            for identity, (attributes, _) in zip(ids, batch, strict=True):
                self._recording.events.published(now_ns, identity, attributes)
        self._guarded(self._advance)
        await asyncio.sleep(0)
        return ids

    async def batch(self) -> list[Delivery]:
        """What was delivered since the last time, at once: see `Subscription.batch`."""
        return await self._inbox.batch()

    def __aiter__(self) -> Client:
        return self

    async def __anext__(self) -> Delivery:
        return await self._inbox.next()

    def hand_over(self, subscription: Subscription) -> None:
        """From now on a subscription takes its deliveries itself, and those that wait for somebody else."""
        subscription.inbox.put(
            self._inbox.take_if(
                lambda delivery: (
                    subscription in delivery.subscriptions
                    and all(each.takes for each in delivery.subscriptions)
                )
            )
        )

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the protocol's state and of the link's counters."""
        drops = {"forwarding": dict(self._link.refused)}
        return {"core": self._core.status(), "interfaces": [self._link.counters()], "drops": drops}

    async def leave(self, timeout_s: float = LEAVE_TIMEOUT_S) -> None:
        """Withdraw all subscriptions and advertisements, let the router know, and close."""
        if self._closed:
            return
        self._withdraw_all()
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
            self._withdraw_all()
            self._recording.close()
        self._loop.remove_reader(self._link.fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._link.close()
        self._changed.set()

    def _subscribed(self, now_ns: int, wanted: Predicate, callback: Callback | None) -> Subscription:
        number = self._core.subscribe(now_ns, wanted, self._next_number())

        def waits(condition: Callable[[], bool]) -> Awaitable[bool]:
            return self._wait(lambda: condition() or self._check_permitted(number), number)

        inbox: Inbox[Delivery] = Inbox(self._queue_limit, waits)
        known_ns = self._known_ns(now_ns)
        subscription = Subscription(self, number, wanted, inbox=inbox, callback=callback, known_ns=known_ns)
        self._wanted.add(subscription)
        if self._recording is not None:
            self._recording.events.subscribed(now_ns, number, wanted)
        return subscription

    def _next_number(self) -> int:
        """Of a subscription or a pattern: events know both by one number, and none is used again."""
        self._last_number += 1
        return self._last_number

    def _known_ns(self, now_ns: int) -> int:
        return now_ns + self._core.config.settle_ms * MILLISECOND_NS

    def _withdraw(self, number: int) -> None:
        now_ns = self._clock.now_ns()
        if number in self._core.sought:
            self._core.unsubscribe_pattern(now_ns, number)
        else:
            self._core.unsubscribe(now_ns, number)
        if self._recording is not None:
            self._recording.events.unsubscribed(now_ns, number)

    def _take_back(self, advertisement: int) -> None:
        now_ns = self._clock.now_ns()
        self._core.unadvertise(now_ns, advertisement)
        if self._recording is not None:
            self._recording.events.unadvertised(now_ns, advertisement)

    def _withdraw_all(self) -> None:
        for number in (*self._core.held, *self._core.sought):
            self._withdraw(number)
        for number in self._core.advertised:
            self._take_back(number)

    async def _acknowledged(self) -> None:
        self._guarded(self._advance)
        await self._until(lambda: self.attached and self._core.link.quiet)

    async def _wait(self, condition: Callable[[], bool], number: int | None = None) -> bool:
        """Whether it holds, at last; False: the client, or its subscription of that number, has ended."""

        def over() -> bool:
            wanted = number is None or number in self._wanted.held or number in self._seeking.held
            return self._closed or not wanted

        await self._until(lambda: condition() or over())
        if not condition():
            self._check()
        return condition()

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

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self.close()

    def _guarded(self, step: Callable[[], None]) -> None:
        """A defect in a callback would otherwise reach the loop's log and not the application."""
        try:
            step()
        except Exception as error:
            self._fail(error)
            return
        self._changed.set()

    def _on_readable(self) -> None:
        arrived: list[Received] = []
        for _ in range(DATAGRAMS_A_TURN):
            datagram = self._link.receive()
            if datagram is None:
                break
            self._take(datagram, arrived)
        if arrived:
            self._deliver(arrived)
        self._advance()

    def _take(self, datagram: bytes, arrived: list[Received]) -> None:
        try:
            messages, others, malformed = self._link.read(datagram)
        except WireError:
            self.malformed += 1
            return
        self._core.note_messages(len(messages), malformed)
        arrived += messages
        for packet in others:
            self._core.receive(self._clock.now_ns(), 0, packet)

    def _deliver(self, arrived: list[Received]) -> None:
        """Give each message to who wants it; one that nobody wants any more is let go."""
        now_ns = self._clock.now_ns()
        wanting = self._wanted.of([message[0] for message in arrived])
        deliveries = [
            Delivery(source, sequence, attributes, payload, hops, sent_ns, now_ns - sent_ns, matched)
            for (_, source, sequence, attributes, hops, sent_ns, payload), matched in zip(
                arrived, wanting, strict=True
            )
        ]
        if self._recording is not None:
            for each in deliveries:
                self._recording.events.delivered(
                    now_ns, each.source, each.sequence, each.hop_count, each.publish_time_ns
                )
        self._seeking.receive(now_ns, [message[0] for message in arrived], deliveries)
        for matched, group in groupby(deliveries, attrgetter("subscriptions")):
            self._hand_out(matched, list(group))

    def _hand_out(self, matched: tuple[Subscription, ...], deliveries: list[Delivery]) -> None:
        for subscription in matched:
            if subscription.callback is not None:
                self._call(subscription.callback, deliveries)
            elif subscription.takes:
                subscription.inbox.put(deliveries)
        if not all(subscription.takes for subscription in matched):
            self._inbox.put(deliveries)

    def _tell_matches(self, now_ns: int) -> None:
        for match in self._seeking.due(now_ns):
            self._tell(match)

    def _take_match(self, now_ns: int, output: DeliverMatch) -> None:
        """Routers have found one."""
        deliveries = [
            Delivery(m.source, m.sequence, m.attributes, m.payload, m.hop_count, m.publish_time_ns,
                     now_ns - m.publish_time_ns, ())
            for m in output.messages
        ]  # fmt: skip
        match = self._seeking.told(output.pattern, deliveries)
        if match is not None:
            self._tell(match)

    def _tell(self, match: Match) -> None:
        if match.sought.callback is not None:
            self._call(match.sought.callback, [match])
        else:
            match.sought.inbox.put([match])

    def _note_match(self, number: int, components: Components) -> None:
        if self._recording is not None:
            self._recording.events.recognised(self._clock.now_ns(), number, components)

    def _call(self, callback: Callable[[T], object], deliveries: list[T]) -> None:
        for delivery in deliveries:
            result = callback(delivery)
            if isinstance(result, Awaitable):
                task = asyncio.ensure_future(result)
                self._tasks.add(task)
                task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Future[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _advance(self) -> None:
        """Do what is due and what the core asks for, and set the timer for the next time."""
        if self._closed:
            return
        now_ns = self._clock.now_ns()
        deadline_ns = self._core.next_deadline()
        if deadline_ns is not None and deadline_ns <= now_ns:
            self._core.handle_timer(now_ns)
        self._tell_matches(now_ns)
        outputs = self._core.take_outputs()
        for output in outputs:
            if isinstance(output, DeliverMatch):
                self._take_match(now_ns, output)
        if self._recording is not None:
            self._recording.write()  # before anything is sent: else others knew more of us than the run
            self._recording.note_state(self._core.state, self.status)
        for output in outputs:
            if isinstance(output, SealMessages):
                self._link.seal_messages(output)
            elif isinstance(output, Send):
                self._link.send(output.datagram)
        deadlines = (self._core.next_deadline(), self._seeking.next_deadline())
        self._arm(min((each for each in deadlines if each is not None), default=None))

    def _arm(self, deadline_ns: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ns is not None:
            delay_s = self._clock.real_wait_s(max(0, deadline_ns - self._clock.now_ns()))
            self._timer = self._loop.call_later(delay_s, self._guarded, self._advance)


def _let_go(_: Delivery) -> None:
    """Of what is delivered for the sake of a pattern, matches alone are given to the application."""


def _with_payload(message: Content | tuple[Content, bytes]) -> tuple[Mapping[str, Value], bytes]:
    content, payload = message if isinstance(message, tuple) else (message, b"")
    return parse_message(content) if isinstance(content, str) else content, payload
