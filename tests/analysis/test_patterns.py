"""What was owed of patterns, and what clients were told: by events and publications that are written here."""

import json
import shutil
from pathlib import Path

import pytest

from analysis import pattern_counts
from analysis.advertising import Advertising
from analysis.history import FOREVER, History, SettledPeriod
from analysis.oracle import Clock, SubscriptionChange
from analysis.pattern_counts import PatternCounts, are_wrong, as_verdict
from analysis.patterns import PatternEvents, PatternJudge, Published, Sought, Told
from analysis.pipeline import analyze
from analysis.quick.judge import judge
from nodes.model import Occurrence, parse_message
from tests.judge.judging.verdict import judge as judge_again

SECOND = 10**9
START_NS = 100 * SECOND
SETTLE_NS = SECOND // 10
CALM = History([SettledPeriod(-1, FOREVER, {1: 0, 9: 0})], SETTLE_NS)
A_THEN_B = "[a = 1] then [b = 1] within 2s"


def published(*texts):
    """Messages of source 1, as `1.5 a = 1`: seconds after the start, and the message."""
    for number, text in enumerate(texts, 1):
        seconds, message = text.split(" ", 1)
        time_ns = START_NS + round(float(seconds) * SECOND)
        yield Published(Occurrence(time_ns, 1, number), time_ns, parse_message(message))


def judged(pattern, messages, told, *, at=-1, until=None, end=60, history=CALM, advertising=None, **more):
    """The counts of one client that was told of these matches, by the numbers of messages."""
    times = [START_NS + round(each * SECOND) for each in (at, until) if each is not None]
    changes = [SubscriptionChange(times[0], "c", 1, "a = 1 or b = 1")]
    changes += [SubscriptionChange(each, "c", 1, None) for each in times[1:]]
    events = PatternEvents(
        [Sought(times[0], "c", 1, pattern)],
        [Told("c", 1, tuple((1, number) for number in match)) for match in told],
    )
    clock = Clock(START_NS, SETTLE_NS)
    judge = PatternJudge(
        events,
        changes,
        {"c": 9},
        clock,
        START_NS + end * SECOND,
        history,
        advertising,
        **{"lossy": False, **more},
    )
    counts = judge.counts(lambda: published(*messages))
    found = as_verdict(counts)
    assert found.pop("sought") == 1
    assert are_wrong(counts) == bool(found["missing"] or found["duplicate"] or found["spurious"])
    return {name: count for name, count in found.items() if count}


A_B_B = "1 a = 1", "2 b = 1", "2.5 b = 1"


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([(1, 2), (1, 3)], {"owed": 2, "delivered": 2}),
        ([(1, 2)], {"owed": 2, "delivered": 1, "missing": 1}),
        ([(1, 2), (1, 3), (1, 2)], {"owed": 2, "delivered": 2, "duplicate": 1}),
        ([(1, 2), (1, 3), (2, 3)], {"owed": 2, "delivered": 2, "spurious": 1}),
        ([(1, 2), (1, 3), (1, 9)], {"owed": 2, "delivered": 2, "spurious": 1}),
    ],
)
def test_what_is_told_is_held_to_what_was_published(told, counts):
    assert judged(A_THEN_B, A_B_B, told) == counts


@pytest.mark.parametrize(
    ("pairing", "told", "counts"),
    [
        ("first", [(1, 2)], {"owed": 1, "delivered": 1}),
        ("first", [(1, 3)], {"owed": 1, "missing": 1, "spurious": 1}),
        ("once", [(1, 2), (1, 3)], {"owed": 1, "delivered": 1, "spurious": 1}),
    ],
)
def test_the_pairing_decides_what_may_be_told(pairing, told, counts):
    assert judged(f"{A_THEN_B} pairing {pairing}", A_B_B, told) == counts


