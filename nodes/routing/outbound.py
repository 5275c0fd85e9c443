"""The sending half of a channel: queue, fragments, window, retransmission.

Payloads wait under a key and are cut into fragments only when the window has
room, so a newer payload of the same key replaces the older one in its place
and the queue is bounded by the number of keys. At most a window of fragments is
unacknowledged. A payload may also be promised: it is then made when its
turn comes, from what is known by then.

There are two lanes. Urgent payloads, which are small, are cut before others and
between the fragments of a large one, so that links are not waited for while
interest passes. Within a lane payloads leave one after the other.

A loss shows as repeated acknowledgements (fast retransmit) or as a time-out
with exponential backoff. From then until everything sent before is
acknowledged (recovery, as in NewReno), each acknowledgement resends the first
few outstanding fragments unless they were sent within the last round trip.

Not here: packets and the receiving half (`channel`).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, final

from nodes.config import MILLISECOND_NS, LimitConfig, TimerConfig

FIRST_WINDOW = 8
"""Packets sent before the neighbour has announced how many it takes."""
REPEATS_THAT_MEAN_LOSS = 3
RECOVERY_BURST = 2
LAST_SEQUENCE = 0xFFFF_FFFF


class Made(NamedTuple):
    """What a promise comes to."""

    kind: int
    payload: bytes
    more: bool
    """Whether the promise holds on, to be asked again in its turn."""


Promise = Callable[[], Made | None]
"""Called once its turn has come; None if there is nothing to send any more."""


@final
class Fragment:
    """A piece of a payload under way."""

    __slots__ = ("data", "first", "kind", "last", "resent", "sent_ns", "ticket")

    def __init__(
        self, kind: int, data: bytes, ticket: int, *, first: bool, last: bool, sent_ns: int = -1
    ) -> None:
        self.kind = kind
        self.first = first
        self.last = last
        self.data = data
        self.ticket = ticket
        self.sent_ns = sent_ns
        self.resent = False


@dataclass(slots=True)
class _Waiting:
    ticket: int
    kind: int = 0
    data: bytes = b""
    offset: int = 0
    make: Promise | None = None


@dataclass(slots=True)
class _Lane:
    """Payloads that leave one after the other."""

    waiting: OrderedDict[Hashable, _Waiting] = field(default_factory=OrderedDict)
    """In this kind of dict the first is found at once, however many were taken out before it."""
    cutting: _Waiting | None = None

    @property
    def empty(self) -> bool:
        return self.cutting is None and not self.waiting

    def holds_only(self, kinds: Collection[int]) -> bool:
        """Whether all that has not left is of these kinds; of what is promised the kind is not known."""
        cut = self.cutting is None or self.cutting.kind in kinds
        return cut and all(each.make is None and each.kind in kinds for each in self.waiting.values())

    def head(self) -> _Waiting | None:
        """The payload to cut from."""
        while self.cutting is None and self.waiting:
            self.cutting = self._made(*self.waiting.popitem(last=False))
        return self.cutting

    def _made(self, key: Hashable, waiting: _Waiting) -> _Waiting | None:
        if waiting.make is None:
            return waiting
        made = waiting.make()
        if made is None:
            return None
        if made.more:
            self.waiting[key] = waiting
        return _Waiting(waiting.ticket, made.kind, made.payload)


class RoundTrip:
    """How long a round trip takes and how long to wait for an acknowledgement (RFC 6298, in integers)."""

    def __init__(self, timers: TimerConfig) -> None:
        self._initial_ns = timers.retransmit_ms * MILLISECOND_NS
        self._least_ns = self._initial_ns // 4
        self._most_ns = max(timers.retransmit_max_ms * MILLISECOND_NS, self._initial_ns)
        self._smoothed_ns: int | None = None
        self._variation_ns = 0
        self._doublings = 0

    @property
    def timeout_ns(self) -> int:
        """How long to wait before the first outstanding packet is taken for lost."""
        return min(self._base_ns << self._doublings, self._most_ns)

    @property
    def typical_ns(self) -> int:
        """Within this time after sending, a missing acknowledgement means nothing yet."""
        smoothed = self._initial_ns if self._smoothed_ns is None else self._smoothed_ns
        return smoothed + smoothed // 4

    def sample(self, taken_ns: int) -> None:
        """A packet sent once was acknowledged after this time."""
        if self._smoothed_ns is None:
            self._smoothed_ns, self._variation_ns = taken_ns, taken_ns // 2
            return
        self._variation_ns += (abs(self._smoothed_ns - taken_ns) - self._variation_ns) // 4
        self._smoothed_ns += (taken_ns - self._smoothed_ns) // 8

    def sample_resent(self, taken_ns: int) -> None:
        """The same of a packet sent again; it may be the first copy that was acknowledged (Karn)."""
        if self._smoothed_ns is None or 2 * taken_ns >= self._smoothed_ns:
            self.sample(taken_ns)

    def back_off(self) -> None:
        """A time-out, and nothing received from the neighbour since the last: wait twice as long."""
        if self.timeout_ns < self._most_ns:
            self._doublings += 1

    def progress(self) -> None:
        """Something new was acknowledged: the path works."""
        self._doublings = 0

    @property
    def _base_ns(self) -> int:
        if self._smoothed_ns is None:
            return self._initial_ns
        return max(self._smoothed_ns + 4 * self._variation_ns, self._least_ns)


class Outbound:
    """What one end has to send and what of it has arrived."""

    def __init__(self, fragment_bytes: int, timers: TimerConfig, limits: LimitConfig) -> None:
        self.acknowledged_ticket = 0
        self.retransmissions = 0
        self._fragment_bytes = fragment_bytes
        self._window = min(FIRST_WINDOW, limits.window_packets)
        self._window_limit = limits.window_packets
        self._round_trip = RoundTrip(timers)
        self._tickets = self._queued = 0
        self._urgent, self._bulk = _Lane(), _Lane()
        self._flights: deque[Fragment] = deque()
        self._acknowledged = 0
        self._repeats = 0
        self._recover: int | None = None
        self._resend = 0
        self._acked_since_timeout = False
        self._expires_at: int | None = None

    @property
    def idle(self) -> bool:
        """Whether all that was enqueued has been acknowledged."""
        return not self._flights and self._urgent.empty and self._bulk.empty

    def idle_but_for(self, kinds: Collection[int]) -> bool:
        """Whether all but payloads of these kinds has been acknowledged."""
        return (
            all(flight.kind in kinds for flight in self._flights)
            and self._urgent.holds_only(kinds)
            and self._bulk.holds_only(kinds)
        )

    @property
    def waiting(self) -> int:
        """How many payloads have not begun to be sent."""
        return len(self._urgent.waiting) + len(self._bulk.waiting)

    @property
    def has_more(self) -> bool:
        """Whether `collect` may give something: all else waits for acknowledgements alone."""
        bulk, urgent = self._bulk, self._urgent
        unsent = bulk.waiting or urgent.waiting or bulk.cutting or urgent.cutting
        return self._resend > 0 or bool(unsent)

    @property
    def spent(self) -> bool:
        """Whether the session has no sequence number left."""
        return self._sent >= LAST_SEQUENCE

    @property
    def _sent(self) -> int:
        return self._acknowledged + len(self._flights)

    def enqueue(self, kind: int, payload: bytes, key: Hashable = None, urgent: bool = False) -> int:
        """Queue a payload, in the place of a waiting one of the same key; returns its ticket.

        Once `acknowledged_ticket` has reached the ticket, the payload has arrived.
        What is urgent has no ticket (0).
        """
        waiting = (self._urgent if urgent else self._bulk).waiting
        held = waiting.get(key) if key is not None else None
        if held is None:
            held = self._queue(waiting, key, urgent)
        held.kind, held.data, held.make = kind, payload, None
        return held.ticket

    def send_at_once(
        self, now_ns: int, kind: int, payload: bytes, urgent: bool = False
    ) -> tuple[int, Fragment] | None:
        """A payload that need not wait, as its one fragment with its sequence number; None: enqueue it."""
        flights = self._flights
        if self.has_more or len(flights) >= self._window or len(payload) > self._fragment_bytes or self.spent:
            return None
        self._tickets += not urgent
        fragment = Fragment(
            kind, payload, 0 if urgent else self._tickets, first=True, last=True, sent_ns=now_ns
        )
        flights.append(fragment)
        if self._expires_at is None:
            self._expires_at = now_ns + self._round_trip.timeout_ns
        return self._acknowledged + len(flights), fragment

    def promise(self, key: Hashable, make: Promise) -> None:
        """Queue a payload that is made in its turn; nothing if it is promised already."""
        if key not in self._bulk.waiting:
            self._queue(self._bulk.waiting, key, urgent=False).make = make

    def _queue(self, waiting: dict[Hashable, _Waiting], key: Hashable, urgent: bool) -> _Waiting:
        ticket = 0
        if not urgent:
            self._tickets += 1
            ticket = self._tickets
        self._queued += 1
        queued = waiting[("queued", self._queued) if key is None else key] = _Waiting(ticket)
        return queued

    def forget(self, key: Hashable) -> None:
        """Unqueue what waits under the key: the neighbour turned out to know it."""
        self._urgent.waiting.pop(key, None)
        self._bulk.waiting.pop(key, None)

    def plausible(self, ack: int) -> bool:
        """Whether we have sent what this acknowledges."""
        return ack <= self._sent

    def acknowledge(self, now_ns: int, ack: int, window: int, pure: bool) -> None:
        """Take a plausible acknowledgement; a window of 0 still lets one packet through, as a probe."""
        self._acked_since_timeout = True
        if ack >= self._acknowledged:
            self._window = min(max(window, 1), self._window_limit)
        if ack > self._acknowledged:
            self._advance(now_ns, ack)
        elif ack == self._acknowledged and pure and self._flights:
            self._repeat()

    def handle_timer(self, now_ns: int) -> None:
        """Resend the first outstanding fragment if its time is over, and wait longer for the next."""
        if self._expires_at is None or now_ns < self._expires_at:
            return
        if not self._acked_since_timeout:
            self._round_trip.back_off()
        self._acked_since_timeout = False
        self._recover, self._repeats = self._sent, 0
        self._resend = 1
        self._flights[0].sent_ns = -1
        self._expires_at = now_ns + self._round_trip.timeout_ns

    def next_deadline(self) -> int | None:
        """When to resend."""
        return self._expires_at

    def collect(self, now_ns: int) -> Iterator[tuple[int, Fragment]]:
        """The fragments to transmit now with their sequence numbers: first again, then for the first time."""
        if self._resend:
            yield from self._again(now_ns)
        while len(self._flights) < self._window and not self.spent:
            fragment = self._cut()
            if fragment is None:
                break
            self._flights.append(fragment)
            fragment.sent_ns = now_ns
            yield self._sent, fragment
        if self._flights and self._expires_at is None:
            self._expires_at = now_ns + self._round_trip.timeout_ns

    def _advance(self, now_ns: int, ack: int) -> None:
        arrived = [self._flights.popleft() for _ in range(ack - self._acknowledged)]
        self._acknowledged, self._repeats = ack, 0
        self.acknowledged_ticket = next(
            (f.ticket for f in reversed(arrived) if f.last and f.ticket), self.acknowledged_ticket
        )
        # What waited behind a gap says nothing of the round trip; what filled it, if resent, may.
        if arrived[0].resent:
            self._round_trip.sample_resent(now_ns - arrived[0].sent_ns)
        elif not any(fragment.resent for fragment in arrived):
            self._round_trip.sample(now_ns - arrived[-1].sent_ns)
        self._round_trip.progress()
        self._expires_at = now_ns + self._round_trip.timeout_ns if self._flights else None
        if self._recover is not None:
            self._recover = None if ack >= self._recover else self._recover
            self._resend = RECOVERY_BURST if self._recover is not None else 0

    def _repeat(self) -> None:
        self._repeats += 1
        if self._recover is None and self._repeats == REPEATS_THAT_MEAN_LOSS:
            self._recover = self._sent
            self._resend = 1
            self._flights[0].sent_ns = -1
        elif self._recover is not None:
            self._resend = RECOVERY_BURST

    def _again(self, now_ns: int) -> Iterator[tuple[int, Fragment]]:
        resend, self._resend = self._resend, 0
        for number, fragment in enumerate(islice(self._flights, resend), self._acknowledged + 1):
            beyond = self._recover is None or number > self._recover
            fresh = fragment.sent_ns >= 0 and now_ns - fragment.sent_ns <= self._round_trip.typical_ns
            if not beyond and not fresh:
                fragment.sent_ns, fragment.resent = now_ns, True
                self.retransmissions += 1
                yield number, fragment

    def _cut(self) -> Fragment | None:
        urgent = self._urgent
        lane = urgent if urgent.waiting or urgent.cutting else self._bulk
        payload = lane.cutting or lane.head()
        if payload is None:
            return None
        end = payload.offset + self._fragment_bytes
        data, last = payload.data[payload.offset : end], end >= len(payload.data)
        fragment = Fragment(payload.kind, data, payload.ticket, first=payload.offset == 0, last=last)
        payload.offset = end
        if last:
            lane.cutting = None
        return fragment
