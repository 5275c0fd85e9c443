"""The report: well-formed, self-contained, and it says what was found."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from analysis.counts import Counts
from analysis.findings import (
    QUANTILES,
    CrossingCounts,
    Failure,
    Findings,
    Ingested,
    LatencyCurve,
    PublicationCounts,
    SchemeFindings,
    Scope,
    ScopeCounts,
    Stretch,
    SubscriberCounts,
    Traffic,
    TreeCounts,
)
from analysis.history import Disturbance, NetworkChange
from analysis.network import HELD, RouterState
from analysis.report.network import link_rows
from analysis.report.overview import subscriber_rows
from analysis.report.page import SECTIONS, render
from analysis.rundir import load_run
from analysis.verdict import to_verdict
from nodes.scheme_formulas import Figures

DEGRADED = {
    "verdict": "degraded",
    "reasons": ["scheduling lag: 1 of 100 wake-ups came 3 ms late <b>"],
    "affected": ["latency", "rates"],
    "dilate": 4,
    "figures": {"lag_p99_ns": 3_000_000},
    "links": [
        {
            "link": "r1--r2",
            "source": "r1-eth0",
            "backend": "wire",
            "asked": {"delay_ns": 5_000_000, "loss": 0.01, "rate_bps": 10_000_000},
            "measured": {"frames": 900, "lost": 12, "overruns": 3, "late_p99_ns": 1_800_000},
            "probe": {"delay_p50_ns": 5_070_000},
            "carried_bps": 9_900_000,
            "reasons": ["late & lossy"],
        }
    ],
}
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def curve(hop_count, deliveries, slowest_ns):
    quantiles = tuple(round(1000 + q * (slowest_ns - 1000)) for q in QUANTILES)
    return LatencyCurve(hop_count, deliveries, deliveries, slowest_ns / 2, quantiles)


@pytest.fixture
def findings(hand_made):
    return Findings(
        run=load_run(hand_made.write()),
        ingested=Ingested(0, 100, {"not_cbn": 3}),
        subscriptions=2,
        publications=[PublicationCounts(3, 10)],
        subscribers=[
            SubscriberCounts(4, Counts(wanted=3, owed=3, delivered=3)),
            SubscriberCounts(5, Counts(wanted=8, owed=7, delivered=8, allowed=1, not_owed={"network": 1})),
        ],
        curves=[curve(None, 10, 90_000), curve(1, 3, 2_000), curve(2, 7, 90_000)],
        crossings=[CrossingCounts(1, 2, 9, 2)],
        traffic=[
            Traffic("r1-p", False, 1, None, 10, 1000),
            Traffic("r1-a", True, 1, None, 3, 300),
            Traffic("r1-r2", True, 1, None, 9, 900),
            Traffic("r2-c", True, 1, None, 7, 700),
            Traffic("r1-r2", True, 3, 2, 4, 160),
            Traffic("r2-r1", True, 3, 2, 2, 80),
        ],
        failures=[],
        disagreements=[],
        digest="ab" * 32,
        scheme=SchemeFindings(
            trees=TreeCounts(messages=10, crossings=9, wasted=2, ideal=6, beyond=3, inexact=1),
            stretch=Stretch(deliveries=7, mean=1.25, p50=1.0, p99=2.0, max=2.0),
            states=[RouterState("r1", dict.fromkeys(HELD, 4)), RouterState("r2", dict.fromkeys(HELD, 5))],
            figures=Figures(n=2, s=1, r=2, predicate_bits=80, d=0.5, delta=1, is_tree=True),
        ),
        notes=[],
    )


def page(findings):
    html = render(findings, to_verdict(findings))
    return html, ET.fromstring(html.removeprefix("<!DOCTYPE html>"))


def output(tree):
    return " ".join(" ".join(tree.itertext()).split())


def test_the_page_is_well_formed_and_stands_alone(findings):
    html, tree = page(findings)
    assert tree.tag == f"{XHTML}html"
    namespaces = {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\"' <)]*", html)) <= namespaces
    assert not re.search(
        r"""src\s*=|href="(?!#|data:text/csv)|url\(|@import|\son\w+=|fetch|XMLHttpRequest|import\(""", html
    )


def test_every_figure_is_described_and_has_a_table_beside_it(findings):
    _, tree = page(findings)
    figures = tree.findall(f".//{SVG}svg")
    assert len(figures) == 3
    for figure in figures:
        ids = figure.get("aria-labelledby").split()
        reported = [figure.find(f"{SVG}title"), figure.find(f"{SVG}desc")]
        assert [t.get("id") for t in reported] == ids
        assert all(t.text for t in reported)
    sections = [s for s in tree.iter(f"{XHTML}section") if s.find(f".//{SVG}svg") is not None]
    assert all(s.find(f".//{XHTML}table") is not None for s in sections)


