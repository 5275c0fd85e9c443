"""Patterns that clients and neighbours have a router seek (ADR 3.6, decision 30).

A pattern is taken apart by what is advertised where (`providers`, `nodes.patterns.factoring`). What one
neighbour alone has is delegated to it, as a pattern that we seek there; a whole pattern is passed on as it
is, and its matches are passed back. Single messages are subscribed to at the inner interface, behind which
the monitors are: to routing they are a client. A pattern of which a part is provided by nobody waits.

A pattern beyond the limits is not sought, and who asked for it is told (REFUSED). What a neighbour refuses
us is subscribed to by single messages instead, as if it recognised nothing.

When what is advertised, or the network, has changed, the patterns that it concerns are taken apart anew, and
what differs is asked for or withdrawn: first the new, then the old. Equal requests of several patterns are
one.

What a neighbour asks for ends with its session, and what we ask of it is told anew in the next one.

Not here: recognising (`nodes.patterns.recogniser`), messages on their way.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fastpath.wire import codec
from nodes.config import LimitConfig
from nodes.model import (
    Components,
    Occurrence,
    Part,
    Pattern,
    PredicateSyntaxError,
    UsageError,
    format_expression,
    format_pattern,
    parse_pattern,
)
from nodes.patterns.factoring import Factored, factor
from nodes.patterns.recogniser import Recogniser
from nodes.routing.client_predicates import predicates_digest
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.policy import Policy
from nodes.routing.predicates import COUNT
from nodes.routing.providers import Providers
from nodes.routing.schemes.base import View
from nodes.routing.store import PredicateStore
from nodes.routing.subscriptions import ClientSubscriptions
from nodes.wire.codec import WireError, encode_predicate
from nodes.wire.packets import OF_PATTERNS, Kind, Refusal, Refused, Role

WAITING_MAX = 4_096
"""With so many payloads waiting to be sent on a link, matches for it are dropped."""
COUNT_MAX = 0xFFFF_FFFF
SHOWN = 10
"""Of so many patterns that wait the status says what they lack."""
_IDENTITY = struct.Struct(">8xI4xQQ")


class Carried(Occurrence):
    """An occurrence that knows its packet."""

    packet: bytes


def carried(packet: bytes) -> Carried:
    """The occurrence that a MESSAGE is."""
    source, sequence, time_ns = _IDENTITY.unpack_from(packet)
    occurrence = Carried(time_ns, source, sequence)
    occurrence.packet = packet
    return occurrence


@dataclass(frozen=True, slots=True)
class Request:
    """A pattern that we seek at a neighbour."""

    interface: int
    text: str
    parts: int
    """How many messages a match has at most."""


Need = Request | Part
"""What fills places: what a neighbour recognises, or messages."""


@dataclass(slots=True)
class Goal:
    """A pattern that somebody has us seek."""

    link: Link
    number: int
    """The number they gave it."""
    pattern: Pattern
    text: bytes
    since_ns: int
    """When they asked: what was published before counts for others, whose request may be older."""
    factored: Factored | None = None
    """None: it has not been taken apart yet."""
    needs: dict[Need, tuple[int, ...]] = field(default_factory=dict)
    """What is asked for, and the places that it fills; none: it is passed on."""
    refusing: set[int] = field(default_factory=set)
    """Neighbours that have not taken what was to be delegated to them."""

    @property
    def not_from(self) -> int | None:
        """Whose messages are no components: nobody is sent its own."""
        peer = self.link.interface
        return peer.peer_id if peer.peer_role is Role.CLIENT else None

    @property
    def without(self) -> tuple[int, ...]:
        """The provider that is not asked: a router that has us seek it has what comes from there."""
        peer = self.link.interface
        return (peer.index,) if peer.peer_role is Role.ROUTER else ()

    @property
    def passed_on(self) -> bool:
        """Whether a neighbour seeks all of it."""
        return self.factored is not None and self.factored.passed_on


@dataclass(slots=True)
class _Asked:
    """One need, and by what number it is known to who fills it."""

    number: int
    goals: set[int] = field(default_factory=set)


class Patterns:
    """All that one router does about patterns.

    Args:
        links: Its links, to routers and clients.
        store: Its predicates.
        clients: Where its monitors subscribe, at the interface after the last link.
        holdings: How much a neighbour may have us seek.
        policy: What a client may.
        limits: Bounds of what is sent.
        changed: Called with the time when patterns are to be taken apart anew.
    """

    def __init__(
        self,
        links: Sequence[Link],
        store: PredicateStore,
        clients: ClientSubscriptions,
        *,
        holdings: Holdings,
        policy: Policy,
        limits: LimitConfig,
        changed: Callable[[int], None],
    ) -> None:
        self.recogniser = Recogniser()
        self.goals: dict[int, Goal] = {}
        self._links = links
        self._clients = clients
        self._holdings = holdings
        self._policy = policy
        self._limits = limits
        self._changed = changed
        self._to_clients = [each.interface.index for each in links if each.interface.peer_role is Role.CLIENT]
        self._providers = Providers(self._to_clients, store)
        self._held: list[dict[int, int]] = [{} for _ in links]
        """By interface, then by the number that our neighbour there gave a pattern: ours."""
        self._asked: dict[Need, _Asked] = {}
        self._requests: dict[tuple[int, int], Request] = {}
        """By interface and our number."""
        self._held_digests: dict[int, str] = {}
        self._asked_digests: dict[int, str] = {}
        """By interface, while they hold."""
        self._refused: Counter[tuple[int, Refusal]] = Counter()
        """By interface, what was not taken in this session."""
        self._last_number = 0
        self._dirty: set[int] = set()

    @property
    def inner(self) -> int:
        """The interface to the monitors."""
        return len(self._links)

    @property
    def requests(self) -> Iterable[Request]:
        """What we seek at neighbours."""
        return self._requests.values()

    @property
    def pending(self) -> bool:
        """Whether patterns are to be taken apart."""
        return bool(self._dirty) or self._providers.changed

    def take(self, now_ns: int, link: Link, payload: bytes) -> None:
        """Somebody has us seek a pattern, or another one by the same number.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        size = max(0, len(payload) - COUNT.size)
        held = self._held[link.interface.index]
        number, text = codec.decode_subscribe_pattern(payload)
        refusal = self._holdings.pattern_refusal(link, len(held) + (number not in held), size)
        if refusal is not None:
            self._end(now_ns, link, number)
            self._refuse(now_ns, link, number, refusal)
            return
        pattern = _parsed(text)
        if not self._policy.may_subscribe(link.interface.index, encode_predicate(pattern.union)):
            self._end(now_ns, link, number)
            refused = Refused.of(number, text.encode())
            self._policy.refuse(now_ns, link, Refusal.PATTERN_NOT_PERMITTED, refused)
            return
        if number in held and self.goals[held[number]].text == text.encode():
            return
        self._end(now_ns, link, number)
        self._last_number += 1
        goal = Goal(link, number, pattern, text.encode(), now_ns)
        held[number] = self._last_number
        self._held_digests.pop(link.interface.index, None)
        self.goals[self._last_number] = goal
        for part in pattern.parts:
            self._providers.ask(self._last_number, part)
        self._dirty.add(self._last_number)
        self._changed(now_ns)

    def take_back(self, now_ns: int, link: Link, payload: bytes) -> None:
        """It is sought no longer.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        if not self._end(now_ns, link, codec.decode_unsubscribe_pattern(payload)):
            link.drop(Reason.UNKNOWN_PATTERN)

    def take_refused(self, now_ns: int, link: Link, payload: bytes) -> None:
        """A neighbour does not seek something for us: we subscribe to its messages, and recognise it here.

        Raises:
            WireError: It is malformed.
        """
        _, _, number = codec.decode_refused(payload)
        request = self._requests.pop((link.interface.index, number), None)
        if request is None:
            link.drop(Reason.UNKNOWN_PATTERN)
            return
        self._asked_digests.pop(request.interface, None)
        for goal_number in self._asked.pop(request).goals:
            goal = self.goals[goal_number]
            del goal.needs[request]
            goal.refusing.add(request.interface)
            self._dirty.add(goal_number)
        self._changed(now_ns)

    def take_match(self, now_ns: int, link: Link, payload: bytes) -> None:
        """A neighbour tells a match of what we seek there.

        Raises:
            WireError: It is malformed.
        """
        number, packets = codec.decode_match(payload)
        request = self._requests.get((link.interface.index, number))
        if request is None:
            link.drop(Reason.UNKNOWN_PATTERN)
            return
        if len(packets) > request.parts:
            raise WireError(f"a match of {len(packets)} messages; its pattern has {request.parts} parts")
        components = tuple(carried(packet) for packet in packets)
        first_ns = min(components).time_ns
        for goal_number in sorted(self._asked[request].goals):
            goal = self.goals[goal_number]
            if first_ns < goal.since_ns:
                continue
            if goal.passed_on:
                self._tell(now_ns, goal, components)
            else:
                self.recogniser.feed(now_ns, goal_number, goal.needs[request], components)
        self._tell_found(now_ns)

    def receive(self, now_ns: int, packet: bytes) -> None:
        """A message has come to the inner interface."""
        self.recogniser.receive(now_ns, [(carried(packet), packet)])
        self._tell_found(now_ns)

    def handle_timer(self, now_ns: int) -> None:
        """Tell what can be told by now."""
        self.recogniser.handle_timer(now_ns)
        self._tell_found(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        return self.recogniser.next_deadline()

    def joined(self, now_ns: int, link: Link) -> None:
        """A new session with a neighbouring router: it is told what we seek there, and may take all of it."""
        for goal_number, goal in self.goals.items():
            if link.interface.index in goal.refusing:
                goal.refusing.discard(link.interface.index)
                self._dirty.add(goal_number)
        for (interface, number), request in self._requests.items():
            if interface == link.interface.index:
                self._send_request(now_ns, number, request)

    def end_session(self, now_ns: int, link: Link) -> None:
        """A client or a router went away: what it sought counts no more."""
        for number in list(self._held[link.interface.index]):
            self._end(now_ns, link, number)
        for refusal in OF_PATTERNS:
            del self._refused[link.interface.index, refusal]

    def settle(self, now_ns: int, view: View) -> None:
        """Take patterns apart by what is provided now, and ask for what differs."""
        hops = view.topology.first_hops(view.node).items()
        self._providers.see({r: view.interfaces[hop][0] for r, hop in hops if hop in view.interfaces})
        dirty = (self._dirty | self._providers.take_concerned()) & self.goals.keys()
        self._dirty.clear()
        released: list[tuple[int, Iterable[Need]]] = []
        for number in sorted(dirty):
            goal = self.goals[number]
            before = goal.needs
            self._turn(now_ns, number, goal)
            released.append((number, [need for need in before if need not in goal.needs]))
        for number, needs in released:
            self._release(now_ns, number, needs)

    def digest(self, interface: int) -> str:
        """What a neighbour or client there has us seek, to be compared with what it thinks."""
        found = self._held_digests.get(interface)
        if found is None:
            texts = {n: self.goals[g].text for n, g in self._held[interface].items()}
            found = self._held_digests[interface] = predicates_digest(texts)
        return found

    def asked_digest(self, interface: int) -> str:
        """The same of what we seek there."""
        found = self._asked_digests.get(interface)
        if found is None:
            texts = {n: r.text.encode() for (i, n), r in self._requests.items() if i == interface}
            found = self._asked_digests[interface] = predicates_digest(texts)
        return found

    def count(self, interface: int) -> int:
        """How many patterns a neighbour or client there has us seek."""
        return len(self._held[interface])

    def status(self) -> dict[str, object]:
        """A JSON-ready account."""
        return {
            "sought": len(self.goals),
            "waiting": sum(not goal.needs for goal in self.goals.values()),
            "lacking": self._lacking(),
            "passed_on": sum(goal.passed_on for goal in self.goals.values()),
            "monitors": len(self.recogniser),
            "requests": len(self._requests),
            "refused": sum(bool(goal.refusing) for goal in self.goals.values()),
            "kept": self.recogniser.held,
            "unused": dict(sorted(self.recogniser.counts.items())),
        }

    def _lacking(self) -> list[str]:
        """What the first patterns that wait are waiting for."""
        waiting = (goal.factored for goal in self.goals.values() if not goal.needs and goal.factored)
        return list(
            dict.fromkeys(format_expression(p) for each in islice(waiting, SHOWN) for p in each.lacking)
        )

    def _end(self, now_ns: int, link: Link, number: int) -> bool:
        goal_number = self._held[link.interface.index].pop(number, None)
        if goal_number is None:
            return False
        self._held_digests.pop(link.interface.index, None)
        goal = self.goals.pop(goal_number)
        self.recogniser.remove(goal_number)
        for part in goal.pattern.parts:
            self._providers.drop(goal_number, part)
        self._release(now_ns, goal_number, goal.needs)
        return True

    def _turn(self, now_ns: int, number: int, goal: Goal) -> None:
        """Take a pattern apart, and ask for what that needs."""
        before = goal.factored
        recognising_nothing = (*self._to_clients, *goal.refusing)
        found = factor(goal.pattern, self._providers, goal.without, recognising_nothing)
        goal.factored, goal.needs = found, _needs(goal.pattern, found)
        for need in goal.needs:
            self._acquire(now_ns, number, need)
        if found.passed_on or not found.factors:
            self.recogniser.remove(number)
        elif before is None or (before.pattern, before.places) != (found.pattern, found.places):
            self.recogniser.add(number, found.pattern, found.places, goal.not_from)

    def _acquire(self, now_ns: int, goal: int, need: Need) -> None:
        asked = self._asked.get(need)
        if asked is None:
            self._last_number += 1
            asked = self._asked[need] = _Asked(self._last_number)
            if isinstance(need, Request):
                self._requests[need.interface, asked.number] = need
                self._asked_digests.pop(need.interface, None)
                self._send_request(now_ns, asked.number, need)
            else:
                self._clients.want(now_ns, self.inner, asked.number, encode_predicate(need.predicate))
        asked.goals.add(goal)

    def _release(self, now_ns: int, goal: int, needs: Iterable[Need]) -> None:
        for need in needs:
            asked = self._asked[need]
            asked.goals.discard(goal)
            if asked.goals:
                continue
            del self._asked[need]
            if isinstance(need, Request):
                del self._requests[need.interface, asked.number]
                self._asked_digests.pop(need.interface, None)
                self._withdraw_request(now_ns, asked.number, need)
            else:
                self._clients.unwant(now_ns, self.inner, asked.number)

    def _send_request(self, now_ns: int, number: int, request: Request) -> None:
        link = self._links[request.interface]
        if link.up:
            payload = codec.encode_subscribe_pattern(number, request.text)
            link.send(now_ns, Kind.SUBSCRIBE_PATTERN, payload, ("pattern", number))

    def _withdraw_request(self, now_ns: int, number: int, request: Request) -> None:
        link = self._links[request.interface]
        if link.up:
            payload = codec.encode_unsubscribe_pattern(number)
            link.send(now_ns, Kind.UNSUBSCRIBE_PATTERN, payload)

    def _refuse(self, now_ns: int, link: Link, number: int, why: Refusal) -> None:
        """Tell who asked for it; no more of this waits than the patterns that may be held."""
        self._refused[link.interface.index, why] += 1
        if link.waiting < max(WAITING_MAX, self._limits.patterns_per_neighbour):
            count = min(self._refused[link.interface.index, why], COUNT_MAX)
            link.send(now_ns, Kind.REFUSED, codec.encode_refused(why, count, number), (Kind.REFUSED, number))

    def _tell_found(self, now_ns: int) -> None:
        for number, components in self.recogniser.take():
            self._tell(now_ns, self.goals[number], components)

    def _tell(self, now_ns: int, goal: Goal, components: Components) -> None:
        link = goal.link
        if not link.up or any(each.source == goal.not_from for each in components):
            return
        packets = [each.packet for each in components if isinstance(each, Carried)]
        payload = codec.encode_match(goal.number, packets)
        if len(payload) > self._limits.payload_bytes:
            link.drop(Reason.OVERSIZE_MATCH)
        elif link.waiting >= WAITING_MAX:
            link.drop(Reason.MATCH_OVERFLOW)
        else:
            link.send(now_ns, Kind.MATCH, payload)


def _parsed(text: str) -> Pattern:
    try:
        pattern = parse_pattern(text)
    except (PredicateSyntaxError, UsageError) as error:
        raise WireError(f"text at byte {COUNT.size} is no pattern: {error}") from None
    if format_pattern(pattern) != text:
        raise WireError(f"text at byte {COUNT.size} is not the canonical text of its pattern")
    return pattern


def _needs(pattern: Pattern, found: Factored) -> dict[Need, tuple[int, ...]]:
    """What fills the places of a pattern, each once."""
    if found.passed_on:
        (provider,) = found.factors[0].providers
        return {_request(provider, pattern): ()}
    needs: dict[Need, tuple[int, ...]] = {}
    for place, each in enumerate(found.factors):
        if isinstance(each.expression, Part):
            asked: list[Need] = [each.expression] if each.providers else []
        else:
            asked = [_request(provider, found.delegated(each)) for provider in each.providers]
        for need in asked:
            needs[need] = (*needs.get(need, ()), place)
    return needs


def _request(provider: int, pattern: Pattern) -> Request:
    return Request(provider, format_pattern(pattern), len(pattern.parts))
