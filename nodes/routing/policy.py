"""What the clients of a router may do by its policy (decision 38), and how they are told that they may not.

A subscription, an advertisement or a pattern is permitted if each of its filters is covered by one that the
policy has, and refused whole otherwise. Messages are looked at in the data plane, which is told here what to
look for (`fastpath/fib/permits.hpp`).

Not here: what a client may hold at most (`holdings`), what it has advertised (`advertisements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from fastpath import cover
from fastpath.fib import ForwardingTable, Permits
from fastpath.wire import codec
from nodes.config import InterfaceConfig, PolicyConfig
from nodes.model import Predicate, parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.link import Link
from nodes.routing.predicates import filters_of
from nodes.wire.codec import encode_filter
from nodes.wire.packets import OF_POLICY, Kind, Refusal, Refused

WAITING_MAX = 65_536
"""With so many payloads waiting to be sent to a client, it is not told of more that is refused."""
COUNT_MAX = 0xFFFF_FFFF
_SETTINGS = {
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "policy.subscribe",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "policy.advertise",
    Refusal.PATTERN_NOT_PERMITTED: "policy.subscribe",
}


class _Allowed:
    """What one client may do; None: anything."""

    def __init__(self, policy: PolicyConfig) -> None:
        self.subscribe = _filters(policy.subscribe)
        self.publish = _filters(policy.publish)
        self.advertise = _filters(policy.advertise)


class Policy:
    """What the clients of a router may do.

    Args:
        interfaces: The router's, with what the clients there may do.
    """

    def __init__(self, interfaces: Iterable[InterfaceConfig]) -> None:
        self._of = {each.index: _Allowed(each.policy) for each in interfaces if each.policy is not None}
        self._counts: Counter[tuple[int, Refusal]] = Counter()
        """By interface, what was refused in this session."""

    def permits(self, interfaces: int) -> Permits | None:
        """What the data plane has to look for at so many interfaces; None: nothing."""
        limited = {index: each.publish for index, each in self._of.items() if each.publish is not None}
        permits = Permits(interfaces) if limited else None
        for index, filters in limited.items():
            assert permits is not None
            permits.limit(index, _table(filters))
        return permits

    def may_subscribe(self, interface: int, predicate: bytes) -> bool:
        """Whether the client there may subscribe to a predicate, whole.

        Raises:
            WireError: It is none.
        """
        allowed = self._of.get(interface)
        return allowed is None or _within(allowed.subscribe, predicate, cover.covers)

    def may_advertise(self, interface: int, predicate: bytes) -> bool:
        """Whether the client there may advertise what is within a predicate's filters, whole.

        Raises:
            WireError: It is none.
        """
        allowed = self._of.get(interface)
        return allowed is None or _within(allowed.advertise, predicate, cover.advertisement_covers)

    def refuse(self, now_ns: int, link: Link, why: Refusal, refused: Refused) -> None:
        """Count something that was not permitted, and tell the client; the first of a session is logged."""
        interface = link.interface.index
        self._counts[interface, why] += 1
        count = self._counts[interface, why]
        fields = {OF_POLICY[why]: refused.number, "setting": _SETTINGS[why]} if count == 1 else {}
        link.drop(Reason.NOT_PERMITTED, **fields)
        tell_refused(now_ns, link, why, count, refused)

    def end_session(self, link: Link) -> None:
        """A client went away, or came back as another: what it was told counts no more."""
        for why in OF_POLICY:
            del self._counts[link.interface.index, why]


class MessageRefusals:
    """Tells clients how many of their messages the data plane has refused for one reason.

    Args:
        why: The reason.
        refused: How many there were of the client at an interface, and the sequence of the last.
    """

    def __init__(self, why: Refusal, refused: Callable[[int], tuple[int, int]]) -> None:
        self._why = why
        self._refused = refused
        self._told: Counter[int] = Counter()
        self._before: Counter[int] = Counter()
        """Refused in earlier sessions."""

    def end_session(self, link: Link) -> None:
        """What comes counts for the next session."""
        interface = link.interface.index
        self._before[interface] = self._told[interface] = self._refused(interface)[0]

    def tell(self, now_ns: int, link: Link) -> None:
        """Tell a client what of its messages was refused since it was told last."""
        interface = link.interface.index
        count, sequence = self._refused(interface)
        if not link.up or count == self._told[interface]:
            return
        self._told[interface] = count
        refused = min(count - self._before[interface], COUNT_MAX)
        payload = codec.encode_refused(self._why, refused, sequence)
        link.send(now_ns, Kind.REFUSED, payload, (Kind.REFUSED, self._why))


def tell_refused(now_ns: int, link: Link, why: Refusal, count: int, refused: Refused) -> None:
    """Tell a client of something that it holds, by name; not if it has not read what it was told before."""
    if link.waiting < WAITING_MAX:
        payload = codec.encode_refused(why, min(count, COUNT_MAX), refused.sequence)
        link.send(now_ns, Kind.REFUSED, payload, (Kind.REFUSED, why, refused.number))


def _filters(text: str) -> tuple[bytes, ...] | None:
    """The encoded filters of a policy's predicate; None: one of them is that of anything."""
    predicate: Predicate = parse_predicate(text)
    if any(not each.constraints for each in predicate.filters):
        return None
    return tuple(map(encode_filter, predicate.filters))


def _table(filters: Iterable[bytes]) -> ForwardingTable:
    table = ForwardingTable()
    for each in filters:
        table.add(0, each)
    table.commit()
    return table


def _within(
    allowed: tuple[bytes, ...] | None, predicate: bytes, covers: Callable[[bytes, bytes], bool]
) -> bool:
    asked = filters_of(predicate)
    return allowed is None or all(any(covers(wide, each) for wide in allowed) for each in asked)