def test_every_section_has_an_anchor_of_its_own(findings):
    _, tree = page(replace(findings, failures=[Failure(3, 17, 5, "missing", 0)]))
    anchors = [section.get("id") for section in tree.iter(f"{XHTML}section")]
    assert anchors == ["run", "network", "latency", "hops", "scheme", "clients", "failures"]
    assert len({section.anchor for section in SECTIONS}) == len(SECTIONS)


def test_a_dark_scheme_changes_colours_alone(findings):
    html, _ = page(findings)
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"(?:fill|stroke)=\"#", html)


def test_the_same_findings_make_the_same_page(findings):
    assert page(findings)[0] == page(findings)[0]


def with_counts(findings, **counts):
    return replace(findings, subscribers=[SubscriberCounts(4, Counts(**counts))])


@pytest.mark.parametrize(
    ("counts", "notes", "word", "tone"),
    [
        ({"wanted": 9, "owed": 9, "delivered": 9}, [], "clean", "good"),
        ({}, [], "clean", "doubt"),
        ({"wanted": 9, "owed": 9, "delivered": 9}, ["odd"], "doubtful", "doubt"),
        (
            {"wanted": 9, "owed": 4, "delivered": 4, "lost": 5, "lost_by": {"end": 5}},
            [],
            "partly judged",
            "doubt",
        ),
        (
            {"wanted": 99, "owed": 9, "delivered": 9, "lost": 90, "lost_by": {"end": 90}},
            ["odd"],
            "not judged",
            "doubt",
        ),
        ({"wanted": 9, "owed": 9, "delivered": 8, "missing": 1}, ["odd"], "wrong", "bad"),
    ],
)
def test_a_verdict_is_one_of_five_words(findings, counts, notes, word, tone):
    found = replace(with_counts(findings, **counts), notes=notes)
    verdict = to_verdict(found)
    assert (verdict["verdict"], verdict["ok"]) == (word, word in {"clean", "partly judged"})
    assert f'<header class="{tone}">' in render(found, verdict)


@pytest.mark.parametrize(
    ("counts", "headline"),
    [
        (
            {"wanted": 1310, "owed": 900, "delivered": 1225, "allowed": 325, "lost": 85,
             "not_owed": {"network": 410}, "lost_by": {"network": 85}},
            "All 900 owed deliveries arrived, each once. Of 1,310 wanted deliveries 1,225 arrived (93.5 %); "
            "85 were lost while the network was not settled.",
        ),
        (
            {"wanted": 2000, "owed": 2000, "delivered": 800, "missing": 1200, "spurious": 1},
            "Not all is well: 1,200 missing and 1 spurious; 2,000 deliveries were owed. "
            "Of 2,000 wanted deliveries 800 arrived (40.0 %).",
        ),
        (
            {"wanted": 4, "lost": 1, "lost_by": {"cut_off": 1}},
            "Nothing was owed. Of 4 wanted deliveries 3 arrived (75.0 %); "
            "1 was lost where no path led to the client.",
        ),
        (
            {"wanted": 5, "owed": 5, "delivered": 3, "unknown": 2},
            "Of 5 owed deliveries 3 arrived; of 2 nothing is known. "
            "Of 5 wanted deliveries 3 arrived (60.0 %).",
        ),
        ({}, "Nothing was owed. Nothing was wanted."),
    ],
)  # fmt: skip
def test_the_headline_says_what_became_of_the_owed_and_of_the_wanted(findings, counts, headline):
    assert to_verdict(with_counts(findings, **counts))["headline"] == headline


def test_the_notes_name_what_did_happen_and_nothing_else(findings):
    changed = with_counts(findings, wanted=5, owed=4, delivered=6, allowed=2, not_owed={"subscription": 1})
    notes = " ".join(to_verdict(changed)["notes"])
    assert "1 around a change of the client's subscriptions (none lost)" in notes
    assert "1 deliveries arrived and were allowed, though not wanted" in notes
    assert "network" not in notes
    crash = Disturbance(10, 20, [NetworkChange(10, "crash", "r2")])
    unrest = ScopeCounts(Scope("crash r2", 10, 21, crash), 3, Counts(wanted=3, lost=3), None)
    failed = with_counts(
        findings, wanted=9, owed=6, delivered=6, lost=3, not_owed={"network": 3}, lost_by={"network": 3}
    )
    verdict = to_verdict(replace(failed, scopes=[unrest]))
    notes = " ".join(verdict["notes"])
    assert "The network was disturbed once: crash of r2." in notes
    assert "3 while the network was not settled (3 lost)" in notes
    assert "subscription" not in notes
    assert "timing.settle" not in notes, "two thirds were judged"
    rarely = with_counts(findings, wanted=9, owed=1, delivered=9, allowed=8, not_owed={"network": 8})
    notes = " ".join(to_verdict(replace(rarely, scopes=[unrest]))["notes"])
    assert "published less than timing.settle (1 ms) before a fault is not owed" in notes
    assert "timing.settle" not in " ".join(to_verdict(rarely)["notes"]), "there was no fault"
    assert "crash of r2" in output(page(replace(failed, scopes=[unrest]))[1])