def test_around_its_beginning_and_end_a_match_is_allowed_and_not_owed():
    messages = "1 a = 1", "2 b = 1", "2.96 b = 1"
    assert judged(A_THEN_B, messages, [], at=0.95) == {}
    assert judged(A_THEN_B, messages, [(1, 2)], at=0.95) == {"delivered": 1}
    assert judged(A_THEN_B, messages, [], until=3) == {"owed": 1, "missing": 1}
    assert judged(A_THEN_B, messages, [(1, 2), (1, 3)], until=3) == {"owed": 1, "delivered": 2}
    assert judged(A_THEN_B, messages, [(1, 2)], until=1.5) == {"spurious": 1}


def test_one_message_that_is_not_owed_makes_choices_uncertain_until_a_pause():
    messages = "0.5 a = 1", "1 a = 1", "2 b = 1", "9 a = 1", "10 b = 1"
    pattern = f"{A_THEN_B} pairing once"
    assert judged(pattern, messages, [(2, 3), (4, 5)], at=0.45) == {"owed": 1, "delivered": 2}
    assert judged(pattern, messages, [(1, 3)], at=0.45) == {"owed": 1, "delivered": 1, "missing": 1}


def test_a_match_whose_wait_was_not_over_at_the_end_is_not_owed():
    assert judged(f"{A_THEN_B} wait 5s", A_B_B, [], end=6.9) == {}
    assert judged(f"{A_THEN_B} wait 4s", A_B_B, [], end=7) == {"owed": 2, "missing": 2}


def test_matches_go_by_the_times_that_messages_carry_where_clocks_were_corrected():
    carried_ns = {(1, 2): START_NS + 4 * SECOND}
    assert judged(A_THEN_B, A_B_B, [(1, 3)], carried_ns=carried_ns) == {"owed": 1, "delivered": 1}
    assert judged(A_THEN_B, A_B_B, [(1, 2)], carried_ns=carried_ns) == {
        "owed": 1,
        "missing": 1,
        "spurious": 1,
    }


def test_where_links_lose_messages_nothing_is_owed():
    assert judged(A_THEN_B, A_B_B, [(1, 3)], lossy=True) == {"delivered": 1}


BROKEN = History(
    [
        SettledPeriod(-1, START_NS + 4 * SECOND, {1: 0, 9: 0}),
        SettledPeriod(START_NS + 5 * SECOND, FOREVER, {1: 0, 9: 0}),
    ],
    SETTLE_NS,
)
"""Something failed after 4 s; the network had converged after 5."""


@pytest.mark.parametrize(
    ("messages", "owed"),
    [
        (("1 a = 1", "2 b = 1"), True),
        (("3 a = 1", "3.85 b = 1"), False),  # told when something had failed, or on its way then
        (("3 a = 1", "3.8 b = 1"), True),
        (("3.5 a = 1", "5.2 b = 1"), False),  # what had been kept may have been lost
        (("4.9 a = 1", "5.2 b = 1"), False),
        (("5.1 a = 1", "5.2 b = 1"), True),
    ],
)
def test_what_routers_recognise_is_owed_if_nothing_failed_while_they_kept_it(messages, owed):
    counts = {"owed": 1, "missing": 1} if owed else {}
    clients = judged(A_THEN_B, messages, [], history=BROKEN)
    assert clients in ({"owed": 1, "missing": 1}, {})
    # Two messages, each of which was owed by itself, make a match that was not.
    lost = {"lost": 1} if clients and not owed else {}
    assert judged(A_THEN_B, messages, [], history=BROKEN, factored=True) == {**counts, **lost}
    told = judged(A_THEN_B, messages, [(1, 2)], history=BROKEN, factored=True)
    assert told == {"delivered": 1, **({"owed": 1} if owed else {})}


def advertising(*changes):
    """Publisher 1 has advertised all that is published; other publishers change theirs: `(seconds, text)`."""
    clock = Clock(START_NS, SETTLE_NS)
    held = [clock.claim(1, "a any integer or b any integer", 0, None)]
    held += [clock.claim(2, text, START_NS + round(at * SECOND), None) for at, text in changes]
    return Advertising(held, CALM)


