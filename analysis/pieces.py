"""What is to be decoded of a run's captures, and what all that was decoded comes to; without Spark.

Not here: decoding a piece (`decode`), or doing so in tasks (`ingest`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.decode import BinReport, Piece, Range, split, unreadable
from analysis.findings import Ingested, KeptPacket
from analysis.rundir import Capture, Run
from fastpath.pcap import PcapError


def captured_bytes(run: Run) -> int:
    """Size of all captures that are there, and of those of which rows are."""
    files = (Path(capture.path) for capture in captures_of(run))
    decoded = sum(capture.bytes for capture in run.captures if capture.decoded)
    return decoded + sum(f.stat().st_size for f in files if f.is_file())


@dataclass(slots=True)
class Work:
    """All captures decoded once."""

    reports: list[BinReport]
    problems: list[str]
    unread: list[str]
    """Interfaces of which a capture could not be read."""
    splits: Counter[str]
    kept: int = 0
    """Pieces that an earlier ingest had decoded."""

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


def captures_of(run: Run) -> list[Piece]:
    """The files of a run's captures, each as one piece of which the size is not known yet.

    One that somebody has compressed since is taken in the place of the one that is listed.
    """
    return pieces_in(run.path / "captures", run.captures)


def pieces_in(folder: Path, captures: Iterable[Capture]) -> list[Piece]:
    """As `captures_of`, of captures in a folder."""
    return [
        _whole(stored(folder / name).resolve(), capture) for capture in captures for name in capture.files
    ]


def stored(path: Path) -> Path:
    """Where a capture is: under its name, or compressed beside it."""
    packed = (path.with_name(path.name + suffix) for suffix in (".gz", ".zst"))
    return path if path.exists() else next((p for p in packed if p.exists()), path)


def pieces_of(run: Run, split_bytes: int, distrusted: Collection[str]) -> tuple[list[Piece], Work]:
    """What to decode of a run, and what is known before."""
    return cut(captures_of(run), split_bytes, distrusted)


def cut(captures: Sequence[Piece], split_bytes: int, distrusted: Collection[str]) -> tuple[list[Piece], Work]:
    """Captures in pieces of about so many bytes, and what is known before they are decoded."""
    pieces: list[Piece] = []
    problems: list[str] = []
    unread: list[str] = []
    splits: Counter[str] = Counter()
    for whole in captures:
        path = Path(whole.path)
        try:
            ranges, how = split(path, split_bytes, trusted=whole.path not in distrusted)
        except FileNotFoundError:
            problems.append(f"captures/{path.name}: missing, though index.json lists it")
            unread.append(whole.interface)
        except (PcapError, OSError) as error:
            problems.append(unreadable(path, error))
            unread.append(whole.interface)
        else:
            splits[how] += 1
            pieces += [_piece(whole, ranges, each) for each in ranges]
    del splits["whole"]
    return pieces, Work([], problems, unread, splits)


def _whole(path: Path, capture: Capture) -> Piece:
    return Piece(
        str(path),
        0,
        0,
        capture.interface.name,
        capture.interface.mac,
        capture.interface.peer_mac,
        capture.node.node_id,
        capture.peer.node_id,
        capture.peer_is_client,
    )


def _piece(whole: Piece, ranges: Sequence[Range], piece: Range) -> Piece:
    start, end = piece
    return replace(whole, start=start, end=end, first=piece == ranges[0], last=piece == ranges[-1])
