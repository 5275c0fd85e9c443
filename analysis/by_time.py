"""What went over links, how long deliveries took and what clients got, by when the message was published.

For the report, in which a part of the run is chosen: its figures are sums over slices of time. The tables are
read in batches; of a run whose messages have too many rows for that, there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from analysis.columns import Numbers, groups
from analysis.counts import ARRIVED
from analysis.findings import Slices
from analysis.tables import open_table

MOST_ROWS = 20_000_000
"""Of crossings and of pairs together: more are not read twice."""
MOST_NUMBERS = 150_000
"""In the page: about half a megabyte."""
BINS_A_DECADE = 24
"""Of latencies: a bin is 10 % wide. Coarser than those of `distribution`, for a page holds many of them."""
OF_CLIENT = (
    "published", "wanted", "owed", "delivered", "missing", "duplicate", "spurious", "lost", "unknown",
)  # fmt: skip
"""What is counted of each client, in the order of the report's table."""


@dataclass(frozen=True, slots=True)
class ByTime:
    """Counts by slice; those of slices in which there was nothing are left out."""

    slices: Slices
    links: Mapping[tuple[int, int], Mapping[int, Sequence[int]]]
    """By the link's two nodes, the smaller first: to the second, to the first, wasted."""
    clients: Mapping[int, Mapping[int, Sequence[int]]]
    """In the order of `OF_CLIENT`."""
    latencies: Mapping[int, Mapping[int, int]]
    """How many were in each bin (`bin_of`)."""


def bin_of(latency_ns: Numbers) -> Numbers:
    """The number of each latency's bin: those of one have the same tens and, about, the same first digits."""
    found: Numbers = np.floor(BINS_A_DECADE * np.log10(np.maximum(latency_ns, 1))).astype(np.int64)
    return found


def bin_start_ns(number: int) -> float:
    """The least latency in a bin."""
    return math.pow(10, number / BINS_A_DECADE)


def by_time(tables: Path, slices: Slices) -> ByTime | None:
    """Count; None of a run too large for it, or without a time to speak of.

    Args:
        tables: Where the tables of the run are.
        slices: Of its time.
    """
    names = ("publications", "crossings", "verdicts", "deliveries")
    files = {name: open_table(tables, name) for name in names}
    if not slices.count or sum(file.count_rows() for file in files.values()) > MOST_ROWS:
        return None
    when = _Published(files["publications"], slices)
    links = _links(files["crossings"], when)
    clients = _clients(files, when)
    latencies = _latencies(files["deliveries"], when)
    numbers = 3 * sum(map(len, links.values())) + len(OF_CLIENT) * sum(map(len, clients.values()))
    return None if numbers > MOST_NUMBERS else ByTime(slices, links, clients, latencies)


class _Published:
    """The slice in which each message was published."""

    def __init__(self, publications: ds.Dataset, slices: Slices) -> None:
        columns = ["source", "sequence", "time_ns", "announced_ns"]
        table = publications.to_table(columns=columns)
        time_ns = pc.coalesce(table["time_ns"], table["announced_ns"]).to_numpy()
        slots = (time_ns - slices.from_ns) // slices.width_ns
        self.sources, of_source = np.unique(table["source"].to_numpy(), return_inverse=True)
        self.sequences, of_sequence = np.unique(table["sequence"].to_numpy(), return_inverse=True)
        codes = of_source * len(self.sequences) + of_sequence
        order = np.argsort(codes)
        self.codes = codes[order]
        self.slots = np.where((slots >= 0) & (slots < slices.count), slots, -1)[order]

    def of(self, batch: pa.RecordBatch) -> Numbers:
        """Of the message of each row; -1: none that is known, or at another time."""
        if not len(self.codes):
            return np.full(len(batch), -1, dtype=np.int64)
        source, known_source = _positions(self.sources, batch["source"].to_numpy())
        sequence, known_sequence = _positions(self.sequences, batch["sequence"].to_numpy())
        at, known = _positions(self.codes, source * len(self.sequences) + sequence)
        return np.where(known & known_source & known_sequence, self.slots[at], -1)


