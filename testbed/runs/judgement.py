"""From what was measured to the verdict of the fidelity certificate: figures, limits, reasons.

Pure: the same evidence gives the same certificate. What each limit is for, and
what it does not see, stands in docs/fidelity.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from nodes.config import MOST_DILATE
from nodes.daemon.lateness import quantile_ns
from testbed.plan.model import Plan
from testbed.runs.fidelity import Fidelity, NodeUse
from testbed.runs.limits import LIMITS, Limits
from testbed.runs.link_judgement import OVERLOADED, Reason, judge_links
from testbed.runs.measures import Evidence, MachineMeasure, NodeMeasure
from topologies.quantities import counted, duration_text, listed

KINDS = ("latency", "losses", "captures", "rates", "convergence")
"""The results that a reason may affect, as certificates list them."""
ROOM = 1.25
"""How much slower than just enough is advised."""


def judge(evidence: Evidence, limits: Limits = LIMITS) -> Fidelity:
    """The certificate that follows from the evidence."""
    rows, link_reasons = judge_links(evidence, limits)
    reasons = [*_machines(evidence, limits), *_nodes(evidence, limits), *link_reasons, *_capture(evidence)]
    affected = {kind for reason in reasons for kind in reason.affects}
    return Fidelity(
        verdict="degraded" if reasons else "trusted",
        reasons=tuple(reason.text for reason in reasons),
        affected=tuple(kind for kind in KINDS if kind in affected),
        dilate=evidence.dilate,
        figures=figures(evidence),
        links=rows,
        nodes=tuple(NodeUse(node.name, node.ran_ns, node.waited_ns) for node in evidence.nodes),
        advised=advised(evidence.dilate, reasons),
    )


def advised(dilate: int, reasons: Sequence[Reason]) -> int | None:
    """How slow time would have to go for all that this helps to be within limits, with some room.

    It supposes that the machine stays as busy with other things as it was.
    """
    excesses = [reason.excess for reason in reasons if reason.excess is not None]
    wanted = max((ceil(dilate * excess * ROOM) for excess in excesses), default=0)
    return min(max(wanted, dilate + 1), MOST_DILATE) if wanted and dilate < MOST_DILATE else None


def figures(evidence: Evidence) -> dict[str, float | int | None]:
    """What the certificate says of machines (the worst) and nodes; times are in ns of the run's time."""
    dilate = evidence.dilate
    of_machines = [_of_machine(each, dilate) for each in evidence.machines.values() if each is not None]
    found = {name: _worst(each[name] for each in of_machines) for name in (of_machines or [{}])[0]}
    for what, clients in (("client", True), ("router", False)):
        found[f"{what}_late_p99_ns"] = quantile_ns(_pooled(_unharmed(evidence, clients)), 0.99)
    waits = [wait for node in evidence.nodes if (wait := _mean_wait_ns(node, dilate)) is not None]
    return found | {
        "processor_wait_ns": max(waits, default=None),
        "processor_wait_share": _wait_share(evidence),
        "socket_overflows": sum(i.overflows for node in evidence.nodes for i in node.interfaces),
        "late_starts": len(evidence.late_starts),
        "late_faults": len(evidence.late_faults),
        "captured_frames": evidence.captured_frames,
        "capture_drops": evidence.capture_drops,
    }


def _of_machine(machine: MachineMeasure, dilate: int) -> dict[str, float | int | None]:
    return {
        **{f"lag_p{n}_ns": _scaled(quantile_ns(machine.lag, n / 100), dilate) for n in (50, 99)},
        "lag_max_ns": machine.lag_max_ns // dilate,
        "busy": machine.busy,
        "busy_peak": machine.busy_peak,
        "stolen": machine.stolen,
        "pressure": machine.pressure,
        "throttled_s": machine.throttled_s,
        "measured_s": machine.seconds,
    }


def _worst(values: Iterable[float | int | None]) -> float | int | None:
    return max((value for value in values if value is not None), default=None)


def _machines(evidence: Evidence, limits: Limits) -> Iterator[Reason]:
    """Whether the machines were there when they were needed; of several, each is named."""
    for name, machine in (evidence.machines or {"": None}).items():
        for reason in _machine(evidence, machine, limits):
            yield replace(reason, text=f"{name}: {reason.text}") if name else reason


def _machine(evidence: Evidence, machine: MachineMeasure | None, limits: Limits) -> Iterator[Reason]:
    dilate = evidence.dilate
    if machine is None:
        yield Reason(
            "nobody measured how late the machine was: the sampler ended early", ("latency", "rates")
        )
        return
    allowed_ns = limits.allowed_ns(_least_delay_ns(evidence.plan))
    p99_ns = _scaled(quantile_ns(machine.lag, 0.99), dilate) or 0
    if p99_ns > allowed_ns:
        text = (
            f"scheduling lag: 1 of 100 wake-ups came {duration_text(p99_ns)} late or later"
            f" (limit {duration_text(allowed_ns)}; processors {machine.busy:.0%} busy{_waiting(machine)})"
        )
        yield Reason(text, ("latency", "rates"), p99_ns / allowed_ns)
    if machine.lag_max_ns // dilate > limits.stall_ns:
        text = (
            f"the machine stood still for {duration_text(machine.lag_max_ns // dilate)} at once"
            f" (limit {duration_text(limits.stall_ns)})"
        )
        yield Reason(text, ("latency", "convergence"), machine.lag_max_ns / dilate / limits.stall_ns)
    if machine.busy > limits.busy and (speed := _speed(evidence)) < limits.speed:
        text = (
            f"processors were {machine.busy:.0%} busy throughout (limit {limits.busy:.0%}), and in the run's"
            f" time nodes computed at {speed:.0%} of a processor's speed (limit {limits.speed:.0%})"
        )
        yield Reason(text, ("rates",), limits.speed / speed if speed else OVERLOADED)
    if (held_s := machine.throttled_s or 0.0) > limits.throttled * machine.seconds:
        text = f"a quota held the processes back for {held_s:.2f} s of {machine.seconds:.2f} s"
        yield Reason(text, ("latency", "rates"), OVERLOADED)


