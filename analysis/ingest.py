"""Captures into `packets.parquet`: planning the tasks and collecting their reports.

What happens inside a task is in `analysis.decode`. Rows never pass through the JVM, nor through this process:
tasks write Parquet themselves and only counts come back. If those show that a capture was split in wrong
places, all is done again without its index. What an earlier ingest has decoded is taken over
(`analysis.kept`).
"""

from __future__ import annotations

import heapq
import math
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from analysis.decode import BinReport, Piece, decode_bin, part_name
from analysis.kept import Part, reusable, stamps_of, take_over, write_manifest
from analysis.numbered_tasks import Tasks
from analysis.pieces import Work, cut

SPLIT_BYTES = 64 * 1024 * 1024
WORTH_A_TASK_BYTES = 8 * 1024 * 1024


def ingest_captures(
    captures: Sequence[Piece],
    target: Path,
    tasks: Tasks,
    cores: int,
    *,
    split_bytes: int = SPLIT_BYTES,
    earlier: Path | None = None,
    parts: Sequence[Part] = (),
) -> Work:
    """Decode captures into Parquet files under `target`, a folder that is not there yet.

    Args:
        captures: Each as one piece.
        target: The folder.
        tasks: Where the work is done.
        cores: How many tasks run at a time.
        split_bytes: The size of a task.
        earlier: A folder that an earlier call has made: what has not changed is taken from there.
        parts: What has been decoded elsewhere, and belongs to it.
    """
    how = _How(tasks, cores, split_bytes, earlier, parts)
    work = _decode(captures, target, how, distrusted=())
    if wrong := work.wrongly_split:
        shutil.rmtree(target)
        work = _decode(captures, target, how, distrusted=wrong)
        work.problems += [
            f"captures/{Path(path).name}: it changed while it was read" for path in work.wrongly_split
        ]
    return work


class _How(NamedTuple):
    tasks: Tasks
    cores: int
    split_bytes: int
    earlier: Path | None
    parts: Sequence[Part]


def _decode(captures: Sequence[Piece], target: Path, how: _How, distrusted: Collection[str]) -> Work:
    target.mkdir(parents=True)
    stamps = stamps_of({capture.path for capture in captures})
    pieces, work = cut(captures, how.split_bytes, distrusted)
    found = reusable(how.earlier, pieces, stamps)
    known = {piece for part in found for piece in part.pieces}
    bins = pack([piece for piece in pieces if piece not in known], how.cores, how.split_bytes)
    reports = how.tasks(len(bins), _task(bins, str(target)), "ingest")
    fresh = [
        Part(target / part_name(number), tuple(bins[number]), report) for number, report in enumerate(reports)
    ]
    others = enumerate([*found, *how.parts], len(bins))
    parts = [*fresh, *(take_over(part, target, number) for number, part in others)]
    write_manifest(target, parts, stamps)
    work.reports = [part.report for part in parts]
    work.kept = len(known)
    return work


def _task(bins: list[list[Piece]], target: str) -> Callable[[int], BinReport]:
    return lambda number: decode_bin(number, bins[number], target)


def pack(pieces: Sequence[Piece], cores: int, split_bytes: int = SPLIT_BYTES) -> list[list[Piece]]:
    """Pieces into bins of about equal size, one bin a task: largest first, into the emptiest.

    A task costs more than a small file: few bytes make few bins. A whole split is a bin of its own, so that
    it need not be decoded again if another capture changes.
    """
    alone = [piece for piece in pieces if piece.size >= split_bytes]
    pieces = [piece for piece in pieces if piece.size < split_bytes]
    total = sum(p.size for p in pieces)
    wanted = max(1, math.ceil(total / split_bytes), min(cores, math.ceil(total / WORTH_A_TASK_BYTES)))
    bins: list[list[Piece]] = [[] for _ in range(min(len(pieces), wanted))]
    loads = [(0, 0, number) for number in range(len(bins))]
    for piece in sorted(pieces, key=lambda p: (-p.size, p.path, p.start)):
        size, held, number = heapq.heappop(loads)
        bins[number].append(piece)
        heapq.heappush(loads, (size + piece.size, held + 1, number))
    return [*([piece] for piece in alone), *bins]
