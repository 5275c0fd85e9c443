"""The page itself: the verdict, then the sections in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from analysis.expectations import measured_text
from analysis.findings import Findings
from analysis.headline import CLEAN, WRONG
from analysis.report import (
    advertisements,
    attacks,
    course,
    disturbances,
    fidelity,
    hops,
    latency,
    links,
    matchmaker,
    messages,
    monitors,
    network,
    overview,
    patterns,
    policy,
    routers,
    scheme,
)
from analysis.report.frame import css, environment, script
from analysis.report.section import Section

SECTIONS = (
    overview.RESERVATIONS,
    course.SECTION,
    links.SECTION,
    overview.EXPECTED,
    overview.PHASES,
    disturbances.SECTION,
    attacks.SECTION,
    fidelity.SECTION,
    overview.RUN,
    network.SECTION,
    matchmaker.SECTION,
    routers.SECTION,
    messages.SECTION,
    advertisements.SECTION,
    policy.SECTION,
    patterns.SECTION,
    monitors.SECTION,
    latency.SECTION,
    hops.SECTION,
    scheme.SECTION,
    overview.CLIENTS,
    overview.FAULTS,
)
"""In the order of the page."""

SCRIPTS = ("page.js", "messages.js", "span.js", "marks.js")

_MACROS = '{% from "macros.html.j2" import number, cell, counted, table, facts %}\n'


def render(findings: Findings, verdict: Mapping[str, Any]) -> str:
    """The report of a run as one self-contained HTML page, which is also well-formed XML."""
    templates = _environment()
    manifest = findings.run.manifest
    page: str = templates.get_template("page.html.j2").render(
        scripts=[script(name) for name in SCRIPTS],
        css=css(),
        headline=(verdict["headline"], tone(verdict)),
        badge=fidelity.badge(findings.run),
        description=findings.run.plan.description,
        manifest=manifest,
        versions=_versions(manifest),
        verdict=verdict,
        sections=list(_rendered(templates, findings, verdict)),
    )
    return page


def _rendered(
    templates: Environment, findings: Findings, verdict: Mapping[str, Any]
) -> Iterator[tuple[Section, str, Markup]]:
    for section in SECTIONS:
        data = section.data(findings, verdict)
        if data is not None:
            template = templates.from_string(_MACROS + section.template)
            body = template.render(findings=findings, verdict=verdict, **data)
            yield section, data.get("tone", ""), Markup(body)


def tone(verdict: Mapping[str, Any]) -> str:
    """How to colour the verdict: `good`, `doubt` or `bad`."""
    if verdict["verdict"] == WRONG:
        return "bad"
    return "good" if verdict["verdict"] == CLEAN and verdict["wanted"] else "doubt"


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    versions = {**(manifest.get("versions") or {}), **(manifest.get("implementation") or {})}
    kernel = {"kernel": manifest["kernel"]} if manifest.get("kernel") else {}
    return [(name, str(value)) for name, value in {**versions, **kernel}.items() if value is not None]


def _environment() -> Environment:
    found = environment()
    found.filters.update(bits=fidelity.bits, measured=measured_text)
    return found
