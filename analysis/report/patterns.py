"""The section about patterns: what became of the matches of each, and single matches with their messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.findings import Findings
from analysis.pattern_counts import VERDICTS, PatternCounts, ShownMatch
from analysis.report.section import Data, Section

SHOWN = 40
"""Patterns, and matches: those with something wrong first."""
NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Row:
    """A match."""

    client: str
    pattern: str
    verdict: str
    owed: bool
    told_s: float | None
    """By the scenario's time; None: the client was not told."""
    components: tuple[tuple[str, int, int], ...]
    """Of each message the publisher's name, its source and its number."""


def _data(findings: Findings, _verdict: Data) -> Data | None:
    if findings.patterns is None:
        return None
    wrong_first = sorted(findings.patterns, key=lambda each: -(each.missing + each.duplicate + each.spurious))
    rows = sorted(_rows(findings), key=lambda row: (VERDICTS.index(row.verdict), row.told_s or 0.0))
    told = sum(each.delivered + each.missing + each.spurious + each.lost for each in findings.patterns)
    return {
        "sought": wrong_first[:SHOWN],
        "more": max(len(wrong_first) - SHOWN, 0),
        "matches": rows[:SHOWN],
        "more_matches": max(told - SHOWN, 0),
    }


def _rows(findings: Findings) -> Iterator[Row]:
    for counts in findings.patterns or ():
        for match in counts.shown:
            yield _row(findings, counts, match)


def _row(findings: Findings, counts: PatternCounts, match: ShownMatch) -> Row:
    names = findings.run.names
    told_s = None if match.told_ns is None else (match.told_ns - findings.run.start_ns) / NS_PER_S
    components = tuple((names.get(source, str(source)), source, n) for source, n in match.components)
    return Row(counts.client, counts.pattern, match.verdict, match.owed, told_s, components)


SECTION = Section(
    "patterns",
    "Patterns",
    """
{% call table("Matches of patterns", ["Client", "Pattern", "#Owed", "#Told", "#Missing", "#Duplicate",
              "#Spurious", "#Lost"]) %}
{% for each in sought %}
<tr><th scope="row">{{ each.client }}</th><td><code>{{ each.pattern }}</code></td>{{ number(each.owed) }}
{{- number(each.delivered) }}{{ number(each.missing, true) }}{{ number(each.duplicate, true) }}
{{- number(each.spurious, true) }}{{ number(each.lost) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more patterns.</p>
{% endif %}
<p class="note">Owed is a match of which every message was owed. Told are those that may be told, owed or not.
Lost are those that need not be told, as the network changed while routers put them together.</p>
{% if matches %}
{% call table("Composed deliveries", ["Client", "Verdict", "#Told, s", "Messages", "Pattern"]) %}
{% for each in matches %}
<tr><th scope="row">{{ each.client }}</th><td>{{ each.verdict }}{{ ", owed" if each.owed }}</td>
{{- cell(dash if each.told_s is none else "%.3f" | format(each.told_s)) }}<td>
{%- for name, source, sequence in each.components %}
<a href="#message-{{ source }}-{{ sequence }}">{{ name }} {{ sequence }}</a>{{ ", " if not loop.last }}
{%- endfor %}</td><td><code>{{ each.pattern }}</code></td></tr>
{% endfor %}
{% endcall %}
{% if more_matches %}
<p class="note">And {{ more_matches | count }} more; those with something wrong stand first. All are in
<code>events.jsonl</code>, as <code>deliver_match</code>.</p>
{% endif %}
{% endif %}
""",
    _data,
)
