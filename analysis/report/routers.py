"""The section about routers: what each received and sent, how long messages stayed in it, what it dropped."""

from __future__ import annotations

from analysis.findings import Findings
from analysis.report.section import Data, Section

SHOWN = 40
"""The routers that sent most; of larger networks the others are left out."""


def _data(findings: Findings, _verdict: Data) -> Data | None:
    rows = findings.over_time["routers"].to_pylist() if findings.over_time else []
    if not rows:
        return None
    rows.sort(key=lambda row: (-row["forwarded"] - row["delivered"], row["node_id"]))
    dropped = [None if row["drops"] is None else sum(count for _, count in row["drops"]) for row in rows]
    listed = [", ".join(f"{reason} {count:,}" for reason, count in row["drops"] or ()) for row in rows]
    return {
        "routers": list(zip(rows, dropped, listed, strict=True))[:SHOWN],
        "more": max(len(rows) - SHOWN, 0),
    }


SECTION = Section(
    "routers",
    "Routers",
    """
{% call table("MESSAGE packets, and how long they stayed", ["Router", "#From clients", "#From routers",
              "#To routers", "#To clients", "#For nothing", "#Median stay", "#p99",
              "#Control sent", "#received", "#Dropped"]) %}
{% for row, dropped, reasons in routers %}
<tr data-router="{{ row.node_id }}"><th scope="row">{{ row.name }}</th>{{ number(row.entered) }}
{{- number(row.received) }}{{ number(row.forwarded) }}{{ number(row.delivered) }}{{ number(row.wasted) }}
{{- cell(row.waited_p50_ns | duration if row.waited_p50_ns is not none else dash) }}
{{- cell(row.waited_p99_ns | duration if row.waited_p99_ns is not none else dash) }}
{{- number(row.control_sent) }}{{ number(row.control_received) }}
{%- if dropped is none %}{{ cell(dash) }}
{%- else %}<td class="n"{% if reasons %} title="{{ reasons }}"{% endif %}>{{ dropped | count }}</td>
{%- endif %}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>tables/routers.parquet</code>.</p>
{% endif %}
<p class="note"><em>For nothing</em>: sent to it by other routers though no delivery descends from them.
<em>Dropped</em>: packets and payloads of all kinds; the reasons are in <code>tables/routers.parquet</code>.
</p>
""",
    _data,
)
