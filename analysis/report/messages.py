"""The section in which single messages are looked up: its data, for the script that draws (`messages.js`)."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from analysis.explorer import Crossing, Explored, Message, Receiver
from analysis.findings import Findings
from analysis.report.section import Data, Section
from nodes.wire.packets import Role

REASONS = {
    "network": "the network was not settled",
    "subscription": "its subscriptions had just changed, or were about to",
    "advertisement": "what its publisher had advertised had just changed, or was about to",
    "start": "it was published before the start",
    "end": "the run was cut short",
    "cut_off": "no path led to it",
}


def to_document(findings: Findings, explored: Explored) -> dict[str, Any]:
    """What the script reads: rows without names, times from the scenario's time zero.

    Times are in nanoseconds; those of crossings and receivers are from the message's publication.
    """
    plan = findings.run.plan
    return {
        "start": str(findings.run.start_ns),
        "nodes": {node.node_id: [node.name, node.role == Role.ROUTER] for node in plan.nodes},
        "filters": list(explored.filters),
        "reasons": REASONS,
        "messages": [_message(message, findings.run.start_ns) for message in explored.messages],
    }


def _message(message: Message, start_ns: int) -> list[Any]:
    return [
        message.source,
        message.sequence,
        message.time_ns - start_ns,
        message.text,
        message.router,
        message.word,
        [_crossing(crossing, message.time_ns) for crossing in message.crossings],
        [_receiver(receiver) for receiver in message.receivers],
    ]


def _crossing(c: Crossing, time_ns: int) -> list[Any]:
    sent, received = ((None if t is None else t - time_ns) for t in (c.sent_ns, c.received_ns))
    return [c.from_id, c.to_id, c.hop_count, sent, received, c.copies, int(c.wasted), int(c.to_client)]


def _receiver(r: Receiver) -> list[Any]:
    return [
        r.client,
        r.verdict,
        int(r.owed),
        r.reason,
        r.latency_ns,
        r.copies,
        list(r.filters),
        r.last_seen,
        r.sent_on_to,
    ]


def in_page(document: dict[str, Any]) -> Markup:
    """JSON that may stand in a page: none of its characters means anything there."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _data(findings: Findings, _verdict: Data) -> Data | None:
    explored = findings.explored
    if explored is None or not explored.messages:
        return None
    return {
        "total": explored.total,
        "shown": len(explored.messages),
        "document": in_page(to_document(findings, explored)),
    }


SECTION = Section(
    "messages",
    "Messages",
    """
<p class="note">{% if shown == total %}All {{ total | count }} messages.
{%- else %}{{ shown | count }} of {{ total | count }} messages: first those of which something is wrong or
was lost, then wanted ones and others, evenly over the run. All are in the tables.
{%- endif %} Search by publisher and number, client, router, or content; a click on a router or a link of the
drawing above shows what went over it.</p>
<div class="explorer" hidden="hidden">
<div class="search">
<label>Search <input type="search" id="message-search" placeholder="pub1 12, price, r3 ..."
autocomplete="off" /></label>
<label>Show <select id="message-kind"></select></label>
<span id="message-count" role="status"></span>
</div>
<div class="beside-list">
<ul id="message-list" aria-label="Messages"></ul>
<div id="message-detail" aria-live="polite"></div>
</div>
</div>
<noscript><p class="note">Looking up messages takes JavaScript.</p></noscript>
<script type="application/json" id="message-data">{{ document }}</script>
""",
    _data,
)
