"""The sections whose tables are parts of the verdict or of the findings as they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from analysis.counts import Counts
from analysis.figures import axes
from analysis.findings import Findings
from analysis.report.section import Data, Section
from nodes.wire.packets import PacketType
from topologies.quantities import how_many

_WORLDS = {"sim": "simulator", "emu": "Mininet", "cluster": "cluster"}


def _reservations(_findings: Findings, verdict: Data) -> Data | None:
    return {"tone": "problems"} if verdict["problems"] else None


RESERVATIONS = Section(
    "reservations",
    "Reservations",
    """
<ul>
{% for problem in verdict.problems %}
<li>{{ problem }}</li>
{% endfor %}
</ul>
""",
    _reservations,
)


def _expected(_findings: Findings, verdict: Data) -> Data | None:
    expectations = verdict["expectations"]
    if not expectations:
        return None
    return {"tone": "fidelity" if all(e["holds"] for e in expectations) else "problems"}


EXPECTED = Section(
    "expected",
    "What was expected",
    """
{% call table("", ["Expected", "#Measured", "So it"]) %}
{% for e in verdict.expectations %}
<tr><th scope="row">{{ e.text }}</th>{{ cell(e | measured) }}
{%- if e.holds %}<td>holds</td>
{%- else %}<td class="bad">does not hold{{ " (%s)" % e.why if e.why }}</td>{% endif %}
</tr>
{% endfor %}
{% endcall %}
""",
    _expected,
)


def _phases(_findings: Findings, verdict: Data) -> Data | None:
    recovery = [verdict["recovery"]] if verdict["recovery"] else []
    scopes = [*verdict["phases"], *recovery]
    return {"scopes": scopes} if scopes else None


PHASES = Section(
    "phases",
    "Phases",
    """
{% call table("", ["Published during", "#Messages", "#Wanted", "#Owed", "#Delivered", "#Missing",
                   "#Duplicate", "#Spurious", "#Lost", "#Unknown", "#Judged", "#Median latency", "#p99"]) %}
{% for p in scopes %}
<tr><th scope="row">{{ p.name }}</th>{{ number(p.publications) }}{{ number(p.wanted) }}{{ number(p.owed) }}
{{- number(p.delivered) }}{{ number(p.missing, true) }}{{ number(p.duplicate, true) }}
{{- number(p.spurious, true) }}{{ number(p.lost) }}{{ number(p.unknown, true) }}
{{- cell(p.owed | share(p.wanted)) }}
{{- cell(p.latency_ns.p50 | duration if p.latency_ns else dash) }}
{{- cell(p.latency_ns.p99 | duration if p.latency_ns else dash) }}</tr>
{% endfor %}
{% endcall %}
{% if verdict.recovery %}
<p class="note"><em>recovery</em>: from the network's last fixpoint on, after the last fault.</p>
{% endif %}
<p class="note"><em>Judged</em>: what was owed, of what was wanted. The rest may be lost.</p>
""",
    _phases,
)


def _run(findings: Findings, _verdict: Data) -> Data:
    run, manifest, plan = findings.run, findings.run.manifest, findings.run.plan
    messages, packets = axes.count(findings.published), axes.count(findings.ingested.packets)
    overrides = ", ".join(f"{key}={value}" for key, value in (manifest.get("overrides") or {}).items())
    parts = {"router": plan.routers, "client": plan.clients, "link": plan.links}
    lines = [
        ("World", _WORLDS.get(manifest["world"], manifest["world"])),
        ("Scheme", str(manifest.get("scheme", axes.NONE)).upper()),
        ("Seed", str(manifest.get("seed", axes.NONE))),
        ("Network", ", ".join(how_many(len(of), what) for what, of in parts.items())),
        ("Workload", f"{messages} messages, {findings.subscriptions} subscriptions"),
        ("Started", _moment(run.start_ns)),
        ("Lasted", axes.duration(run.end_ns - run.start_ns) if run.started else axes.NONE),
        ("Captured", f"{packets} packets, {axes.count(findings.drops)} dropped"),
    ]
    return {"lines": [*lines, ("Overrides", overrides)] if overrides else lines}


def _moment(ns: int) -> str:
    if not ns:
        return "never"
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


RUN = Section("run", "The run", "{{ facts(lines) }}", _run)


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    """A client's counts under its name."""

    client: int
    name: str
    counts: Counts
    published: int


