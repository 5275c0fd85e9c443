"""All tables equal, row by row, what Scapy and plain Python make of the captures of twenty random runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.catalog import course, matchmaker
from analysis.course.sums import PacketSums
from analysis.course.tables import Course
from analysis.decode import SCHEMA, decode_piece, empty_report
from analysis.findings import NO_CONTROL
from analysis.history import history_of
from analysis.pieces import pieces_of
from analysis.pipeline import analyze
from analysis.rundir import Run, load_run, network_changes
from analysis.scopes import slices_of
from nodes.wire.packets import PacketType
from tests.analysis import meeting
from tests.analysis.slow_course import SlowRun
from tests.judge.judging.matchmaking import SCHEMES as MATCHMAKERS
from tests.judge.judging.matchmaking import Matchmaking
from tests.judge.judging.run import read_run
from tests.judge.judging.verdict import judge
from tests.judge.runs import carry_out, differences
from tests.judge.scenarios import SCHEMES, draw, scheme_of
from topologies.fault_kinds import in_words

SEEDS = range(700, 720)
SPLIT_BYTES = 20_000


def packet_sums(run: Run, split_bytes: int) -> PacketSums:
    changes, _ = network_changes(run)
    times = Course.of(run, slices_of(run), changes, history_of(run.plan, changes, run.start_ns)).times
    pieces, _ = pieces_of(run, split_bytes, ())
    tables = [pa.Table.from_batches([decode_piece(piece, empty_report())]) for piece in pieces]
    return PacketSums.added([PacketSums.of(table, times) for table in tables], times)


def packets_of(run: Run) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The rows as tasks make them, of captures in many pieces, and what was skipped."""
    pieces, work = pieces_of(run, SPLIT_BYTES // 2, ())
    report = empty_report()
    work.reports.append(report)
    table = pa.Table.from_batches([decode_piece(piece, report) for piece in pieces], SCHEMA)
    assert not work.wrongly_split
    return table.to_pylist(), work.summary().skipped


class Both:
    """A run's tables as the analysis writes them, and as they are counted again."""

    def __init__(self, path: Path) -> None:
        self.run = load_run(path)
        self.path = path
        self.verdict = analyze(path)
        tables = (*course.TABLES, *matchmaker.TABLES)
        self.made = {t.name: pq.read_table(path / "tables" / f"{t.name}.parquet") for t in tables}
        self.counts, judged = judge(path)
        self.judged = self.counts, judged
        self.slow = SlowRun(path, self.run, judged)
        self.told = Matchmaking(read_run(path))

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.made[table].to_pylist()


@pytest.fixture(scope="module", params=[*SEEDS, "meeting"])
def both(request, spark, tmp_path_factory) -> Both:
    drawn = meeting.scenario() if request.param == "meeting" else draw(request.param)
    return Both(carry_out(drawn, tmp_path_factory.mktemp("run")))


pytestmark = [pytest.mark.sim, pytest.mark.spark]


def test_the_random_runs_have_faults_and_several_schemes():
    drawn = [draw(seed) for seed in SEEDS]
    assert sum(bool(each["faults"]) for each in drawn) >= 12
    assert {scheme_of(each) for each in drawn} == set(SCHEMES)


def test_the_tables_about_messages_are_those_of_the_second_judge(both):
    """Publications, deliveries, crossings, verdicts, expected, hops, link_delays and trees; verdict.json."""
    compared = differences(both.path, both.judged)
    assert not compared.wrong
    assert compared.counts["publications"] > 0
    crossings = pq.read_table(both.path / "tables" / "crossings.parquet").to_pylist()
    assert not [row for row in crossings if row["flaw"] or row["altered"]], "nothing was planted"


def test_packets_are_those_of_a_reader_that_shares_nothing(both):
    """Under every scheme, with faults and links that lose, duplicate, reorder and damage."""
    ours, skipped = packets_of(both.run)
    theirs = [row for frame in both.slow.frames for row in frame]
    assert not {"ip_fragments", "malformed", "truncated"} & set(skipped), skipped
    assert len(ours) == len(theirs) > 50
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == {name: other[name] for name in SCHEMA.names}


def test_nodes_are_those_of_the_plan_and_simulated_clocks_are_right(both):
    rows = pq.read_table(both.path / "tables" / "nodes.parquet").to_pylist()
    assert rows == [
        {name: node[name] for name in ("node_id", "name", "role", "tags")} for node in both.slow.plan["nodes"]
    ]
    clocks = pq.read_table(both.path / "tables" / "clocks.parquet").to_pylist()
    assert {row["node_id"] for row in clocks} <= set(both.slow.ids.values())
    assert [(row["offset_ns"], row["drift_ppm"], row["residual_ns"]) for row in clocks] == [(0, 0, 0)] * len(
        clocks
    )


def test_links_carry_in_each_slice_what_a_reader_that_shares_nothing_counts(both):
    theirs = both.slow.links()
    rows = {(row["from_id"], row["to_id"], row["slice"]): row for row in both.rows("links")}
    assert rows.keys() == theirs.keys()
    for key, row in rows.items():
        for name in (
            "messages",
            "message_bytes",
            "control_packets",
            "control_bytes",
            "frames",
            "frame_bytes",
        ):
            assert row[name] == theirs[key][name], (key, name)
        for name in ("arrived_messages", "arrived_control", "lost_messages"):
            assert row[name] == (None if row["access"] else theirs[key][name]), (key, name)


def test_rates_are_those_of_the_slice_and_of_the_plan(both):
    rates = {}
    for link in both.slow.plan["links"]:
        a, b = both.slow.ids[link["a"]], both.slow.ids[link["b"]]
        rates[a, b] = link["impairment"]["rate_bps"]
        rates[b, a] = (link["back"] or link["impairment"])["rate_bps"]
    changed = {fault.target for fault in both.run.plan.faults if fault.do == "impair"}
    seconds = both.slow.width_ns / 1e9
    for row in both.rows("links"):
        if not 0 <= row["slice"] < 60:
            assert row["throughput_bps"] is None
            assert row["utilisation"] is None
            continue
        assert row["throughput_bps"] == pytest.approx(8 * row["frame_bytes"] / seconds)
        rate = rates[row["from_id"], row["to_id"]]
        if row["link"] not in changed:
            expected = rate and pytest.approx(row["throughput_bps"] / rate)
            assert row["utilisation"] == expected


def test_control_traffic_is_counted_by_link_kind_and_slice(both):
    found = {
        (r["link"], r["kind_name"], r["slice"]): (r["packets"], r["bytes"]) for r in both.rows("control")
    }
    assert found == both.slow.control()


def test_sums_over_slices_are_the_totals_of_the_run(both):
    counts, links = both.counts, both.made["links"].to_pydict()
    control = both.made["control"].to_pydict()
    assert counts["control"] == {"packets": sum(control["packets"]), "bytes": sum(control["bytes"])}
    assert counts["control"] == {
        "packets": sum(links["control_packets"]),
        "bytes": sum(links["control_bytes"]),
    }
    assert counts["control"] == both.verdict["control"]
    assert counts["messages"] == {"packets": sum(links["messages"]), "bytes": sum(links["message_bytes"])}


def test_faults_last_from_their_event_until_the_repair(both):
    rows, theirs = both.rows("faults"), both.slow.faults()
    assert [{key: row[key] for key in ("time_ns", "kind", "target", "until_ns")} for row in rows] == theirs
    for row in rows:
        assert row["planned_ns"] == row["time_ns"]
        counts = both.slow.outcomes(row["time_ns"], row["until_ns"])
        assert {name: row[name] for name in counts} == counts
        if row["kind"] == "rekey":
            assert row["episode"] is None
            continue
        episode = both.rows("convergence")[row["episode"]]
        assert f"{row['kind']} {row['target']}" in episode["causes"].split(", ")
        assert episode["from_ns"] <= row["time_ns"] <= episode["last_fault_ns"]


def test_convergence_takes_the_records_and_the_control_traffic_that_followed_a_fault(both):
    rows, theirs = both.rows("convergence"), list(both.slow.convergence())
    assert [{key: row[key] for key in each} for row, each in zip(rows, theirs, strict=True)] == theirs
    for row in rows:
        until_ns = None if row["settled_ns"] is None else row["settled_ns"] + 1
        counts = both.slow.outcomes(row["from_ns"], until_ns)
        assert {name: row[name] for name in counts} == counts


def test_episodes_are_the_disturbances_of_the_verdict(both):
    rows = both.rows("convergence")[1:]
    assert [row["causes"] for row in rows] == [each["name"] for each in both.counts["faults"]]
    for row, judged in zip(rows, both.counts["faults"], strict=True):
        for name in ("wanted", "owed", "missing", "lost", "cut_off", "unknown"):
            assert row[name] == judged[name]
        assert row["duplicate"] == judged["duplicate"] + judged["duplicate_allowed"]
    measured = [entry["took_ns"] for entry in both.slow.manifest["convergence"]]
    assert [row["took_ns"] for row in both.rows("convergence") if row["took_ns"] is not None] == [
        took for took in measured if took is not None
    ]


def test_routers_have_what_they_received_and_sent_and_how_long_it_stayed(both):
    theirs = both.slow.routers()
    assert [row["node_id"] for row in both.rows("routers")] == sorted(theirs)
    for row in both.rows("routers"):
        other = theirs[row["node_id"]]
        for name in (
            "entered", "received", "forwarded", "delivered", "wasted", "control_sent", "control_sent_bytes",
            "control_received", "control_received_bytes",
        ):  # fmt: skip
            assert row[name] == other.get(name, 0), (row["name"], name)
        stayed = other["stayed"]
        assert row["timed"] == len(stayed)
        for name, share in (("min", 0), ("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
            at = max(-(-share * len(stayed) // 100), 1) - 1
            assert row[f"waited_{name}_ns"] == (stayed[at] if stayed else None), (row["name"], name)


def test_what_routers_told_each_other_of_descriptors_is_what_plain_python_counts(both):
    counted = ("messages", "descriptors", "packets", "bytes")
    found = {
        tuple(row[name] for name in ("from_id", "to_id", "what", "said", "slice")): [row[c] for c in counted]
        for row in both.rows("signalling")
    }
    assert found == both.told.signalling(both.slow.slice)
    assert bool(found) == (both.slow.plan["scheme"] in MATCHMAKERS)


def test_marks_of_links_are_those_that_a_walk_through_the_packets_finds(both):
    rows = both.rows("markings")
    keys = ("from_id", "to_id", "from_ns", "marking", "changing")
    assert [tuple(row[key] for key in keys) for row in rows] == both.told.markings()
    for row, following in pairwise([*rows, *rows[:1]]):
        same = (row["from_id"], row["to_id"]) == (following["from_id"], following["to_id"])
        assert row["until_ns"] == (following["from_ns"] if same else None)


def test_routers_held_the_descriptors_and_matches_of_their_last_status(both):
    found = {}
    for row in both.rows("routers"):
        path = both.path / "logs" / f"{row['name']}.status.json"
        core = json.loads(path.read_text(encoding="utf-8"))["core"] if path.exists() else {}
        held = {"PCD": row["pcds"], "SCD": row["scds"], "MCD": row["mcds"]}
        found[row["name"]] = core.get("descriptors")
        assert held == (found[row["name"]] or dict.fromkeys(held, None))
    assert any(found.values()) == (both.slow.plan["scheme"] in MATCHMAKERS)


def test_matches_were_made_where_a_router_told_of_them_first(both):
    found = {(row["node_id"], row["slice"]): row["matches"] for row in both.rows("matches")}
    assert found == both.told.matches(both.slow.slice)


def test_the_report_shows_links_over_time_disturbances_and_routers(both):
    html = (both.path / "report.html").read_text(encoding="utf-8")
    assert 'id="routers"' in html
    carried = [row for row in both.rows("links") if not row["access"] and 0 <= row["slice"] < 60]
    assert ('id="links"' in html) == bool(carried)
    assert ('id="disturbances"' in html) == bool(both.slow.episodes() or both.rows("faults"))
    for fault in both.rows("faults"):
        assert escape(in_words(fault["kind"], fault["target"])) in html


def test_parts_of_any_size_come_to_the_same_sums(both):
    whole, parts = (packet_sums(both.run, split_bytes) for split_bytes in (1 << 40, SPLIT_BYTES))
    key = [(name, "ascending") for name in ("interface", "sent", "slice", "type", "kind")]
    assert whole.loads.sort_by(key) == parts.loads.sort_by(key)
    key = [(name, "ascending") for name in parts.records.schema.names]
    assert whole.records.sort_by(key) == parts.records.sort_by(key)
    assert asdict_of(whole.costs) == asdict_of(parts.costs)
    assert whole.signals.changes.tolist() == parts.signals.changes.tolist()
    assert sorted(whole.signals.loads.rows()) == sorted(parts.signals.loads.rows())


def asdict_of(costs: Any) -> dict[str, list[int]]:
    return {name: numbers.tolist() for name, numbers in asdict(costs).items()}


def test_what_is_no_control_traffic_is_messages_their_seals_and_padding():
    assert set(NO_CONTROL) == {PacketType.MESSAGE, PacketType.PAD, PacketType.SEAL}