def _waiting(machine: MachineMeasure) -> str:
    """What a lag comes from where processors are not busy: others wait for them in turns."""
    if machine.pressure is None:
        return ""
    return f", somebody waiting for one {machine.pressure:.0%} of the time"


def _nodes(evidence: Evidence, limits: Limits) -> Iterator[Reason]:
    """Whether nodes did things when they were due."""
    if evidence.late_starts:
        names = listed(evidence.late_starts, 5)
        yield Reason(f"heard of the start after it: {names}", ("rates", "latency"), OVERLOADED)
    if evidence.late_faults:
        yield Reason(listed(evidence.late_faults, 5, "; "), ("convergence",), OVERLOADED)
    yield from _late(evidence, True, limits, "did what their scripts say", ("rates",))
    yield from _late(evidence, False, limits, "acted on their timers", ("convergence",))
    limited = {node.name for node in evidence.plan.nodes if node.cpu is not None}
    waits = [
        (wait_ns, node.name)
        for node in evidence.nodes
        if node.name not in limited and (node.turns or 0) >= limits.least_turns
        if (wait_ns := _mean_wait_ns(node, evidence.dilate) or 0) > limits.processor_wait_ns
    ]
    if waits:
        worst_ns, worst = max(waits)
        text = (
            f"{counted(len(waits), 'node')} waited for a processor each time they were to run: {worst} for"
            f" {duration_text(worst_ns)} on average (limit {duration_text(limits.processor_wait_ns)})"
        )
        yield Reason(text, ("latency", "rates"), worst_ns / limits.processor_wait_ns)


def _late(
    evidence: Evidence, clients: bool, limits: Limits, did: str, affects: tuple[str, ...]
) -> Iterator[Reason]:
    """All of a kind together: one late deadline of one node says nothing; then each that is late often."""
    nodes = _unharmed(evidence, clients)
    limit_ns = limits.client_late_ns if clients else limits.router_late_ns
    if not nodes:
        return
    together_ns = quantile_ns(_pooled(nodes), 0.99) or 0
    often = {
        node.name: late_ns
        for node in nodes
        if sum(node.lateness.values()) >= limits.least_deadlines
        if (late_ns := quantile_ns(node.lateness, 0.9) or 0) > limit_ns
    }
    if together_ns <= limit_ns and not often:
        return
    worst = max(nodes, key=lambda node: quantile_ns(node.lateness, 0.99) or 0)
    worst_ns = quantile_ns(worst.lateness, 0.99) or 0
    kind = "clients" if clients else "routers"
    text = (
        f"{kind} {did} late: 1 of 100 times by {duration_text(together_ns)} or more, {worst.name} by"
        f" {duration_text(worst_ns)} (limit {duration_text(limit_ns)})"
    )
    yield Reason(text, affects, max(together_ns, *often.values(), 0) / limit_ns)


def _capture(evidence: Evidence) -> Iterator[Reason]:
    if evidence.capture_drops:
        text = (
            f"captures lack {evidence.capture_drops:,} packets beside the"
            f" {evidence.captured_frames:,} they hold (limit 0)"
        )
        yield Reason(text, ("captures",), OVERLOADED)


def _least_delay_ns(plan: Plan) -> int:
    """The least delay that any link asks for; 0 if one asks for none."""
    ways = [way for link in plan.links for way in (link.impairment, link.impairment_back)]
    return min((way.delay_ns or 0 for way in ways), default=0)


def _unharmed(evidence: Evidence, clients: bool) -> list[NodeMeasure]:
    """The nodes of a kind that nobody has stopped or was to hold back: those are late as asked."""
    broken = {fault.target for fault in evidence.faults}
    kind = evidence.plan.clients if clients else evidence.plan.routers
    names = {node.name for node in kind if node.cpu is None} - broken
    return [node for node in evidence.nodes if node.name in names]


def _pooled(nodes: Iterable[NodeMeasure]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for node in nodes:
        counts.update(node.lateness)
    return dict(counts)


def _mean_wait_ns(node: NodeMeasure, dilate: int) -> int | None:
    if not node.turns or node.waited_ns is None:
        return None
    return node.waited_ns // node.turns // dilate


def _wait_share(evidence: Evidence) -> float | None:
    """Of the time in which nodes wanted a processor, the share in which they had none."""
    known = [node for node in evidence.nodes if node.waited_ns is not None and node.ran_ns is not None]
    waited = sum(node.waited_ns or 0 for node in known)
    ran = sum(node.ran_ns or 0 for node in known)
    return round(waited / (waited + ran), 4) if waited + ran else None


def _speed(evidence: Evidence) -> float:
    """How fast nodes computed when they wanted to, in the run's time, beside a processor of their own."""
    waited = _wait_share(evidence)
    return 0.0 if waited is None else (1 - waited) * evidence.dilate


def _scaled(real_ns: int | None, dilate: int) -> int | None:
    return None if real_ns is None else real_ns // dilate
