"""`traces`: links whose properties follow a file, such as a measurement of a mobile network.

A trace is a CSV file with a head. The column `time` says when a row holds from; every other
column is a property of links in the words of scenarios. A head may end in a unit (`delay_ms`),
which then belongs to each value, and begin with `back.` for the way back alone. A row says
what differs from the topology; an empty cell, nothing.

What follows a trace is no disturbance: the link is as it is by plan. Not here: what a property
means (`impairment`), when the changes are made (`testbed.runs.faults`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from testbed.plan.groups import Groups
from testbed.plan.impairment import KEYS, Ways, changed
from testbed.plan.model import Fault, LinkPlan
from testbed.plan.moments import Times
from testbed.plan.problems import Key, ScenarioError, did_you_mean
from testbed.plan.source import Source
from topologies.quantities import duration_ns

CHANGES_MAX = 500_000
"""So many changes of links a plan may have."""
BACK = "back."
UNITS = ("ns", "us", "ms", "s", "bit", "kbit", "mbit", "gbit")


class _TraceError(ValueError):
    """A trace cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """From a time on, from the beginning of the trace, links have these properties."""

    at_ns: int
    line: int
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trace:
    """The rows of a file, and the links that follow it."""

    rows: Sequence[Row]
    file: str
    links: Sequence[str]
    at_ns: int
    lasts_ns: int | None
    """How long it is followed, again and again from its beginning; None: once, and its last row stays."""
    key: Key

    def changes(self, link: LinkPlan) -> Iterator[Fault]:
        """The changes of one of its links, in order of time."""
        plain = Ways(link.impairment, link.impairment_back)
        ways = [changed(plain, row.properties, f"{self.file}, line {row.line}") for row in self.rows]
        for at_ns, number in self._times():
            yield _change(self.at_ns + at_ns, link.name, ways[number])
        if self.lasts_ns is not None:
            yield _change(self.at_ns + self.lasts_ns, link.name, plain)

    def _times(self) -> Iterator[tuple[int, int]]:
        """When which row holds, from the beginning of the trace."""
        if self.lasts_ns is None:
            yield from ((row.at_ns, number) for number, row in enumerate(self.rows))
            return
        length_ns = self.rows[-1].at_ns
        for round_ns in range(0, self.lasts_ns, length_ns):
            for number, row in enumerate(self.rows[:-1]):
                if round_ns + row.at_ns < self.lasts_ns:
                    yield round_ns + row.at_ns, number


def read_traces(source: Source, data: Mapping[str, Any], groups: Groups, times: Times) -> list[Trace]:
    """The scenario's traces; what is wrong with them is noted in the source."""
    found = []
    for position, given in enumerate(data.get("traces") or []):
        trace = None if given is None else _trace(source, given, ("traces", position), groups, times)
        if trace is not None:
            found.append(trace)
    return found


def follow_traces(source: Source, traces: Sequence[Trace], links: Sequence[LinkPlan]) -> tuple[Fault, ...]:
    """All changes that the traces make to links, in order of time."""
    by_name = {link.name: link for link in links}
    changes: list[Fault] = []
    followed: dict[str, Key] = {}
    for trace in traces:
        try:
            for name in trace.links:
                if followed.setdefault(name, trace.key) != trace.key:
                    source.complain((*trace.key, "link"), f"{name} follows another trace already")
                room = CHANGES_MAX + 1 - len(changes)
                changes += islice(trace.changes(by_name[name]), room)
        except ScenarioError as error:
            problem = error.problems[0]
            source.complain(
                (*trace.key, "file"), f"{problem.path}: {problem.key}: {problem.message}", problem.expected
            )
        if len(changes) > CHANGES_MAX:
            expected = f"{CHANGES_MAX:,} changes in all"
            source.complain(trace.key, "the traces change links more often than a plan can hold", expected)
            return ()
    return tuple(sorted(changes, key=lambda change: change.at_ns))


