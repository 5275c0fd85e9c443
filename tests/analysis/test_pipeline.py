"""A whole run, written by hand, from captures to verdict."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from analysis import AnalysisError
from analysis.findings import CHECKS
from analysis.pipeline import analyze
from testbed.plan.model import Impairment

pytestmark = pytest.mark.spark

SETTLE = 1_000_000
"""As in `HandMadeRun`."""


def faultless(run):
    """Three messages: 1 for a alone, 2 for a and c, 3 for nobody, which still crosses to r2."""
    run.subscribe("a", "x > 0")
    run.subscribe("c", "x > 1")
    run.publish(1, "x = 1", 1_000)
    run.deliver("r1", "a", 1, "x = 1", 1_100, hops=1)
    run.publish(2, "x = 2", 2_000)
    run.deliver("r1", "a", 2, "x = 2", 2_100, hops=1)
    run.cross(2, "x = 2", 2_110)
    run.deliver("r2", "c", 2, "x = 2", 2_500, hops=2)
    run.publish(3, "x = 0", 3_000)
    run.cross(3, "x = 0", 3_110)
    return run


def counts(verdict):
    return {k: verdict[k] for k in ("owed", "delivered", "missing", "duplicate", "spurious")}


def test_a_faultless_run_is_found_so(spark, hand_made):
    verdict = analyze(faultless(hand_made).write())
    lines = "p 1 a\np 2 a\np 2 c\n"
    packets = 3 + 3 + 2 * 2
    assert verdict == {
        "format": 2,
        "verdict": "clean",
        "ok": True,
        "headline": "All 3 owed deliveries arrived, each once. All 3 wanted deliveries arrived.",
        "notes": [],
        "wanted": 3,
        "owed": 3,
        "delivered": 3,
        "allowed": 0,
        "missing": 0,
        "duplicate": 0,
        "duplicate_allowed": 0,
        "spurious": 0,
        "lost": 0,
        "cut_off": 0,
        "unknown": 0,
        "delivery_ratio": 1.0,
        "judged": 1.0,
        "not_owed": {},
        "lost_by": {},
        "attacks": None,
        "policy": None,
        "publications": 3,
        "unadvertised": 0,
        "patterns": None,
        "subscriptions": 2,
        "wasted_crossings": 1,
        "delivered_digest": hashlib.sha256(lines.encode()).hexdigest(),
        "latency_ns": {
            "min": 90,
            "p50": 90,
            "p90": 490,
            "p99": 490,
            "max": 490,
            "mean": 223,
            "trusted": True,
        },
        "latency_curve_ns": verdict["latency_curve_ns"],
        "hops": {"min": 1, "mean": 1.333, "max": 2},
        "control": {"packets": 0, "bytes": 0},
        "messages": {"packets": 3 + 3 + 2, "bytes": verdict["messages"]["bytes"]},
        "scheme": {
            "name": "pif",
            "trees": {
                "messages": 3,
                "crossings": 2,
                "wasted": 1,
                "ideal": 1,
                "beyond": 1,
                "inexact": 0,
                "ratio": 2.0,
            },
            "stretch": None,
            "control": {},
            "state": None,
            "matchmaker": None,
        },
        "phases": [],
        "recovery": None,
        "faults": [],
        "expectations": [],
        "clocks": {
            "offsets_ns": {},
            "drift_ppm": {},
            "uncertainty_ns": {},
            "residual_ns": {},
            "corrected": [],
        },
        "checks": dict.fromkeys(CHECKS, 0),
        "fidelity": None,
        "convergence_ns": None,
        "captures": {"frames": packets, "packets": packets, "drops": 0, "skipped": {}, "splits": {}},
        "problems": [],
    }
    assert verdict["latency_curve_ns"] == [90] * 134 + [490] * 67, "two of three at 90 ns"
    assert json.loads((hand_made.path / "verdict.json").read_text()) == verdict
    assert "All 3 owed deliveries arrived" in (hand_made.path / "report.html").read_text()


def test_every_table_is_written_with_the_columns_the_document_names(spark, hand_made):
    analyze(faultless(hand_made).write())
    tables = hand_made.path / "tables"
    columns = {p.stem: pq.read_table(p).schema.names for p in sorted(tables.iterdir())}
    assert columns["expected"][-4:] == ["owed", "wanted", "reason", "denied"]
    assert columns["crossings"] == [
        "source",
        "sequence",
        "from_id",
        "to_id",
        "access",
        "time_ns",
        "hop_count",
        "copies",
        "received_ns",
        "arrived",
        "wasted",
        "flaw",
        "altered",
    ]
    assert columns["deliveries"][:3] == columns["verdicts"][:3] == ["source", "sequence", "subscriber"]
    assert set(columns) == {
        "packets",
        "publications",
        "expected",
        "deliveries",
        "crossings",
        "hops",
        "verdicts",
        "control",
        "trees",
        "link_delays",
        "clocks",
        "links",
        "routers",
        "faults",
        "convergence",
        "signalling",
        "markings",
        "matches",
        "nodes",
    }


def test_tables_carry_the_names_of_nodes_and_no_checksums_of_hadoop(spark, hand_made):
    analyze(faultless(hand_made).write())
    tables = hand_made.path / "tables"
    rows = pq.read_table(tables / "nodes.parquet").to_pylist()
    named = {row["node_id"]: (row["name"], row["role"]) for row in rows}
    assert named[1] == ("r1", "router")
    assert set(pq.read_table(tables / "deliveries.parquet")["subscriber"].to_pylist()) <= set(named)
    assert spark.read.parquet(str(tables / "nodes.parquet")).count() == len(named)
    assert list(tables.rglob("*.crc")) == []


def test_each_kind_of_fault_is_counted_as_what_it_is(spark, hand_made):
    run = faultless(hand_made)
    run.publish(4, "x = 4", 4_000)  # missing at a; twice at c
    run.cross(4, "x = 4", 4_100)
    run.deliver("r2", "c", 4, "x = 4", 4_500, hops=2)
    run.packet("r2", "c", True, 4_600, 4, "x = 4", 2)
    run.publish(5, "x = 1", 5_000)  # not for c
    run.deliver("r1", "a", 5, "x = 1", 5_100, hops=1)
    run.cross(5, "x = 1", 5_100)
    run.deliver("r2", "c", 5, "x = 1", 5_500, hops=2)
    verdict = analyze(run.write())
    assert counts(verdict) == {"owed": 6, "delivered": 5, "missing": 1, "duplicate": 1, "spurious": 1}
    assert not verdict["ok"]
    assert verdict["wasted_crossings"] == 1
    page = (run.path / "report.html").read_text()
    assert all(word in page for word in ("missing", "duplicate", "spurious"))


def test_a_fresh_subscription_may_but_need_not_get_messages(spark, hand_made):
    run = faultless(hand_made)
    run.subscribe("c", "x = 1", at_ns=900, number=2)
    assert counts(analyze(run.write()))["owed"] == 3
    run.cross(1, "x = 1", 1_100)
    run.deliver("r2", "c", 1, "x = 1", 1_500, hops=2)
    verdict = analyze(run.write())
    assert counts(verdict) == {"owed": 3, "delivered": 4, "missing": 0, "duplicate": 0, "spurious": 0}
    assert verdict["allowed"] == 1
    assert verdict["ok"]


def test_a_message_back_at_its_publisher_is_spurious(spark, hand_made):
    run = faultless(hand_made)
    run.subscribe("p", "x > 0")
    run.deliver("r1", "p", 1, "x = 1", 1_200, hops=1)
    assert counts(analyze(run.write()))["spurious"] == 1


def test_a_publication_that_never_reached_a_router_is_missing_at_all_who_wanted_it(spark, hand_made):
    run = faultless(hand_made)
    run.event("p", "publish", 6_000, source=3, sequence=9, message="x = 9")
    verdict = analyze(run.write())
    assert counts(verdict)["missing"] == 2
    assert verdict["problems"] == ["One message that a client reports as published never reached a router."]


def test_captures_and_clients_that_disagree_are_named(spark, hand_made):
    run = faultless(hand_made)
    run.publish(4, "x = 1", 4_000)
    run.packet("r1", "a", True, 4_100, 4, "x = 1", 1)  # a never says so
    run.event("c", "deliver", 4_200, source=3, sequence=4, hop_count=2)  # no capture shows it
    verdict = analyze(run.write())
    assert counts(verdict) | {"ok": verdict["ok"]} == {
        "owed": 4,
        "delivered": 4,
        "missing": 0,
        "duplicate": 0,
        "spurious": 0,
        "ok": False,
    }
    assert verdict["problems"] == [
        "One message left a router for a client that does not report it (first: p 4 for a).",
        "One message reported as delivered left no router in the captures (first: p 4 for c).",
    ]


def test_what_an_access_link_loses_by_plan_is_no_disagreement(spark, hand_made):
    run = faultless(hand_made)
    links = [
        replace(link, impairment=Impairment(loss=0.1)) if link.b in {"a", "p"} else link
        for link in run.plan.links
    ]
    run.plan = replace(run.plan, links=tuple(links))
    run.publish(4, "x = 1", 4_000)
    run.packet("r1", "a", True, 4_100, 4, "x = 1", 1)  # lost behind the router
    run.event("p", "publish", 6_000, source=3, sequence=9, message="x = 0")  # lost before it
    verdict = analyze(run.write())
    assert verdict["problems"] == []
    run.plan = replace(run.plan, links=tuple(replace(link, impairment=Impairment()) for link in links))
    assert len(analyze(run.write())["problems"]) == 2


def test_a_run_cut_short_is_analysed_and_flagged(spark, hand_made):
    run = faultless(hand_made)
    run.manifest |= {
        "outcome": "failed",
        "message": "router r2 died",
        "end_ns": run.manifest["start_ns"] + 3_000,
    }
    run.frames["r2-c"].clear()
    verdict = analyze(run.write())
    assert counts(verdict)["missing"] == 0, "all was published less than settle_ns before the end"
    assert verdict["problems"][0] == "The run is not complete, it failed: router r2 died."
    assert not verdict["ok"]


def test_capture_drops_are_a_reservation(spark, hand_made):
    run = faultless(hand_made)
    run.drops["r1-a"] = 5
    verdict = analyze(run.write())
    assert verdict["captures"]["drops"] == 5
    assert verdict["checks"]["incomplete_captures"] == 1
    assert "r1-a is incomplete: 5 frames were dropped" in verdict["problems"][0]
    assert verdict["verdict"] == "doubtful"


def test_damaged_and_missing_captures_are_named_and_the_rest_is_analysed(spark, hand_made):
    path = faultless(hand_made).write()
    (path / "captures" / "r2-c.pcap").write_bytes(b"not a capture at all, by any means")
    (path / "captures" / "r1-a.pcap").unlink()
    verdict = analyze(path)
    assert (verdict["missing"], verdict["unknown"], verdict["verdict"]) == (0, 3, "doubtful")
    assert any("r2-c.pcap" in p for p in verdict["problems"])
    assert any("r1-a.pcap: missing" in p for p in verdict["problems"])


def test_a_damaged_line_of_events_costs_that_line_alone(spark, hand_made):
    path = faultless(hand_made).write()
    with (path / "events.jsonl").open("a") as out:
        out.write('{"time_ns": 12, "no')
    verdict = analyze(path)
    assert counts(verdict)["delivered"] == 3
    assert verdict["problems"] == [
        f"events.jsonl:{len(hand_made.events) + 1}: damaged or cut off; the line was skipped"
    ]


def test_analysing_again_replaces_what_was_there(spark, hand_made):
    path = faultless(hand_made).write()
    first = analyze(path)
    (path / "tables" / "old.parquet").write_bytes(b"")
    assert analyze(path) == first
    assert not (path / "tables" / "old.parquet").exists()
    assert not [p.name for p in path.iterdir() if p.name.startswith(".")]


def test_an_analysis_that_fails_leaves_the_earlier_results(spark, hand_made):
    path = faultless(hand_made).write()
    first = analyze(path)
    (path / "captures" / "index.json").write_text("{}")
    with pytest.raises(AnalysisError, match="index of captures"):
        analyze(path)
    assert json.loads((path / "verdict.json").read_text()) == first


def test_results_that_cannot_be_written_are_an_error_that_says_where(hand_made):
    path = faultless(hand_made).write()
    (path / f".analysis-{os.getpid()}").write_text("in the way, also of root")
    with pytest.raises(AnalysisError, match=r"cannot write results: File exists"):
        analyze(path)


def test_what_a_killed_analysis_left_behind_is_removed(spark, hand_made):
    path = faultless(hand_made).write()
    left = path / f".analysis-{2**22 + 1}"  # above the kernel's highest process id
    left.mkdir()
    analyze(path)
    assert not left.exists()
