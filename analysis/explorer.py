"""Single messages, for the report: where each went, hop by hop, who got it and why, who did not and why.

A run has too many messages to show all, so some are chosen: those of which something is wrong or was lost
first, then others, evenly over the run. The tables are read in batches, so memory does not grow with the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analysis.contents import content_of
from analysis.oracle import Claim, predicate_of
from analysis.rundir import Run
from analysis.tables import open_table
from nodes.model import Value, format_message, matches
from nodes.wire.packets import Role

MOST_MESSAGES = 1_000
MOST_ROWS = 20_000
"""Of crossings and of pairs together: about 1.3 MB of a page, which is to stay below 3 MB."""
ODD = ("missing", "duplicate", "spurious", "unknown", "lost")
"""Verdicts of pairs that people look for first, the worst first."""
MessageId = tuple[int, int]
"""Source and sequence."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A message over a link, away from a router; clients say themselves when it arrived."""

    from_id: int
    to_id: int
    hop_count: int
    sent_ns: int | None
    received_ns: int | None
    copies: int
    wasted: bool
    to_client: bool


@dataclass(frozen=True, slots=True)
class Receiver:
    """A client that wanted a message, or got it."""

    client: int
    verdict: str
    """Empty: the client reports it, and nothing else is known."""
    owed: bool
    reason: str
    latency_ns: int | None
    copies: int
    filters: tuple[int, ...]
    """Which of its subscriptions matched, by their positions in `Explored.filters`."""
    last_seen: int | None
    """If it did not come: the router nearest to the client that had it; None: no router had."""
    sent_on_to: int | None
    """The node to which that router did send it, nearer to the client; None: to none."""


@dataclass(slots=True)
class Message:
    """One message, and what became of it."""

    source: int
    sequence: int
    time_ns: int
    text: str
    router: int | None
    """The first; None: no capture shows that it reached any."""
    crossings: list[Crossing] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)

    @property
    def word(self) -> str:
        """The worst that became of it: one of `ODD`, or `delivered`, or empty if nobody wanted it."""
        found = {receiver.verdict for receiver in self.receivers}
        return next((word for word in (*ODD, "delivered") if word in found), "")


@dataclass(frozen=True, slots=True)
class Explored:
    """Some messages of a run."""

    total: int
    messages: Sequence[Message]
    filters: Sequence[str]


