"""The section about patterns: what became of the matches of each."""

from __future__ import annotations

from analysis.findings import Findings
from analysis.report.section import Data, Section

SHOWN = 40
"""Those with something wrong first."""


def _data(findings: Findings, _verdict: Data) -> Data | None:
    if findings.patterns is None:
        return None
    wrong_first = sorted(findings.patterns, key=lambda each: -(each.missing + each.duplicate + each.spurious))
    return {"sought": wrong_first[:SHOWN], "more": max(len(wrong_first) - SHOWN, 0)}


SECTION = Section(
    "patterns",
    "Patterns",
    """
{% call table("Matches of patterns", ["Client", "Pattern", "#Owed", "#Told", "#Missing", "#Duplicate",
              "#Spurious"]) %}
{% for each in sought %}
<tr><th scope="row">{{ each.client }}</th><td><code>{{ each.pattern }}</code></td>{{ number(each.owed) }}
{{- number(each.delivered) }}{{ number(each.missing) }}{{ number(each.duplicate) }}
{{- number(each.spurious) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more patterns.</p>
{% endif %}
<p class="note">Owed is a match of which every message was owed. Told are those that may be told, owed or not.
</p>
""",
    _data,
)
