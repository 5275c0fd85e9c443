"""Hops: every message over every link, from one end to the other, access links included.

At a client its own report counts: when it says that it published a message, and when it got one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from analysis.columns import Numbers, groups
from analysis.messages.crossings import Crossings
from analysis.messages.numbering import UNKNOWN_NS, Messages
from analysis.messages.pairs import Pairs
from analysis.messages.rows import flags, numbers


@dataclass(frozen=True, slots=True)
class Hops:
    """Columns: a packet over a link."""

    message: Numbers
    """Its number; of a CONTROL packet any."""
    sender: Numbers
    receiver: Numbers
    sent_ns: Numbers
    """UNKNOWN_NS: that is not known."""
    received_ns: Numbers
    """UNKNOWN_NS: that is not known."""
    came_ns: Numbers
    """When it had come to the sender; UNKNOWN_NS: that is not known, or the sender published it."""

    @property
    def delay_ns(self) -> Numbers:
        """From one end to the other; UNKNOWN_NS: one of the times is not known."""
        return since(self.received_ns, self.sent_ns)

    @property
    def waited_ns(self) -> Numbers:
        """How long it was with the sender; UNKNOWN_NS: that is not known."""
        return since(self.sent_ns, self.came_ns)


def since(later_ns: Numbers, earlier_ns: Numbers) -> Numbers:
    """How much later; UNKNOWN_NS where one of the times is not known."""
    known = (later_ns != UNKNOWN_NS) & (earlier_ns != UNKNOWN_NS)
    return np.where(known, later_ns - np.where(known, earlier_ns, 0), UNKNOWN_NS)


def hops_of(messages: Messages, pairs: Pairs, crossings: Crossings, homes: Mapping[int, int]) -> Hops:
    """Between routers, from publishers to their routers, and from routers to subscribers."""
    parts = [_between(crossings), _published(messages, homes), _delivered(pairs, crossings)]
    return Hops(*(np.concatenate([getattr(p, field.name) for p in parts]) for field in fields(Hops)))


def _between(crossings: Crossings) -> Hops:
    met = crossings.met
    rows = np.flatnonzero(~met.access & (met.copies > 0))
    columns = (met.message, met.sender, met.receiver, met.time_ns, met.received_ns, crossings.came_ns)
    return Hops(*(column[rows] for column in columns))


def _published(messages: Messages, homes: Mapping[int, int]) -> Hops:
    """A message that no router has seen was sent, if its client reports it."""
    clients = np.array(sorted(homes), np.int64)
    rows = np.flatnonzero(messages.published & np.isin(messages.source, clients))
    routers = np.array([homes[client] for client in clients.tolist()], np.int64)
    source = messages.source[rows]
    publish_ns = numbers(messages.entered["publish_time_ns"], UNKNOWN_NS)
    sent_ns = np.where(publish_ns == UNKNOWN_NS, messages.announced_ns, publish_ns)[rows]
    router = routers[np.searchsorted(clients, source)]
    return Hops(rows, source, router, sent_ns, messages.entered_ns[rows], np.full(len(rows), UNKNOWN_NS))


def _delivered(pairs: Pairs, crossings: Crossings) -> Hops:
    rows = np.flatnonzero(pairs.copies)
    message, router, client = pairs.message[rows], pairs.router[rows], pairs.client[rows]
    came_ns = _came(crossings, message, client, pairs.hop_count[rows])
    return Hops(message, router, client, pairs.left_ns[rows], pairs.reported_ns[rows], came_ns)


def _came(crossings: Crossings, message: Numbers, client: Numbers, hop: Numbers) -> Numbers:
    """When each message had come to the router from which it left for a client with so many hops."""
    met = crossings.met
    leaving = np.flatnonzero(met.access)
    columns = ((message, met.message), (client, met.receiver), (hop, met.hop))
    group, _ = groups(*(np.concatenate([wanted, column[leaving]]) for wanted, column in columns))
    found = np.full(int(group.max(initial=-1)) + 1, UNKNOWN_NS)
    np.maximum.at(found, group[len(message) :], crossings.came_ns[leaving])
    return found[group[: len(message)]]


def control_hops(control: pa.Table) -> Hops:
    """CONTROL packets between routers, from the first sending of each to its first arrival."""
    names = ("content", "from_id", "to_id", "time_ns")
    content, sender, receiver, time_ns = (numbers(control[name]) for name in names)
    sent = flags(control["sent"])
    packet, first = groups(content, sender, receiver)
    times = [_least(packet[chosen], time_ns[chosen], len(first)) for chosen in (sent, ~sent)]
    unknown = np.full(len(first), UNKNOWN_NS)
    return Hops(np.arange(len(first)), sender[first], receiver[first], times[0], times[1], unknown)


def _least(key: Numbers, values: Numbers, count: int) -> Numbers:
    none = np.iinfo(np.int64).max
    least = np.full(count, none)
    np.minimum.at(least, key, values)
    return np.where(least == none, UNKNOWN_NS, least)
