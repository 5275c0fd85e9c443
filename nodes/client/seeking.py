"""Patterns that an application seeks: its deliveries go in, matches with their deliveries come out.

Here: who is told of a match. Not here: subscribing, sockets, timers (`aio`); recognising (`nodes.patterns`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nodes.client.delivery import Delivery, Inbox, Subscription
from nodes.model import Components, Occurrence, Pattern
from nodes.patterns.recogniser import Recogniser

if TYPE_CHECKING:
    from nodes.client.aio import Client


class Match(NamedTuple):
    """Messages that belong together, by a pattern that the client seeks."""

    components: tuple[Delivery, ...]
    """The messages, in order of the places in the pattern."""
    sought: PatternSubscription


MatchCallback = Callable[[Match], object]


class PatternSubscription:
    """A pattern that a client seeks, and an asynchronous iterator over its matches."""

    def __init__(
        self,
        client: Client,
        number: int,
        pattern: Pattern,
        subscription: Subscription | None,
        *,
        inbox: Inbox[Match],
        callback: MatchCallback | None,
        known_ns: int,
    ) -> None:
        self.number = number
        """That of its subscription, if it has one; no subscription of the client has the same."""
        self.pattern = pattern
        self.subscription = subscription
        """To all that the parts of the pattern match; None: routers recognise it."""
        self.known_ns = known_ns
        """When every router knows of it."""
        self.inbox = inbox
        self.callback = callback
        self._client = client

    @property
    def overflows(self) -> int:
        """Matches that were dropped because the application did not take them in time."""
        return self.inbox.overflows

    @property
    def refused(self) -> str | None:
        """Why our router does not seek it, as a sentence, if it has said so since we were last attached.

        Who waits for a match is raised `PatternRefused`. When we are attached anew, it is asked for again.
        """
        return self._client.why_refused(self.number)

    async def settled(self) -> None:
        """Wait until every router knows of it: see `Subscription.settled`."""
        await self._client.settled(self)

    async def unsubscribe(self) -> None:
        """Seek it no longer; returns when our router has taken note."""
        await self._client.unsubscribe_pattern(self)

    async def batch(self) -> list[Match]:
        """The matches since the last time, at once: see `Subscription.batch`."""
        return await self.inbox.batch()

    def __aiter__(self) -> PatternSubscription:
        return self

    async def __anext__(self) -> Match:
        return await self.inbox.next()

    def __repr__(self) -> str:
        return f"<PatternSubscription {self.number}>"


class _Delivered(Occurrence):
    """An occurrence that knows its delivery."""

    delivery: Delivery


class Seeking:
    """The patterns of one client.

    Args:
        note: Told of each match, by the number of the pattern, before anybody else is.
    """

    def __init__(self, note: Callable[[int, Components], None]) -> None:
        self.held: dict[int, PatternSubscription] = {}
        self._recogniser = Recogniser()
        self._note = note

    @property
    def counts(self) -> Counter[str]:
        """What was not used of what arrived, by why (docs/patterns.md)."""
        return self._recogniser.counts

    def add(self, sought: PatternSubscription) -> None:
        """From now on it is told."""
        self.held[sought.number] = sought
        if sought.subscription is not None:
            self._recogniser.add(sought.number, sought.pattern)

    def remove(self, number: int) -> None:
        """From now on it is not; one that does not exist is fine."""
        self.held.pop(number, None)
        self._recogniser.remove(number)

    def receive(self, now_ns: int, packets: Sequence[bytes], deliveries: Sequence[Delivery]) -> None:
        """Messages were delivered: their packets, and what they are to the application."""
        if not self.held:
            return
        occurrences = []
        for packet, delivery in zip(packets, deliveries, strict=True):
            occurrence = _Delivered(delivery.publish_time_ns, delivery.source, delivery.sequence)
            occurrence.delivery = delivery
            occurrences.append((occurrence, packet))
        self._recogniser.receive(now_ns, occurrences)

    def due(self, now_ns: int) -> list[Match]:
        """The matches that can be told by now."""
        self._recogniser.handle_timer(now_ns)
        found = []
        for number, components in self._recogniser.take():
            self._note(number, components)
            deliveries = [each.delivery for each in components if isinstance(each, _Delivered)]
            found.append(Match(tuple(deliveries), self.held[number]))
        return found

    def told(self, number: int, deliveries: Sequence[Delivery]) -> Match | None:
        """Routers have found a match; None: it is not sought any more."""
        if number not in self.held:
            return None
        self._note(number, tuple(Occurrence(d.publish_time_ns, d.source, d.sequence) for d in deliveries))
        return Match(tuple(deliveries), self.held[number])

    def next_deadline(self) -> int | None:
        """When `due` is wanted."""
        return self._recogniser.next_deadline()
