"""The section about the run's fidelity certificate; it was judged when the run ended (docs/fidelity.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.figures import axes
from analysis.findings import Findings
from analysis.report.section import Data, Section
from analysis.rundir import Run

SHOWN_LINKS = 40
"""The worst directions of links; the others stand in the manifest."""
_TONES = {"trusted": "good", "exact": "good", "degraded": "doubt"}
_TIMES = {
    "lag_p50_ns": "Scheduling lag, median",
    "lag_p99_ns": "Scheduling lag, 99 %",
    "lag_max_ns": "Scheduling lag, most",
    "client_late_p99_ns": "Clients late, 99 %",
    "router_late_p99_ns": "Routers' timers late, 99 %",
    "processor_wait_ns": "Wait for a processor, worst node",
}
_SHARES = {"busy": "Processors busy", "busy_peak": "Busiest second", "stolen": "Taken by a hypervisor"}
_COUNTS = {"socket_overflows": "Sockets overflowed", "capture_drops": "Not captured"}


def link_lines(run: Run) -> list[Data]:
    """The links that do something to packets or went wrong, worst first; bare ones have nothing to show.

    Rows of the certificate, whose dataclass is `testbed.runs.fidelity.LinkFidelity`.
    """
    return [row for row in (run.certificate or {"links": ()})["links"] if not _is_bare(row)]


def _is_bare(row: Data) -> bool:
    return not row["reasons"] and row["backend"] == "veth" and row["asked"]["delay_ns"] is None


def badge(run: Run) -> tuple[str, str]:
    """The certificate in a word or two, and how to colour it."""
    certificate = run.certificate
    if certificate is None:
        return "fidelity not measured", "doubt"
    slowed = f", time slowed {certificate['dilate']}-fold" if certificate["dilate"] > 1 else ""
    return f"fidelity: {certificate['verdict']}{slowed}", _TONES.get(certificate["verdict"], "doubt")


def figure_lines(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and value of every figure that was measured."""

    def known(names: Mapping[str, str]) -> list[tuple[str, Any]]:
        return [(title, figures[name]) for name, title in names.items() if figures.get(name) is not None]

    return [
        *((title, axes.duration(value)) for title, value in known(_TIMES)),
        *((title, f"{value:.0%}") for title, value in known(_SHARES)),
        *((title, axes.count(value)) for title, value in known(_COUNTS)),
    ]


def bits(per_second: float) -> str:
    """A rate in the unit that suits it: `10 Mbit/s`."""
    for factor, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if per_second >= factor:
            return f"{per_second / factor:.3g} {unit}"
    return f"{per_second:.3g} bit/s"


def _data(findings: Findings, _verdict: Data) -> Data | None:
    certificate = findings.run.certificate
    if certificate is None:
        return None
    links = link_lines(findings.run)
    return {
        "tone": "problems" if certificate["reasons"] else "fidelity",
        "certificate": certificate,
        "figures": figure_lines(certificate["figures"]),
        "links": links[:SHOWN_LINKS],
        "left_out": len(links) - SHOWN_LINKS,
    }


SECTION = Section(
    "fidelity",
    "How far to trust these figures",
    """
{% if certificate.verdict == "exact" %}
<p class="note">This run was simulated: what was asked of links and time is what happened.</p>
{% elif certificate.reasons %}
<p>This run is <strong>degraded</strong>. Do not rely on: {{ certificate.affected | join(", ") }}.</p>
<ul>
{% for reason in certificate.reasons %}
<li>{{ reason }}</li>
{% endfor %}
</ul>
{% else %}
<p class="note">Machine, nodes and links delivered what was asked of them, within the limits of the
certificate.</p>
{% endif %}
{% if figures %}
{{ facts(figures) }}
{% endif %}
{% if links %}
<details{% if certificate.reasons %} open="open"{% endif %}>
<summary>Links: asked and measured, worst first</summary>
{% call table("", ["Link, from", "Carried by", "#Delay asked", "#probed", "#1 of 100 late by", "#Frames",
                   "#Loss asked", "#lost", "#lost unasked", "#Rate asked", "#carried"]) %}
{% for k in links %}
<tr><th scope="row"{% if k.reasons %} class="bad" title="{{ k.reasons | join('; ') }}"{% endif %}>
{{- k.link }}, {{ k.source }}</th><td>{{ k.backend }}</td>
{%- for ns in (k.asked.delay_ns, (k.probe or {}).get("delay_p50_ns"), k.measured.late_p99_ns) %}
{{ cell(dash if ns is none else ns | duration) }}
{%- endfor %}
{{- number(k.measured.frames) }}{{ cell("%.3g %%" % (100 * k.asked.loss)) }}{{ number(k.measured.lost) }}
{{- number(k.measured.overruns, true) }}
{%- for bps in (k.asked.rate_bps, k.carried_bps) %}
{{ cell(dash if bps is none else bps | bits) }}
{%- endfor %}</tr>
{% endfor %}
{% endcall %}
{% if left_out > 0 %}
<p class="note">And {{ left_out }} more in <code>manifest.json</code>.</p>
{% endif %}
</details>
{% endif %}
""",
    _data,
)
