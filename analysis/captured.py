"""What captures say that no run of ours made: `cbn ingest`.

There is no plan, so nothing says who should have received what. Said are the packets, the messages by
publisher, where each was seen one after the other, and the latencies between, as far as the captures know
it; what they do not know is listed as unknown.
"""

from __future__ import annotations

import filecmp
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis import AnalysisError
from analysis.decode import Piece
from analysis.distribution import Distribution
from analysis.drift.least import LeastDelays, merged
from analysis.host_clocks import HostClocks, Times, Windows
from analysis.ingest import SPLIT_BYTES, ingest_captures
from analysis.numbered_tasks import Tasks
from analysis.pieces import Work
from analysis.steps import Places, StepsReport, router_of, spans, take_steps
from nodes.wire.packets import Kind, PacketType
from topologies.quantities import how_many, listed

PACKETS, STEPS, SUMMARY = "packets.parquet", "steps.parquet", "summary.json"
MOST_BACK_NS = 10_000_000
"""Stamps of several processors cross by less; more is a clock that was set back."""
MOST_AHEAD_NS = -1_000_000
"""A message that arrives by so much before it left says that two clocks differ."""
FORMAT = 1
_ENDINGS = re.compile(r"(\.(pcap|pcapng|cap|dmp))?(\.(gz|zst))?$")
_ROTATED = re.compile(r"(.+)\.\d+$")

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """The captures that were named."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...]


def files_of(paths: Sequence[Path]) -> Files:
    """The captures under the names of their interfaces; the same file is taken once.

    Raises:
        AnalysisError: one is not there.
    """
    notes: list[str] = []
    chosen: list[Path] = []
    for path in paths:
        if not path.is_file():
            what = "a folder; name the captures in it" if path.is_dir() else "not there"
            raise AnalysisError(f"{path}: {what}")
        equal = next((other for other in chosen if _equal(path, other)), None)
        if equal is None:
            chosen.append(path)
        else:
            notes.append(f"{path} is the same as {equal}; it was left out")
    pieces = (
        Piece(str(path.resolve()), 0, 0, name, "", "", None, None, None)
        for path, name in zip(chosen, _names(chosen), strict=True)
    )
    return Files(tuple(pieces), tuple(notes))


def _equal(path: Path, other: Path) -> bool:
    if path.samefile(other):
        return True
    sizes = path.stat().st_size, other.stat().st_size
    return sizes[0] > 0 and sizes[0] == sizes[1] and filecmp.cmp(path, other, shallow=False)


def _names(paths: Sequence[Path]) -> list[str]:
    """Of the interfaces: the file's name without endings, with so much of its path that names differ."""
    stems = [_ENDINGS.sub("", path.name) or path.name for path in paths]
    places = {(path.parent, stem) for path, stem in zip(paths, stems, strict=True)}
    for number, path in enumerate(paths):  # r1-eth0.1.pcap continues r1-eth0.pcap
        rotated = _ROTATED.fullmatch(stems[number])
        if rotated and (path.parent, rotated[1]) in places:
            stems[number] = rotated[1]
    folders = [path.parent.resolve() for path in paths]
    known = {stem: {f for f, s in zip(folders, stems, strict=True) if s == stem} for stem in stems}
    return [_beneath(folder, known[stem]) + stem for folder, stem in zip(folders, stems, strict=True)]


def _beneath(folder: Path, others: Collection[Path]) -> str:
    """As many of the last parts of a folder's path as tell it from others; empty, if there are none."""
    depth = 0
    while len({other.parts[-depth:] if depth else () for other in others}) < len(others):
        depth += 1
    return "".join(f"{part}/" for part in folder.parts[-depth:] if depth)


def read_captures(
    files: Files, out: Path | None, tasks: Tasks, cores: int, split_bytes: int = SPLIT_BYTES
) -> Document:
    """Decode captures, follow their messages, and say what can be said.

    Args:
        files: from `files_of`.
        out: where tables and summary go; None: they are made nowhere that lasts.
        tasks: where the work is done.
        cores: how many tasks run at a time.
        split_bytes: the size of a task.

    Raises:
        AnalysisError: none of the captures can be read, or no folder can be where tables are to go.
    """
    if out and out.exists() and not out.is_dir():
        raise AnalysisError(f"{out}: a file is there; name a folder for the tables")
    parent = out.parent if out else None
    if parent:
        parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cbn-ingest-", dir=parent) as made:
        folder = Path(made).absolute() / "tables"
        earlier = out / PACKETS if out else None
        work = ingest_captures(
            files.pieces, folder / PACKETS, tasks, cores, split_bytes=split_bytes, earlier=earlier
        )
        document = _document(files, work, folder, tasks, steps_wanted=out is not None)
        if out:
            _publish(folder, out, document)
    return document


def _publish(folder: Path, out: Path, document: Document) -> None:
    text = json.dumps(document, indent=1) + "\n"
    (folder / SUMMARY).write_text(text, encoding="utf-8")
    out.mkdir(exist_ok=True)
    for name in (PACKETS, STEPS, SUMMARY):
        earlier = out / name
        if earlier.is_dir():
            shutil.rmtree(earlier)
        if (folder / name).exists():
            (folder / name).replace(earlier)