@pytest.mark.parametrize(
    ("change", "owed"),
    [
        ((1.5, "a any integer"), False),
        ((1.5, "a = 2"), True),  # overlaps no part
        ((1.5, "c any integer"), True),
        ((0.95, "b = 1 and c = 1"), False),  # may not be known everywhere when the first is published
        ((0.85, "b = 1 and c = 1"), True),
        ((2.15, "b = 1"), False),  # while the match is told
        ((2.25, "b = 1"), True),
    ],
)
def test_while_an_advertisement_of_a_part_changes_matches_are_allowed_and_not_owed(change, owed):
    about = {"advertising": advertising(change), "factored": True}
    assert judged(A_THEN_B, A_B_B[:2], [(1, 2)], **about) == {"delivered": 1, **({"owed": 1} if owed else {})}
    found = judged(A_THEN_B, A_B_B[:2], [], **about)
    assert found == ({"owed": 1, "missing": 1} if owed else {"lost": 1})


def test_one_change_makes_all_that_the_pairing_chooses_in_its_group_uncertain():
    about = {"advertising": advertising((1.5, "a any integer")), "factored": True}
    messages = "1 a = 1", "2 b = 1", "3 b = 1", "9 a = 1", "10 b = 1"
    pattern = f"{A_THEN_B} pairing once"
    assert judged(pattern, messages, [(1, 3), (4, 5)], **about) == {"owed": 1, "delivered": 2, "lost": 1}
    assert judged(pattern, messages, [(1, 3)], **about) == {
        "owed": 1,
        "delivered": 1,
        "missing": 1,
        "lost": 1,
    }


def test_a_match_that_was_not_told_by_routers_when_the_run_ended_is_not_owed():
    assert judged(A_THEN_B, A_B_B[:2], [], end=2.15) == {"owed": 1, "missing": 1}
    assert judged(A_THEN_B, A_B_B[:2], [], end=2.15, factored=True) == {}
    assert judged(A_THEN_B, A_B_B[:2], [], end=2.2, factored=True) == {"owed": 1, "missing": 1}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[a = 1] then [c = 1] within 2s", "[c = 1]"),
        ("[a = 1 and a = 2] and ([c = 1] or [d = 1]) within 2s", "[a = 1 and a = 2] or [c = 1] or [d = 1]"),
        ("[c = 1] or [a = 7]", None),
        (A_THEN_B, None),
    ],
)
def test_a_pattern_of_which_nobody_advertised_a_part_is_named(pattern, said):
    judge = PatternJudge(
        PatternEvents([Sought(START_NS - 1, "c", 1, pattern)]),
        [SubscriptionChange(START_NS - 1, "c", 1, "a = 1")],
        {"c": 9},
        Clock(START_NS, SETTLE_NS),
        START_NS + 60 * SECOND,
        CALM,
        advertising(),
        lossy=False,
        factored=True,
    )
    found = pattern_counts.waited(judge.counts(lambda: published("1 b = 1")))
    assert found == ([f"c waited in vain for {pattern}: nobody else advertised {said}."] if said else [])


def test_of_many_patterns_that_nobody_could_provide_the_first_are_named():
    counts = [PatternCounts("c", f"[c = {n}]", lacking=[f"[c = {n}]"]) for n in range(7)]
    assert pattern_counts.waited(counts)[2:] == [
        "c waited in vain for [c = 2]: nobody else advertised [c = 2].",
        "... and 4 more patterns could have no match either.",
    ]


SCENARIO = """
name: sought
timing: {settle: 100ms}
topology: {routers: [r1, r2], links: [{between: [r1, r2], delay: 3ms}]}
clients:
  one: {at: r1, publish: [{every: 20ms, count: 100, message: {a: {uniform: [1, 3]}}}]}
  two: {at: r2, publish: [{from: 5ms, every: 30ms, count: 60, message: {b: {uniform: [1, 3]}}}]}
  seeker:
    at: r2
    patterns:
      - "[a = 1] then [b = 2] within 50ms"
      - {pattern: "[a = 1] and another [a = 1] within 90ms pairing once keep 3", at: 500ms, until: 1s}
"""


