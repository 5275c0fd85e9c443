"""The page itself: a verdict in words, facts, figures with their tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.certificate import badge, certificate, link_lines
from analysis.expectations import measured_text
from analysis.figures import axes
from analysis.findings import Findings
from analysis.report.cdf import latency_figure, shades_of
from analysis.report.drawing import topology_figure
from analysis.report.fidelity import SHOWN_LINKS, bits, figure_lines
from analysis.report.hops import hop_figure
from analysis.report.tables import SubscriberRow, link_rows, subscriber_rows

_HERE = Path(__file__).resolve().parent
SHOWN_STATES = 30
"""The routers that hold most; of larger networks the others are left out."""
_WORLDS = {"sim": "simulator", "emu": "Mininet", "cluster": "cluster"}


def render(findings: Findings, verdict: Mapping[str, Any]) -> str:
    """The report of a run as one self-contained HTML page, which is also well-formed XML."""
    links, subscribers = link_rows(findings), subscriber_rows(findings)
    figures = {
        "topology": topology_figure(findings.run.plan, links, _harmed(subscribers)),
        "latency": latency_figure(findings.curves),
        "hops": hop_figure(findings.curves),
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            css=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
            headline=headline(verdict),
            run=findings.run,
            manifest=findings.run.manifest,
            facts=_facts(findings),
            versions=_versions(findings.run.manifest),
            verdict=verdict,
            figures={name: figure and Markup(figure.to_svg()) for name, figure in figures.items()},
            curves=findings.curves,
            shades=shades_of(findings.curves),
            links=links,
            subscribers=subscribers,
            failures=findings.failures,
            states=sorted(findings.scheme.states, key=lambda s: -s.held["bytes"])[:SHOWN_STATES],
            names=findings.run.names,
            badge=badge(findings.run),
            fidelity=certificate(findings.run),
            fidelity_figures=figure_lines(certificate(findings.run)),
            fidelity_links=link_lines(findings.run),
            shown_links=SHOWN_LINKS,
            dash=axes.NONE,
        )
    )


def headline(verdict: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict in a sentence, and how to colour it: `good`, `doubt` or `bad`."""
    wrong = [
        f"{axes.count(verdict[kind])} {kind}"
        for kind in ("missing", "duplicate", "spurious")
        if verdict[kind]
    ]
    if wrong:
        return f"Not all is well: {_listed(wrong)}.", "bad"
    if not verdict["expected"]:
        return "Nothing was owed, so nothing is shown.", "doubt"
    if verdict["problems"]:
        return "All that was owed arrived, but read the reservations.", "doubt"
    return "Every message arrived where it was wanted, once, and nowhere else.", "good"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _harmed(subscribers: list[SubscriberRow]) -> dict[str, str]:
    kinds = ("missing", "duplicate", "spurious")
    found = {
        s.name: [f"{getattr(s.counts, k)} {k}" for k in kinds if getattr(s.counts, k)] for s in subscribers
    }
    return {name: ", ".join(wrong) for name, wrong in found.items() if wrong}


def _facts(findings: Findings) -> list[tuple[str, str]]:
    run, manifest = findings.run, findings.run.manifest
    plan = run.plan
    facts = [
        ("World", _WORLDS.get(manifest["world"], manifest["world"])),
        ("Scheme", str(manifest.get("scheme", axes.NONE)).upper()),
        ("Seed", str(manifest.get("seed", axes.NONE))),
        ("Network", f"{len(plan.routers)} routers, {len(plan.clients)} clients, {len(plan.links)} links"),
        (
            "Workload",
            f"{axes.count(findings.publications.total)} messages, {findings.subscriptions} subscriptions",
        ),
        ("Started", _moment(run.start_ns)),
        ("Lasted", axes.duration(run.end_ns - run.start_ns) if run.started else axes.NONE),
        (
            "Captured",
            f"{axes.count(findings.ingested.packets)} packets, {axes.count(findings.drops)} dropped",
        ),
    ]
    overrides = manifest.get("overrides") or {}
    return facts + ([("Overrides", ", ".join(f"{k}={v}" for k, v in overrides.items()))] if overrides else [])


def _moment(ns: int) -> str:
    if not ns:
        return "never"
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = {**(manifest.get("versions") or {}), **(manifest.get("implementation") or {})}
    kernel = {"kernel": manifest["kernel"]} if manifest.get("kernel") else {}
    return [(name, str(value)) for name, value in {**told, **kernel}.items() if value is not None]


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=axes.count,
        duration=axes.duration,
        volume=axes.volume,
        share=axes.share,
        bits=bits,
        measured=measured_text,
    )
    return environment
