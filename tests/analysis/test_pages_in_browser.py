"""The report and the page of a comparison, as people use them: in Chromium, with mouse and keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from analysis.groups.comparing import compare
from analysis.groups.page import to_page
from analysis.pipeline import analyze
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld
from tests.analysis import meeting
from tests.analysis.test_groups import run
from tests.browser import Browser, Page
from tests.judge.runs import carry_out

pytestmark = [pytest.mark.spark, pytest.mark.browser]

SCENARIO = """\
name: cut
timing: {settle: 300ms}
topology:
  routers: [a, b, c, d]
  links: [a - b, b - c, c - a, c - d]
clients:
  pub: {at: a, publish: [{message: "n = 1, word = \\"</script>&\\"", every: 20ms, count: 150}]}
  near: {at: b, subscribe: [n = 1]}
  far: {at: d, subscribe: [n >= 1, n any integer]}
faults:
  - {at: 1s, link_down: c - d, for: 1s}
"""
LARGE = """\
name: large
topology: {generate: waxman, size: 100}
timing: {settle: 300ms}
populations:
  sub:
    count: 300
    subscribe:
      - {predicate: "topic = {topic} and level <= {level}", count: 3,
         draw: {topic: {zipf: [a, b, c, d]}, level: {uniform: [1, 20]}}}
  pub:
    count: 20
    publish:
      - {rate: 8/s, arrivals: poisson, until: 4s,
         message: {topic: {zipf: [a, b, c, d]}, level: {uniform: [1, 20]}, n: {count: 1}}}
faults:
  - at 1s: crash r7 for 1s
