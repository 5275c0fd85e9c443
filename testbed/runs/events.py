"""`events.jsonl`: writing it in order of (time, node, counter), from one stream or from many."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

Event = Mapping[str, object]
Key = tuple[int, str, int]


def order(event: Event) -> Key:
    """Where an event stands in `events.jsonl`.

    Raises:
        TypeError: the event lacks one of the keys that order it.
    """
    time_ns, node, n = event.get("time_ns"), event.get("node"), event.get("n")
    if not (isinstance(time_ns, int) and isinstance(node, str) and isinstance(n, int)):
        raise TypeError(f"an event needs time_ns (integer), node (text) and n (integer): {dict(event)!r}")
    return time_ns, node, n


def to_line(event: Event) -> str:
    """One event as a line of `events.jsonl`."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"


class JsonLines:
    """Appends JSON lines to a file in pieces, holding no descriptor between them."""

    def __init__(self, path: Path, flush_lines: int = 512) -> None:
        self._path = path
        self._lines: list[str] = []
        self._flush_lines = flush_lines
        path.write_bytes(b"")

    def write(self, record: Event) -> None:
        """Add one line."""
        self._lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=repr) + "\n")
        if len(self._lines) >= self._flush_lines:
            self.flush()

    def flush(self) -> None:
        """Append what is held to the file."""
        lines, self._lines = self._lines, []
        if lines:
            with self._path.open("a", encoding="utf-8") as out:
                out.writelines(lines)


HELD = {"subscribe": "subscription", "advertise": "advertisement"}
"""Events by which a client comes to hold something until `un...`, and the name of its number."""


class EventFile:
    """The events of one client in a file of its own, to which it may have written until it was killed."""

    def __init__(self, path: Path, node: str) -> None:
        self._path = path
        self._node = node

    def held(self) -> list[tuple[str, str, int]]:
        """What the client has not withdrawn: which event withdraws it, its number's name, its number."""
        held: dict[tuple[str, str, int], None] = {}
        for event in map(json.loads, self._lines()):
            for verb, number in HELD.items():
                if event["event"] == verb:
                    held[f"un{verb}", number, event[number]] = None
                elif event["event"] == f"un{verb}":
                    held.pop((f"un{verb}", number, event[number]), None)
        return list(held)

    def append(self, now_ns: int, event: str, **fields: object) -> None:
        """Add an event, no earlier than those before it."""
        lines = self._lines()
        last_ns = json.loads(lines[-1])["time_ns"] if lines else 0
        about = {"time_ns": max(now_ns, last_ns), "node": self._node, "n": len(lines), "event": event}
        with self._path.open("wb") as out:
            out.writelines([*lines, to_line({**about, **fields}).encode()])

    def _lines(self) -> list[bytes]:
        """The whole lines: what a killed process had not written to its end is left out."""
        if not self._path.exists():
            return []
        lines = self._path.read_bytes().splitlines(keepends=True)
        return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]


class EventLog:
    """Writes events that come in order of time; those of one instant are put in order here."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._instant_ns = -1
        self._pending: list[tuple[Key, str]] = []
        self.count = 0

    def add(self, event: Event) -> None:
        """Write an event, no earlier than those before it."""
        key = order(event)
        if key[0] != self._instant_ns:
            assert key[0] > self._instant_ns, f"an event of {key[0]} ns came after {self._instant_ns} ns"
            self._write_instant()
            self._instant_ns = key[0]
        self._pending.append((key, to_line(event)))
        self.count += 1

    def close(self) -> None:
        """Write what is held and close the file."""
        self._write_instant()
        self._file.close()

    def _write_instant(self) -> None:
        pending, self._pending = self._pending, []
        pending.sort()
        self._file.writelines(line for _, line in pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(slots=True)
class MergeReport:
    """What merging found: how many events, and lines that were cut off by a killed process."""

    events: int = 0
    cut_off: list[str] = field(default_factory=list)


def merge_event_logs(sources: Sequence[Path], target: Path) -> MergeReport:
    """Merge the clients' event logs, each in order, into one `events.jsonl`.

    A last line without its newline is what a killed process leaves: it is left
    out and named in the report. Anything else that is not an event is an error.

    Raises:
        ValueError: a line is not an event; the text names file and line.
    """
    report = MergeReport()
    streams = [_read(path, report) for path in sources]
    with target.open("w", encoding="utf-8") as out:
        for _, line in heapq.merge(*streams):
            out.write(line)
            report.events += 1
    return report


def _read(path: Path, report: MergeReport) -> Iterator[tuple[Key, str]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                report.cut_off.append(f"{path.name}:{number}")
                return
            try:
                event = json.loads(line)
                key = order(event)
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(f"{path}:{number}: not an event: {error}") from error
            yield key, to_line(event)
