"""Crossings: every message over every link, where its copies came from, and whether they were for nothing.

A router forwards with one hop more, so what descends from a crossing to router v at hop h left v at hop
h + 1: no clock is needed. All visits of a message are looked at together, over columns.

- `wasted`: no delivery descends from it. The visits are passed from the last hop to the first, keeping the
  places (router and hop count) from which a delivery descends.
- `flaw`: empty if its copies are in order; `unsent`, if nothing but its arrival was captured; `hops`, if the
  message came to the router from which it left, but not with one hop less; `pathless`, if it never did.
- `altered`: its copies are the first of the message whose content is not that of the publication.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from analysis.columns import Numbers, coded
from analysis.messages.numbering import UNKNOWN_NS, Flags, Messages
from analysis.messages.pairs import Pairs
from analysis.messages.rows import Rows, flags, numbers

_LATEST = np.iinfo(np.int64).max
FLAWS = ("", "unsent", "hops", "pathless")
_HOPS, _PATHLESS = FLAWS.index("hops"), FLAWS.index("pathless")


@dataclass(frozen=True, slots=True)
class Entries:
    """Where messages entered the network: by message, of those that did."""

    message: Numbers
    router: Numbers
    hop: Numbers
    time_ns: Numbers
    content: Numbers


@dataclass(frozen=True, slots=True)
class Exits:
    """Where a first copy left the network towards a client."""

    message: Numbers
    router: Numbers
    hop: Numbers


@dataclass(frozen=True, slots=True)
class Moves:
    """A message on a link, as one end captured it."""

    message: Numbers
    sender: Numbers
    receiver: Numbers
    hop: Numbers
    access: Flags
    sent: Flags
    time_ns: Numbers
    content: Numbers

    def at(self, rows: Numbers) -> Moves:
        """Some of them."""
        return Moves(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Met:
    """What was captured at both ends of a link, of one message and hop count."""

    message: Numbers
    sender: Numbers
    receiver: Numbers
    hop: Numbers
    access: Flags
    time_ns: Numbers
    """When it was first sent; UNKNOWN_NS: that was not captured."""
    copies: Numbers
    received_ns: Numbers
    """When it first arrived; UNKNOWN_NS: that was not captured."""
    arrived: Numbers
    content: Numbers
    same: Flags
    """Whether all captures have the same content."""


@dataclass(frozen=True, slots=True)
class Crossings:
    """Crossings, and what is odd about each."""

    met: Met
    wasted: Flags
    flaw: Numbers
    """A position in `FLAWS`."""
    altered: Flags
    came_ns: Numbers
    """When it had come to the sender, with one hop less; UNKNOWN_NS: that was not captured."""


def moves_of(rows: Rows, message: Numbers) -> Moves:
    """What was captured on links; `message` is the number of each row's message."""
    moved = rows.moved
    sent, node, peer = flags(moved["sent"]), numbers(moved["node_id"]), numbers(moved["peer_id"])
    return Moves(
        message,
        np.where(sent, node, peer),
        np.where(sent, peer, node),
        numbers(moved["hop_count"]),
        flags(moved["access"]),
        sent,
        numbers(moved["time_ns"]),
        numbers(moved["content"]),
    )


def entries_of(messages: Messages) -> Entries:
    """Of the messages that a router captured coming in."""
    which = np.flatnonzero(messages.entered_ns != UNKNOWN_NS)
    of = {name: numbers(messages.entered[name])[which] for name in ("node_id", "hop_count", "content")}
    return Entries(which, of["node_id"], of["hop_count"], messages.entered_ns[which], of["content"])


def exits_of(pairs: Pairs) -> Exits:
    """Of the pairs of which a copy left a router."""
    which = np.flatnonzero(pairs.copies)
    return Exits(pairs.message[which], pairs.router[which], pairs.hop_count[which])


@dataclass(frozen=True, slots=True)
class _Places:
    """Numbers for (message, hop count, node)."""

    hops: int
    nodes: int

    def of(self, message: Numbers, hop: Numbers, node: Numbers) -> Numbers:
        """One for each."""
        return (message * self.hops + hop) * self.nodes + node

    def without_hops(self, places: Numbers) -> Numbers:
        """The same without the hop count."""
        return places // (self.hops * self.nodes) * self.nodes + places % self.nodes


