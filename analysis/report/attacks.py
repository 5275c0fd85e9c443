"""The section about attacks: who attacked, and what became of honest pairs and of the others."""

from __future__ import annotations

from analysis.attacked import SIDES
from analysis.findings import Findings
from analysis.report.section import Data, Section
from topologies.fault_kinds import in_words

SHOWN = 100
"""How many attacks are listed one by one."""


def _data(findings: Findings, _verdict: Data) -> Data | None:
    found = findings.attacked
    if found is None:
        return None
    rows = [
        (in_words(each.do, each.target), each.from_ns - findings.run.start_ns, each.acts)
        for each in found.attacks
    ]
    sides = [(side, findings.sides[side]) for side in SIDES if side in findings.sides]
    return {"rows": rows[:SHOWN], "more": max(len(rows) - SHOWN, 0), "sides": sides, "nodes": found.nodes}


SECTION = Section(
    "attacks",
    "Attacks",
    """
{% call table("Who attacked", ["Attack", "#At", "#Acts"]) %}
{% for name, at_ns, acts in rows %}
<tr><th scope="row" class="long">{{ name }}</th>{{ cell(at_ns | duration) }}
{{- cell(acts | count if acts is not none else dash) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>verdict.json</code>.</p>
{% endif %}
<br />
{% call table("What became of pairs of publisher and subscriber", ["Pairs", "#Wanted", "#Owed", "#Delivered",
              "#Missing", "#Duplicate", "#Spurious"]) %}
{% for side, c in sides %}
<tr><th scope="row">{{ side }}</th>{{ number(c.wanted) }}{{ number(c.owed) }}{{ number(c.delivered) }}
{{- number(c.missing, true) }}{{ number(c.duplicate, true) }}{{ number(c.spurious, true) }}</tr>
{% endfor %}
{% endcall %}
<p class="note"><em>attackers</em>: an end, or the router of one, attacks
{{- " (%s)" % (nodes | join(", ")) if nodes }}.
<em>through</em>: a path of least cost leads through a router that attacks. <em>honest</em>: all others.
All is owed under attack.</p>
""",
    _data,
)
