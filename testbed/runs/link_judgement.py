"""The links' part of the fidelity certificate: asked beside delivered, by direction, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.chance import clumped_tail, tail
from testbed.runs.fidelity import LinkFidelity
from testbed.runs.limits import Limits
from testbed.runs.measures import PROBE_BYTES, Evidence, InterfaceMeasure, LinkMeasure, ProbeMeasure
from topologies.quantities import duration_text, listed

BITS_NS = 8 * 1_000_000_000
SHOWN = 3
OVERLOADED = 2.0
"""How much slower to go where things were lost for want of time: how much too fast it was, nobody knows."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a run is degraded."""

    text: str
    affects: tuple[str, ...]
    excess: float | None = None
    """How many times too much, where slower time makes it less; None: it does not."""
    kind: str = ""
    """Of links: those that have the same kind of trouble are named together."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of a link: what is known of it."""

    link: LinkPlan
    measured: LinkMeasure
    asked: Impairment
    sent: InterfaceMeasure | None
    received: InterfaceMeasure | None
    probe: ProbeMeasure | None
    crossing_ns: int | None
    """What the network between two machines takes of the delay."""
    quiet: bool
    """Nothing has happened to the link or a node at its ends."""
    constant: bool
    """What is asked of it stays the same."""
    seconds: float
    """Of the run's time, in which this was measured."""

    @property
    def delay_ns(self) -> int:
        """That is asked for."""
        return self.asked.delay_ns or 0

    @property
    def beyond_ns(self) -> int | None:
        """What the network between two machines adds to the delay: what is more than that."""
        return None if self.crossing_ns is None else max(0, self.crossing_ns - self.delay_ns)

    @property
    def carried_bps(self) -> int | None:
        """What it carried per second on average, frames that were lost left out."""
        measured = self.measured
        if not self.seconds or not measured.frames:
            return None
        return round(measured.bytes * 8 * measured.delivered / measured.frames / self.seconds)


def judge_links(evidence: Evidence, limits: Limits) -> tuple[tuple[LinkFidelity, ...], list[Reason]]:
    """Asked beside delivered for every direction that was measured, and why the run is degraded by them."""
    ways = _ways(evidence)
    chance = limits.chance / max(1, sum(_draws(way) for way in ways))
    found = [(way, list(_findings(way, limits, chance))) for way in ways]
    rows = sorted((_row(way, wrong) for way, wrong in found), key=_badness, reverse=True)
    return tuple(rows), _reasons(found)


def _ways(evidence: Evidence) -> list[_Way]:
    plan = evidence.plan
    by_name = {link.name: link for link in plan.links}
    sockets = {interface.name: interface for node in evidence.nodes for interface in node.interfaces}
    sent_probes = {probe.source: probe for probe in evidence.probes}
    touched = {fault.target for fault in evidence.faults}
    changed = {fault.target for fault in evidence.faults if fault.impairment is not None}

    def way(measured: LinkMeasure) -> _Way:
        link = by_name[measured.link]
        forth = measured.source == link.a_interface
        return _Way(
            link,
            measured,
            link.impairment if forth else link.impairment_back,
            sockets.get(measured.source),
            sockets.get(link.b_interface if forth else link.a_interface),
            sent_probes.get(measured.source),
            evidence.crossing_ns.get(link.name),
            not touched & {link.name, link.a, link.b},
            link.name not in changed,
            evidence.seconds,
        )

    return [way(measured) for measured in evidence.links]


def _findings(way: _Way, limits: Limits, chance: float) -> Iterator[Reason]:
    for look in (_late, _crossing, _probed, _steady, _overrun, _unasked_loss, _refused, _too_fast):
        yield from look(way, limits)
    for name, happened, trials, share in _counts(way):
        clump = way.asked.loss_burst if name == "lost" else None
        odds = clumped_tail(happened, trials, share, clump) if clump else tail(happened, trials, share)
        if 2 * odds < chance:  # it might as well have been out on the other side
            text = f"{name} {happened:,} of {trials:,} frames, {happened / trials:.2%}, asked {share:.2%}"
            yield Reason(text, ("losses",) if name == "lost" else ("losses", "rates"), kind=name)


