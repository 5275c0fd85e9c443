"""Runs whose publishers have to advertise: what is owed, and what is seen if a router takes more.

pub, mute - r1 --- r2 - sub
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.advertising import Advertising, Standing, restricted
from analysis.history import FOREVER, History, SettledPeriod
from analysis.oracle import Clock, Due, SubscriptionChange
from analysis.pipeline import analyze
from analysis.quick.judge import judge
from analysis.report.advertisements import Advertised as Stood
from analysis.report.advertisements import advertised as stood
from tests.analysis.test_planted_contradictions import edit_plan

START, SETTLE = 10_000, 100
CALM = History([SettledPeriod(START - 1, FOREVER, {})], SETTLE)
SCENARIO = """
name: advertised
seed: 3
scheme: {name: pif, advertisements: true}
timing: {settle: 100ms}
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  pub:
    at: r1
    advertise: [{predicate: n < 10, until: 1500ms}, {predicate: n >= 0 and late any boolean, at: 500ms}]
    publish: [{every: 20ms, count: 100, message: {n: {count: 0}}}]
  mute: {at: r1, publish: [{every: 100ms, count: 20, message: {n: 1}}]}
  sub: {at: r2, subscribe: [n any integer]}
"""


def standing_of(source: int, time_ns: int, content: dict[str, Any] | None) -> Standing:
    clock = Clock(START, SETTLE)
    claims = [
        clock.claim(1, "x < 5", START - 1, START + 1_000),
        clock.claim(1, "y any integer", START + 500, None),
    ]
    return Advertising(claims, CALM).standing(source, time_ns, content)


@pytest.mark.parametrize(
    ("at_ns", "content", "standing"),
    [
        (0, {"x": 1}, Standing.ADVERTISED),
        (0, {"x": 5}, Standing.OUTSIDE),
        (0, {"x": 1, "z": 1}, Standing.OUTSIDE),
        (0, {}, Standing.ADVERTISED),
        (900, {"x": 1}, Standing.ADVERTISED),
        (901, {"x": 1}, Standing.UNSURE),
        (1_100, {"x": 1}, Standing.UNSURE),
        (1_101, {"x": 1}, Standing.OUTSIDE),
        (399, {"y": 1}, Standing.OUTSIDE),
        (400, {"y": 1}, Standing.UNSURE),
        (599, {"y": 1}, Standing.UNSURE),
        (600, {"y": 1}, Standing.ADVERTISED),
        (600, {"x": 1, "y": 1}, Standing.OUTSIDE),
        (0, None, Standing.UNSURE),
    ],
)
def test_how_a_message_stands_by_when_it_was_published(
    at_ns: int, content: dict[str, Any] | None, standing: Standing
) -> None:
    assert standing_of(1, START + at_ns, content) is standing
    assert standing_of(2, START + at_ns, content) is Standing.OUTSIDE


def test_what_is_left_of_what_is_due() -> None:
    owed, allowed = Due(True, True), Due(False, True, "network")
    unsure, nothing = Due(False, True, "advertisement"), Due(None, False)
    assert [restricted(owed, s) for s in Standing] == [owed, unsure, nothing, nothing]
    assert [restricted(allowed, s) for s in Standing] == [allowed, allowed, nothing, nothing]


def test_the_report_says_for_how_long_each_advertisement_stood() -> None:
    second = 1_000_000_000
    changes = [
        SubscriptionChange(9 * second, "p", 1, "x = 1"),
        SubscriptionChange(12 * second, "p", 1, "x = 2"),
        SubscriptionChange(13 * second, "q", 1, "y = 1"),
        SubscriptionChange(14 * second, "p", 1, None),
        SubscriptionChange(15 * second, "p", 7, None),
    ]
    assert stood(changes, 10 * second) == [
        Stood("p", "x = 1", 0.0, 2.0),
        Stood("p", "x = 2", 2.0, 4.0),
        Stood("q", "y = 1", 3.0, None),
    ]


@pytest.fixture(scope="module")
def simulated(simulate: Callable[[str, str], Path]) -> Path:
    return simulate("advertised", SCENARIO)


@pytest.fixture
def run(simulated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(simulated, tmp_path / "run"))


@pytest.mark.sim
@pytest.mark.spark
def test_messages_outside_are_counted_apart_by_both_verdicts(run: Path) -> None:
    quick = judge(run)
    whole = analyze(run)
    for verdict in (quick, whole):
        # All 20 of `mute`; and of `pub` 10 to 19, published from 200 to 380 ms: the second advertisement
        # may be known from 400 ms on.
        assert verdict["unadvertised"] == 20 + 10
        assert verdict["ok"]
        assert verdict["problems"] == []
        assert (verdict["missing"], verdict["spurious"]) == (0, 0)
    assert f"{whole['unadvertised']} of 120 messages were outside" in " ".join(whole["notes"])
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "<code>n &lt; 10</code>" in page
    assert re.search(r'"row">mute</th>\s*<td class="n">20</td>\s*<td class="n">20</td>', page)


@pytest.mark.sim
@pytest.mark.spark
def test_an_advertisement_that_the_log_lacks_is_blamed_on_the_log(run: Path) -> None:
    before = judge(run)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    kept = [e for e in events if not (e["event"] == "advertise" and e["advertisement"] == 1)]
    lines = [json.dumps(event, separators=(",", ":")) + "\n" for event in kept]
    (run / "events.jsonl").write_text("".join(lines))
    for verdict in (judge(run), analyze(run)):
        assert (verdict["verdict"], verdict["checks"]["unlogged"]) == ("doubtful", 1)
        assert verdict["spurious"] == 0
        assert abs(verdict["owed"] - before["owed"]) <= 1
        assert any("pub made advertisement 1 (n < 10)" in problem for problem in verdict["problems"])


@pytest.mark.sim
@pytest.mark.spark
def test_a_message_that_is_delivered_without_having_been_advertised_is_spurious(
    simulate: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """As if its router had been told to hold publishers to what they advertise, and had not."""
    free = simulate("free", SCENARIO.replace("advertisements: true", "advertisements: false"))
    run = Path(shutil.copytree(free, tmp_path / "run"))
    edit_plan(run, lambda plan: plan["scheme_options"].update(advertisements=True))
    for verdict in (judge(run), analyze(run)):
        assert verdict["verdict"] == "wrong"
        assert verdict["spurious"] == 20 + 10


@pytest.mark.sim
def test_an_advertisement_that_cannot_be_read_is_named(run: Path) -> None:
    lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if '"advertise"' in line)
    lines[at] = lines[at].replace('"predicate"', '"predicates"')
    (run / "events.jsonl").write_text("".join(lines))
    verdict = judge(run)
    assert any(f"events.jsonl:{at + 1}: not an event" in problem for problem in verdict["problems"])
    assert not verdict["ok"]
