"""What is to be decoded of a run's captures, and what all that was decoded comes to; without Spark.

Not here: decoding a piece (`decode`), or doing so in tasks (`ingest`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.decode import BinReport, Piece, Range, split, unreadable
from analysis.findings import Ingested, KeptPacket
from analysis.rundir import Capture, Run
from fastpath.pcap import PcapError


def captured_bytes(run: Run) -> int:
    """Size of all captures that are there."""
    files = (run.path / "captures" / name for c in run.captures for name in c.files)
    return sum(f.stat().st_size for f in files if f.is_file())


@dataclass(slots=True)
class Work:
    """All captures decoded once."""

    reports: list[BinReport]
    problems: list[str]
    unread: list[str]
    """Interfaces of which a capture could not be read."""
    splits: Counter[str]

    @property
    def wrongly_split(self) -> set[str]:
        """The captures of which some piece does not begin or end where it should."""
        return {path for report in self.reports for path in report["wrongly_split"]}

    def summary(self) -> Ingested:
        """What ingesting came to."""
        captures: dict[str, Counter[str]] = {}
        for report in self.reports:
            for interface, counts in report["counts"].items():
                captures.setdefault(interface, Counter()).update(counts)
        totals: Counter[str] = sum(captures.values(), Counter())
        records, packets = totals.pop("records", 0), totals.pop("packets", 0)
        return Ingested(
            records,
            packets,
            {k: v for k, v in sorted(totals.items()) if v},
            self.problems + [problem for report in self.reports for problem in report["problems"]],
            dict(sorted(self.splits.items())),
            captures,
            {*self.unread, *(interface for report in self.reports for interface in report["unreadable"])},
            {name: addresses for report in self.reports for name, addresses in report["foreign"].items()},
            [
                KeptPacket(name, at, bytes.fromhex(raw))
                for r in self.reports
                for name, at, raw in r["control"]
            ],
        )


def pieces_of(run: Run, split_bytes: int, distrusted: Collection[str]) -> tuple[list[Piece], Work]:
    """What to decode, and what is known before."""
    pieces: list[Piece] = []
    problems: list[str] = []
    unread: list[str] = []
    splits: Counter[str] = Counter()
    for capture, name in ((c, name) for c in run.captures for name in c.files):
        path = (run.path / "captures" / name).resolve()
        try:
            ranges, how = split(path, split_bytes, trusted=str(path) not in distrusted)
        except FileNotFoundError:
            problems.append(f"captures/{name}: missing, though index.json lists it")
            unread.append(capture.interface.name)
        except (PcapError, OSError) as error:
            problems.append(unreadable(path, error))
            unread.append(capture.interface.name)
        else:
            splits[how] += 1
            pieces += [_piece(path, capture, ranges, each) for each in ranges]
    del splits["whole"]
    return pieces, Work([], problems, unread, splits)


def _piece(path: Path, capture: Capture, ranges: Sequence[Range], piece: Range) -> Piece:
    return Piece(
        str(path),
        *piece,
        capture.interface.name,
        capture.interface.mac,
        capture.interface.peer_mac,
        capture.node.node_id,
        capture.peer.node_id,
        capture.peer_is_client,
        first=piece == ranges[0],
        last=piece == ranges[-1],
    )
