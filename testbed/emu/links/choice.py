"""What is to carry each link of a run: a bare pair, netem, or the wire."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from testbed.emu.links import netem
from testbed.emu.options import EmuOptions
from testbed.plan.model import Impairment, LinkPlan, Plan
from topologies.fault_kinds import KINDS

Lacks = Callable[[str], str | None]
"""Why the kernel cannot do a queueing discipline; None if it can."""


def carriers(plan: Plan, options: EmuOptions, lacks: Lacks | None = None) -> dict[str, str]:
    """`veth`, `netem` or `wire` for every link, by its name."""
    lacks = lacks or netem.kernel_lacks
    has_netem = cache(lambda: lacks("netem") is None)
    chosen = {}
    for link in plan.links:
        if not options.adjustable and not needs_carrier(plan, link):
            chosen[link.name] = "veth"
        elif options.links != "auto":
            chosen[link.name] = options.links
        else:
            able = not netem.cannot(asked(plan, link)) and has_netem()
            chosen[link.name] = "netem" if able else "wire"
    return chosen


def needs_carrier(plan: Plan, link: LinkPlan) -> bool:
    """Whether anything happens to the packets of a link, or to the link itself."""
    return any(does_something(impairment) for impairment in asked(plan, link)) or any(
        KINDS[fault.do].target == "link" and fault.target == link.name for fault in plan.faults
    )


def asked(plan: Plan, link: LinkPlan) -> list[Impairment]:
    """All that a link is to do to packets, one way or the other, at one time or another."""
    found = [link.impairment, link.impairment_back]
    for fault in plan.faults:
        if fault.target == link.name and fault.impairment is not None:
            found += [fault.impairment, fault.back or fault.impairment]
    return found


def does_something(impairment: Impairment) -> bool:
    """Whether packets pass otherwise than on a bare pair."""
    i = impairment
    return bool(i.delay_ns or i.jitter_ns or i.loss or i.rate_bps or i.duplicate or i.reorder or i.corrupt)
