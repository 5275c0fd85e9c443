"""The page itself: a verdict in words, then the sections in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.expectations import measured_text
from analysis.figures import axes
from analysis.findings import Findings
from analysis.report import fidelity, hops, latency, network, overview, scheme
from analysis.report.section import Section

SECTIONS = (
    overview.RESERVATIONS,
    overview.EXPECTED,
    overview.PHASES,
    fidelity.SECTION,
    overview.RUN,
    network.SECTION,
    latency.SECTION,
    hops.SECTION,
    scheme.SECTION,
    overview.CLIENTS,
    overview.FAULTS,
)
"""In the order of the page."""

_HERE = Path(__file__).resolve().parent
_MACROS = '{% from "macros.html.j2" import number, cell, table, facts %}\n'


def render(findings: Findings, verdict: Mapping[str, Any]) -> str:
    """The report of a run as one self-contained HTML page, which is also well-formed XML."""
    environment = _environment()
    manifest = findings.run.manifest
    page: str = environment.get_template("page.html.j2").render(
        css=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        headline=headline(verdict),
        badge=fidelity.badge(findings.run),
        description=findings.run.plan.description,
        manifest=manifest,
        versions=_versions(manifest),
        verdict=verdict,
        sections=list(_rendered(environment, findings, verdict)),
    )
    return page


def _rendered(
    environment: Environment, findings: Findings, verdict: Mapping[str, Any]
) -> Iterator[tuple[Section, str, Markup]]:
    for section in SECTIONS:
        data = section.data(findings, verdict)
        if data is not None:
            template = environment.from_string(_MACROS + section.template)
            body = template.render(findings=findings, verdict=verdict, **data)
            yield section, data.get("tone", ""), Markup(body)


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


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    versions = {**(manifest.get("versions") or {}), **(manifest.get("implementation") or {})}
    kernel = {"kernel": manifest["kernel"]} if manifest.get("kernel") else {}
    return [(name, str(value)) for name, value in {**versions, **kernel}.items() if value is not None]


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
        bits=fidelity.bits,
        measured=measured_text,
    )
    environment.globals["dash"] = axes.NONE
    return environment
