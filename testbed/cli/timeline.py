"""A plan's time as rows: phases, what is published in each, and faults as single steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby

from testbed.plan.model import Fault, Impairment, Phase, Plan

_S = 1_000_000_000
_MS = 1_000_000
_SAME = ""
SHOWN = 6
"""How many links or nodes of one moment are named."""

Entry = tuple[str, str]
"""When, and what."""


def timeline(plan: Plan) -> list[Entry]:
    """All that happens to the network, in order; faults that wait for it stand below those they wait for."""
    starts = list(plan.phases)
    rows: list[Entry] = []
    for fault_when, faults in groupby(plan.faults, key=lambda f: (f.after, f.at_ns, f.do)):
        after, at_ns, do = fault_when
        while after == "start" and starts and starts[0].start_ns <= at_ns:
            rows.append(_phase(plan, starts.pop(0)))
        rows.append((_moment(after, at_ns), _happening(do, list(faults))))
    rows += [_phase(plan, phase) for phase in starts]
    return _together(rows)


def published_during(plan: Plan, phase: Phase) -> int:
    """How many messages are published in a phase."""
    count = 0
    for client in plan.clients:
        times = [action.at_ns for action in client.script if action.do == "publish"]
        count += bisect_left(times, phase.end_ns) - bisect_left(times, phase.start_ns)
    return count


def impairment_words(impairment: Impairment) -> str:
    """What one direction of a link does to packets; empty for nothing."""
    parts = []
    if impairment.delay_ns is not None:
        jitter = f" ± {impairment.jitter_ns / _MS:g}" if impairment.jitter_ns else ""
        parts.append(f"{impairment.delay_ns / _MS:g}{jitter} ms")
    if impairment.loss:
        burst = f" in bursts of {impairment.loss_burst:g}" if impairment.loss_burst else ""
        parts.append(f"loses {impairment.loss:.3%}{burst}")
    shares = {"doubles": impairment.duplicate, "reorders": impairment.reorder, "corrupts": impairment.corrupt}
    parts += [f"{does} {share:.3%}" for does, share in shares.items() if share]
    if impairment.rate_bps is not None:
        parts.append(f"{impairment.rate_bps:,} bit/s")
    return ", ".join(parts)


def both_ways(there: Impairment, back: Impairment) -> str:
    """What a link does to packets."""
    to, fro = impairment_words(there), impairment_words(back)
    return to if to == fro else f"{to or 'none'}; back: {fro or 'none'}"


def _phase(plan: Plan, phase: Phase) -> Entry:
    lasts = (phase.end_ns - phase.start_ns) / _S
    messages = published_during(plan, phase)
    return f"{phase.start_ns / _S:g} s", f"phase {phase.name}, {lasts:g} s, {messages:,} messages"


def _moment(after: str, at_ns: int) -> str:
    if after == "start":
        return f"{at_ns / _S:g} s"
    later = f" + {at_ns / _S:g} s" if at_ns else ""
    return f"converged{later}" if after == "converged" else (later.strip() or _SAME)


def _happening(do: str, faults: list[Fault]) -> str:
    names = [fault.target for fault in faults]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    impairment = faults[0].impairment
    to = ""
    if impairment is not None:
        back = faults[0].back if faults[0].back is not None else impairment
        to = f" to: {both_ways(impairment, back) or 'nothing'}"
    return f"{do} {', '.join(names[:SHOWN])}{more}{to}"


def _together(rows: list[Entry]) -> list[Entry]:
    """What happens in the same moment as the row before it, in the same row."""
    joined: list[Entry] = []
    for when, what in rows:
        if when == _SAME and joined:
            before = joined.pop()
            verb, _, rest = what.partition(" ")
            joint = f", {rest}" if before[1].startswith(f"{verb} ") else f"; {what}"
            joined.append((before[0], before[1] + joint))
        else:
            joined.append((when, what))
    return joined


def fault_rows(plan: Plan) -> Iterator[dict[str, object]]:
    """The faults as plain values."""
    for fault in plan.faults:
        yield {"after": fault.after, "at_s": fault.at_ns / _S, "do": fault.do, "target": fault.target}