def _document(files: Files, work: Work, folder: Path, tasks: Tasks, *, steps_wanted: bool) -> Document:
    ingested = work.summary()
    if files.pieces and len(ingested.unreadable) == len({piece.interface for piece in files.pieces}):
        raise AnalysisError("no capture could be read: " + "; ".join(ingested.problems))
    ends = _ends(work)
    kinds, times = _survey(folder / PACKETS, tasks)
    left_out = set(ingested.unreadable) - set(times)
    names = sorted({piece.interface for piece in files.pieces} - left_out)
    places = Places.of(names, {name: found for name, found in ends.items() if found is not None})
    steps, windows = partial(_steps, folder, places, tasks, wanted=steps_wanted), _windows(times)
    reports = steps(Times(windows))
    clocks = _clocks(reports, places)
    if clocks.by_place:
        reports = steps(Times(windows, clocks.by_place))
    followed = _followed(reports)
    captures = [_capture(name, ingested.captures, ends, times, followed["ages"]) for name in names]
    return {
        "format": FORMAT,
        "records": ingested.records,
        "packets": ingested.packets,
        "skipped": ingested.skipped,
        "captures": captures,
        "kinds": kinds,
        "messages": followed["messages"],
        "publishers": followed["publishers"],
        "steps": followed["steps"],
        "ambiguous_steps": followed["ambiguous"],
        "clocks": clocks.rows(),
        "reused_pieces": work.kept,
        "problems": [
            *ingested.problems,
            *_crowded(ends),
            *_strangers(ends, followed),
            *_problems(work, followed),
            *clocks.problems(),
        ],
        "notes": [*files.notes, *clocks.notes()],
        "unknown": _unknown(places, followed, clocks),
    }


def _ends(work: Work) -> dict[str, tuple[str, str] | None]:
    """By interface: the two addresses of its link; None: its frames are of several links."""
    found: dict[str, set[tuple[str, str]]] = {}
    for report in work.reports:
        for name, addresses in report["between"].items():
            found.setdefault(name, set()).update((a, b) for a, b in addresses)
    return {name: next(iter(seen)) if len(seen) == 1 else None for name, seen in found.items()}


def _crowded(ends: Mapping[str, tuple[str, str] | None]) -> Iterator[str]:
    """Links of which there are more captures than they have ends."""
    for link in dict.fromkeys(filter(None, ends.values())):
        names = sorted(name for name, found in ends.items() if found == link)
        if len(names) > 2:
            yield (
                f"{_few(names)}: {len(names)} captures of one link, which has two ends: they are of several "
                "runs, or an end was captured twice; steps between them say nothing"
            )


def _strangers(ends: Mapping[str, tuple[str, str] | None], followed: Document) -> Iterator[str]:
    """Links of which both ends were captured with messages, and no message is in both."""
    met = {frozenset((step["from"], step["to"])) for step in followed["steps"] if step["over"] == "link"}
    for link in dict.fromkeys(filter(None, ends.values())):
        names = sorted(name for name, found in ends.items() if found == link and name in followed["ages"])
        if len(names) == 2 and frozenset(names) not in met:
            yield (
                f"{names[0]} and {names[1]}: captures of one link, by their addresses, and no message is in"
                " both: they are of several runs, or of different times"
            )


def _survey(packets: Path, tasks: Tasks) -> tuple[list[Document], dict[str, list[int]]]:
    """Packets by kind, and each capture's first and last time."""
    paths = sorted(packets.glob("*.parquet"))
    kinds: Counter[tuple[int, int | None]] = Counter()
    sizes: Counter[tuple[int, int | None]] = Counter()
    times: dict[str, list[int]] = {}
    for found in tasks(len(paths), partial(_survey_part, paths), "survey"):
        for kind, code, count, size in found["kinds"]:
            kinds[kind, code] += count
            sizes[kind, code] += size
        for name, first, last in found["times"]:
            known = times.setdefault(name, [first, last])
            known[:] = [min(known[0], first), max(known[1], last)]
    rows = [
        {"type": _type(kind), "kind": _kind(code), "packets": count, "bytes": sizes[kind, code]}
        for (kind, code), count in kinds.most_common()
    ]
    return rows, times


def _survey_part(paths: Sequence[Path], number: int) -> Document:
    file = pq.ParquetFile(paths[number], read_dictionary=["interface"])
    kinds, times = [], []
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=["interface", "time_ns", "type", "kind", "packet_bytes"])
        sums = table.group_by(["type", "kind"]).aggregate([("packet_bytes", "sum"), ([], "count_all")])
        ends = table.group_by("interface").aggregate([("time_ns", "min"), ("time_ns", "max")])
        kinds += [list(r) for r in _rows(sums, "type", "kind", "count_all", "packet_bytes_sum")]
        times += [list(r) for r in _rows(ends, "interface", "time_ns_min", "time_ns_max")]
    return {"kinds": kinds, "times": times}


