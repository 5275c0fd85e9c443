"""The rows as Markdown: a table a network."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.figures.axes import count, volume
from testbed.experiments.schemes.rows import Measured, Row

HOW = (
    "Every run is in the simulator, in one process and without captures on disk: a recorder at each router "
    "interface counts what is sent, the clients say what they got, and the routers' own tables are "
    "weighed when the network is at its fixpoint. Nothing here depends on the machine. *Crossings* are "
    "messages over links between routers; *ideal* is the sum over the messages' ideal trees, the smallest "
    "that reach everybody over a fastest path (T1); *wasted* are crossings from which no delivery descends. "
    "*Stretch* is latency over that of the fastest path, mean and greatest. *Constraints* are held in all "
    "routers' tables without what their own clients want; in brackets if nothing were reduced. *State* and "
    "*formula* are in bytes, as RTE 2.4 counts them: predicates and router ids, no structures; the formula "
    "with alpha = 1. *FIB* is the memory of the compiled tables with all their structures. *Control* is what "
    "was sent until the fixpoint, without hellos."
)
HEAD = """\
| scheme | wrong | crossings | / ideal | wasted | stretch | bytes / crossing | constraints | state | formula | FIB | control | ready |
|---|---:|---:|---:|---:|---|---:|---|---:|---:|---:|---|---:|"""  # noqa: E501


def table(results: Measured) -> str:
    """All of them."""
    parts = ["## Every network", HOW]
    for network in dict.fromkeys(row.network for row in results.rows):
        rows = [row for row in results.rows if row.network == network]
        parts += [_title(rows[0]), "\n".join([HEAD, *map(_line, rows)])]
    return "\n\n".join(parts)


def _title(row: Row) -> str:
    about = f", {row.inexact} of them approximated" if row.inexact else ""
    return (
        f"### {row.shape.capitalize()}, {row.routers} routers, {row.links} links, {row.senders} senders, "
        f"{row.receivers} receivers\n\n{row.messages} messages, {count(row.owed)} deliveries owed, "
        f"{count(row.ideal)} crossings in the ideal trees{about}."
    )


def _line(row: Row) -> str:
    return f"| {' | '.join(_cells(row))} |"


def _cells(row: Row) -> Iterator[str]:
    yield row.scheme
    yield str(row.missing + row.duplicate + row.spurious)
    yield count(row.crossings)
    yield f"{row.ratio:.2f}"
    yield count(row.wasted)
    yield "1" if row.stretch_max < 1.0001 else f"{row.stretch_mean:.2f}, {row.stretch_max:.2f}"
    yield f"{row.message_bytes / row.crossings:.0f}" if row.crossings else ""
    yield f"{count(row.constraints)} ({count(row.unreduced)})"
    yield _bytes(row.state_bits)
    yield _bytes(row.formula_bits)
    yield volume(row.fib_bytes)
    yield f"{count(row.control_packets)} packets, {volume(row.control_bytes)}"
    yield f"{row.converged_ms:.0f} ms"


def _bytes(bits: float | None) -> str:
    return "" if bits is None else volume(round(bits / 8))
