"""events.jsonl: one order, from a stream or from many files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.runs.events import EventLog, JsonLines, merge_event_logs, order, to_line

Event = dict[str, object]
events = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), max_size=40).map(
    lambda pairs: [
        {"time_ns": t, "node": node, "n": n, "event": "publish"} for n, (t, node) in enumerate(sorted(pairs))
    ]
)
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines(path: Path) -> list[Event]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@shared_folder
@given(events, st.randoms())
def test_events_of_one_instant_are_put_in_order_however_they_come(
    tmp_path: Path, all_events: list[Event], random_source: object
) -> None:
    shuffled = sorted(all_events, key=lambda e: (e["time_ns"], random_source.random()))  # type: ignore[attr-defined]
    with EventLog(tmp_path / "events.jsonl") as log:
        for event in shuffled:
            log.add(event)
    assert lines(tmp_path / "events.jsonl") == sorted(all_events, key=order)
    assert log.count == len(all_events)


def test_an_event_of_the_past_is_a_defect(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as log:
        log.add({"time_ns": 5, "node": "a", "n": 0})
        with pytest.raises(AssertionError, match="4 ns came after 5 ns"):
            log.add({"time_ns": 4, "node": "a", "n": 1})


@shared_folder
@given(events)
def test_merging_the_clients_logs_gives_the_order_of_one_log(tmp_path: Path, all_events: list[Event]) -> None:
    paths = [tmp_path / f"{node}.jsonl" for node in "abc"]
    for path in paths:
        own = [e for e in all_events if e["node"] == path.stem]
        path.write_text("".join(to_line(e) for e in own), encoding="utf-8")
    report = merge_event_logs(paths, tmp_path / "merged.jsonl")
    assert lines(tmp_path / "merged.jsonl") == sorted(all_events, key=order)
    assert (report.events, report.cut_off) == (len(all_events), [])


def test_a_line_cut_off_by_a_killed_client_is_left_out_and_named(tmp_path: Path) -> None:
    whole = to_line({"time_ns": 1, "node": "a", "n": 0, "event": "publish"})
    (tmp_path / "a.jsonl").write_text(whole + whole[:20])
    report = merge_event_logs([tmp_path / "a.jsonl"], tmp_path / "merged.jsonl")
    assert (report.events, report.cut_off) == (1, ["a.jsonl:2"])


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"time_ns": "1", "node": "a", "n": 0}'])
def test_what_is_no_event_is_an_error_with_file_and_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"a\.jsonl:1: not an event"):
        merge_event_logs([tmp_path / "a.jsonl"], tmp_path / "merged.jsonl")


def test_text_stays_readable(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl", flush_lines=2)
    for number in range(3):
        log.write({"text": "Malmö", "number": number})
    assert len((tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    log.flush()
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()[
        -1
    ] == '{"text":"Malmö","number":2}'
