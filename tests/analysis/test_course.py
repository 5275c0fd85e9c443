"""The report's picture of the run's course: every fault, every unsettled time, and what arrived when."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from analysis.counts import Counts
from analysis.findings import NO_SLICES, Scope, ScopeCounts, Slices
from analysis.history import FOREVER, Disturbance, NetworkChange
from analysis.report.course import SECTION, course_figure, faults_of
from analysis.scopes import slices_of

SVG = "{http://www.w3.org/2000/svg}"
CAUSES = [
    NetworkChange(20, "crash", "r2"),
    NetworkChange(20, "link_down", "r1--r2"),
    NetworkChange(30, "start", "r2"),
]
CRASH = Disturbance(20, 40, CAUSES)


def part(number, **counts):
    return ScopeCounts(Scope("", 10 * number, 10 * (number + 1)), 5, Counts(**counts), None)


def findings_with(course, unrest=(), phases=()):
    counts = sum((each.counts for each in course), Counts())
    return SimpleNamespace(course=course, unrest=list(unrest), phases=list(phases), counts=counts)


COURSE = [
    part(0, wanted=4, owed=4, delivered=4),
    part(1),
    part(2, wanted=4, owed=1, delivered=1, lost=3),
    part(3, wanted=4, owed=4, delivered=3, missing=1),
]


def drawn(findings):
    return ET.fromstring(course_figure(findings).to_svg())


def marked(figure, style):
    return [each for each in figure.iter() if each.get("class") == style]


def test_a_bar_says_what_became_of_what_was_wanted_then():
    figure = drawn(findings_with(COURSE))
    assert [len(marked(figure, kind)) for kind in ("arrived", "lost", "missing", "unknown")] == [3, 1, 1, 0]
    titles = [title.text for title in figure.iter(f"{SVG}title")]
    assert "at 20 ns: 4 wanted, 1 arrived, 3 lost" in titles
    tall = {kind: float(marked(figure, kind)[0].get("height")) for kind in ("arrived", "lost")}
    assert tall["lost"] == pytest.approx(0.75 * tall["arrived"], abs=0.02)


def test_the_share_that_arrived_has_a_gap_where_nothing_was_wanted():
    assert len(marked(drawn(findings_with(COURSE)), "ratio")) == 2


def test_faults_are_named_in_words_and_unsettled_times_are_shaded():
    findings = findings_with(COURSE, [ScopeCounts(Scope("", 20, 40, CRASH), 5, Counts(), None)])
    named = [fault.name for fault in faults_of(findings)]
    assert named == ["crash of r2, link r1 \N{EN DASH} r2 down", "start of r2"]
    figure = drawn(findings)
    (band,) = marked(figure, "band")
    assert band.find(f"{SVG}title").text == "not settled from 20 ns on, settled after 20 ns"
    assert len(marked(figure, "fault")) == 2


def test_a_network_that_does_not_settle_again_is_shaded_to_the_end():
    never = replace(CRASH, until_ns=FOREVER)
    findings = findings_with(COURSE, [ScopeCounts(Scope("", 20, FOREVER, never), 5, Counts(), None)])
    (band,) = marked(drawn(findings), "band")
    assert "never settled again" in band.find(f"{SVG}title").text
    assert float(band.get("x")) + float(band.get("width")) <= 1040


def test_where_nobody_wanted_anything_there_is_no_picture():
    assert SECTION.data(findings_with([part(0), part(1)]), {}) is None
    assert SECTION.data(findings_with([]), {}) is None


@pytest.mark.parametrize(("lasted_ns", "width_ns"), [(120, 2), (121, 3), (1, 1)])
def test_slices_cover_the_whole_run(lasted_ns, width_ns):
    run = SimpleNamespace(started=True, start_ns=1_000, end_ns=1_000 + lasted_ns)
    slices = slices_of(run)
    assert slices == Slices(1_000, width_ns, 60)
    scopes = slices.scopes()
    assert scopes[0].from_ns == 1_000
    assert scopes[-1].until_ns >= run.end_ns
    assert all(a.until_ns == b.from_ns for a, b in pairwise(scopes))


def test_a_run_that_never_began_has_no_course():
    assert slices_of(SimpleNamespace(started=False, start_ns=0, end_ns=5)) == NO_SLICES
