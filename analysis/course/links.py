"""Tables `links` and `control`: what each link carried in each slice of time, made of what interfaces did."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.catalog.course import CONTROL, LINKS
from analysis.columns import Numbers, groups
from analysis.course.moments import has_length, slice_start_ns
from analysis.course.rates import Rates, Way
from analysis.findings import NO_CONTROL, Slices, Traffic
from analysis.messages.rows import numbers
from analysis.rundir import Run
from analysis.traffic import kind_name
from nodes.wire.packets import PacketType

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of the interface of each row of `loads`, and which rows count for what."""

    node: Numbers
    peer: Numbers
    access: Flags
    sent: Flags

    @classmethod
    def of(cls, run: Run, loads: pa.Table) -> Ends:
        """Of rows of the interfaces of a run."""
        captures = {c.interface.name: c for c in run.captures}
        names = loads["interface"].combine_chunks().dictionary_encode()
        rows = [captures[name] for name in names.dictionary.to_pylist()]
        at = names.indices.to_numpy()
        node = np.array([c.node.node_id for c in rows], dtype=np.int64)[at]
        peer = np.array([c.peer.node_id for c in rows], dtype=np.int64)[at]
        access = np.array([c.peer_is_client for c in rows], dtype=bool)[at]
        return cls(node, peer, access, loads["sent"].to_numpy())

    @property
    def once(self) -> Flags:
        """Rows by which each packet counts once for a link: sent by a router, or received from a client."""
        return self.sent | self.access

    @property
    def arrived(self) -> Flags:
        """Rows of packets that came from another router."""
        return ~self.once

    @property
    def sender(self) -> Numbers:
        """The node at the end that sent."""
        return np.where(self.sent, self.node, self.peer)

    @property
    def receiver(self) -> Numbers:
        """The node at the other end."""
        return np.where(self.sent, self.peer, self.node)


def is_message(loads: pa.Table) -> Flags:
    """Which rows are of messages."""
    found: Flags = loads["type"].to_numpy() == int(PacketType.MESSAGE)
    return found


def is_control(loads: pa.Table) -> Flags:
    """Which rows are of control traffic."""
    found: Flags = ~np.isin(loads["type"].to_numpy(), NO_CONTROL)
    return found


def traffic_of(run: Run, loads: pa.Table) -> list[Traffic]:
    """Packets by interface, direction, type and kind over the whole run; each counts once for each link."""
    chosen = loads.filter(pa.array(Ends.of(run, loads).once))
    key = ["interface", "sent", "type", "kind"]
    sums = chosen.group_by(key, use_threads=False).aggregate([("packets", "sum"), ("bytes", "sum")])
    found = (Traffic(*row.values()) for row in sums.to_pylist())
    return sorted(found, key=lambda t: (t.interface, t.sent, t.type, t.kind or 0))


def control_table(run: Run, loads: pa.Table, slices: Slices) -> pa.Table:
    """Table `control`."""
    chosen = loads.filter(pa.array(Ends.of(run, loads).once & is_control(loads)))
    links = {c.interface.name: run.plan.links[c.interface.link].name for c in run.captures}
    interfaces = chosen["interface"].combine_chunks().dictionary_encode()
    named = {
        "link": pa.array([links[name] for name in interfaces.dictionary.to_pylist()], pa.string()).take(
            interfaces.indices
        ),
        "kind_name": _kinds(chosen),
        **{name: chosen[name] for name in ("slice", "packets", "bytes")},
    }
    key = ["link", "kind_name", "slice"]
    sums = pa.table(named).group_by(key, use_threads=False).aggregate([("packets", "sum"), ("bytes", "sum")])
    sums = sums.rename_columns([*key, "packets", "bytes"]).sort_by([(name, "ascending") for name in key])
    whole = sums.append_column("from_ns", _starts(sums["slice"], slices))
    return whole.select(CONTROL.schema.names).cast(CONTROL.schema)


def _kinds(loads: pa.Table) -> pa.Array:
    """The name of the kind of each row."""
    columns = (numbers(loads["type"]), numbers(loads["kind"], NO_KIND))
    code, first = groups(*columns)
    of = zip(*(column[first].tolist() for column in columns), strict=True)
    names = [kind_name(type_, None if kind == NO_KIND else kind) for type_, kind in of]
    return pa.array(names, pa.string()).take(pa.array(code))


