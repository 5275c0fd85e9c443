"""The course of the run: what arrived of what was published when, beside faults and phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.figures.axes import Axis, axis_for, count, duration, moment, share
from analysis.figures.svg import Figure, element, path, text
from analysis.findings import Findings, ScopeCounts
from analysis.history import FOREVER
from analysis.report.section import Data, Section
from analysis.report.span import LEFT, RIGHT, WIDTH, chosen, data_of
from topologies.fault_kinds import in_words

PHASES_AT, FAULTS_AT = 14.0, 34.0
RATIO_TOP, RATIO_FOOT = 52.0, 152.0
BARS_TOP, BARS_FOOT = 182.0, 262.0
HEIGHT = 310.0
CHARACTER = 6.6
"""Width of a character of a label: the font is not known, so an estimate on the wide side."""
LONGEST_NAME = 40
KINDS = ("arrived", "lost", "unknown", "missing")
"""What became of wanted deliveries, from the foot of a bar to its top; also classes of the style sheet."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, or several at one moment."""

    at_ns: int
    name: str


def faults_of(findings: Findings) -> list[Fault]:
    """In order of time."""
    found: dict[int, list[str]] = {}
    for part in findings.unrest:
        for cause in part.scope.disturbance.causes if part.scope.disturbance else ():
            found.setdefault(cause.time_ns, []).append(in_words(cause.do, cause.target))
    return [Fault(at_ns, ", ".join(names)) for at_ns, names in sorted(found.items())]


def course_figure(findings: Findings) -> Figure | None:
    """The drawing; None if nobody wanted anything that was published."""
    slices = findings.course
    if not any(part.counts.wanted for part in slices):
        return None
    start_ns, end_ns = slices[0].scope.from_ns, slices[-1].scope.until_ns
    across = Axis(0.0, float(end_ns - start_ns), LEFT, WIDTH - RIGHT)
    drawn = _Course(findings, across, start_ns, end_ns)
    body = (
        drawn.ground()
        + drawn.bands()
        + drawn.ratio()
        + drawn.bars()
        + drawn.times()
        + drawn.phases()
        + drawn.faults()
    )
    return Figure("course", "The course of the run", _description(findings), WIDTH, HEIGHT, body)


