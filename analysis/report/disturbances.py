"""The section about disturbances: what failed, how the network took it, and what clients lost by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.findings import Findings
from analysis.headline import listed
from analysis.report.section import Data, Section
from topologies.fault_kinds import in_words

SHOWN = 100
"""How many disturbances, and how many faults, are listed one by one."""
Row = Mapping[str, Any]


def _data(findings: Findings, verdict: Data) -> Data | None:
    judged: Sequence[Row] = verdict["faults"]
    tables = findings.over_time or {}
    if not judged and not (tables and tables["faults"].num_rows):
        return None
    episodes = tables["convergence"].to_pylist() if tables else []
    faults = tables["faults"].to_pylist() if tables else []
    names = [listed([in_words(c["do"], c["target"]) for c in row["causes"]]) for row in judged]
    arrived = [part.counts.arrived for part in findings.unrest]
    took = episodes[1:] if len(episodes) == len(judged) + 1 else [None] * len(judged)
    rows = list(zip(judged, names, arrived, took, strict=True))
    return {
        "rows": rows[:SHOWN],
        "more": max(len(rows) - SHOWN, 0),
        "start": episodes[0] if episodes else None,
        "faults": [(in_words(row["kind"], row["target"]), row) for row in faults[:SHOWN]],
        "more_faults": max(len(faults) - SHOWN, 0),
        "start_ns": findings.run.start_ns,
    }


SECTION = Section(
    "disturbances",
    "Disturbances",
    """
{% macro lasting(from_ns, until_ns) %}
{% if from_ns is not none %} data-from="{{ from_ns - start_ns }}"
{%- if until_ns is not none %} data-until="{{ until_ns - start_ns }}"{% endif %}{% endif %}
{% endmacro %}
{% macro taken(episode) %}
{% if episode %}
{{ cell(episode.took_ns | duration if episode.took_ns is not none else dash) }}
{{- cell(episode.records_took_ns | duration if episode.records_took_ns is not none else dash) }}
{{- number(episode.control_packets) }}{{ cell(episode.control_bytes | volume) }}
{%- else %}
{{ cell(dash) }}{{ cell(dash) }}{{ cell(dash) }}{{ cell(dash) }}
{%- endif %}
{% endmacro %}
{% call table("From the first fault until the network had converged again", ["Faults", "#At", "#Lasted",
              "#Converged in", "#Last news", "#Control", "#bytes",
              "#Messages", "#Wanted", "#Lost", "#Duplicate", "#Arrived"]) %}
{% if start %}
<tr{{ lasting(start.from_ns, start_ns) }}><th scope="row" class="long">start of the network</th>
{{- cell((start.from_ns - start_ns) | duration if start.from_ns is not none else dash) }}
{{- cell((start_ns - start.from_ns) | duration if start.from_ns is not none and start_ns else dash) }}
{{- taken(start) }}{{ number(start.published) }}{{ number(start.wanted) }}{{ number(start.lost) }}
{{- number(start.duplicate) }}{{ cell(start.arrived | share(start.wanted)) }}</tr>
{% endif %}
{% for row, name, arrived, episode in rows %}
<tr{{ lasting(row.from_ns, row.until_ns) }}><th scope="row" class="long">{{ name }}</th>
{{- cell((row.from_ns - start_ns) | duration) }}
{{- cell((row.until_ns - row.from_ns) | duration if row.until_ns is not none else "to the end") }}
{{- taken(episode) }}{{ number(row.publications) }}{{ number(row.wanted) }}{{ number(row.lost) }}
{{- number(row.duplicate + row.duplicate_allowed) }}{{ cell(arrived | share(row.wanted)) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>verdict.json</code>.</p>
{% endif %}
<p class="note"><em>Converged in</em>: from the last fault, as the network itself found.
<em>Last news</em>: from the last fault until a router was captured to have a newer record of links or
interest than before, or, under <code>cbcb</code> and <code>siena</code>, to be told by a neighbour what is
wanted, for the last time. <em>Control</em>: packets of control traffic.
<em>Duplicate</em>: copies beyond the first.</p>
{% if faults %}
<details>
<summary>Fault by fault</summary>
{% call table("What became of what was published while each lasted", ["Fault", "#At", "#Lasted", "#Messages",
              "#Wanted", "#Owed", "#Lost", "#of them cut off", "#Missing", "#Late", "#Arrived"]) %}
{% for name, row in faults %}
<tr{{ lasting(row.time_ns, row.until_ns) }}><th scope="row" class="long">{{ name }}</th>
{{- cell((row.time_ns - start_ns) | duration) }}
{{- cell((row.until_ns - row.time_ns) | duration if row.until_ns is not none else "to the end") }}
{{- number(row.published) }}{{ number(row.wanted) }}{{ number(row.owed) }}{{ number(row.lost) }}
{{- number(row.cut_off) }}{{ number(row.missing, true) }}{{ number(row.late) }}
{{- cell(row.arrived | share(row.wanted)) }}</tr>
{% endfor %}
{% endcall %}
{% if more_faults %}
<p class="note">And {{ more_faults | count }} more, in <code>tables/faults.parquet</code>.</p>
{% endif %}
</details>
{% endif %}
""",
    _data,
)