"""
LIST, DETAIL, COUNT = "#message-list", "#message-detail", "#message-count"


@pytest.fixture(scope="module")
def report(spark, tmp_path_factory) -> Path:
    return report_of(SCENARIO, tmp_path_factory.mktemp("report"))


def report_of(scenario: str, folder: Path) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(scenario, encoding="utf-8")
    directory = RunDirectory.create(folder / "run", "scenario")
    conduct(read_scenario(path).plan(), SimulatedWorld(), directory, SilentProgress(), scenario=scenario)
    analyze(directory.path)
    return directory.path / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture
def page(browser: Browser, report: Path) -> Page:
    return browser.open(report)


@pytest.fixture(scope="module")
def meeting_report(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = carry_out(meeting.scenario(), tmp_path_factory.mktemp("meeting"))
    analyze(directory)
    return directory / "report.html"


def text(page: Page, selector: str) -> str:
    return str(page.value(f"document.querySelector({selector!r}).innerText"))


def test_a_page_loads_without_a_word_on_the_console(page: Page) -> None:
    assert page.value("document.querySelectorAll('main section').length") > 8
    assert page.errors == []


def test_a_message_is_found_and_shown_with_its_tree_and_its_receivers(page: Page) -> None:
    page.click("#message-search")
    page.type("pub 3")
    assert text(page, COUNT) == "1 found"
    page.click(f"{LIST} button")
    detail = text(page, DETAIL)
    assert 'word = "</script>&"' in detail
    assert "subscribed to n = 1" in detail
    assert "subscribed to n >= 1 and to n any integer" in detail
    names = page.value(
        "[...document.querySelectorAll('svg.tree .tree-name')].map(e => e.textContent.split(' ')[0])"
    )
    assert sorted(names) == ["a", "b", "c", "d", "far", "near", "pub"]
    assert page.value("location.hash") == "#message-5-3"
    lit = page.value("[...document.querySelectorAll('svg.topology .link.lit')].length")
    assert lit == 6, "the links over which it went are marked in the drawing of the network"
    assert page.errors == []


def test_what_was_lost_is_shown_with_where_it_was_last_seen(page: Page) -> None:
    page.value("const kind = document.getElementById('message-kind'); kind.value = 'lost'; "
               "kind.dispatchEvent(new Event('change'))")  # fmt: skip
    page.click(f"{LIST} button")
    assert "last seen at c, which did not send it on towards the client" in text(page, DETAIL)


def test_an_address_names_a_message(browser: Browser, report: Path) -> None:
    page = browser.open(report, fragment="#message-5-7")
    page.wait("document.querySelector('#message-detail h3') !== null")
    assert text(page, f"{DETAIL} h3") == "pub 7"


def test_a_click_on_a_router_or_a_link_shows_what_went_over_it(page: Page) -> None:
    total = page.value(f"document.querySelectorAll('{LIST} button').length")
    page.click("svg.topology [data-node='4']")
    assert "over d" in text(page, COUNT)
    over_d = int(text(page, COUNT).split()[0])
    assert 0 < over_d < 150
    page.click(f"{COUNT} button")
    assert text(page, COUNT) == "150 found"
    assert page.value(f"document.querySelectorAll('{LIST} button').length") == total


def test_the_list_is_used_with_the_keyboard(page: Page) -> None:
    page.value(f"document.querySelector('{LIST} button').focus()")
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    assert text(page, f"{DETAIL} h3") == "pub 3"
    page.value("document.querySelector(\"svg.topology [data-node='4']\").focus()")
    page.press("Enter")
    assert "over d" in text(page, COUNT)


@pytest.mark.parametrize("which", ["page", "comparison"])
def test_screen_readers_have_a_name_for_all_that_the_keyboard_reaches(
    which: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(which)
    if which == "page":
        page.click(f"{LIST} button")
    nodes = [each for each in page.ask("Accessibility.getFullAXTree")["nodes"] if not each["ignored"]]
    reached = [
        each
        for each in nodes
        if {"name": "focusable", "value": {"type": "booleanOrUndefined", "value": True}} in each["properties"]
    ]
    roles = {each["role"]["value"] for each in reached}
    assert {"button", "link", "region"} <= roles
    assert not [each["role"] for each in reached if not each["name"]["value"]]
    shown = [each for each in nodes if each["role"]["value"] in ("image", "table")]
    assert shown
    assert not [each["role"] for each in shown if not each["name"]["value"]]


def test_tables_are_sorted_by_a_click(page: Page) -> None:
    rows = "[...document.querySelectorAll('#network table')[0].tBodies[0].rows]"
    numbers = f"{rows}.map(r => Number(r.cells[1].innerText))"
    page.click("#network table thead th:nth-child(2) button")
    found = page.value(numbers)
    assert found == sorted(found, reverse=True)
    page.click("#network table thead th:nth-child(2) button")
    assert page.value(numbers) == sorted(found)


NUMBERS = (
    "[...document.querySelectorAll('#network tr[data-link], #clients tr[data-client],"
    "#routers tr[data-router], #hops tr[data-hops]')].map(r => [...r.cells].slice(1, r.dataset.hops ? 2 : 5)"
    ".map(c => Number(c.textContent.replaceAll('\u202f', ''))))"
)
HEIGHTS = "[...document.querySelectorAll('svg.hops .bar')].map(b => b.getBoundingClientRect().height)"


def test_all_figures_follow_the_part_of_the_run_that_is_chosen(page: Page) -> None:
    whole, said = page.value(NUMBERS), text(page, "#span-said")
    parts = []
    for from_share, to_share in ((0.0, 0.5), (0.5, 1.0)):
        page.drag("svg.course [data-span]", from_share + 0.004, to_share - 0.004)
        parts.append(page.value(NUMBERS))
        assert page.value("document.querySelector('svg.latency .span').getAttribute('d')") != "M0 0"
        marks = page.value("[...document.querySelectorAll('svg .chosen')].map(m => m.getAttribute('width'))")
        assert len(marks) == 2, "the course of the run, and links over time"
        assert set(map(float, marks)) == {484.0}
        assert int(text(page, COUNT).split()[0]) < 150
    for first, second, both in zip(*parts, whole, strict=True):
        assert [a + b for a, b in zip(first, second, strict=True)] == both
    assert parts[0] != whole
    page.click("#span-whole")
    assert page.value("document.querySelectorAll('td.of-span, svg.hops [transform]').length") == 0
    assert (page.value(NUMBERS), text(page, "#span-said")) == (whole, said)
    assert text(page, COUNT) == "150 found"
    assert page.errors == []


def test_bars_of_hops_are_as_high_as_in_the_part_of_the_run_that_is_chosen(page: Page) -> None:
    whole = page.value(HEIGHTS)
    page.drag("svg.course [data-span]", 0.45, 0.55)  # the link to d is down
    assert len(whole) == len(page.value(HEIGHTS)) == 2
    counts = page.value(
        "[...document.querySelectorAll('#hops tr[data-hops]')].map(r => Number(r.cells[1].textContent))"
    )
    assert counts[0] > counts[1] == 0
    assert page.value(HEIGHTS) == pytest.approx([max(whole), 0], abs=0.01)


def test_disturbances_outside_of_the_part_that_is_chosen_are_pale(page: Page) -> None:
    pale = "[...document.querySelectorAll('#disturbances tbody tr')].map(r => r.className)"
    page.drag("svg.course [data-span]", 0.004, 0.1)
    found = page.value(pale)
    assert found[1] == "outside"
    page.drag("svg.course [data-span]", 0.3, 0.5)
    assert page.value(pale)[:2] == ["outside", ""], "the start, and the link that is down"
    page.click("#span-whole")
    assert "outside" not in page.value(pale)


def test_a_part_of_the_run_is_chosen_with_the_keyboard(page: Page) -> None:
    page.value("document.getElementById('span-from').focus()")
    for _ in range(3):
        page.press("ArrowRight")
    assert page.value("document.getElementById('span-from').value") == "3"
    assert int(text(page, COUNT).split()[0]) < 150
    assert page.value("document.getElementById('span-from').getAttribute('aria-valuetext')").endswith("s")


def test_every_table_can_be_saved(page: Page) -> None:
    link = "document.querySelector('#network a.csv[download$=csv]')"
    page.value(f"{link}.addEventListener('click', e => e.preventDefault())")
    page.click("#network a.csv[download$=csv]")
    rows = page.value(f"decodeURIComponent({link}.href.split(',')[1])")
    assert rows.splitlines()[0].startswith("Link,Messages")
    assert len(rows.splitlines()) == 5


@pytest.mark.parametrize("which", ["report", "comparison"])
def test_every_drawing_can_be_saved_with_its_numbers(which: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue("page" if which == "report" else "comparison")
    drawings = page.value("document.querySelectorAll('figure').length")
    assert drawings >= 5
    numbers = "f.closest('section').querySelector('a.csv[download$=csv]')"
    assert page.value(f"[...document.querySelectorAll('figure')].every(f => {numbers})")
    page.value("for (const a of document.querySelectorAll('a.csv')) a.onclick = e => e.preventDefault()")
    page.value("for (const a of document.querySelectorAll('a.csv[download$=svg]')) a.click()")
    links = page.value("[...document.querySelectorAll('a.csv[download$=svg]')].map(a => a.href)")
    assert len(links) == drawings
    for link in links:
        drawing = ET.fromstring(unquote(link.split(",", 1)[1]))
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert "--paper" in drawing[0].text
    assert page.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_light_and_in_dark(page: Page, scheme: str) -> None:
    page.prefer(scheme)
    ink, paper = page.value("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    lights = [
        sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", "))) for colour in (ink, paper)
    ]
    assert (lights[0] < lights[1]) == (scheme == "light")
    assert abs(lights[0] - lights[1]) > 500


def test_nothing_is_wider_than_a_phone(page: Page) -> None:
    page.resize(390, 800)
    page.click(f"{LIST} button")
    assert page.value("document.documentElement.scrollWidth") <= 390


def test_the_page_can_be_printed(page: Page) -> None:
    assert page.printed().startswith(b"%PDF")


def test_a_hundred_routers_fit_a_page_of_three_megabytes(spark, browser: Browser, tmp_path: Path) -> None:
    """Of its messages some are shown, and the page says so; parts of the run can be chosen."""
    report = report_of(LARGE, tmp_path)
    assert 1_000_000 < report.stat().st_size < 3_000_000
    page = browser.open(report)
    note = "document.querySelector('#messages .note').innerText.replaceAll('\u202f', '')"
    shown, total = page.value(note + ".match(/\\d+/g).map(Number)")
    assert total > shown > 20
    page.drag("svg.course [data-span]", 0.2, 0.4)
    assert 0 < int(text(page, COUNT).split()[0]) < shown
    assert page.errors == []


@pytest.fixture(scope="module")
def comparison(browser: Browser, tmp_path_factory) -> Page:
    folder = tmp_path_factory.mktemp("comparison")
    runs = [run(seed, scheme=s, size=n) for s in ("pif", "flood") for n in (3, 5, 9) for seed in (1, 2)]
    (folder / "compare.html").write_text(to_page(compare("many", runs), folder), encoding="utf-8")
    return browser.open(folder / "compare.html")


def test_the_page_of_a_comparison_loads_sorts_and_fits_a_phone(comparison: Page) -> None:
    names = "[...document.querySelectorAll('#groups tbody th')].map(e => e.innerText.trim())"
    assert comparison.value(names)[0] == "scheme pif, size 3"
    comparison.click("#groups thead th:first-child button")
    assert comparison.value(names)[0] == "scheme flood, size 3"
    assert comparison.value("document.querySelectorAll('#quantities svg').length") > 5
    comparison.resize(390, 800)
    assert comparison.value("document.documentElement.scrollWidth") <= 390
    assert comparison.errors == []
    assert comparison.printed().startswith(b"%PDF")


def test_figures_of_a_comparison_have_colours_in_light_and_in_dark(comparison: Page) -> None:
    colour = "getComputedStyle(document.querySelector('#latency svg .line.group-1')).stroke"
    found = []
    for scheme in ("light", "dark"):
        comparison.prefer(scheme)
        found.append(comparison.value(colour))
    assert len(set(found)) == 2
    assert "none" not in found


def marks_of(page: Page) -> dict[str, str]:
    """The classes of each direction of a link that is in use, by the ids of its ends."""
    script = (
        "Object.fromEntries([...document.querySelectorAll('svg.marks [data-way]:not(.unused)')]"
        ".map(e => [e.dataset.way, e.getAttribute('class')]))"
    )
    return dict(page.value(script))


def test_marks_of_links_are_shown_at_any_moment_at_which_one_changed(
    browser: Browser, meeting_report: Path
) -> None:
    page = browser.open(meeting_report)
    at_end = marks_of(page)
    assert {"1 2", "2 3", "3 4", "2 5"} == at_end.keys()
    words = text(page, "#marks-said")
    page.click("#marks-before")
    assert text(page, "#marks-said") != words
    page.value(
        "const at = document.getElementById('marks-at'); at.value = 0; at.dispatchEvent(new Event('input'))"
    )
    assert text(page, "#marks-said").startswith("0 ns: ")
    shown = set()
    for _ in range(int(page.value("document.getElementById('marks-at').max"))):
        page.click("#marks-after")
        shown |= set(marks_of(page).values())
    assert shown == {"mark p", "mark s", "mark p changing", "mark s changing", "mark down"}
    assert marks_of(page) == at_end
    assert page.errors == []


def test_choosing_a_part_of_the_run_shows_the_marks_at_its_end(
    browser: Browser, meeting_report: Path
) -> None:
    page = browser.open(meeting_report)
    moments = page.value("JSON.parse(document.getElementById('marks-data').textContent).moments")
    page.drag("svg.course .ground", 0.0, 0.25)
    until_ns = page.value("Number(document.getElementById('span-until').value) * "
                          "JSON.parse(document.getElementById('span-data').textContent).width")  # fmt: skip
    assert (
        int(page.value("document.getElementById('marks-at').value")) == sum(m < until_ns for m in moments) - 1
    )
    page.click("#span-whole")
    assert int(page.value("document.getElementById('marks-at').value")) == len(moments) - 1


def test_matchmaking_nodes_and_types_of_signalling_are_listed(browser: Browser, meeting_report: Path) -> None:
    page = browser.open(meeting_report)
    verdict = json.loads((meeting_report.parent / "verdict.json").read_text(encoding="utf-8"))
    found = verdict["scheme"]["matchmaker"]
    rows = page.value(
        "[...document.querySelectorAll('#matchmaker table')].slice(0, 2)"
        ".map(t => [...t.tBodies[0].rows].map(r => [r.cells[0].innerText, Number(r.cells[1].innerText)]))"
    )
    assert dict(rows[0]) == {name: each["messages"] for name, each in found["signalling"].items()}
    assert sum(made for _, made in rows[1]) == found["matches"] > 0
    assert sum(made > 0 for _, made in rows[1]) == found["matchmakers"]


def test_other_schemes_have_no_marks_and_no_section_about_them(page: Page) -> None:
    assert page.value("document.getElementById('matchmaker')") is None
