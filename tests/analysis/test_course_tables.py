"""The tables about what happened when equal what plain Python counts in the captures of random runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analysis.catalog import messages
from analysis.course import outcomes, ways
from analysis.course.sums import OF_PACKETS, MessageSums, PacketSums
from analysis.course.tables import Course
from analysis.decode import decode_piece, empty_report
from analysis.findings import NO_CONTROL
from analysis.history import history_of
from analysis.pieces import pieces_of
from analysis.rundir import Run, load_run, network_changes
from analysis.scopes import slices_of
from nodes.wire.packets import PacketType
from tests.analysis.slow_course import SlowRun
from tests.judge.judging.verdict import judge
from tests.judge.runs import carry_out
from tests.judge.scenarios import SCHEMES, draw

SEEDS = range(700, 712)
SPLIT_BYTES = 20_000
Tables = dict[str, pa.Table]


def course_of(run: Run) -> Course:
    changes, _ = network_changes(run)
    return Course.of(run, slices_of(run), changes, history_of(run.plan, changes, run.start_ns))


def packet_sums(run: Run, course: Course, split_bytes: int) -> PacketSums:
    pieces, _ = pieces_of(run, split_bytes, ())
    found = PacketSums.none(course.times)
    for piece in pieces:
        batch = decode_piece(piece, empty_report()).select(list(OF_PACKETS))
        found.add(PacketSums.of(batch, course.times))
    return found


def message_sums(judged: Any, course: Course) -> MessageSums:
    """Over what the second judge says of messages, in two parts."""
    entered = batch_of("publications", [row for _, row in publications(judged)])
    found = MessageSums.none(course.times)
    found.add_publications(entered, course.times)
    for part in (0, 1):
        rows = [row for (_, sequence), row in crossings(judged) if sequence % 2 == part]
        one = MessageSums.none(course.times)
        one.add_crossings(batch_of("crossings", rows), entered, course.times)
        pairs = [row for (_, sequence), row in verdicts(judged) if sequence % 2 == part]
        one.add_verdicts(batch_of("verdicts", pairs), course.times)
        found.add(one)
    return found


COLUMNS = {
    "publications": (messages.PUBLICATIONS, {*ways.OF_PUBLICATIONS, *outcomes.OF_PUBLICATIONS}),
    "crossings": (messages.CROSSINGS, {*ways.OF_CROSSINGS}),
    "verdicts": (messages.VERDICTS, {*outcomes.OF_VERDICTS}),
}


def batch_of(name: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    table, columns = COLUMNS[name]
    schema = pa.schema([field for field in table.schema if field.name in columns])
    return pa.RecordBatch.from_pylist(rows, schema)


Keyed = Iterator[tuple[tuple[int, int], dict[str, Any]]]


def publications(judged: Any) -> Keyed:
    for (source, sequence), p in judged.publications.items():
        row = {"node_id": p.node, "time_ns": p.time_ns, "announced_ns": p.announced_ns, "hop_count": 0}
        yield (source, sequence), {"source": source, "sequence": sequence, **row}


def crossings(judged: Any) -> Keyed:
    for (source, sequence, a, b, hop), passage in judged.crossings.items():
        place = {"source": source, "sequence": sequence, "from_id": a, "to_id": b, "hop_count": hop}
        yield (source, sequence), {**place, **asdict(passage)}


def verdicts(judged: Any) -> Keyed:
    for (source, sequence, client), row in judged.verdicts.items():
        published = judged.publications.get((source, sequence))
        delivery = judged.deliveries.get((source, sequence, client))
        times = {
            "published_ns": published and published.published_ns,
            "latency_ns": delivery and delivery.latency_ns,
        }
        yield (source, sequence), {**asdict(row), **times}


class Both:
    """A run's tables as they are made, and as they are counted again."""

    def __init__(self, path: Path) -> None:
        self.run = load_run(path)
        self.course = course_of(self.run)
        self.counts, judged = judge(path)
        self.sums = packet_sums(self.run, self.course, SPLIT_BYTES)
        self.made = self.course.tables(self.sums, message_sums(judged, self.course))
        self.slow = SlowRun(path, self.run, judged)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.made[table].to_pylist()


@pytest.fixture(scope="module", params=SEEDS)
def both(request, tmp_path_factory) -> Both:
    return Both(carry_out(draw(request.param), tmp_path_factory.mktemp("run")))


pytestmark = pytest.mark.sim


def test_the_random_runs_have_faults_and_several_schemes():
    drawn = [draw(seed) for seed in SEEDS]
    assert sum(bool(each["faults"]) for each in drawn) >= 6
    assert len({each["scheme"] for each in drawn}) >= min(len(SCHEMES), 6)


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
    assert counts["messages"] == {"packets": sum(links["messages"]), "bytes": sum(links["message_bytes"])}


def test_faults_last_from_their_event_until_the_repair(both):
    rows, theirs = both.rows("faults"), both.slow.faults()
    assert [{key: row[key] for key in ("time_ns", "do", "target", "until_ns")} for row in rows] == theirs
    for row in rows:
        assert row["planned_ns"] == row["time_ns"]
        counts = both.slow.outcomes(row["time_ns"], row["until_ns"])
        assert {name: row[name] for name in counts} == counts
        episode = both.rows("convergence")[row["episode"]]
        assert f"{row['do']} {row['target']}" in episode["causes"].split(", ")
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
        assert row["min_ns"] == (stayed[0] if stayed else None)
        assert row["max_ns"] == (stayed[-1] if stayed else None)
        for name, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
            at = max(-(-int(share * 100) * len(stayed) // 100), 1) - 1
            assert row[name] == (pytest.approx(stayed[at], rel=0.008) if stayed else None)


def test_parts_of_any_size_come_to_the_same_sums(both):
    whole = packet_sums(both.run, both.course, 1 << 40)
    key = [(name, "ascending") for name in ("interface", "sent", "slice", "type", "kind")]
    assert whole.loads.sort_by(key) == both.sums.loads.sort_by(key)
    key = [(name, "ascending") for name in both.sums.records.schema.names]
    assert whole.records.sort_by(key) == both.sums.records.sort_by(key)
    assert asdict_of(whole.costs) == asdict_of(both.sums.costs)


def asdict_of(costs: Any) -> dict[str, list[int]]:
    return {name: numbers.tolist() for name, numbers in asdict(costs).items()}


def test_what_is_no_control_traffic_is_messages_and_padding():
    assert set(NO_CONTROL) == {PacketType.MESSAGE, PacketType.PAD}