def _positions(ascending: Numbers, values: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Where each value is, and whether it is there."""
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return at, ascending[at] == values


def _links(crossings: ds.Dataset, when: _Published) -> dict[tuple[int, int], dict[int, list[int]]]:
    found: dict[tuple[int, int], dict[int, list[int]]] = {}
    for batch in crossings.to_batches(
        columns=["source", "sequence", "from_id", "to_id", "copies", "wasted", "access"]
    ):
        of_nodes = (batch[name].to_numpy().astype(np.int64) for name in ("from_id", "to_id"))
        wasted = batch["wasted"].to_numpy(zero_copy_only=False) & ~batch["access"].to_numpy(
            zero_copy_only=False
        )
        keys = [*of_nodes, when.of(batch), wasted.astype(np.int64)]
        for (from_id, to_id, slot, is_wasted), copies in _sums(keys, batch["copies"].to_numpy()):
            if slot >= 0 and copies:
                ends = (min(from_id, to_id), max(from_id, to_id))
                counts = found.setdefault(ends, {}).setdefault(slot, [0, 0, 0])
                counts[0 if from_id == ends[0] else 1] += copies
                counts[2] += copies if is_wasted else 0
    return found


def _clients(files: Mapping[str, ds.Dataset], when: _Published) -> dict[int, dict[int, list[int]]]:
    found: dict[int, dict[int, list[int]]] = {}

    def add(client: int, slot: int, name: str, number: int) -> None:
        if slot >= 0 and number:
            counts = found.setdefault(client, {}).setdefault(slot, [0] * len(OF_CLIENT))
            counts[OF_CLIENT.index(name)] += number

    for batch in files["publications"].to_batches(columns=["source", "sequence", "node_id"]):
        keys = [batch["source"].to_numpy(), when.of(batch)]
        captured = batch["node_id"].is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        for (client, slot), number in _sums(keys, captured):
            add(client, slot, "published", number)
    columns = ["source", "sequence", "subscriber", "verdict", "owed", "wanted", "copies"]
    for batch in files["verdicts"].to_batches(columns=columns):
        for (client, slot), name, number in _verdicts(batch, when.of(batch)):
            add(client, slot, name, number)
    return found


def _verdicts(batch: pa.RecordBatch, slots: Numbers) -> Iterator[tuple[tuple[int, ...], str, int]]:
    verdict = batch["verdict"].to_numpy(zero_copy_only=False).astype(object)
    owed = batch["owed"].to_numpy(zero_copy_only=False).astype(object)
    wanted = batch["wanted"].to_numpy(zero_copy_only=False).astype(bool)
    again = np.maximum(batch["copies"].to_numpy() - 1, 0)
    keys = [batch["subscriber"].to_numpy().astype(np.int64), slots]
    counts = {
        "wanted": wanted,
        "owed": owed == True,  # noqa: E712 (null is neither)
        "delivered": np.isin(verdict, ARRIVED),
        "duplicate": np.where(owed == False, 0, again),  # noqa: E712
        **{name: verdict == name for name in ("missing", "spurious", "lost", "unknown")},
    }
    for name, numbers in counts.items():
        for key, number in _sums(keys, numbers.astype(np.int64)):
            yield key, name, number


def _latencies(deliveries: ds.Dataset, when: _Published) -> dict[int, Counter[int]]:
    found: dict[int, Counter[int]] = {}
    known = deliveries.filter(pc.field("latency_ns").is_valid())
    for batch in known.to_batches(columns=["source", "sequence", "latency_ns"]):
        keys = [when.of(batch), bin_of(batch["latency_ns"].to_numpy())]
        for (slot, number), count in _sums(keys, np.ones(len(batch), dtype=np.int64)):
            if slot >= 0:
                found.setdefault(slot, Counter())[number] += count
    return found


def _sums(keys: Sequence[Numbers], numbers: Numbers) -> Iterator[tuple[tuple[int, ...], int]]:
    """The sum of the numbers of each key; keys are columns."""
    group, first = groups(*keys)
    sums = np.bincount(group, weights=numbers, minlength=len(first)).astype(np.int64)
    rows = zip(*(column[first].tolist() for column in keys), strict=True)
    yield from zip(rows, sums.tolist(), strict=True)
