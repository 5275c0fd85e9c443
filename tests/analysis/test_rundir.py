"""Directories that are no runs, or damaged ones: every error says where and what was expected."""

from __future__ import annotations

import json

import pytest

from analysis import AnalysisError
from analysis.rundir import load_run, network_changes, subscription_changes


def spoil(path, text):
    path.write_text(text, encoding="utf-8")


def test_a_run_is_read_as_it_was_written(hand_made):
    run = load_run(hand_made.write())
    assert run.names == {1: "r1", 2: "r2", 3: "p", 4: "a", 5: "c"}
    assert run.client_ids == {"p": 3, "a": 4, "c": 5}
    assert [c.interface.name for c in run.captures if c.peer_is_client] == ["r1-p", "r1-a", "r2-c"]
    assert (run.complete, run.started, run.plan.timing.settle_ns) == (True, True, 1_000_000)


def test_a_run_that_failed_before_it_was_ready_never_started(hand_made):
    hand_made.manifest |= {"outcome": "failed", "start_ns": 0}
    assert not load_run(hand_made.write()).started


def test_what_is_not_there_cannot_be_analysed(tmp_path):
    with pytest.raises(AnalysisError, match="no such directory"):
        load_run(tmp_path / "nowhere")


def test_a_directory_without_manifest_is_no_run(tmp_path):
    with pytest.raises(AnalysisError, match="not a run directory"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("manifest.json", "{", r"manifest.json: corrupt: not JSON"),
        ("manifest.json", "[]", r"manifest.json: corrupt: expected a JSON object, found list"),
        ("manifest.json", '{"format": 1}', r"format is 1; .* reads format 3; run its scenario"),
        ("manifest.json", '{"format": 3, "run_id": "", "world": 1}', r"world must be a string, not 1"),
        ("plan.json", "{}", r"plan.json: it was changed or damaged since the run"),
        ("captures/index.json", "{}", r"index.json: not an index of captures \(no 'interfaces'\)"),
        ("captures/index.json", "nonsense", r"index.json: corrupt: not JSON"),
    ],
)
def test_a_damaged_document_is_named(hand_made, name, text, message):
    path = hand_made.write()
    spoil(path / name, text)
    with pytest.raises(AnalysisError, match=message):
        load_run(path)


@pytest.mark.parametrize(
    ("outcome", "advice"),
    [("complete", "captures: true"), ("interrupted", r"the run \(interrupted\) ended before")],
)
def test_a_run_without_captures_says_why(hand_made, outcome, advice):
    hand_made.manifest["outcome"] = outcome
    path = hand_made.write()
    (path / "captures" / "index.json").unlink()
    with pytest.raises(AnalysisError, match=advice):
        load_run(path)


def test_a_run_without_events_or_plan_is_an_error(hand_made):
    path = hand_made.write()
    run = load_run(path)
    (path / "events.jsonl").unlink()
    with pytest.raises(AnalysisError, match=r"events.jsonl: No such file"):
        subscription_changes(run)
    (path / "plan.json").unlink()
    with pytest.raises(AnalysisError, match=r"plan.json: No such file"):
        load_run(path)


def test_subscription_events_that_make_no_sense_are_skipped_and_named(hand_made):
    hand_made.subscribe("a", "x = 1")
    path = hand_made.write()
    odd = [
        {"event": "subscribe", "node": "a", "time_ns": 1},
        {"event": "publish", "message": 'x = "subscribe\\""'},
    ]
    with (path / "events.jsonl").open("a") as out:
        out.writelines(json.dumps(e) + "\n" for e in odd)
        out.write('{"event": "subscribe"')
    changes, problems = subscription_changes(load_run(path))
    assert [(c.client, c.predicate) for c in changes] == [("a", "x = 1")]
    assert [p.split(":")[1] for p in problems] == ["2", "4"]


def test_a_fault_of_an_unknown_kind_is_an_error_for_its_effect_is_unknown(hand_made):
    path = hand_made.write()
    with (path / "events.jsonl").open("a") as out:
        out.write('{"time_ns":1,"node":"","n":0,"event":"fault","do":"melt","target":"r1"}\n')
    with pytest.raises(AnalysisError, match=r"events.jsonl:1: unknown fault 'melt'; known are link_down"):
        network_changes(load_run(path))
