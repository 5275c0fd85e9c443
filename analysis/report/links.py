"""The section about links over time: what crossed links between routers when, and what got lost on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from analysis.figures.axes import Axis, axis_for, duration, moment
from analysis.figures.svg import Figure, element, path, text
from analysis.findings import Findings
from analysis.report.fidelity import bits
from analysis.report.section import Data, Section
from analysis.report.span import LEFT, RIGHT, WIDTH, chosen

SHOWN_ROWS, SHOWN_LINKS = 8, 40
"""The busiest directions of links: how many are drawn, and how many are in the table."""
BARS_TOP, BARS_FOOT = 24.0, 104.0
ROWS_TOP, ROW, STRIP = 146.0, 26.0, 11.0
SHADES = 8
KINDS = {"messages": "message_bytes", "control": "control_bytes"}
"""Classes of the style sheet, from the foot of a bar to its top; and the columns of table `links`."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link between routers, over the run."""

    name: str
    rows: Mapping[int, Row]
    """Of table `links`, by slice."""
    lasted_ns: int

    @property
    def messages(self) -> int:
        """That were sent."""
        return sum(row["messages"] for row in self.rows.values())

    @property
    def lost(self) -> int:
        """Of these."""
        return sum(row["lost_messages"] or 0 for row in self.rows.values())

    @property
    def mean_bps(self) -> float:
        """Over the whole run."""
        size: int = sum(row["frame_bytes"] for row in self.rows.values())
        return size * 8e9 / self.lasted_ns

    @property
    def peak(self) -> Row:
        """The busiest slice."""
        return max(self.rows.values(), key=lambda row: (row["throughput_bps"], -row["slice"]))

    @property
    def utilisation(self) -> float | None:
        """Of the slice in which it was greatest; None: no rate is known."""
        known = (row["utilisation"] for row in self.rows.values() if row["utilisation"] is not None)
        return max(known, default=None)


@dataclass(frozen=True, slots=True)
class Carried:
    """What links between routers carried, slice by slice."""

    directions: Sequence[Direction]
    """The busiest first."""
    sums: Mapping[int, Counter[str]]
    """Over all of them, by slice."""
    width_ns: int
    slices: int

    def bps(self, number: int, kind: str) -> float:
        """Of one of `KINDS` in a slice."""
        return self.total(number, KINDS[kind]) * 8e9 / self.width_ns

    def total(self, number: int, column: str) -> int:
        """Of a column of table `links` in a slice."""
        return self.sums[number][column] if number in self.sums else 0


def carried_by(findings: Findings) -> Carried | None:
    """What links between routers carried; None if that was not counted, or there was nothing."""
    if findings.over_time is None or not findings.course:
        return None
    width_ns = findings.course[0].scope.until_ns - findings.course[0].scope.from_ns
    slices = len(findings.course)
    names = findings.run.names
    found: dict[tuple[int, int], dict[int, Row]] = {}
    sums: dict[int, Counter[str]] = {}
    for row in findings.over_time["links"].to_pylist():
        if not row["access"] and 0 <= row["slice"] < slices:
            found.setdefault((row["from_id"], row["to_id"]), {})[row["slice"]] = row
            summed = (*KINDS.values(), "messages", "control_packets", "lost_messages")
            sums.setdefault(row["slice"], Counter()).update({name: row[name] or 0 for name in summed})
    directions = [
        Direction(f"{names[a]} \N{RIGHTWARDS ARROW} {names[b]}", rows, width_ns * slices)
        for (a, b), rows in sorted(found.items())
    ]
    directions.sort(key=lambda direction: -direction.mean_bps)
    return Carried(directions, sums, width_ns, slices) if directions else None


def links_figure(carried: Carried) -> Figure:
    """The drawing, over the same time as the course of the run."""
    across = Axis(0.0, float(carried.slices * carried.width_ns), LEFT, WIDTH - RIGHT)
    drawn = _Drawing(carried, across)
    foot = ROWS_TOP + ROW * len(carried.directions[:SHOWN_ROWS])
    body = chosen(BARS_TOP, foot) + "".join(drawn.bars()) + "".join(drawn.strips()) + drawn.times(foot)
    return Figure("links", "Links over time", _description(carried), WIDTH, foot + 44, body)