def _late(way: _Way, limits: Limits) -> Iterator[Reason]:
    """What the carrier itself says of how late it was."""
    measured, delay_ns = way.measured, way.delay_ns
    p50_ns, p99_ns = measured.late_p50_ns, measured.late_p99_ns
    enough = measured.frames >= limits.least_frames
    if enough and p99_ns is not None and p99_ns > (allowed := limits.allowed_ns(delay_ns)):
        text = f"1 of 100 frames {duration_text(p99_ns)} late or later (limit {duration_text(allowed)})"
        text = f"{text}, asked delay {duration_text(delay_ns)}"
        yield Reason(text, ("latency",), p99_ns / allowed, kind="late")
    elif p50_ns is not None and measured.frames and p50_ns > (most := limits.allowed_median_ns(delay_ns)):
        text = f"every second frame {duration_text(p50_ns)} late or later (limit {duration_text(most)})"
        text = f"{text}, asked delay {duration_text(delay_ns)}"
        yield Reason(text, ("latency",), p50_ns / most, kind="late")


def _crossing(way: _Way, limits: Limits) -> Iterator[Reason]:
    """Every frame is late by what the network between two machines takes longer than the link is to delay."""
    adds_ns, most_ns = way.beyond_ns, limits.allowed_median_ns(way.delay_ns)
    if adds_ns is not None and adds_ns > most_ns:
        text = (
            f"the network between its machines adds {duration_text(adds_ns)} (limit {duration_text(most_ns)})"
        )
        text = f"{text}, asked delay {duration_text(way.delay_ns)}"
        yield Reason(text, ("latency",), adds_ns / most_ns, kind="crossing")


