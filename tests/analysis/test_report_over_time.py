"""The report's sections about links over time, disturbances and routers, from tables made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from jinja2 import Environment

from analysis.catalog.course import CONVERGENCE, FAULTS, LINKS, ROUTERS
from analysis.catalog.matchmaker import MARKINGS, MATCHES, SIGNALLING
from analysis.catalog.model import Table
from analysis.counts import Counts
from analysis.figures.axes import NONE
from analysis.findings import Scope, ScopeCounts
from analysis.history import Disturbance, NetworkChange
from analysis.matchmaking import matchmaking_of
from analysis.report import disturbances, links, marks, matchmaker, routers
from analysis.report.page import _MACROS, _environment

SVG = "{http://www.w3.org/2000/svg}"
WIDTH_NS = 1_000_000_000
START_NS = 5_000_000_000
NAMES = {1: "r1", 2: "r2", 3: "c"}


def table(of: Table, *rows: dict[str, Any]) -> pa.Table:
    """What a row leaves out is 0, or null where a name or a moment is expected."""
    zeros = {
        name: 0 for name, kind in zip(of.schema.names, of.schema.types, strict=True) if kind == pa.int64()
    }
    return pa.Table.from_pylist([{**zeros, **row} for row in rows], of.schema)


def carried(from_id: int, to_id: int, number: int, **columns: Any) -> dict[str, Any]:
    row = {"from_id": from_id, "to_id": to_id, "slice": number, "access": 3 in (from_id, to_id)}
    inside = 0 <= number < 3
    bps = columns.get("frame_bytes", 0) * 8e9 / WIDTH_NS if inside else None
    return {**row, "link": "r1--r2", "throughput_bps": bps, **columns}


CARRIED = [
    carried(1, 2, -1, frame_bytes=9_000, control_packets=5, control_bytes=900),
    carried(1, 2, 0, messages=10, message_bytes=1_000, frame_bytes=1_600, utilisation=0.5),
    carried(1, 2, 2, messages=40, message_bytes=4_000, frame_bytes=6_000, utilisation=1.5, lost_messages=4),
    carried(2, 1, 1, control_packets=2, control_bytes=64, frame_bytes=148),
    carried(2, 3, 1, messages=9, frame_bytes=90_000, lost_messages=None),
]


def findings_with(**tables: pa.Table) -> Any:
    course = [
        ScopeCounts(Scope("", START_NS + n * WIDTH_NS, START_NS + (n + 1) * WIDTH_NS), 0, Counts(), None)
        for n in range(3)
    ]
    run = SimpleNamespace(names=NAMES, start_ns=START_NS)
    return SimpleNamespace(run=run, course=course, over_time=tables or None, unrest=[])


def rendered(section: Any, findings: Any, verdict: Any = None) -> ET.Element:
    data = section.data(findings, verdict or {})
    environment: Environment = _environment()
    body = environment.from_string(_MACROS + section.template).render(findings=findings, **data)
    return ET.fromstring(f"<div>{body}</div>")


def cells(row: ET.Element) -> list[str]:
    return [" ".join("".join(cell.itertext()).split()) for cell in row if cell.tag in ("th", "td")]


def rows_of(tree: ET.Element, number: int) -> list[list[str]]:
    return [cells(row) for row in tree.findall(".//table")[number].find("tbody")]


def marked(tree: ET.Element, style: str) -> list[ET.Element]:
    return [each for each in tree.iter(f"{SVG}rect") if style in (each.get("class") or "").split()]


@pytest.fixture
def drawn() -> ET.Element:
    return rendered(links.SECTION, findings_with(links=table(LINKS, *CARRIED)))


def test_each_slice_has_a_bar_of_what_crossed_links_between_routers(drawn):
    messages, control = marked(drawn, "messages"), marked(drawn, "control")
    assert (len(messages), len(control)) == (2, 1)
    tall = [float(bar.get("height")) for bar in messages]
    assert tall[1] == pytest.approx(4 * tall[0], rel=0.01)


def test_the_busiest_directions_are_shaded_and_what_they_lost_is_marked(drawn):
    heat = marked(drawn, "heat")
    assert [each.get("class") for each in heat] == ["heat shade-3", "heat shade-8", "heat shade-1"]
    titles = [each.find(f"{SVG}title").text for each in heat]
    assert titles[1] == "r1 → r2 at 2 s: 48 kbit/s, 150% of its rate, 4 of 40 messages lost"
    assert len(marked(drawn, "missing")) == 1


def test_access_links_and_the_time_before_the_network_was_ready_are_left_out(drawn):
    assert "90" not in " ".join(" ".join(row) for row in rows_of(drawn, 0))
    assert [row[0] for row in rows_of(drawn, 1)] == ["0", "1 s", "2 s"]


def test_the_figures_behind_the_drawing_are_in_a_table(drawn):
    assert rows_of(drawn, 0) == [
        ["r1 → r2", "20.3 kbit/s", "48 kbit/s", "2 s", "150 %", "50", "4", "8.0 %"],
        ["r2 → r1", "395 bit/s", "1.18 kbit/s", "1 s", NONE, "0", "0", NONE],
    ]
    assert rows_of(drawn, 1)[2] == ["2 s", "40", "32 kbit/s", "0", "0 bit/s", "4"]


def test_without_tables_or_without_links_between_routers_there_is_no_section():
    assert links.SECTION.data(findings_with(), {}) is None
    assert links.SECTION.data(findings_with(links=table(LINKS, CARRIED[-1])), {}) is None
    assert routers.SECTION.data(findings_with(), {}) is None


CAUSES = [NetworkChange(START_NS + 100, "crash", "r2"), NetworkChange(START_NS + 900, "start", "r2")]
CRASH = Scope("crash r2, start r2", START_NS + 100, START_NS + 2_001, Disturbance(100, 2_000, CAUSES))
EPISODE = {
    "causes": "crash r2, start r2", "from_ns": START_NS + 100, "last_fault_ns": START_NS + 900,
    "settled_ns": START_NS + 2_000, "took_ns": 1_100, "last_record_ns": START_NS + 1_400,
    "records_took_ns": 500,
    "control_packets": 12, "control_bytes": 700, "published": 5, "wanted": 8, "arrived": 6, "lost": 2,
}  # fmt: skip
STARTED = {
    "causes": "start", "from_ns": START_NS - 700, "last_fault_ns": START_NS - 700, "settled_ns": START_NS,
    "took_ns": 700, "last_record_ns": None, "records_took_ns": None,
}  # fmt: skip
FAULT = {
    "kind": "crash", "target": "r2", "time_ns": START_NS + 100, "until_ns": None, "published": 7, "wanted": 9,
    "lost": 3, "cut_off": 2, "arrived": 6,
}  # fmt: skip


def disturbed(findings: Any) -> tuple[Any, Any]:
    scope = ScopeCounts(CRASH, 5, Counts(wanted=8, lost=2, duplicate_allowed=1), None)
    return replace_unrest(findings, scope), {"faults": [scope.as_verdict()]}


def replace_unrest(findings: Any, *unrest: ScopeCounts) -> Any:
    return SimpleNamespace(**{**vars(findings), "unrest": list(unrest)})


def test_a_disturbance_says_how_long_the_network_took_and_what_that_cost():
    tables = {"convergence": table(CONVERGENCE, STARTED, EPISODE), "faults": table(FAULTS, FAULT)}
    tree = rendered(disturbances.SECTION, *disturbed(findings_with(**tables)))
    start, crash = rows_of(tree, 0)
    assert start[:5] == ["start of the network", "-700 ns", "700 ns", "700 ns", NONE]
    assert crash == [
        "crash of r2, start of r2", "100 ns", "1.9 µs", "1.1 µs", "500 ns", "12", "700 B",
        "5", "8", "2", "1", "75.0 %",
    ]  # fmt: skip
    assert rows_of(tree, 1) == [
        ["crash of r2", "100 ns", "to the end", "7", "9", "0", "3", "2", "0", "0", "66.7 %"]
    ]


def test_disturbances_are_told_without_tables_too():
    tree = rendered(disturbances.SECTION, *disturbed(findings_with()))
    ((name, *_, arrived),) = rows_of(tree, 0)
    assert (name, arrived) == ("crash of r2, start of r2", "75.0 %")


def test_a_network_that_does_not_settle_again_is_disturbed_to_the_end():
    never = replace(CRASH, until_ns=2**63 - 1)
    scope = ScopeCounts(never, 5, Counts(), None)
    tree = rendered(
        disturbances.SECTION, replace_unrest(findings_with(), scope), {"faults": [scope.as_verdict()]}
    )
    assert rows_of(tree, 0)[0][2] == "to the end"


def test_routers_are_listed_by_what_they_sent_with_what_they_dropped():
    first = {
        "node_id": 1,
        "name": "r1",
        "entered": 5,
        "forwarded": 7,
        "waited_p50_ns": 1_000,
        "waited_p99_ns": 2_000,
    }
    second = {"node_id": 2, "name": "r2", "delivered": 9, "drops": [("hop_limit", 3), ("no_fib", 1)]}
    unknown = {"classes": None, "waited_p50_ns": None, "waited_p99_ns": None}
    made = table(ROUTERS, {**first, "drops": None}, {**unknown, **second})
    tree = rendered(routers.SECTION, findings_with(routers=made))
    assert [(row[0], row[6], row[-1]) for row in rows_of(tree, 0)] == [
        ("r2", NONE, "4"),
        ("r1", "1 µs", NONE),
    ]
    dropped = tree.find(".//td[@title]")
    assert dropped.get("title") == "hop_limit 3, no_fib 1"


def matchmaker_findings(
    marks: list[dict[str, Any]], name: str = "r1", faults: Sequence[dict[str, Any]] = ()
) -> Any:
    unknown = {"pcds": None, "scds": None, "mcds": None}
    holding = ((1, name, unknown), (2, "r2", {"pcds": 3, "scds": 0, "mcds": 12}))
    told = {"link": "r1--r2", "what": "PCD", "said": "new", "from_id": 1, "to_id": 2, "messages": 4}
    findings = findings_with(
        markings=pa.Table.from_pylist(marks, MARKINGS.schema),
        signalling=table(
            SIGNALLING, {**told, "slice": 0}, {**told, "slice": 2, "said": "kept"}, {**told, "slice": -1}
        ),
        matches=table(MATCHES, {"node_id": 1, "name": name, "slice": 1, "matches": 7}),
        faults=pa.Table.from_pylist([*faults], FAULTS.schema),
        routers=table(ROUTERS, *({"node_id": at, "name": of, **held} for at, of, held in holding)),
    )
    routers = [SimpleNamespace(name=name, node_id=1), SimpleNamespace(name="r2", node_id=2)]
    plan = SimpleNamespace(routers=routers, links=[SimpleNamespace(a=name, b="r2")])
    findings.run.plan, findings.run.end_ns = plan, START_NS + 3 * WIDTH_NS
    findings.run.names = {1: name, 2: "r2"}
    return findings


def marked_at(
    seconds: float, marking: str, changing: bool = False, change: int | None = None
) -> dict[str, Any]:
    row = {"link": "r1--r2", "from_id": 1, "to_id": 2, "marking": marking, "changing": changing}
    return {**row, "from_ns": START_NS + int(seconds * 1e9), "change": change}


CHANGED = [marked_at(-1, "s"), marked_at(1, "p", changing=True), marked_at(1.5, "p")]


def test_a_mark_that_changed_is_drawn_as_it_was_at_the_end_and_counted():
    tree = rendered(matchmaker.SECTION, matchmaker_findings(CHANGED))
    (arrow,) = [each for each in tree.iter(f"{SVG}path") if each.get("data-way")]
    assert arrow.get("class") == "mark p"
    assert "Marks of links changed 1 times. 7 matches were made" in " ".join("".join(tree.itertext()).split())
    assert rows_of(tree, 0) == [
        ["PCD", "8", "66.7 %", "0", "0", "0 B", NONE], ["withdrawn", "4", "33.3 %", "0", "0", "0 B", NONE]
    ]  # fmt: skip
    assert rows_of(tree, 1) == [["r1", "7", "100 %", NONE, NONE, NONE], ["r2", "0", "0 %", "3", "0", "12"]]
    assert rows_of(tree, 2) == [["r1 \N{RIGHTWARDS ARROW} r2", "yes", "p", "1", "2 s", "66.7 %"]]


def test_a_run_in_which_no_mark_changed_says_so():
    assert "No mark of a link changed." in "".join(
        rendered(matchmaker.SECTION, matchmaker_findings(CHANGED[:1])).itertext()
    )


def test_there_is_no_section_of_marks_where_no_link_has_one():
    assert matchmaker.SECTION.data(matchmaker_findings([]), {}) is None
    assert matchmaker.SECTION.data(findings_with(), {}) is None


def test_names_of_routers_mean_nothing_in_a_page():
    name = "<b>&'\"</script>"
    tree = rendered(matchmaker.SECTION, matchmaker_findings(CHANGED, name))
    assert name in [each.text for each in tree.iter(f"{SVG}text")]
    assert rows_of(tree, 1)[0][0] == name


def test_marks_at_each_moment_count_from_when_the_network_was_ready():
    found = matchmaking_of(matchmaker_findings(CHANGED))
    assert [found.s_links(START_NS + at) for at in (0, WIDTH_NS - 1, WIDTH_NS, 2 * WIDTH_NS)] == [1, 1, 0, 0]
    document = marks.to_document(matchmaker_findings(CHANGED), found)
    assert document["moments"] == [0, WIDTH_NS, WIDTH_NS * 3 // 2]
    assert document["marks"] == {"1 2": [[0, "s"], [WIDTH_NS, "p changing"], [WIDTH_NS * 3 // 2, "p"]]}
    assert document["made"] == {1: [[2 * WIDTH_NS, 7]]}


def failed_at(kind: str, seconds: float, until: float | None, ends: tuple[int, int | None]) -> dict[str, Any]:
    begin, end = (None if each is None else START_NS + int(each * 1e9) for each in (seconds, until))
    return {"kind": kind, "a_id": ends[0], "b_id": ends[1], "time_ns": begin, "until_ns": end}


LINK = 1, 2
LATER = [*CHANGED[:1], marked_at(1, "p", changing=True, change=1), marked_at(1.5, "p", change=1)]


@pytest.mark.parametrize(
    ("found", "faults", "shown"),
    [
        (LATER, [failed_at("link_down", 2, 2.5, LINK)],
         [(0, "s"), (1, "p changing"), (1.5, "p"), (2, "down"), (2.5, "p")]),
        (LATER, [failed_at("link_down", 1.2, None, LINK)], [(0, "s"), (1, "p changing"), (1.2, "down")]),
        (LATER, [failed_at("crash", 0.5, 2, (2, None))], [(0, "s"), (0.5, "down"), (2, "p")]),
        (LATER, [failed_at("link_down", 0.5, 2, LINK), failed_at("crash", 1, 2.2, (1, None))],
         [(0, "s"), (0.5, "down"), (2.2, "p")]),
        ([*LATER, marked_at(2.8, "s")], [failed_at("crash", 2, 2.5, (1, None))],
         [(0, "s"), (1, "p changing"), (1.5, "p"), (2, "down"), (2.8, "s")]),
        (LATER, [failed_at("pause", 2, 2.5, (1, None)), failed_at("crash", 2, 2.5, (9, None))],
         [(0, "s"), (1, "p changing"), (1.5, "p")]),
    ],
    ids=["the session goes on", "to the end", "a router", "both at once", "joined anew", "neither stops it"],
)  # fmt: skip
def test_a_link_that_a_fault_has_cut_is_down_until_it_is_back(found, faults, shown):
    findings = matchmaker_findings(found, faults=faults)
    document = marks.to_document(findings, matchmaking_of(findings))
    assert document["marks"]["1 2"] == [[int(at * 1e9), mark] for at, mark in shown]
    assert matchmaking_of(findings).changes == 1


def test_a_link_that_is_down_at_the_end_is_drawn_so_and_is_no_s_link():
    findings = matchmaker_findings(CHANGED[:1], faults=[failed_at("link_down", 2, None, LINK)])
    tree = rendered(matchmaker.SECTION, findings)
    (arrow,) = [each for each in tree.iter(f"{SVG}path") if each.get("data-way")]
    assert arrow.get("class") == "mark down"
    assert "0 of 1 directions of links that are used were s-links, 1 down." in "".join(tree.itertext())
    assert matchmaking_of(findings).s_links(START_NS + 2 * WIDTH_NS) == 0


def test_too_many_marks_are_shown_as_they_were_at_the_end(monkeypatch):
    monkeypatch.setattr(marks, "MOST_MARKS", 2)
    tree = rendered(matchmaker.SECTION, matchmaker_findings(CHANGED))
    assert "too many changes to show each moment" in "".join(tree.itertext())