DISTURBED = """
name: disturbed
timing: {settle: 100ms}
topology: {generate: ring, size: 6}
populations:
  pub: {count: 6, publish: [{every: 40ms, count: 50, message: {x: {uniform: [1, 5]}, y: {uniform: [1, 3]}}}]}
  seek:
    count: 6
    patterns:
      - "[x = 1] then [x = 2] within 60ms pairing once"
      - {pattern: "([x = 1] or [y = 2]) and another [x = 3 and y = 1] within 30ms", at: 500ms}
faults:
  - {at: 700ms, crash: r2}
  - {at: 1200ms, start: r2}
"""


@pytest.mark.sim
def test_while_a_router_is_down_matches_are_allowed_and_not_owed(simulate):
    found = judge(simulate("disturbed", DISTURBED))
    assert found["verdict"] in ("clean", "partly judged")
    counts = found["patterns"]
    assert counts["sought"] == 12
    assert counts["delivered"] > counts["owed"] > 100


@pytest.fixture(scope="module")
def simulated(simulate):
    return simulate("sought", SCENARIO)


@pytest.fixture
def run(simulated, tmp_path):
    return Path(shutil.copytree(simulated, tmp_path / "run"))


def lines(run):
    return (run / "events.jsonl").read_text().splitlines(keepends=True)


@pytest.mark.sim
def test_a_run_is_judged_by_what_its_client_was_told(run):
    found = judge(run)
    assert found["verdict"] == "clean"
    assert found["patterns"]["owed"] > 10
    assert "all" in next(note for note in found["notes"] if "patterns were sought" in note)
    told = [n for n, line in enumerate(lines(run)) if '"deliver_match"' in line]
    kept = [line for n, line in enumerate(lines(run)) if n != told[5]]
    (run / "events.jsonl").write_text("".join([*kept, lines(run)[told[6]]]))
    found = judge(run)
    assert found["verdict"] == "wrong"
    assert {name: found["patterns"][name] for name in ("missing", "duplicate", "spurious")} == {
        "missing": 1,
        "duplicate": 1,
        "spurious": 0,
    }


@pytest.mark.sim
def test_a_pattern_with_more_matches_than_can_be_judged_makes_the_verdict_doubtful(run, monkeypatch):
    monkeypatch.setattr(pattern_counts, "MOST_MATCHES", 3)
    found = judge(run)
    assert found["verdict"] == "doubtful"
    assert any("more than 3 matches of [a = 1]" in problem for problem in found["problems"])


@pytest.mark.sim
def test_an_event_that_has_no_pattern_is_told_of(run):
    kept = [line.replace("[b = 2] within", "[b = 2] withn") for line in lines(run)]
    (run / "events.jsonl").write_text("".join(kept))
    assert any("seeker seeks what is no pattern" in problem for problem in judge(run)["problems"])


@pytest.mark.sim
def test_a_planned_pattern_that_left_no_trace_is_told_of(run):
    kept = [line for line in lines(run) if '"subscribe_pattern"' not in line]
    (run / "events.jsonl").write_text("".join(kept))
    found = judge(run)
    assert found["patterns"] is None
    assert any("2 planned patterns of seeker left no trace" in problem for problem in found["problems"])


ROUTED = """
name: routed
scheme: {name: pif, advertisements: true, patterns: factored}
timing: {settle: 100ms}
topology: {routers: [r1, r2], links: [{between: [r1, r2], delay: 3ms}]}
clients:
  one:
    at: r1
    advertise: [a any integer]
    publish: [{every: 20ms, count: 100, message: {a: {uniform: [1, 3]}}}]
  seeker:
    at: r2
    patterns:
      - "[a = 1] then [a = 2] within 50ms"
      - {pattern: "[a = 2] and [a = 3] within 90ms pairing once", at: 500ms, until: 1s}
"""