def crossings_of(moves: Moves, entries: Entries, exits: Exits) -> Crossings:
    """Both ends of each crossing brought together, with what is odd about it."""
    met = _met(moves)
    places = _places(moves, entries, exits)
    before = places.of(met.message, met.hop, met.sender)
    after = places.of(met.message, met.hop + 1, met.receiver)
    came = met.arrived > 0
    reached = np.concatenate([after[came], places.of(entries.message, entries.hop + 1, entries.router)])
    came_ns = _came(before, reached, np.concatenate([met.received_ns[came], entries.time_ns]))
    ever = np.isin(places.without_hops(before), places.without_hops(reached))
    flaw = np.where(came_ns != UNKNOWN_NS, FLAWS.index(""), np.where(ever, _HOPS, _PATHLESS))
    return Crossings(
        met,
        _wasted(met, before, after, (exits.hop, places.of(exits.message, exits.hop, exits.router))),
        np.where(met.copies == 0, FLAWS.index("unsent"), flaw),
        _altered(met, entries),
        came_ns,
    )


def _places(moves: Moves, entries: Entries, exits: Exits) -> _Places:
    nodes = (moves.sender, moves.receiver, entries.router, exits.router)
    hops = (moves.hop, entries.hop, exits.hop)
    most_node, most_hop = (max(int(each.max(initial=0)) for each in columns) for columns in (nodes, hops))
    return _Places(most_hop + 3, most_node + 1)


def _met(moves: Moves) -> Met:
    link = coded((moves.sender << 32) + moves.receiver)
    hops = int(moves.hop.max(initial=0)) + 1
    key = (moves.message * hops + moves.hop) * (int(link.max(initial=0)) + 1) + link
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    first, rows = moves.at(order[begins]), moves.at(order)

    def joined(how: np.ufunc, values: Numbers) -> Numbers:
        found: Numbers = how.reduceat(values, begins) if len(begins) else values
        return found

    sent_ns = joined(np.minimum, np.where(rows.sent, rows.time_ns, _LATEST))
    received_ns = joined(np.minimum, np.where(rows.sent, _LATEST, rows.time_ns))
    lowest = joined(np.minimum, rows.content)
    return Met(
        first.message,
        first.sender,
        first.receiver,
        first.hop,
        first.access,
        np.where(sent_ns == _LATEST, UNKNOWN_NS, sent_ns),
        joined(np.add, rows.sent.astype(np.int64)),
        np.where(received_ns == _LATEST, UNKNOWN_NS, received_ns),
        joined(np.add, 1 - rows.sent.astype(np.int64)),
        lowest,
        lowest == joined(np.maximum, rows.content),
    )


def _came(places: Numbers, reached: Numbers, time_ns: Numbers) -> Numbers:
    """When each of the places was first reached; UNKNOWN_NS: it was not."""
    order = np.lexsort((time_ns, reached))
    ascending, times = reached[order], time_ns[order]
    if not len(ascending):
        return np.full(len(places), UNKNOWN_NS)
    at = np.minimum(np.searchsorted(ascending, places), len(ascending) - 1)
    return np.where(ascending[at] == places, times[at], UNKNOWN_NS)


def _wasted(met: Met, before: Numbers, after: Numbers, exits: tuple[Numbers, Numbers]) -> Flags:
    """From which no delivery descends: a first copy that left the network.

    Args:
        met: The crossings.
        before: The places that they left.
        after: The places from which goes on what they brought.
        exits: With how many hops first copies left the network, and from which places.
    """
    exit_hop, leaving = exits
    found = [leaving]
    level, level_hop = leaving[:0], -1
    for hop in np.unique(met.hop)[::-1].tolist():
        onward = [leaving[exit_hop == hop + 1], level if level_hop == hop + 1 else level[:0]]
        here = np.flatnonzero((met.hop == hop) & (met.copies > 0))
        level, level_hop = before[here[np.isin(after[here], np.concatenate(onward))]], hop
        found.append(level)
    wasted: Flags = ~np.isin(after, np.concatenate(found))
    return wasted


def _altered(met: Met, entries: Entries) -> Flags:
    """The first crossing of a message, by time, with another content than that of the publication."""
    count = int(max(met.message.max(initial=-1), entries.message.max(initial=-1))) + 1
    has, entered = np.zeros(count, bool), np.zeros(count, np.int64)
    has[entries.message], entered[entries.message] = True, entries.content
    odd = np.flatnonzero(~met.same | (has[met.message] & (met.content != entered[met.message])))
    when = np.where(met.copies > 0, met.time_ns, met.received_ns)
    keys = (met.hop, met.receiver, met.sender, when, met.message)
    order = odd[np.lexsort(tuple(key[odd] for key in keys))]
    altered = np.zeros(len(met.message), bool)
    altered[order[np.flatnonzero(np.diff(met.message[order], prepend=-1))]] = True
    return altered