@dataclass(frozen=True, slots=True)
class _Course:
    findings: Findings
    across: Axis
    start_ns: int
    end_ns: int

    def ground(self) -> str:
        """What a part of the run is chosen on, and the mark of that part."""
        place = {"x": LEFT, "y": FAULTS_AT, "width": WIDTH - RIGHT - LEFT, "height": BARS_FOOT - FAULTS_AT}
        ground = element("rect", **place, class_="ground", data_span="all")
        return ground + chosen(FAULTS_AT, BARS_FOOT)

    def bands(self) -> str:
        """The times in which the network was not settled."""
        return "".join(self._band(part) for part in self.findings.unrest)

    def _band(self, part: ScopeCounts) -> str:
        until_ns = min(part.scope.until_ns, self.end_ns)
        x, end = self._x(part.scope.from_ns), self._x(until_ns)
        never = part.scope.until_ns == FOREVER
        took = duration(until_ns - part.scope.from_ns)
        lasted = "and never settled again" if never else f"settled after {took}"
        began = duration(part.scope.from_ns - self.start_ns)
        title = element("title", text(f"not settled from {began} on, {lasted}"))
        width, height = max(end - x, 1.5), BARS_FOOT - FAULTS_AT
        return element("rect", title, x=x, y=FAULTS_AT, width=width, height=height, class_="band")

    def ratio(self) -> str:
        """Of what was wanted: the part that arrived."""
        up = Axis(0.0, 1.0, RATIO_FOOT, RATIO_TOP)
        lines = [_level(up.at(part), f"{part:.0%}") for part in (0.0, 0.5, 1.0)]
        points = [
            [(self._x(part.scope.from_ns), y), (self._x(part.scope.until_ns), y)]
            for part in self.findings.course
            if part.counts.delivery_ratio is not None
            for y in [up.at(part.counts.delivery_ratio)]
        ]
        drawn = "".join(element("path", d=path(run), class_="ratio") for run in _joined(points))
        return "".join(lines) + _label("arrived, of what was wanted", RATIO_TOP) + drawn

    def bars(self) -> str:
        """What became of the wanted deliveries of each slice."""
        highest = max(part.counts.wanted for part in self.findings.course)
        up = axis_for([0.0, float(highest)], BARS_FOOT, BARS_TOP)
        ticks = [tick for tick in up.ticks() if tick == int(tick)]
        lines = [_level(up.at(tick), count(int(tick))) for tick in ticks[:: max(1, len(ticks) // 3)]]
        bars = [self._bar(part, up) for part in self.findings.course if part.counts.wanted]
        width = duration(self.findings.course[0].scope.until_ns - self.start_ns)
        return "".join(lines) + _label(f"wanted deliveries in {width}", BARS_TOP) + "".join(bars)

    def _bar(self, part: ScopeCounts, up: Axis) -> str:
        x, end = self._x(part.scope.from_ns), self._x(part.scope.until_ns)
        numbers = {kind: int(getattr(part.counts, kind)) for kind in KINDS}
        pieces, below = [], 0
        for kind, number in numbers.items():
            foot, top = up.at(below), up.at(below + number)
            if number:
                size = {"x": x, "y": top, "width": max(end - x - 1, 1.0), "height": foot - top}
                pieces.append(element("rect", **size, class_=kind))
            below += number
        named = ", ".join(f"{number:,} {kind}" for kind, number in numbers.items() if number)
        about = f"{self._when(part.scope.from_ns)}: {part.counts.wanted:,} wanted, {named}"
        return element("g", element("title", text(about)), *pieces)

    def times(self) -> str:
        """The axis of time."""
        parts = [element("path", d=path([(LEFT, BARS_FOOT), (WIDTH - RIGHT, BARS_FOOT)]), class_="axis")]
        for tick in self.across.ticks():
            x = self.across.at(tick)
            parts.append(element("line", x1=x, x2=x, y1=BARS_FOOT, y2=BARS_FOOT + 5, class_="axis"))
            parts.append(element("text", text(moment(tick)), x=x, y=BARS_FOOT + 19, class_="middle"))
        label = "time of publication, from when the network was ready"
        parts.append(element("text", label, x=WIDTH - RIGHT, y=HEIGHT - 8, class_="end"))
        return "".join(parts)

    def phases(self) -> str:
        """The names of the phases over their times."""
        parts = []
        for part in self.findings.phases:
            x, end = self._x(part.scope.from_ns), self._x(min(part.scope.until_ns, self.end_ns))
            parts.append(element("line", x1=x, x2=x, y1=PHASES_AT - 12, y2=BARS_FOOT, class_="phase"))
            if end - x > CHARACTER * len(part.scope.name) + 8:
                name = text(part.scope.name)
                parts.append(element("text", name, x=x + 5, y=PHASES_AT, class_="phase-name"))
        return "".join(parts)

    def faults(self) -> str:
        """A mark for each fault, and its name where there is room for it."""
        parts, free_from = [], 0.0
        for fault in faults_of(self.findings):
            x = self._x(fault.at_ns)
            title = element("title", text(f"{self._when(fault.at_ns)}: {fault.name}"))
            y = FAULTS_AT
            mark = path([(x - 4, y - 8), (x + 4, y - 8), (x, y), (x - 4, y - 8)])
            parts.append(element("path", title, d=mark, class_="fault"))
            ends = x + 7 + CHARACTER * len(fault.name)
            fits = len(fault.name) <= LONGEST_NAME and ends < WIDTH
            if x > free_from and fits and not self._marks_between(x, ends):
                parts.append(element("text", text(fault.name), x=x + 7, y=y - 1))
                free_from = ends + 6
        return "".join(parts)

    def _marks_between(self, x: float, end: float) -> bool:
        return any(x < self._x(fault.at_ns) - 5 < end for fault in faults_of(self.findings))

    def _x(self, time_ns: int) -> float:
        return self.across.at(float(time_ns - self.start_ns))

    def _when(self, time_ns: int) -> str:
        return f"at {moment(time_ns - self.start_ns)}"


def _joined(pieces: Sequence[list[tuple[float, float]]]) -> Iterator[list[tuple[float, float]]]:
    """Lines that go on where the one before ended, as one."""
    line: list[tuple[float, float]] = []
    for piece in pieces:
        if line and abs(line[-1][0] - piece[0][0]) > 0.01:
            yield line
            line = []
        line += piece
    if line:
        yield line


def _level(y: float, name: str) -> str:
    line = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
    return line + element("text", text(name), x=LEFT - 8, y=y + 4, class_="end")


def _label(name: str, top: float) -> str:
    return element("text", text(name), x=WIDTH - RIGHT, y=top - 6, class_="end")


def _description(findings: Findings) -> str:
    counts, faults = findings.counts, len(faults_of(findings))
    worst = min(
        (part for part in findings.course if part.counts.wanted),
        key=lambda part: part.counts.arrived / part.counts.wanted,
    )
    at = duration(worst.scope.from_ns - findings.course[0].scope.from_ns)
    least = share(worst.counts.arrived, worst.counts.wanted)
    return (
        f"Over the time of the run: {counts.arrived:,} of {counts.wanted:,} wanted deliveries arrived, the "
        f"smallest part of those published at {at}: {least}. "
        f"{faults:,} times something failed or was repaired."
    )


def _data(findings: Findings, _verdict: Data) -> Data | None:
    figure = course_figure(findings)
    if figure is None:
        return None
    seen = {kind for part in findings.course for kind in KINDS if getattr(part.counts, kind)}
    return {
        "figure": Markup(figure.to_svg()),
        "kinds": [kind for kind in KINDS if kind in seen],
        "disturbed": bool(findings.unrest),
        "course": findings.course,
        "start_ns": findings.course[0].scope.from_ns,
        **data_of(findings),
    }


SECTION = Section(
    "course",
    "The course of the run",
    """
<figure>
<div class="scroll">{{ figure }}</div>
<figcaption>
<span><i class="key ratio"></i>share that arrived</span>
{% for kind in kinds %}
<span><i class="key {{ kind }}"></i>{{ kind }}</span>
{% endfor %}
{% if disturbed %}
<span><i class="key fault"></i>fault or repair</span>
<span><i class="key band"></i>the network was not settled</span>
{% endif %}
</figcaption>
</figure>
{% if by_time %}
<div class="span" hidden="hidden">
<p id="span-said" role="status"></p>
<label>from <input type="range" id="span-from" min="0" max="{{ course | length }}" value="0" /></label>
<label>to <input type="range" id="span-until" min="0" max="{{ course | length }}"
value="{{ course | length }}" /></label>
<button type="button" id="span-whole">the whole run</button>
<span class="note">Drag over the drawing to choose a part of the run. Figures in blue, and the drawings below,
are then of what was published in it, and the latencies of it are a red line; disturbances outside of it are
pale.</span>
</div>
<script type="application/json" id="span-data">{{ by_time }}</script>
{% else %}
<p class="note">No part of the run can be chosen: this network has more links and clients than a page has room
for by time. The tables <code>links</code> and <code>verdicts</code> have it.</p>
{% endif %}
<details>
<summary>As a table</summary>
{% call table("", ["From", "#Messages", "#Wanted", "#Owed", "#Arrived", "#of them", "#Lost", "#Missing",
                   "#Unknown", "#Median latency"]) %}
{% for part in course %}
<tr><th scope="row">{{ (part.scope.from_ns - start_ns) | moment }}</th>{{ number(part.publications) }}
{{- number(part.counts.wanted) }}{{ number(part.counts.owed) }}{{ number(part.counts.arrived) }}
{{- cell(part.counts.arrived | share(part.counts.wanted)) }}{{ number(part.counts.lost) }}
{{- number(part.counts.missing, true) }}{{ number(part.counts.unknown, true) }}
{{- cell(part.latency_ns.p50 | duration if part.latency_ns else dash) }}</tr>
{% endfor %}
{% endcall %}
</details>
""",
    _data,
)
