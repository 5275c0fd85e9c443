"""Runs scenarios and has them judged: by the analysis, quickly, and by code that shares nothing with both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from ruamel.yaml import YAML

from analysis.pipeline import analyze
from analysis.quick.judge import judge as judge_quickly
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.world import World
from testbed.sim.world import SimulatedWorld
from tests.judge.judging.links import Links, links_of
from tests.judge.judging.matchmaking import Matchmaking
from tests.judge.judging.run import read_run
from tests.judge.judging.tables import Tables
from tests.judge.judging.verdict import Between, judge

SHOWN = 3
Rows = dict[tuple[Any, ...], dict[str, Any]]


def carry_out(scenario: Mapping[str, Any], folder: Path, world: World | None = None) -> Path:
    """Run a scenario in a folder that it may fill; the directory of the run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scenario.yaml"
    with path.open("w", encoding="utf-8") as out:
        YAML(typ="safe", pure=True).dump(scenario, out)
    read = read_scenario(path)
    directory = RunDirectory.create(folder / "run", str(scenario["name"]))
    outcome = conduct(read.plan(), world or SimulatedWorld(), directory, SilentProgress(), scenario=read.text)
    assert outcome.outcome == "complete", f"{scenario['name']}: {outcome.message}"
    return directory.path


@dataclass(frozen=True, slots=True)
class Compared:
    """What two judges say of a run."""

    wrong: list[str]
    """Where they do not agree."""
    counts: dict[str, int]


def differences(run: Path, judged: tuple[dict[str, Any], Tables] | None = None) -> Compared:
    """Where analysis, quick verdict and second judge do not agree; the run is analysed if it was not.

    `judged` is what the second judge says, if it was asked before.
    """
    written = run / "verdict.json"
    verdict = json.loads(written.read_text(encoding="utf-8")) if written.exists() else analyze(run)
    counts, tables = judged or judge(run)
    quick, read = judge_quickly(run), read_run(run)
    wrong = [
        *_of_values(counts, verdict, "verdict.json"),
        *_of_tables(tables, run / "tables"),
        *_of_links(links_of(read, tables), run / "tables"),
        *_of_matchmaking(Matchmaking(read), run / "tables"),
        *_of_values(_comparable(quick), verdict, "judged.json and verdict.json"),
        *_of_values(_shared(counts, quick), quick, "judged.json"),
    ]
    plain = {name: count for name, count in counts.items() if isinstance(count, int)}
    return Compared(wrong, {**plain, "crossings": len(tables.crossings)})


def quick_differences(run: Path) -> Compared:
    """Where the quick verdict and the second judge of a run do not agree; nothing is analysed."""
    counts, _ = judge(run)
    quick = judge_quickly(run)
    found = {name: count for name, count in quick["checks"].items() if count}
    odd = [f"judged.json.checks: {found}: {quick['problems']}"] if found else []
    plain = {name: count for name, count in counts.items() if isinstance(count, int)}
    return Compared([*_of_values(_shared(counts, quick), quick, "judged.json"), *odd], plain)


def _comparable(quick: dict[str, Any]) -> dict[str, Any]:
    """What the analysis has to say in the very same words: quantiles of many latencies it estimates."""
    estimated = ("unchecked", "latency_curve_ns")
    return _without({name: value for name, value in quick.items() if name not in estimated}, "latency_ns")


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(each, name) for key, each in value.items() if key != name}
    return [_without(each, name) for each in value] if isinstance(value, list) else value


def _shared(counts: dict[str, Any], quick: dict[str, Any]) -> dict[str, Any]:
    """What both the judge and the quick verdict have."""
    return {name: value for name, value in counts.items() if name in quick}