def test_routers_that_recognise_patterns_are_listed_with_what_they_did_not_use(findings):
    assert "Monitors" not in output(page(findings)[1])
    said = {"sought": 3, "waiting": 1, "passed_on": 0, "monitors": 2, "requests": 5, "kept": 77}
    states = [
        RouterState("r1", dict.fromkeys(HELD, 4), {**said, "unused": {"late": 4, "forgotten": 2}}),
        RouterState("r2", dict.fromkeys(HELD, 5), {**said, "monitors": 9, "unused": {}}),
    ]
    html, tree = page(replace(findings, scheme=replace(findings.scheme, states=states)))
    section = next(each for each in tree.iter() if each.get("id") == "monitors")
    rows = [
        ["".join(cell.itertext()) for cell in each] for each in section.iter() if each.tag.endswith("tr")
    ][1:]
    assert rows == [["r2", "3", "1", "0", "9", "5", "77", "0"], ["r1", "3", "1", "0", "2", "5", "77", "6"]]
    assert 'title="forgotten 2, late 4"' in html


def test_the_scheme_is_set_beside_ideal_trees_fastest_paths_and_its_formula(findings):
    """T1, T6: pif's formula for two routers, a sender and two receivers of 80 bits each: 322 bits."""
    reported = to_verdict(findings)["scheme"]
    assert (reported["trees"]["ratio"], reported["stretch"]["mean"]) == (1.5, 1.25)
    assert reported["state"] == {"routers": 2, **dict.fromkeys(HELD, 9), "formula_bytes": 40}
    assert reported["control"] == {"INTEREST": {"packets": 6, "bytes": 240}}
    html, _ = page(findings)
    assert "messages were approximated). 3 messages took" in " ".join(html.split())
    assert "1.250 times that of the fastest path" in html
    assert "all 2" in html


def test_a_degraded_run_says_so_at_the_top_with_its_reasons_and_its_links(findings):
    manifest = dict(findings.run.manifest) | {"fidelity": DEGRADED}
    html, tree = page(replace(findings, run=replace(findings.run, manifest=manifest)))
    text = output(tree)
    assert "fidelity: degraded, time slowed 4-fold" in output(tree.find(f".//{XHTML}header"))
    assert "Do not rely on: latency, rates." in text
    assert "came 3 ms late <b>" in text
    assert "r1--r2, r1-eth0 wire 5 ms 5.07 ms 1.8 ms 900 1 % 12 3 10 Mbit/s 9.9 Mbit/s" in text
    assert "late &amp; lossy" in html


def test_a_simulated_run_is_exact_and_one_without_a_certificate_is_not_trusted(findings):
    assert "fidelity not measured" in output(page(findings)[1])
    manifest = dict(findings.run.manifest) | {"fidelity": {"verdict": "exact", "dilate": 1}}
    exact = output(page(replace(findings, run=replace(findings.run, manifest=manifest)))[1])
    assert "fidelity: exact" in exact
    assert "what was asked of links and time is what happened" in exact


def test_faults_are_listed_by_name(findings):
    bad = replace(findings, failures=[Failure(3, 17, 5, "missing", 0)])
    assert "p 17 c missing 0" in output(page(bad)[1])


def test_text_from_a_run_cannot_become_markup(findings):
    manifest = dict(findings.run.manifest) | {
        "scenario": "<b onload=x>&",
        "outcome": "failed",
        "message": "<i>",
    }
    html, tree = page(replace(findings, run=replace(findings.run, manifest=manifest)))
    assert "<b onload" not in html
    assert "<b onload=x>&" in output(tree)
    assert "<i>" in output(tree)


def test_a_run_that_delivered_nothing_still_has_a_page(findings):
    empty = replace(findings, curves=[], crossings=[], traffic=[], subscribers=[], publications=[])
    assert "Nothing was delivered" in output(page(empty)[1])


def test_links_carry_what_left_one_end_and_what_a_client_sent(findings):
    rows = {k.name: k for k in link_rows(findings)}
    trunk, home = rows["r1-r2"], rows["r1-p"]
    assert (trunk.to_b, trunk.to_a, trunk.wasted, trunk.access) == (9, 0, 2, False)
    assert (trunk.control_packets, trunk.control_bytes) == (6, 240)
    assert (home.to_b, home.to_a, home.access) == (0, 10, True)


def test_clients_that_were_owed_nothing_are_in_the_table_too(findings):
    rows = subscriber_rows(findings)
    assert [(r.name, r.published, r.counts.owed) for r in rows] == [("p", 10, 0), ("a", 0, 3), ("c", 0, 7)]
