"""The rows as Markdown: a table a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.figures.axes import count, duration
from testbed.experiments.emulated.findings import trusted
from testbed.experiments.emulated.rows import Measured, Row, runs_of, scenarios_of

HOW = (
    "Every line is one phase of one run. *Router to router* is the latency as captured, from the publisher's "
    "first router to the subscriber's last; *end to end* is from client to client, by their own account, "
    "access links included. *Busiest* is the router that took the most processor time, by the kernel's "
    "account of its threads, with what it took for each message that came to it (hellos and all else it did "
    "meanwhile included); *all* is what all routers took together for each message published. Both are of "
    "the whole run."
)
HEAD = """\
| routers | interfaces | messages / s | verdict | router to router p50, p99 | end to end p50, p99 | hops | busiest | all | run |
|---:|---:|---:|---|---|---|---:|---|---:|---|"""  # noqa: E501


def table(results: Measured) -> str:
    """All of them."""
    parts = ["## Every run", HOW]
    if doubtful := trusted(runs_of(results)):
        parts.append(
            f"The machine did not keep up in {len(doubtful)} of {len(runs_of(results))} runs "
            f"({', '.join(doubtful)}): their certificates say *degraded*, and their latencies, tails above "
            "all, hold the machine's as well."
        )
    for scenario in scenarios_of(results):
        rows = [row for row in results.rows if row.scenario == scenario]
        parts += [f"### {scenario}", "\n".join([HEAD, *map(_line, rows)])]
    return "\n\n".join(parts)


def _line(row: Row) -> str:
    return f"| {' | '.join(_cells(row))} |"


def _cells(row: Row) -> Iterator[str]:
    yield str(row.routers)
    yield str(row.interfaces)
    yield f"{row.rate:.0f}"
    yield "clean" if not row.wrong else f"**{count(row.wrong)} wrong**"
    yield f"{_us(row.p50_us)}, {_us(row.p99_us)}"
    yield f"{_us(row.end_to_end_p50_us)}, {_us(row.end_to_end_p99_us)}"
    yield f"{row.hops:.2f}"
    yield f"{row.busiest} {_us(row.busiest_us)} x {count(row.busiest_messages)}" if row.busiest else ""
    yield "" if row.all_us is None else _us(row.all_us)
    yield f"{row.fidelity}, {row.seconds:.0f} s"


def _us(value: float | None) -> str:
    return "" if value is None else duration(value * 1000)