def _of_values(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    """Key by key, each key that the judge has."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key not in theirs:
                yield f"{where}.{key}: the analysis has none"
            else:
                yield from _of_values(value, theirs[key], f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, two) in enumerate(zip(ours, theirs, strict=True)):
            yield from _of_values(one, two, f"{where}[{at}]")
    elif isinstance(ours, Between) and isinstance(theirs, int):
        if not ours.least <= theirs <= ours.most:
            yield f"{where}: the judge has {ours}, the analysis {theirs}"
    elif ours != theirs:
        yield f"{where}: the judge has {ours}, the analysis {theirs}"


def _of_tables(ours: Tables, folder: Path) -> Iterator[str]:
    """Row by row."""
    publications = {
        key: {
            "node_id": p.node,
            "time_ns": p.time_ns,
            "publish_time_ns": p.publish_time_ns,
            "announced_ns": p.announced_ns,
            "message": p.message,
            "hop_count": p.hop_count,
        }
        for key, p in ours.publications.items()
    }
    published = {key: p.published_ns for key, p in ours.publications.items()}
    deliveries = {
        key: {**_renamed(asdict(d), node="node_id"), "published_ns": published.get(key[:2])}
        for key, d in ours.deliveries.items()
    }
    crossings = {key: _compared(asdict(c)) for key, c in ours.crossings.items()}
    latencies = {key: d.latency_ns for key, d in ours.deliveries.items()}
    verdicts = {
        key: {**asdict(row), "published_ns": published.get(key[:2]), "latency_ns": latencies.get(key)}
        for key, row in ours.verdicts.items()
    }
    pair = ("source", "sequence", "subscriber")
    crossing = ("source", "sequence", "from_id", "to_id", "hop_count")
    yield from _of_rows("publications", publications, _read(folder, "publications", pair[:2]))
    yield from _of_rows("deliveries", deliveries, _read(folder, "deliveries", pair))
    yield from _of_rows("crossings", crossings, _read(folder, "crossings", crossing))
    yield from _of_rows("verdicts", verdicts, _read(folder, "verdicts", pair))
    expected = {
        key: {**asdict(answer), "published_ns": published[key[:2]], "denied": False}
        for key, answer in ours.answers.items()
        if answer.wanted or answer.owed is not None
    }
    yield from _of_rows("expected", expected, _read(folder, "expected", pair))


def _of_links(ours: Links, folder: Path) -> Iterator[str]:
    """Row by row; kinds of control payload by what they come to, for the judge has no names for them."""
    way = ("from_id", "to_id")
    hop = ("source", "sequence", *way, "sent_ns")
    yield from _of_rows("hops", ours.hops, _read(folder, "hops", hop))
    yield from _of_rows("link_delays", ours.delays, _read(folder, "link_delays", way))
    yield from _of_rows("trees", ours.trees, _read(folder, "trees", hop[:2]))
    slices = pq.read_table(folder / "control.parquet").group_by(["link", "kind_name"])
    control: dict[str, list[tuple[int, int]]] = {}
    for row in slices.aggregate([("packets", "sum"), ("bytes", "sum")]).to_pylist():
        control.setdefault(row["link"], []).append((row["packets_sum"], row["bytes_sum"]))
    theirs = {link: sorted(loads) for link, loads in control.items()}
    if ours.control != theirs:
        yield f"control: the judge has {ours.control}, the analysis {theirs}"


def _of_matchmaking(ours: Matchmaking, folder: Path) -> Iterator[str]:
    """Row by row, and of what is counted by slice the sums over the run."""
    counted = ("messages", "descriptors", "packets", "bytes")
    told: dict[tuple[Any, ...], list[int]] = {}
    for row in pq.read_table(folder / "signalling.parquet").to_pylist():
        sums = told.setdefault(
            (row["from_id"], row["to_id"], row["what"], row["said"], 0), [0] * len(counted)
        )
        for at, name in enumerate(counted):
            sums[at] += row[name]
    made: Counter[tuple[int, int]] = Counter()
    for row in pq.read_table(folder / "matches.parquet").to_pylist():
        made[row["node_id"], 0] += row["matches"]
    mark = ("from_id", "to_id", "from_ns", "marking", "changing")
    marks = [
        tuple(row[name] for name in mark) for row in pq.read_table(folder / "markings.parquet").to_pylist()
    ]
    yield from _of_sets("signalling", _listed(ours.signalling(_whole)), _listed(told))
    yield from _of_sets("markings", ours.markings(), marks)
    yield from _of_sets("matches", _listed(ours.matches(_whole)), _listed(made))


def _whole(time_ns: int) -> int:
    """The one slice that all of a run is."""
    del time_ns
    return 0


def _listed(counts: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [*counts.items()]


def _of_sets(table: str, ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[str]:
    """The rows that one alone has."""
    for who, rows, others in (("judge", ours, theirs), ("analysis", theirs, ours)):
        alone = [row for row in rows if row not in others]
        yield from (f"{table}: the {who} alone has {row}" for row in alone[:SHOWN])


def _compared(crossing: dict[str, Any]) -> dict[str, Any]:
    """Nothing descends from what leaves towards a client: whether that is waste is nothing to compare."""
    return {name: value for name, value in crossing.items() if name != "wasted" or not crossing["access"]}


def _renamed(row: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in row.items()}


def _read(folder: Path, table: str, key: tuple[str, ...]) -> Rows:
    rows = pq.read_table(folder / f"{table}.parquet").to_pylist()
    found = {tuple(row[name] for name in key): row for row in rows}
    assert len(found) == len(rows), f"{table} has two rows of one key"
    return found


def _of_rows(table: str, ours: Mapping[Any, dict[str, Any]], theirs: Rows) -> Iterator[str]:
    """The columns that the judge has."""
    wrong = [f"{table}: the judge alone has {key}" for key in ours if key not in theirs]
    wrong += [f"{table}: the analysis alone has {key}" for key in theirs if key not in ours]
    for key in ours.keys() & theirs.keys():
        row = theirs[key]
        apart = {name: (v, row[name]) for name, v in ours[key].items() if v != row[name]}
        wrong += [f"{table}: {key}: judge and analysis have {apart}"] if apart else []
    yield from wrong[:SHOWN]
    if len(wrong) > SHOWN:
        yield f"{table}: {len(wrong) - SHOWN} more"