def _rows(table: pa.Table, *names: str) -> Sequence[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def _type(code: int) -> str:
    return PacketType(code).name if code in set(PacketType) else str(code)


def _kind(code: int | None) -> str | None:
    return None if code is None else Kind(code).name if code in set(Kind) else str(code)


def _windows(times: Mapping[str, Sequence[int]]) -> Windows:
    ends = [end for both in times.values() for end in both]
    return Windows.of(min(ends, default=0), max(ends, default=0))


def _steps(folder: Path, places: Places, tasks: Tasks, times: Times, *, wanted: bool) -> list[StepsReport]:
    packets, target = folder / PACKETS, folder / STEPS
    target.mkdir(exist_ok=True)
    parts = spans(packets)

    def work(number: int) -> StepsReport:
        into = target / f"part-{number:05d}.parquet" if wanted else None
        return take_steps(packets, parts[number], places, times, into)

    return [StepsReport(*report) for report in tasks(len(parts), work, "steps")]


def _clocks(reports: Sequence[StepsReport], places: Places) -> HostClocks:
    parts = (LeastDelays(*(np.array(column, np.int64) for column in report.least)) for report in reports)
    return HostClocks.of(merged(parts), [router_of(name) for name in places.names])


def _followed(reports: Sequence[StepsReport]) -> Document:
    published: Counter[int] = Counter()
    fresh: Counter[int] = Counter()
    steps: dict[tuple[str, str, str], Distribution] = {}
    ages: dict[str, Distribution] = {}
    for report in reports:
        for publisher, count, entered in report.messages:
            published[publisher] += count
            fresh[publisher] += entered
        for start, end, over, distribution in report.steps:
            steps.setdefault((start, end, over), Distribution()).add(Distribution.read(distribution))
        for name, distribution in report.ages:
            ages.setdefault(name, Distribution()).add(Distribution.read(distribution))
    return {
        "messages": published.total(),
        "publishers": [
            {"publisher": p, "messages": n, "seen_with_hop_count_0": fresh[p]}
            for p, n in sorted(published.items())
        ],
        "steps": [
            {
                "from": start,
                "to": end,
                "over": over,
                **found.figures(),
                "negative": found.negative,
            }
            for (start, end, over), found in sorted(steps.items())
        ],
        "ages": ages,
        "clashes": sum(report.clashes for report in reports),
        "ambiguous": sum(report.ambiguous for report in reports),
    }


def _capture(
    name: str,
    counts: Mapping[str, Mapping[str, int]],
    ends: Mapping[str, tuple[str, str] | None],
    times: Mapping[str, Sequence[int]],
    ages: Mapping[str, Distribution],
) -> Document:
    found = Counter(counts.get(name, {}))
    first, last = times.get(name, (None, None))
    age = ages.get(name, Distribution()).figures()
    return {
        "interface": name,
        "router": router_of(name),
        "between": list(ends[name] or ()) if name in ends else None,
        "records": found["records"],
        "packets": found["packets"],
        "from_ns": first,
        "until_ns": last,
        "since_publication": age,
    }


def _problems(work: Work, followed: Document) -> list[str]:
    back = Counter[str]()
    for report in work.reports:
        back |= Counter(report["steps_back_ns"])
    found = [
        f"{name}: its clock was set back, by {ns / 1e9:.3f} s or more"
        for name, ns in sorted(back.items())
        if ns > MOST_BACK_NS
    ]
    if followed["clashes"]:
        found.append(
            f"{followed['clashes']:,} messages have the publisher and the sequence of another message:"
            " these are captures of several runs"
        )
    found += [
        f"{step['from']} to {step['to']}: messages arrive up to {-step['min_ns'] / 1e6:.1f} ms before"
        " they leave; the clocks differ, and latencies between these two say nothing"
        for step in followed["steps"]
        if step["min_ns"] is not None and step["min_ns"] < MOST_AHEAD_NS
    ]
    return found


def _unknown(places: Places, followed: Document, clocks: HostClocks) -> list[str]:
    """What cannot be said, and why."""
    unknown = ["who wanted which message, and so what was lost: only a plan says what clients subscribed to"]
    nameless = [name for name in places.names if router_of(name) is None]
    if nameless:
        unknown.append(f"the router of {_few(nameless)}: a file named <router>-eth<number>.pcap would say it")
    if followed["ambiguous"]:
        unknown.append(
            f"where {how_many(followed['ambiguous'], 'sighting')} came from:"
            " the message was seen in several places before"
        )
    single = [name for number, name in enumerate(places.names) if not places.linked[number].any()]
    if single:
        unknown.append(
            f"the time over the links of {_few(single)}: the other end was not captured,"
            " or no address says which it is"
        )
    if hosts := clocks.without(_linked_hosts(followed)):
        unknown.append(
            f"how far the clocks of {_few(hosts)} are from those of others, which latencies between hosts"
            " contain: that takes messages in both directions of a link, of captures named by their routers"
        )
    return unknown


def _linked_hosts(followed: Document) -> Iterator[str]:
    """At the ends of links over which anything was seen."""
    for step in followed["steps"]:
        if step["over"] == "link":
            yield from (router_of(step[end]) or step[end] for end in ("from", "to"))


def _few(names: Sequence[str]) -> str:
    return listed(names, most=5)
