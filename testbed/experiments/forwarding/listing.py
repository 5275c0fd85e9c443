"""The rows of a forwarding experiment as a Markdown table."""

from __future__ import annotations

from analysis.figures.axes import count
from testbed.experiments.forwarding.findings import percent, time
from testbed.experiments.forwarding.rows import Measured, Row, rows_of

Key = tuple[int, int, int, bool]

HOW = (
    "Of each message the least time over all repeats counts; what stands here is the mean over the "
    "messages. The algorithms take turns, so that what disturbs the machine falls on all of them. All "
    "of them give the same answers, or there is no page. `counting` stands for no rounds (r = 0). The "
    "gain is that of `selective` over `counting`. Bytes are all that a table needs to answer, by "
    "constraints as written, of the three in this order."
)


def table(results: Measured) -> str:
    """Every table that was measured, one line each and how."""
    return f"## Every table\n\n{HOW}\n\n{_rows(results)}"


def _rows(results: Measured) -> str:
    lines = [
        "| interfaces | filters | constraints | goes to | r | counting | selective | gain | fast "
        "| selective : fast | bytes each |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    fast: dict[Key, Row] = {_key(r): r for r in rows_of(results, "fast")}
    plain = {_key(r): r for r in rows_of(results, "counting")}
    lines += [_line(row, plain[_key(row)], fast[_key(row)]) for row in rows_of(results, "selective")]
    return "\n".join(lines)


def _key(row: Row) -> Key:
    return row.interfaces, row.filters, row.constraints, row.cold


def _line(row: Row, plain: Row, fast: Row) -> str:
    bytes_each = " / ".join(f"{r.bytes_per_constraint:.0f}" for r in (plain, row, fast))
    cells = [
        count(row.interfaces),
        count(row.filters),
        count(row.constraints),
        count(round(row.matched_mean, 1)),
        str(row.rounds),
        time(row.counting_us) + (" cold" if row.cold else ""),
        time(row.time_us),
        percent(row.gain),
        time(fast.time_us),
        f"{row.time_us / fast.time_us:.0f} x",
        bytes_each,
    ]
    return f"| {' | '.join(cells)} |"
