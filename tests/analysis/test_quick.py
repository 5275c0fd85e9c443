"""The quick verdict: what it takes together is alike, and it says what it could not read or did not look at.

That its figures are those of the analysis is shown in `tests/judge`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path
from random import Random

import pytest

from analysis import AnalysisError
from analysis.history import History, SettledPeriod
from analysis.oracle import Clock, Oracle
from analysis.quick import judge as judging
from analysis.quick.judge import UNCHECKED, judge


def test_between_two_bounds_the_same_is_due_at_any_time(rng: Random) -> None:
    """With claims of all lengths, settled periods, pauses, and parts of the network that are apart."""
    for _ in range(60):
        clock = Clock(100, rng.choice([0, 5, 20]), rng.choice([2**63 - 1, 260]))
        begins = [rng.randint(50, 250) for _ in range(4)]
        claims = [
            clock.claim(rng.randint(1, 3), f"x = {n}", begin, rng.choice([None, begin + 30]))
            for n, begin in enumerate(begins)
        ]
        oracle = Oracle(claims, _history(rng, clock.settle_ns))
        bounds, dues = oracle.bounds(), {}
        for time_ns in range(400):
            cell = bisect_left(bounds, time_ns), bisect_right(bounds, time_ns)
            every = [claim for _, held in oracle.predicates for claim in held]
            found = oracle.judge(9, time_ns, every)
            assert dues.setdefault(cell, found) == found, time_ns


def _history(rng: Random, settle_ns: int) -> History:
    edges = sorted(rng.sample(range(110, 300), 4))
    periods = [
        SettledPeriod(99, edges[0], {1: 1, 2: 1, 3: 3, 9: 1}),
        SettledPeriod(edges[1], edges[2], {1: 1, 2: 2, 9: 1}),
        SettledPeriod(edges[3], 2**63 - 1, {1: 1, 2: 1, 3: 1, 9: 1}),
    ]
    pauses = sorted(((edges[0], rng.randint(edges[0], 290)), (edges[2], edges[3])), key=lambda p: p[1])
    return History(periods, settle_ns, pauses)


def _run(hand_made) -> Path:
    hand_made.subscribe("a", "x = 1")
    hand_made.subscribe("c", "x >= 1")
    for sequence in (1, 2):
        hand_made.publish(sequence, f"x = {sequence}", at_ns=sequence * 1000)
        hand_made.cross(sequence, f"x = {sequence}", sequence * 1000 + 20)
        hand_made.deliver("r2", "c", sequence, f"x = {sequence}", sequence * 1000 + 200, hops=2)
    hand_made.deliver("r1", "a", 1, "x = 1", 1030, hops=1)
    return hand_made.write()


def test_a_run_is_judged_without_spark_and_without_java(hand_made) -> None:
    path = _run(hand_made)
    program = (
        "import sys; from pathlib import Path; from analysis.quick.judge import judge;"
        f"v = judge(Path({str(path)!r})); print(v['headline']);"
        "sys.exit(any(name in sys.modules for name in ('pyspark', 'py4j')))"
    )
    environment = {"PATH": "/nonexistent", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "All 3 owed deliveries arrived, each once. All 3 wanted deliveries arrived.\n"


def test_the_verdict_is_in_the_run_directory_and_says_what_was_not_checked(hand_made) -> None:
    path = _run(hand_made)
    verdict = judge(path)
    assert json.loads((path / "judged.json").read_text()) == verdict
    assert (verdict["verdict"], verdict["ok"], verdict["problems"]) == ("clean", True, [])
    assert (verdict["owed"], verdict["delivered"], verdict["publications"]) == (3, 3, 2)
    assert verdict["latency_ns"] == {"min": 20, "p50": 190, "p90": 190, "p99": 190, "max": 190, "mean": 133}
    assert verdict["hops"] == {"min": 1, "mean": 1.667, "max": 2}
    assert verdict["unchecked"] == list(UNCHECKED)
    assert not {*verdict["checks"]} & {*UNCHECKED}


def test_missing_duplicate_and_spurious_deliveries_are_wrong(hand_made) -> None:
    hand_made.packet("r2", "c", True, 1_900, 1, "x = 1", 2)
    hand_made.packet("r1", "a", True, 2_900, 2, "x = 2", 1)
    hand_made.publish(3, "x = 3", at_ns=3_000)
    verdict = judge(_run(hand_made))
    assert (verdict["missing"], verdict["duplicate"], verdict["spurious"]) == (1, 1, 1)
    assert (verdict["verdict"], verdict["ok"]) == ("wrong", False)
    assert verdict["headline"].startswith("Not all is well: 1 missing, 1 duplicate and 1 spurious; 4 ")
    assert any("p 2 for a" in problem for problem in verdict["problems"])


def test_damaged_lines_of_the_log_are_named_and_the_others_are_read(hand_made) -> None:
    path = _run(hand_made)
    clean = judge(path)
    with (path / "events.jsonl").open("a") as log:
        log.write('{"time_ns": "never", "event": ["publish"]}\n[1]\n')
        log.write(f'{{"time_ns": 5, "node": "p", "event": "publish", "source": 1, "sequence": {2**70}}}\n')
        log.write("[" * 100_000 + "}\n" + '{"time_ns": 12')
    verdict = judge(path)
    assert any("damaged or cut off" in problem for problem in verdict["problems"])
    assert verdict["verdict"] == "doubtful"
    assert {key: verdict[key] for key in ("owed", "delivered", "publications", "latency_ns")} == {
        key: clean[key] for key in ("owed", "delivered", "publications", "latency_ns")
    }


def test_what_a_capture_that_is_gone_would_show_is_unknown(hand_made) -> None:
    path = _run(hand_made)
    (path / "captures" / "r2-c.pcap").unlink()
    verdict = judge(path)
    assert (verdict["missing"], verdict["unknown"], verdict["delivered"]) == (0, 2, 1)
    assert verdict["checks"]["incomplete_captures"] == 1
    assert any("r2-c" in problem for problem in verdict["problems"])


def test_a_run_in_which_nothing_was_captured_or_published_can_be_judged(hand_made) -> None:
    verdict = judge(hand_made.write())
    assert (verdict["wanted"], verdict["publications"], verdict["latency_ns"]) == (0, 0, None)
    assert verdict["headline"] == "Nothing was owed. Nothing was wanted."


def test_what_is_too_large_is_left_to_the_analysis(hand_made, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _run(hand_made)
    monkeypatch.setattr(judging, "MOST_CANDIDATES", 1)
    with pytest.raises(AnalysisError, match="`cbn analyze` judges any run"):
        judge(path)
    monkeypatch.setattr(judging, "LARGEST_BYTES", 10)
    with pytest.raises(AnalysisError, match="256 MiB of captures"):
        judge(path)
    assert not (path / "judged.json").exists()


def test_a_run_in_which_the_reference_model_contradicts_the_oracle_is_doubtful(
    hand_made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.dues.matches", lambda predicate, message: False)
    verdict = judge(_run(hand_made))
    assert verdict["verdict"] == "doubtful"
    assert any("contradicts the reference model about 3 pairs" in problem for problem in verdict["problems"])


def test_a_run_without_captures_cannot_be_judged(hand_made) -> None:
    path = _run(hand_made)
    (path / "captures" / "index.json").unlink()
    with pytest.raises(AnalysisError, match="without captures there is nothing to analyse"):
        judge(path)
