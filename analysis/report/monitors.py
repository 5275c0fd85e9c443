"""The section about routers that recognise patterns: what each had at the end of the run, and did not use."""

from __future__ import annotations

from analysis.findings import Findings
from analysis.report.section import Data, Section

SHOWN = 40
"""The routers with most monitors; of larger networks the others are left out."""
COUNTED = ("sought", "waiting", "passed_on", "monitors", "requests", "kept")


def _data(findings: Findings, _verdict: Data) -> Data | None:
    states = [state for state in findings.scheme.states if state.patterns is not None]
    if not states:
        return None
    rows = []
    for state in states:
        said = state.patterns or {}
        counts = [int(said.get(name, 0)) for name in COUNTED]
        unused = said.get("unused") or {}
        listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(unused.items()))
        rows.append((state.name, counts, sum(unused.values()), listed))
    rows.sort(key=lambda row: (-row[1][COUNTED.index("monitors")], row[0]))
    return {"rows": rows[:SHOWN], "more": max(len(rows) - SHOWN, 0)}


SECTION = Section(
    "monitors",
    "Monitors",
    """
{% call table("Routers that recognise patterns, at the end", ["Router", "#Sought", "#Waiting", "#Passed on",
              "#Monitors", "#Asked of others", "#Kept", "#Not used"]) %}
{% for name, counts, unused, reasons in rows %}
<tr><th scope="row">{{ name }}</th>{% for each in counts %}{{ number(each) }}{% endfor %}
<td class="n"{% if reasons %} title="{{ reasons }}"{% endif %}>{{ unused | count }}</td></tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>logs/*.status.json</code>.</p>
{% endif %}
<p class="note"><em>Sought</em>: patterns that clients and neighbours had it seek. <em>Waiting</em>: of these,
those of which nobody advertised a part. <em>Passed on</em>: those that a neighbour sought as they were.
<em>Kept</em>: messages held back or remembered, each as often as it was. <em>Not used</em>: messages that
came too late, and what else was not used or forgotten.</p>
""",
    _data,
)
