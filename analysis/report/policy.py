"""The section about the policy: what clients were permitted, and what was refused."""

from __future__ import annotations

from analysis.findings import Findings
from analysis.report.section import Data, Section

SHOWN = 40


def _data(findings: Findings, _verdict: Data) -> Data | None:
    if findings.refused is None:
        return None
    clients = [(node, node.policy) for node in findings.run.plan.clients if node.policy is not None]
    refused = {each.source: each.not_permitted for each in findings.publications}
    kinds = ("subscriptions", "advertisements", "patterns")
    asked = [
        (each.client, kind.removesuffix("s"), each.predicate or "")
        for kind in kinds
        for each in getattr(findings.refused, kind)
    ]
    return {
        "clients": [
            (node.name, (may.subscribe, may.publish, may.advertise), refused.get(node.node_id, 0))
            for node, may in clients[:SHOWN]
        ],
        "more_clients": max(len(clients) - SHOWN, 0),
        "asked": asked[:SHOWN],
        "more_asked": max(len(asked) - SHOWN, 0),
    }


SECTION = Section(
    "policy",
    "Policy",
    """
{% call table("What clients may do", ["Client", "Subscribe", "Publish", "Advertise", "#Messages refused"]) %}
{% for name, may, refused in clients %}
<tr><th scope="row">{{ name }}</th>
{% for each in may %}<td><code>{{ each }}</code></td>{% endfor %}
{{ number(refused) }}</tr>
{% endfor %}
{% endcall %}
{% if more_clients %}
<p class="note">And {{ more_clients | count }} more clients.</p>
{% endif %}
{% if asked %}
{% call table("What was asked for and not permitted", ["Client", "What", "Text"]) %}
{% for name, kind, text in asked %}
<tr><th scope="row">{{ name }}</th><td>{{ kind }}</td><td><code>{{ text }}</code></td></tr>
{% endfor %}
{% endcall %}
{% endif %}
{% if more_asked %}
<p class="note">And {{ more_asked | count }} more.</p>
{% endif %}
<p class="note">The client's router refuses what is not permitted. Nobody is owed anything of it, and
nothing of it is lost. By the plan, which says what is permitted, and by events and captures.</p>
""",
    _data,
)