@pytest.fixture(scope="module")
def routed(simulate):
    return simulate("routed", ROUTED)


def without_events(routed, folder, name, subscription=None):
    """A copy of the run whose log lacks what it says of patterns, or of one."""
    run = Path(shutil.copytree(routed, folder / "run"))
    sign = "" if subscription is None else f'"subscription":{subscription},'
    kept = [line for line in lines(run) if not (f'"{name}"' in line and sign in line)]
    assert len(kept) < len(lines(run))
    (run / "events.jsonl").write_text("".join(kept))
    return run


@pytest.mark.sim
@pytest.mark.spark
def test_a_pattern_that_the_log_lacks_is_blamed_on_the_log(routed, tmp_path):
    """Routers were captured to be asked for it: its matches are judged, and not called spurious."""
    before = judge(routed)
    run = without_events(routed, tmp_path, "subscribe_pattern", 2)
    for found in (judge(run), analyze(run)):
        assert (found["verdict"], found["checks"]["unlogged"]) == ("doubtful", 1)
        assert found["patterns"]["spurious"] == found["patterns"]["missing"] == 0
        assert abs(found["patterns"]["owed"] - before["patterns"]["owed"]) <= 1
        assert any(
            "seeker made pattern 2 ([a = 2] and [a = 3] within 90ms pairing once)" in each
            for each in found["problems"]
        ), found["problems"]
    assert judge_again(run)[0]["patterns"] == judge(run)["patterns"]


@pytest.mark.sim
def test_a_pattern_that_a_router_did_not_seek_is_named(simulate):
    """The second is sought from 500 ms on; the router takes one pattern of a client."""
    one = ROUTED.replace("timing:", "limits: {patterns_per_neighbour: 1}\ntiming:")
    found = judge(simulate("one", one.replace(" pairing once", "")))
    assert found["verdict"] == "wrong"
    assert found["patterns"]["missing"] > 0
    assert (
        "The router of seeker did not seek 1 of its patterns (too_many_patterns), such as "
        "[a = 2] and [a = 3] within 90ms: whatever was owed of them is missing."
    ) in found["notes"]


@pytest.mark.sim
def test_matches_are_judged_though_the_log_has_no_pattern_at_all(routed, tmp_path):
    run = without_events(routed, tmp_path, "subscribe_pattern")
    found = judge(run)
    assert found["checks"]["unlogged"] == 2
    assert found["patterns"]["sought"] == 2
    assert found["patterns"]["owed"] > 5
    assert found["patterns"]["spurious"] == 0
    assert judge_again(run)[0]["patterns"] == found["patterns"]


@pytest.mark.sim
def test_the_end_of_a_pattern_that_the_log_lacks_is_blamed_on_the_log(routed, tmp_path):
    before = judge(routed)
    assert not any(before["checks"].values())
    run = without_events(routed, tmp_path, "unsubscribe")
    found = judge(run)
    assert found["checks"]["unlogged"] == 1
    assert abs(found["patterns"]["owed"] - before["patterns"]["owed"]) <= 1
    assert found["patterns"]["missing"] == 0
    assert any("seeker withdrew pattern 2" in each for each in found["problems"])
    assert judge_again(run)[0]["patterns"] == found["patterns"]


@pytest.mark.sim
@pytest.mark.spark
def test_the_analysis_says_of_patterns_what_the_quick_verdict_says(run):
    quick = judge(run)
    assert analyze(run)["patterns"] == quick["patterns"]
    page = (run / "report.html").read_text()
    assert "Matches of patterns" in page
    first = json.loads(next(line for line in lines(run) if '"deliver_match"' in line))
    source, sequence, _ = first["components"][0]
    assert f'<a href="#message-{source}-{sequence}">' in page