def _change(at_ns: int, link: str, ways: Ways) -> Fault:
    return Fault(at_ns, "impair", link, impairment=ways.there, back=ways.back)


def _trace(source: Source, given: Mapping[str, Any], key: Key, groups: Groups, times: Times) -> Trace | None:
    if "link" not in given or "file" not in given:
        return None
    choice = groups.choice(
        given["link"], "link", (*key, "link"), Random(f"{source.value.get('seed', 1)}/{key}")
    )
    at_ns = times.moment(given["at"], (*key, "at")) if "at" in given else 0
    lasts_ns = duration_ns(given["for"]) if "for" in given else None
    path = Path(source.path).parent / given["file"]
    try:
        rows = list(_rows(path))
        if lasts_ns is not None and (len(rows) < 2 or lasts_ns == 0):
            why = "a trace of one row does not repeat" if len(rows) < 2 else "it would end as it begins"
            source.complain((*key, "for"), why, "a duration above zero, and a file whose last row is its end")
            return None
    except (_TraceError, OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        source.complain((*key, "file"), f"{given['file']} cannot be followed: {why}")
        return None
    if choice is None or at_ns is None:
        return None
    return Trace(rows, given["file"], choice.draw(), at_ns, lasts_ns, key)


def _rows(path: Path) -> Iterator[Row]:
    """The rows of a file, each later than the one before."""
    with path.open(encoding="utf-8", newline="") as text:
        reader = csv.reader(text)
        heads = [_head(head.strip()) for head in next(reader, [])]
        if "time" not in [word for word, _, _ in heads]:
            raise _TraceError("its first line has no column time")
        before_ns = -1
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            row = _row(heads, cells, reader.line_num)
            if row.at_ns <= before_ns:
                raise _TraceError(f"line {row.line}: its time is not after that of the row before")
            if row.line > CHANGES_MAX:
                raise _TraceError(f"it has more than {CHANGES_MAX:,} lines")
            before_ns = row.at_ns
            yield row
    if before_ns < 0:
        raise _TraceError("it has no rows")


def _head(head: str) -> tuple[str, str, bool]:
    """The property, the unit of its values, and whether it is one of the way back."""
    back, bare = head.startswith(BACK), head.removeprefix(BACK)
    unit = next((unit for unit in UNITS if bare.endswith(f"_{unit}")), "")
    word = bare.removesuffix(f"_{unit}") if unit else bare
    if word not in KEYS and (word != "time" or back):
        hint = did_you_mean(word, [*KEYS, "time"])
        raise _TraceError(f"no link has a property {word or '(empty)'}{f' ({hint})' if hint else ''}")
    return word, unit, back


def _row(heads: Sequence[tuple[str, str, bool]], cells: Sequence[str], line: int) -> Row:
    if len(cells) != len(heads):
        raise _TraceError(f"line {line}: {len(cells)} cells under {len(heads)} heads")
    values: dict[str, Any] = {}
    back: dict[str, Any] = {}
    for (word, unit, of_back), cell in zip(heads, cells, strict=True):
        if cell.strip():
            (back if of_back else values)[word] = _value(word, cell.strip() + unit)
    if "time" not in values:
        raise _TraceError(f"line {line}: it says no time")
    return Row(_time_ns(values.pop("time"), line), line, {**values, **({"back": back} if back else {})})


def _value(word: str, text: str) -> Any:
    """Numbers for what scenarios write as numbers."""
    if word in ("loss", "duplicate", "reorder", "corrupt", "loss_burst", "jitter_correlation"):
        return _number(text, float)
    return _number(text, int) if word in ("queue_packets", "queue_bytes") else text


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text


def _time_ns(text: str, line: int) -> int:
    try:
        return duration_ns(text)
    except ValueError:
        raise _TraceError(f"line {line}: {text} is no time: write 1.5s, or time_s as the head") from None