@dataclass(frozen=True, slots=True)
class _Drawing:
    carried: Carried
    across: Axis

    def bars(self) -> Iterator[str]:
        """What crossed all links between routers."""
        numbers = range(self.carried.slices)
        highest = max(sum(self.carried.bps(n, kind) for kind in KINDS) for n in numbers)
        up = axis_for([0.0, highest], BARS_FOOT, BARS_TOP)
        ticks = up.ticks()
        for tick in ticks[:: max(1, len(ticks) // 3)]:
            y = up.at(tick)
            yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
            yield element("text", text(_short(tick)), x=LEFT - 8, y=y + 4, class_="end")
        label = "bit/s over all links between routers, both directions"
        yield element("text", label, x=WIDTH - RIGHT, y=BARS_TOP - 8, class_="end")
        for number in numbers:
            below = 0.0
            for kind in KINDS:
                bps = self.carried.bps(number, kind)
                if bps:
                    yield self._piece(number, up.at(below + bps), up.at(below), kind)
                below += bps

    def strips(self) -> Iterator[str]:
        """A row for each of the busiest directions: the darker, the more it carried then."""
        shown = self.carried.directions[:SHOWN_ROWS]
        most = max(direction.peak["throughput_bps"] for direction in shown)
        for at, direction in enumerate(shown):
            y = ROWS_TOP + at * ROW
            yield element("text", text(direction.name), x=LEFT, y=y - 3, class_="value")
            for number, row in sorted(direction.rows.items()):
                shade = max(1, -int(-SHADES * row["throughput_bps"] // most)) if most else 1
                title = element("title", text(self._said(direction, row)))
                yield self._piece(number, y, y + STRIP, f"heat shade-{min(shade, SHADES)}", title)
                if row["lost_messages"]:
                    yield self._piece(number, y + STRIP, y + STRIP + 3, "missing")

    def times(self, foot: float) -> str:
        """The axis of time."""
        parts = [element("path", d=path([(LEFT, foot), (WIDTH - RIGHT, foot)]), class_="axis")]
        for tick in self.across.ticks():
            x = self.across.at(tick)
            parts.append(element("line", x1=x, x2=x, y1=foot, y2=foot + 5, class_="axis"))
            parts.append(element("text", text(moment(tick)), x=x, y=foot + 19, class_="middle"))
        label = "time of sending, from when the network was ready"
        parts.append(element("text", label, x=WIDTH - RIGHT, y=foot + 36, class_="end"))
        return "".join(parts)

    def _piece(self, number: int, top: float, foot: float, style: str, title: str = "") -> str:
        x, end = (self.across.at(float(n * self.carried.width_ns)) for n in (number, number + 1))
        return element(
            "rect", title, x=x, y=top, width=max(end - x - 1, 1.0), height=foot - top, class_=style
        )

    def _said(self, direction: Direction, row: Row) -> str:
        of_rate = "" if row["utilisation"] is None else f", {row['utilisation']:.0%} of its rate"
        lost = row["lost_messages"]
        gone = f", {lost:,} of {row['messages']:,} messages lost" if lost else ""
        when = moment(row["slice"] * self.carried.width_ns)
        return f"{direction.name} at {when}: {bits(row['throughput_bps'])}{of_rate}{gone}"


def _short(bps: float) -> str:
    """A rate on an axis whose label has the unit."""
    return bits(bps).removesuffix("bit/s").strip()


def _description(carried: Carried) -> str:
    peak = max(carried.sums, key=lambda n: (sum(carried.bps(n, kind) for kind in KINDS), -n))
    total = sum(carried.bps(peak, kind) for kind in KINDS)
    lost = sum(each["lost_messages"] for each in carried.sums.values())
    busiest = carried.directions[0]
    return (
        f"Most crossed links between routers at {duration(peak * carried.width_ns)}: {bits(total)}. "
        f"The busiest direction is {busiest.name} with {bits(busiest.mean_bps)} on average. "
        f"{lost:,} messages got lost on links."
    )


def _data(findings: Findings, _verdict: Data) -> Data | None:
    carried = carried_by(findings)
    if carried is None:
        return None
    shown = carried.directions[:SHOWN_LINKS]
    return {
        "figure": Markup(links_figure(carried).to_svg()),
        "carried": carried,
        "numbers": range(carried.slices),
        "shown": shown,
        "more": len(carried.directions) - len(shown),
        "rated": any(direction.utilisation is not None for direction in shown),
        "lossy": any(direction.lost for direction in carried.directions),
    }


SECTION = Section(
    "links",
    "Links over time",
    """
<figure>
<div class="scroll">{{ figure }}</div>
<figcaption>
<span><i class="key messages"></i>messages</span>
<span><i class="key control"></i>control traffic</span>
<span><i class="key heat"></i>the busiest links: the darker, the more they carried</span>
{% if lossy %}
<span><i class="key missing"></i>messages got lost on the link</span>
{% endif %}
</figcaption>
</figure>
<details>
<summary>As a table</summary>
{% call table("Directions of links between routers", ["Direction", "#Mean", "#Most", "#at"]
              + (["#Most of its rate"] if rated else []) + ["#Messages", "#Lost", "#of them"]) %}
{% for d in shown %}
<tr><th scope="row">{{ d.name }}</th>{{ cell(d.mean_bps | bits) }}{{ cell(d.peak.throughput_bps | bits) }}
{{- cell((d.peak.slice * carried.width_ns) | moment) }}
{%- if rated %}{{ cell("%.0f %%" % (100 * d.utilisation) if d.utilisation is not none else dash) }}{% endif %}
{{- number(d.messages) }}{{ number(d.lost) }}{{ cell(d.lost | share(d.messages)) }}</tr>
{% endfor %}
{% endcall %}
{% if more %}
<p class="note">And {{ more | count }} more, in <code>tables/links.parquet</code>.</p>
{% endif %}
<br />
{% call table("All links between routers", ["From", "#Messages", "#bit/s", "#Control packets", "#bit/s",
                                            "#Messages lost"]) %}
{% for n in numbers %}
<tr><th scope="row">{{ (n * carried.width_ns) | moment }}</th>
{{- number(carried.total(n, "messages")) }}{{ cell(carried.bps(n, "messages") | bits) }}
{{- number(carried.total(n, "control_packets")) }}{{ cell(carried.bps(n, "control") | bits) }}
{{- number(carried.total(n, "lost_messages")) }}</tr>
{% endfor %}
{% endcall %}
</details>
""",
    _data,
)
