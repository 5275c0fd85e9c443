"""The section about advertisements: who advertised what and when, and what was refused for it."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.findings import Findings
from analysis.oracle import SubscriptionChange
from analysis.report.section import Data, Section

SHOWN = 40
NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Advertised:
    """One advertisement, for as long as it stood."""

    client: str
    predicate: str
    from_s: float
    """By the scenario's time; advertised before the start: 0."""
    until_s: float | None
    """None: to the end."""


def advertised(changes: list[SubscriptionChange], start_ns: int) -> list[Advertised]:
    """All of them, in order of time. One that replaces another of the same id ends it."""
    open_: dict[tuple[str, int], int] = {}
    found: list[Advertised] = []
    for change in sorted(changes, key=lambda each: each.time_ns):
        key, at_s = (change.client, change.subscription), max(0.0, (change.time_ns - start_ns) / NS_PER_S)
        if key in open_:
            at = open_.pop(key)
            found[at] = Advertised(found[at].client, found[at].predicate, found[at].from_s, at_s)
        if change.predicate is not None:
            open_[key] = len(found)
            found.append(Advertised(change.client, change.predicate, at_s, None))
    return found


def _data(findings: Findings, _verdict: Data) -> Data | None:
    if findings.advertised is None:
        return None
    stood = advertised(list(findings.advertised), findings.run.start_ns)
    names = findings.run.names
    most_outside_first = sorted(findings.publications, key=lambda each: (-each.unadvertised, each.source))
    publishers = [(names[each.source], each) for each in most_outside_first if each.total]
    return {
        "advertised": stood[:SHOWN],
        "more": max(len(stood) - SHOWN, 0),
        "publishers": publishers[:SHOWN],
        "more_publishers": max(len(publishers) - SHOWN, 0),
    }


SECTION = Section(
    "advertisements",
    "Advertisements",
    """
{% call table("What clients advertised", ["Client", "Advertisement", "#From, s", "#Until, s"]) %}
{% for each in advertised %}
<tr><th scope="row">{{ each.client }}</th><td><code>{{ each.predicate }}</code></td>
{{ cell("%.3f" | format(each.from_s)) }}
{{- cell("the end" if each.until_s is none else "%.3f" | format(each.until_s)) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more advertisements.</p>
{% endif %}
{% call table("Publications and what was advertised", ["Client", "#Published", "#Outside"]) %}
{% for name, each in publishers %}
<tr><th scope="row">{{ name }}</th>{{ number(each.total) }}{{ number(each.unadvertised) }}</tr>
{% endfor %}
{% endcall %}
{% if more_publishers %}
<p class="note">And {{ more_publishers | count }} more publishers.</p>
{% endif %}
<p class="note">Clients have to advertise here what they publish. What is outside of it the first router
takes no further, and nobody is owed it. By events and captures; what captures alone show counts as well.</p>
""",
    _data,
)