def subscriber_rows(findings: Findings) -> list[SubscriberRow]:
    """One row a client of the plan, also of those that were owed nothing."""
    counted = {s.subscriber: s for s in findings.subscribers}
    published = _published(findings)
    names = {**{s: f"node {s}" for s in counted}, **{i: name for name, i in findings.run.client_ids.items()}}
    return [
        SubscriberRow(i, name, counted[i].counts if i in counted else Counts(), published[name])
        for i, name in sorted(names.items())
    ]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The sums over the clients of a group or with a tag."""

    name: str
    members: int
    counts: Counts
    published: int


def group_rows(findings: Findings) -> list[GroupRow]:
    """One row a group or tag of the scenario that has clients, by name."""
    rows = {row.name: row for row in subscriber_rows(findings)}
    groups: dict[str, list[SubscriberRow]] = {}
    for client in findings.run.plan.clients:
        for tag in client.tags:
            groups.setdefault(tag, []).append(rows[client.name])
    return [
        GroupRow(
            name,
            len(members),
            sum((row.counts for row in members), Counts()),
            sum(row.published for row in members),
        )
        for name, members in sorted(groups.items())
    ]


def _published(findings: Findings) -> Counter[str]:
    counts: Counter[str] = Counter()
    peers = {c.interface.name: c.peer.name for c in findings.run.captures}
    for t in findings.traffic:
        if not t.sent and t.type == PacketType.MESSAGE:
            counts[peers[t.interface]] += t.packets
    return counts


CLIENTS = Section(
    "clients",
    "Clients",
    """
{% if groups %}
{% call table("By group", ["Group", "#Clients", "#Published", "#Wanted", "#Owed", "#Delivered", "#Missing",
                           "#Duplicate", "#Spurious", "#Lost", "#Unknown", "#Arrived"]) %}
{% for g in groups %}
<tr><th scope="row">{{ g.name }}</th>{{ number(g.members) }}{{ counted(g) }}
{{- cell(g.counts.arrived | share(g.counts.wanted)) }}</tr>
{% endfor %}
{% endcall %}
<br />
{% endif %}
{% call table("What each client published, wanted, was owed and got", ["Client", "#Published", "#Wanted",
              "#Owed", "#Delivered", "#Missing", "#Duplicate", "#Spurious", "#Lost", "#Unknown"]) %}
{% for s in subscribers %}
<tr data-client="{{ s.client }}"><th scope="row">{{ s.name }}</th>{{ counted(s) }}</tr>
{% endfor %}
{% endcall %}
""",
    lambda findings, _verdict: {"subscribers": subscriber_rows(findings), "groups": group_rows(findings)},
)


def _faults(findings: Findings, _verdict: Data) -> Data | None:
    names = findings.run.names
    rows = [
        (names.get(f.source, f"node {f.source}"), names.get(f.subscriber, f"node {f.subscriber}"), f)
        for f in findings.failures
    ]
    return {"rows": rows} if rows else None


FAULTS = Section(
    "failures",
    "Deliveries that were not as they should be",
    """
<p class="note">The first {{ rows | length }}, by message.
All of them are in <code>tables/verdicts.parquet</code>.</p>
{% call table("", ["Publisher", "#Message", "Subscriber", "Verdict", "#Copies"]) %}
{% for publisher, subscriber, f in rows %}
<tr><th scope="row">{{ publisher }}</th>{{ cell(f.sequence) }}<td>{{ subscriber }}</td>
{{- "" }}<td class="bad">{{ f.verdict }}</td>{{ number(f.copies) }}</tr>
{% endfor %}
{% endcall %}
""",
    _faults,
)
