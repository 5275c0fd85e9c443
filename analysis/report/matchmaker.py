"""The section about `bp`, `bs` and `amsp`: marks of links, matchmaking nodes, signalling (decision 31)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.figures.axes import Axis, axis_for, count, moment
from analysis.figures.svg import Figure, element, steps, text
from analysis.findings import Findings
from analysis.matchmaking import TYPES, Matchmaking, matchmaking_of
from analysis.report.marks import marks_figure, to_document, words
from analysis.report.messages import in_page
from analysis.report.section import Data, Section
from analysis.report.span import LEFT, RIGHT, WIDTH, chosen

SHOWN = 60
"""Directions of links, and routers: those with most changes, or matches, first."""
STEPS_TOP, STEPS_FOOT = 24.0, 94.0
BARS_TOP, BARS_FOOT = 132.0, 252.0
HEIGHT = 300.0


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Over the same time as the course of the run."""

    findings: Findings
    found: Matchmaking

    @property
    def width_ns(self) -> int:
        scope = self.findings.course[0].scope
        return scope.until_ns - scope.from_ns

    @property
    def across(self) -> Axis:
        return Axis(0.0, float(self.width_ns * len(self.findings.course)), LEFT, WIDTH - RIGHT)

    def figure(self) -> Figure:
        """Links that are s-links, and what was told a second."""
        body = chosen(STEPS_TOP, BARS_FOOT) + "".join((*self.links(), *self.bars(), *self.times()))
        return Figure("signalling", "S-links and signalling over time", self.described(), WIDTH, HEIGHT, body)

    def links(self) -> Iterator[str]:
        """How many directions of links were s-links."""
        used = self.found.used & self.found.marks.keys()
        up = Axis(0.0, float(max(len(used), 1)), STEPS_FOOT, STEPS_TOP)
        for level in sorted({0, len(used)}):
            yield _level(up.at(level), count(level))
        label = "directions of links that are s-links, of those that are used"
        yield element("text", label, x=WIDTH - RIGHT, y=STEPS_TOP - 8, class_="end")
        start_ns, end_ns = self.findings.run.start_ns, int(self.across.high)
        moments = {mark.from_ns - start_ns for way in used for mark in self.found.marks[way]}
        times = [0, *sorted(each for each in moments if 0 < each < end_ns), end_ns]
        points = [(self.across.at(each), up.at(self.found.s_links(start_ns + each))) for each in times]
        yield element("path", d=steps(points), class_="ratio")

    def bars(self) -> Iterator[str]:
        """Payloads a second, by type."""
        rates = [
            [self.found.signalling.get(type_, {}).get(slot, {}).get("messages", 0) * 1e9 / self.width_ns
             for type_ in TYPES]
            for slot in range(len(self.findings.course))
        ]  # fmt: skip
        up = axis_for([0.0, max(map(sum, rates)) or 1.0], BARS_FOOT, BARS_TOP)
        ticks = up.ticks()
        for tick in ticks[:: max(1, len(ticks) // 3)]:
            yield _level(up.at(tick), f"{tick:,.4g}")
        label = "messages a second over all links between routers"
        yield element("text", label, x=WIDTH - RIGHT, y=BARS_TOP - 8, class_="end")
        for slot, by_type in enumerate(rates):
            yield self._bar(slot, by_type, up)

    def _bar(self, slot: int, rates: Sequence[float], up: Axis) -> str:
        x, end = (self.across.at(float(n * self.width_ns)) for n in (slot, slot + 1))
        pieces, below = [], 0.0
        for number, rate in enumerate(rates, 1):
            if rate:
                size = {"x": x, "y": up.at(below + rate), "width": max(end - x - 1, 1.0)}
                height = up.at(below) - up.at(below + rate)
                pieces.append(element("rect", **size, height=height, class_=f"heat group-{number}"))
            below += rate
        named = ", ".join(f"{type_} {rate:,.4g}" for type_, rate in zip(TYPES, rates, strict=True) if rate)
        when = moment(slot * self.width_ns)
        return element("g", element("title", text(f"at {when}: {named} a second")), *pieces) if named else ""

    def times(self) -> Iterator[str]:
        """The axis of time, and the moment that is shown in the other drawing."""
        yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=BARS_FOOT, y2=BARS_FOOT, class_="axis")
        for tick in self.across.ticks():
            x = self.across.at(tick)
            yield element("line", x1=x, x2=x, y1=BARS_FOOT, y2=BARS_FOOT + 5, class_="axis")
            yield element("text", text(moment(tick)), x=x, y=BARS_FOOT + 19, class_="middle")
        label = "time, from when the network was ready"
        yield element("text", label, x=WIDTH - RIGHT, y=HEIGHT - 8, class_="end")
        place = {"data_left": LEFT, "data_right": WIDTH - RIGHT, "data_end": int(self.across.high)}
        x = WIDTH - RIGHT
        yield element("line", x1=x, x2=x, y1=STEPS_TOP, y2=BARS_FOOT, class_="cursor", **place)

    def described(self) -> str:
        totals = {type_: self.found.total(type_)["messages"] for type_ in TYPES}
        told = ", ".join(f"{total:,} {type_}" for type_, total in totals.items() if total)
        changes = self.found.changes
        return f"Marks changed {changes:,} times. Routers told each other: {told or 'nothing'}."


def _level(y: float, name: str) -> str:
    line = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
    return line + element("text", text(name), x=LEFT - 8, y=y + 4, class_="end")


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link."""

    name: str
    used: bool
    mark: str
    changes: int
    p_ns: int
    """For how long it was a p-link, since the network was ready."""
    lasted_ns: int


def _directions(findings: Findings, found: Matchmaking) -> Iterator[Direction]:
    run = findings.run
    for way, marks in found.marks.items():
        ends = [*(mark.from_ns for mark in marks[1:]), run.end_ns]
        p_ns = sum(
            max(end - max(mark.from_ns, run.start_ns), 0)
            for mark, end in zip(marks, ends, strict=True)
            if mark.is_p
        )
        name = f"{run.names[way[0]]} \N{RIGHTWARDS ARROW} {run.names[way[1]]}"
        last = words(found.mark(way, run.end_ns))
        yield Direction(name, way in found.used, last, found.asked[way], p_ns, run.end_ns - run.start_ns)


@dataclass(frozen=True, slots=True)
class Holder:
    """A router at which matches were made, or that held descriptors or matches at the end."""

    name: str
    made: int
    counts: tuple[int | None, ...]
    """PCDs, SCDs and MCDs; None: its last status is not known."""

    @property
    def held(self) -> int:
        """All together."""
        return sum(count or 0 for count in self.counts)


def _holders(findings: Findings, found: Matchmaking) -> Iterator[Holder]:
    for row in findings.over_time["routers"].to_pylist() if findings.over_time else ():
        holder = Holder(row["name"], found.made(row["node_id"]), (row["pcds"], row["scds"], row["mcds"]))
        if holder.made or holder.held:
            yield holder


def _data(findings: Findings, _verdict: Data) -> Data | None:
    found = matchmaking_of(findings)
    if found is None:
        return None
    figure, document = marks_figure(findings, found), to_document(findings, found)
    directions = sorted(_directions(findings, found), key=lambda each: (not each.used, -each.changes))
    makers = sorted(found.matches, key=lambda router: (-found.made(router), router))
    holders = sorted(_holders(findings, found), key=lambda each: (-each.made, -each.held, each.name))
    types = [(type_, found.total(type_)) for type_ in (*TYPES, "CD_UPDATE") if type_ in found.signalling]
    return {
        "figure": figure and Markup(figure.to_svg()),
        "over_time": Markup(_Drawing(findings, found).figure().to_svg()) if findings.course else None,
        "document": document and in_page(document),
        "moments": len(document["moments"]) if document else 0,
        "directions": directions[:SHOWN],
        "more": max(len(directions) - SHOWN, 0),
        "makers": len(makers),
        "holders": holders[:SHOWN],
        "more_holders": max(len(holders) - SHOWN, 0),
        "made": sum(map(found.made, makers)),
        "changes": found.changes,
        "types": types,
        "total": {name: sum(total[name] for _, total in types) for name in ("messages", "bytes")},
        "keys": [(number, type_) for number, type_ in enumerate(TYPES, 1) if type_ in found.signalling],
    }


SECTION = Section(
    "matchmaker",
    "Where advertisements and subscriptions met",
    """
<p class="note">{% if changes %}Marks of links changed {{ changes | count }} times.
{%- else %}No mark of a link changed.{% endif %}

{{ made | count }} matches were made, at {{ makers }} routers.</p>
{% if figure %}
<figure>
<div class="scroll">{{ figure }}</div>
<figcaption>
<span><i class="key mark-p"></i>p-link: publications go along it</span>
<span><i class="key mark-s"></i>s-link: subscriptions go against it</span>
<span><i class="key mark-changing"></i>the mark is changing</span>
<span><i class="key mark-down"></i>down: a fault has cut the link, or stopped a router at its end</span>
<span>pale: nothing was told for this direction</span>
<span>below a router: the matches made there so far</span>
</figcaption>
</figure>
{% if document %}
<div class="moments span" hidden="hidden">
<p id="marks-said" role="status"></p>
<button type="button" id="marks-before">&#8592; earlier</button>
<label>moment <input type="range" id="marks-at" min="0" max="{{ moments - 1 }}"
value="{{ moments - 1 }}" /></label>
<button type="button" id="marks-after">later &#8594;</button>
<span class="note">Each step is a moment at which a mark changed. Choosing a part of the run shows its
end.</span>
</div>
<script type="application/json" id="marks-data">{{ document }}</script>
{% else %}
<p class="note">The marks are those at the end of the run: there are too many changes to show each moment.
Table <code>markings</code> has all.</p>
{% endif %}
{% else %}
<p class="note">A network of {{ findings.run.plan.routers | length }} routers is not drawn; table
<code>markings</code> has all marks.</p>
{% endif %}
{% if over_time %}
<figure>
<div class="scroll">{{ over_time }}</div>
<figcaption>
{% for number, type_ in keys %}
<span><i class="key type group-{{ number }}"></i>{{ type_ }}</span>
{% endfor %}
</figcaption>
</figure>
{% endif %}
{% call table("Signalling by type", ["Type", "#Messages", "#of them", "#Descriptors", "#Packets", "#bytes",
                                     "#of them"]) %}
{% for type_, sums in types %}
<tr><th scope="row">{{ type_ }}</th>{{ number(sums.messages) }}
{{- cell(sums.messages | share(total.messages)) }}{{ number(sums.descriptors) }}{{ number(sums.packets) }}
{{- cell(sums.bytes | volume) }}{{ cell(sums.bytes | share(total.bytes)) }}</tr>
{% else %}
<tr><td colspan="7">None.</td></tr>
{% endfor %}
{% endcall %}
{% call table("Matchmaking nodes, and what routers held at the end", ["Router", "#Matches made", "#of them",
              "#PCDs held", "#SCDs", "#MCDs"]) %}
{% for router in holders %}
<tr><th scope="row">{{ router.name }}</th>{{ number(router.made) }}{{ cell(router.made | share(made)) }}
{%- for count in router.counts %}{{ cell(dash) if count is none else number(count) }}{% endfor %}</tr>
{% else %}
<tr><td colspan="6">None.</td></tr>
{% endfor %}
{% endcall %}
{% if more_holders %}
<p class="note">And {{ more_holders | count }} more routers, in <code>tables/matches.parquet</code> and
<code>tables/routers.parquet</code>.</p>
{% endif %}
<details>
<summary>Marks as a table</summary>
{% call table("Directions of links between routers", ["Direction", "Used", "At the end", "#Changes",
                                                      "#P-link for", "#of the run"]) %}
{% for d in directions %}
<tr><th scope="row">{{ d.name }}</th><td>{{ "yes" if d.used else "no" }}</td><td>{{ d.mark }}</td>
{{- number(d.changes) }}{{ cell(d.p_ns | duration) }}{{ cell(d.p_ns | share(d.lasted_ns)) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>tables/markings.parquet</code>.</p>
{% endif %}
</details>
<p class="note"><em>PCD</em>, <em>SCD</em>, <em>MCD</em>: what is published, what is wanted, and matches of
the two that are told for the first time; <em>again</em> and <em>withdrawn</em> are of all three. A match that
was found at two routers was made at both.</p>
""",
    _data,
)