def explore(run: Run, tables: Path, claims: Sequence[Claim]) -> Explored:
    """Choose messages, and look up what became of each.

    Args:
        run: The run.
        tables: Where its tables are.
        claims: What its clients subscribed to.
    """
    files = {
        name: open_table(tables, name)
        for name in ("publications", "crossings", "verdicts", "deliveries", "hops")
    }
    total = files["publications"].count_rows()
    rows = files["crossings"].count_rows() + files["verdicts"].count_rows()
    most = min(total, MOST_MESSAGES, max(1, MOST_ROWS * max(total, 1) // max(rows, 1)))
    chosen = _chosen(files["publications"], files["verdicts"], most)
    found = {
        (row["source"], row["sequence"]): _message(row)
        for row in _rows(files["publications"], chosen, PUBLICATION)
    }
    reported = _reported(run, files["hops"], chosen)
    for row in _rows(files["crossings"], chosen, CROSSING):
        message = found.get((row["source"], row["sequence"]))
        if message is not None:
            message.crossings.append(_crossing(row, reported))
    latencies = {
        (row["source"], row["sequence"], row["subscriber"]): row["latency_ns"]
        for row in _rows(files["deliveries"], chosen, DELIVERY)
    }
    why = _Why(run, claims)
    for row in _rows(files["verdicts"], chosen, VERDICT):
        message = found.get((row["source"], row["sequence"]))
        if message is not None:
            latency_ns = latencies.get((row["source"], row["sequence"], row["subscriber"]))
            message.receivers.append(why.receiver(message, row, latency_ns))
    messages = sorted(found.values(), key=lambda m: (m.time_ns, m.source, m.sequence))
    for message in messages:
        message.crossings.sort(
            key=lambda c: (c.hop_count, c.sent_ns or c.received_ns or 0, c.from_id, c.to_id)
        )
        message.receivers.sort(key=lambda r: r.client)
    return Explored(total, messages, why.texts)


PUBLICATION = (
    "source", "sequence", "time_ns", "announced_ns", "node_id", "attributes", "attribute_count", "message",
)  # fmt: skip
CROSSING = (
    "source", "sequence", "from_id", "to_id", "hop_count", "time_ns", "received_ns", "copies", "wasted",
    "access",
)  # fmt: skip
VERDICT = ("source", "sequence", "subscriber", "verdict", "owed", "reason", "copies")
DELIVERY = ("source", "sequence", "subscriber", "latency_ns")
HOP = ("source", "sequence", "to_id", "sent_ns", "received_ns")
Sending = tuple[int, int, int, int | None]
"""A message to a node at a moment."""


def _chosen(publications: ds.Dataset, verdicts: ds.Dataset, most: int) -> set[MessageId]:
    """The messages to show: half of them for what is wrong with them, a third for being wanted, then any."""
    chosen: set[MessageId] = set()
    for word in ODD:
        _take(chosen, verdicts.filter(pc.field("verdict") == word), -(-most // 2))
    _take(chosen, verdicts, most - most // 6)
    _take(chosen, publications, most)
    _take(chosen, publications, most, step=1)  # where the same ones were met again
    return chosen


def _take(chosen: set[MessageId], table: ds.Dataset, most: int, step: int | None = None) -> None:
    """Add messages until there are so many: those of rows that are the same distance apart."""
    if len(chosen) >= most:
        return
    step, seen = step or max(1, table.count_rows() // (most - len(chosen))), 0
    for batch in table.to_batches(columns=["source", "sequence"]):
        rows = slice(-seen % step, None, step)
        sources, sequences = (batch[name].to_numpy()[rows].tolist() for name in ("source", "sequence"))
        for each in zip(sources, sequences, strict=True):
            chosen.add(each)
            if len(chosen) >= most:
                return
        seen += len(batch)


def _rows(table: ds.Dataset, chosen: set[MessageId], columns: Sequence[str]) -> Iterator[Row]:
    """The rows of the chosen messages."""
    sources = np.array(sorted({source for source, _ in chosen}), dtype=np.int64)
    sequences = np.array(sorted({sequence for _, sequence in chosen}), dtype=np.int64)
    for batch in table.to_batches(columns=list(columns)):
        near = np.isin(batch["source"], sources) & np.isin(batch["sequence"], sequences)
        if near.any():
            for row in batch.filter(pa.array(near)).to_pylist():
                if (row["source"], row["sequence"]) in chosen:
                    yield row


def _message(row: Row) -> Message:
    content = content_of(row["attributes"], row["attribute_count"] or 0, row["message"])
    time_ns = row["announced_ns"] if row["time_ns"] is None else row["time_ns"]
    text = "" if content is None else format_message(content)
    return Message(row["source"], row["sequence"], time_ns, text, row["node_id"])


def _reported(run: Run, hops: ds.Dataset, chosen: set[MessageId]) -> Mapping[Sending, int]:
    """When clients say that they got what was sent to them."""
    clients = [node.node_id for node in run.plan.nodes if node.role == Role.CLIENT]
    rows = _rows(hops.filter(pc.field("to_id").isin(clients)), chosen, HOP)
    return {
        (row["source"], row["sequence"], row["to_id"], row["sent_ns"]): row["received_ns"]
        for row in rows
        if row["received_ns"] is not None
    }


def _crossing(row: Row, reported: Mapping[Sending, int]) -> Crossing:
    sending = (row["source"], row["sequence"], row["to_id"], row["time_ns"])
    return Crossing(
        row["from_id"],
        row["to_id"],
        row["hop_count"],
        row["time_ns"],
        reported.get(sending) if row["access"] else row["received_ns"],
        row["copies"],
        row["wasted"],
        row["access"],
    )


class _Why:
    """Why a client got a message, or did not."""

    def __init__(self, run: Run, claims: Sequence[Claim]) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._claims: defaultdict[int, list[Claim]] = defaultdict(list)
        for claim in claims:
            self._claims[claim.subscriber].append(claim)
        self._neighbours = neighbours_of(run)
        self._distances: dict[int, Mapping[int, int]] = {}
        self._contents: dict[str, Mapping[str, Value] | None] = {}

    def receiver(self, message: Message, row: Row, latency_ns: int | None) -> Receiver:
        client, verdict = row["subscriber"], row["verdict"] or ""
        came = bool(row["copies"])
        last_seen, sent_on_to = (None, None) if came else self._last_seen(message, client)
        return Receiver(
            client,
            verdict,
            bool(row["owed"]),
            row["reason"] or "",
            latency_ns,
            row["copies"],
            tuple(self._matching(message, client)),
            last_seen,
            sent_on_to,
        )

    def _matching(self, message: Message, client: int) -> Iterator[int]:
        content = self._content(message.text)
        if content is None:
            return
        for claim in self._claims[client]:
            holds = claim.wants(message.time_ns) or claim.allows(message.time_ns)
            if holds and matches(predicate_of(claim.predicate), content):
                yield self._number(claim.predicate)

    def _content(self, text: str) -> Mapping[str, Value] | None:
        if text not in self._contents:
            self._contents[text] = content_of(None, 0, text or None)
        return self._contents[text]

    def _number(self, predicate: str) -> int:
        if predicate not in self._numbers:
            self._numbers[predicate] = len(self.texts)
            self.texts.append(predicate)
        return self._numbers[predicate]

    def _last_seen(self, message: Message, client: int) -> tuple[int | None, int | None]:
        """The router nearest to the client that had the message, and where nearer it did send it."""
        arrived = [c.to_id for c in message.crossings if not c.to_client and c.received_ns is not None]
        had = {message.router, *arrived} - {None}
        distances = self._distances_to(client)
        nearest = min(
            had, key=lambda router: (distances.get(router or 0, len(distances)), router), default=None
        )
        if nearest is None:
            return None, None
        far = len(distances)
        onward = [
            c.to_id
            for c in message.crossings
            if c.from_id == nearest and distances.get(c.to_id, far) < distances.get(nearest, far)
        ]
        return nearest, min(onward, key=lambda node: (distances.get(node, far), node), default=None)

    def _distances_to(self, client: int) -> Mapping[int, int]:
        if client not in self._distances:
            self._distances[client] = distances_from(client, self._neighbours)
        return self._distances[client]


def neighbours_of(run: Run) -> Mapping[int, Sequence[int]]:
    """The plan's links, by node."""
    ids = {node.name: node.node_id for node in run.plan.nodes}
    found: defaultdict[int, list[int]] = defaultdict(list)
    for link in run.plan.links:
        found[ids[link.a]].append(ids[link.b])
        found[ids[link.b]].append(ids[link.a])
    return found


def distances_from(start: int, neighbours: Mapping[int, Iterable[int]]) -> Mapping[int, int]:
    """In links, to each node that can be reached."""
    found, border = {start: 0}, [start]
    while border:
        reached = {n for node in border for n in neighbours.get(node, ()) if n not in found}
        distance = found[border[0]] + 1
        found |= dict.fromkeys(reached, distance)
        border = sorted(reached)
    return found