def _probed(way: _Way, limits: Limits) -> Iterator[Reason]:
    """What frames met with that were sent before the workload: whether the link is what was asked at all.

    The fastest of them is looked at: it shows the link; the others show the machine too.
    """
    probe, asked = way.probe, way.asked
    if probe is None or not probe.sent:
        return
    if not probe.received:
        if asked.loss**probe.sent < limits.chance:
            text = f"none of {probe.sent} probes arrived, asked loss {asked.loss:.2%}"
            yield Reason(text, ("losses", "latency"), kind="dead")
        return
    if asked.reorder or probe.delay_min_ns is None:
        return
    due_ns = way.delay_ns + (PROBE_BYTES * BITS_NS // asked.rate_bps if asked.rate_bps else 0)
    least_ns = due_ns - _reach_ns(asked) - limits.allowed_early_ns(due_ns)
    most_ns = due_ns + _reach_ns(asked) + limits.allowed_ns(due_ns)
    if not least_ns <= probe.delay_min_ns <= most_ns:
        text = f"the fastest of {probe.received} probes took {duration_text(probe.delay_min_ns)}"
        yield Reason(f"{text}, asked {duration_text(due_ns)}", ("latency",), kind="probe")


def _steady(way: _Way, limits: Limits) -> Iterator[Reason]:
    """Whether jitter was left out; it is too unlikely that so many draws are all so close."""
    probe, asked = way.probe, way.asked
    if probe is None or probe.received < limits.least_probes or not asked.jitter_ns:
        return
    if asked.jitter_shape == "pareto" or asked.jitter_correlation > limits.most_correlation:
        return
    assert probe.delay_max_ns is not None
    assert probe.delay_min_ns is not None
    if (apart_ns := probe.delay_max_ns - probe.delay_min_ns) < asked.jitter_ns / 4:
        text = f"delays of {probe.received} probes were {duration_text(apart_ns)} apart"
        yield Reason(f"{text}, asked jitter {duration_text(asked.jitter_ns)}", ("latency",), kind="jitter")


def _reach_ns(asked: Impairment) -> int:
    """How far jitter may well take a frame: only a uniform one has an end."""
    return asked.jitter_ns if asked.jitter_shape == "uniform" else 4 * asked.jitter_ns


def _overrun(way: _Way, _: Limits) -> Iterator[Reason]:
    lost = way.measured.overruns
    overflowed = way.received.overflows if way.received is not None and way.quiet else 0
    if lost:
        text = f"{lost:,} of {way.measured.frames:,} frames were lost for want of time or room (asked 0)"
        yield Reason(text, ("losses", "rates"), OVERLOADED, kind="overrun")
    if overflowed:
        text = f"{overflowed:,} packets overflowed the receiver's socket (asked 0)"
        yield Reason(text, ("losses", "rates"), OVERLOADED, kind="overflow")


def _unasked_loss(way: _Way, _: Limits) -> Iterator[Reason]:
    """Where nothing is to be lost, every message that went in must have come out: the nodes' own counts."""
    sent, received, asked = way.sent, way.received, way.asked
    if sent is None or received is None or not way.quiet:
        return
    if asked.loss or asked.corrupt or asked.duplicate or asked.rate_bps is not None:
        return
    missing = sent.sent_messages - received.received_messages
    if missing > 0 and not received.overflows and not way.measured.overruns:
        text = f"{missing:,} of {sent.sent_messages:,} messages did not arrive (asked 0)"
        yield Reason(text, ("losses",), OVERLOADED, kind="vanished")


def _refused(way: _Way, _: Limits) -> Iterator[Reason]:
    if way.sent is not None and way.quiet and way.sent.refused:
        text = f"the kernel would not send {way.sent.refused:,} datagrams (asked 0)"
        yield Reason(text, ("losses", "rates"), OVERLOADED, kind="refused")


def _counts(way: _Way) -> Iterator[tuple[str, int, int, float]]:
    """(what, how often, of how many, asked share) of all that is left to chance and was counted."""
    measured, asked = way.measured, way.asked
    if not way.constant:
        return
    trials = measured.frames - measured.lost_queue - measured.lost_down - measured.overruns
    survivors = trials - measured.lost
    if (measured.lost or asked.loss) and trials > 0:
        yield "lost", measured.lost, trials, asked.loss
    if (measured.duplicated or asked.duplicate) and survivors > 0:
        yield "duplicated", measured.duplicated, survivors, asked.duplicate


def _draws(way: _Way) -> int:
    return sum(1 for _ in _counts(way))


def _too_fast(way: _Way, limits: Limits) -> Iterator[Reason]:
    """Whether more got through than the rate allows; that it was too slow shows in how late frames were."""
    rate, carried = way.asked.rate_bps, way.carried_bps
    if rate is None or carried is None or not way.constant:
        return
    if carried > rate * (1 + limits.rate_share):
        yield Reason(f"carried {carried:,} bit/s, asked at most {rate:,}", ("rates", "latency"), kind="rate")


def _row(way: _Way, wrong: Sequence[Reason]) -> LinkFidelity:
    asked = way.asked
    return LinkFidelity(
        link=way.link.name,
        source=way.measured.source,
        backend=way.measured.backend,
        asked={
            "delay_ns": asked.delay_ns,
            "jitter_ns": asked.jitter_ns,
            "loss": asked.loss,
            "rate_bps": asked.rate_bps,
            "duplicate": asked.duplicate,
        },
        measured=way.measured,
        probe=way.probe,
        crossing_ns=way.crossing_ns,
        delay_error_ns=_delay_error_ns(way),
        carried_bps=way.carried_bps,
        reasons=tuple(finding.text for finding in wrong),
    )


def _delay_error_ns(way: _Way) -> int | None:
    late = (way.measured.late_p99_ns, way.beyond_ns)
    errors = [] if late == (None, None) else [sum(each or 0 for each in late)]
    if way.probe is not None and way.probe.delay_p50_ns is not None and way.asked.delay_ns is not None:
        errors.append(abs(way.probe.delay_p50_ns - way.asked.delay_ns))
    return max(errors, default=None)


def _badness(row: LinkFidelity) -> tuple[int, int, str]:
    return len(row.reasons), row.delay_error_ns or 0, row.source


def _reasons(found: Sequence[tuple[_Way, Sequence[Reason]]]) -> list[Reason]:
    """One a kind of trouble, with the first few links that have it."""
    kinds: dict[str, list[tuple[_Way, Reason]]] = {}
    for way, wrong in found:
        for finding in wrong:
            kinds.setdefault(finding.kind, []).append((way, finding))
    return [_reason(having) for having in kinds.values()]


def _reason(having: Sequence[tuple[_Way, Reason]]) -> Reason:
    having = sorted(having, key=lambda pair: -(_delay_error_ns(pair[0]) or 0))
    way, finding = having[0]
    text = f"link {way.link.name} from {way.measured.source}: {finding.text}"
    if len(having) > 1:
        others = [other.measured.source for other, _ in having[1:]]
        text += f"; the like from {listed(others, SHOWN)}"
    excesses = [found.excess for _, found in having if found.excess is not None]
    return Reason(text, finding.affects, max(excesses, default=None))