NO_KIND = -1


def _starts(slots: pa.ChunkedArray, slices: Slices) -> pa.Array:
    return pa.array([slice_start_ns(slot, slices) for slot in slots.to_pylist()], pa.int64())


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of links besides their packets."""

    rates: Rates
    lost: Mapping[tuple[int, int, int], int]
    """Messages that never arrived, by the nodes from and to which they were sent, and by slice."""
    incomplete: Collection[str]
    """Interfaces whose captures are incomplete."""


def links_table(run: Run, loads: pa.Table, slices: Slices, known: Known) -> pa.Table:
    """Table `links`."""
    ends, message, control = Ends.of(run, loads), is_message(loads), is_control(loads)
    counted = {
        "messages": ("packets", ends.once & message),
        "message_bytes": ("bytes", ends.once & message),
        "control_packets": ("packets", ends.once & control),
        "control_bytes": ("bytes", ends.once & control),
        "frames": ("frames", ends.once),
        "frame_bytes": ("frame_bytes", ends.once),
        "arrived_messages": ("packets", ends.arrived & message),
        "arrived_control": ("packets", ends.arrived & control),
    }
    keys = (ends.sender, ends.receiver, loads["slice"].to_numpy().astype(np.int64))
    group, first = groups(*keys)
    order = np.lexsort([key[first] for key in reversed(keys)])
    columns = {
        name: np.bincount(group, np.where(rows, loads[of].to_numpy(), 0), len(first)).astype(np.int64)[order]
        for name, (of, rows) in counted.items()
    }
    sender, receiver, slots = (key[first][order].tolist() for key in keys)
    names = names_of(run)
    ways = list(zip(sender, receiver, strict=True))
    seen = _seen_at_both_ends(run, known.incomplete)
    unseen = pa.array([way not in seen for way in ways], pa.bool_())
    lost = [known.lost.get((*way, slot), 0) for way, slot in zip(ways, slots, strict=True)]
    rows = list(zip(ways, slots, columns["frame_bytes"].tolist(), strict=True))
    found = {
        "link": pa.array([names[way] for way in ways], pa.string()),
        "from_id": pa.array(sender, pa.int32()),
        "to_id": pa.array(receiver, pa.int32()),
        "access": pa.array(ends.access[first][order]),
        "slice": pa.array(slots, pa.int32()),
        "from_ns": pa.array([slice_start_ns(slot, slices) for slot in slots], pa.int64()),
        **{name: pa.array(column) for name, column in columns.items()},
        "lost_messages": pa.array(lost, pa.int64()),
        "throughput_bps": pa.array([_throughput(*row[1:], slices) for row in rows], pa.float64()),
        "utilisation": pa.array([_utilisation(*row, slices, known.rates) for row in rows], pa.float64()),
    }
    for name in ("arrived_messages", "arrived_control", "lost_messages"):
        found[name] = pc.if_else(unseen, pa.scalar(None, pa.int64()), found[name])
    return pa.table(found).select(LINKS.schema.names).cast(LINKS.schema)


def names_of(run: Run) -> dict[Way, str]:
    """Of the link of each direction."""
    links = run.plan.links
    ends = ((c.node.node_id, c.peer.node_id, links[c.interface.link].name) for c in run.captures)
    return {way: name for a, b, name in ends for way in ((a, b), (b, a))}


def _seen_at_both_ends(run: Run, incomplete: Collection[str]) -> set[Way]:
    """The directions of which all packets were captured where they were sent and where they arrived."""
    whole = [c for c in run.captures if c.interface.name not in incomplete]
    ends = {(c.node.node_id, c.peer.node_id) for c in whole}
    return {way for way in ends if way[::-1] in ends}


def _throughput(number: int, frame_bytes: int, slices: Slices) -> float | None:
    return frame_bytes * 8e9 / slices.width_ns if has_length(number, slices) else None


def _utilisation(way: Way, number: int, frame_bytes: int, slices: Slices, rates: Rates) -> float | None:
    from_ns = slice_start_ns(number, slices)
    if from_ns is None or not has_length(number, slices):
        return None
    bits = rates.bits(way, from_ns, from_ns + slices.width_ns)
    return frame_bytes * 8 / bits if bits else None
