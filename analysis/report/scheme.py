"""The section about the scheme: its trees beside the ideal ones, its control traffic, what routers held."""

from __future__ import annotations

from analysis.findings import Findings
from analysis.report.section import Data, Section

SHOWN_STATES = 30
"""The routers that hold most; of larger networks the others are left out."""


def _data(findings: Findings, verdict: Data) -> Data:
    states = sorted(findings.scheme.states, key=lambda s: -s.held["bytes"])[:SHOWN_STATES]
    return {"scheme": verdict["scheme"], "trees": verdict["scheme"]["trees"], "states": states}


SECTION = Section(
    "scheme",
    "The scheme",
    """
<p class="note">{{ trees.messages | count }} messages made {{ trees.crossings | count }} crossings of links
between routers; the ideal trees, the smallest that reach everybody over a shortest path, have
{{ trees.ideal | count }}
{% if trees.ratio %}({{ "%.2f" % trees.ratio }} times the ideal
{%- if trees.inexact %}; the trees of {{ trees.inexact | count }} messages were approximated{% endif %}).
{%- else %}.{% endif %}

{{ trees.beyond | count }} messages took more than their ideal tree.
{% if scheme.stretch %}
Latency was {{ "%.3f" % scheme.stretch.mean }} times that of the fastest path on average,
{{ "%.3f" % scheme.stretch.max }} at most.
{% endif %}
</p>
<div class="beside">
{% call table("Control traffic by kind", ["Kind", "#Packets", "#bytes"]) %}
{% for kind, load in scheme.control.items() %}
<tr><th scope="row">{{ kind }}</th>{{ number(load.packets) }}{{ cell(load.bytes | volume) }}</tr>
{% else %}
<tr><td colspan="3">None.</td></tr>
{% endfor %}
{% endcall %}
{% if scheme.state %}
{% macro held(counts) %}
{{ number(counts.classes) }}{{ number(counts.tables) }}{{ number(counts.filters) }}
{{- number(counts.constraints) }}{{ cell(counts.bytes | volume) }}
{%- endmacro %}
{% call table("What routers held at the end", ["Router", "#Classes", "#Tables", "#Filters", "#Constraints",
                                               "#FIB bytes"]) %}
<tr class="total"><th scope="row">all {{ scheme.state.routers }}</th>{{ held(scheme.state) }}</tr>
{% for router in states %}
<tr><th scope="row">{{ router.name }}</th>{{ held(router.held) }}</tr>
{% endfor %}
{% endcall %}
{% endif %}
</div>
{% if scheme.state and scheme.state.formula_bytes is not none %}
<p class="note">By the paper's formula the scheme takes {{ scheme.state.formula_bytes | volume }} in all
routers: predicates and router ids alone, nothing reduced, no structures to find them by, and without what a
router's own clients want.</p>
{% endif %}
""",
    _data,
)
