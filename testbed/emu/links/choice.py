"""What is to carry each link of a run: a bare pair, netem, or the wire; and why that cannot be here."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from testbed.emu.links.tc import cannot, kernel_lacks
from testbed.emu.options import EmuOptions
from testbed.live.traffic import asked
from testbed.plan.model import Impairment, LinkPlan, Plan
from topologies.fault_kinds import KINDS
from topologies.quantities import listed

Lacks = Callable[[str], str | None]
"""Why the kernel cannot do a queueing discipline; None if it can."""
TUN = Path("/dev/net/tun")
WAY_OUT = "or simulate it (`cbn run SCENARIO --world sim`)"

Opens = Callable[[Path], str | None]
"""Why a file cannot be opened for reading and writing; None if it can."""


def carriers(plan: Plan, options: EmuOptions, lacks: Lacks | None = None) -> dict[str, str]:
    """`veth`, `netem` or `wire` for every link, by its name."""
    lacks = lacks or kernel_lacks
    has_netem = cache(lambda: lacks("netem") is None)
    chosen = {}
    for link in plan.links:
        if not options.adjustable and not needs_carrier(plan, link):
            chosen[link.name] = "veth"
        elif options.links != "auto":
            chosen[link.name] = options.links
        else:
            able = not cannot(asked(plan, link)) and has_netem()
            chosen[link.name] = "netem" if able else "wire"
    return chosen


def needs_carrier(plan: Plan, link: LinkPlan) -> bool:
    """Whether anything happens to the packets of a link, or to the link itself."""
    return any(does_something(impairment) for impairment in asked(plan, link)) or any(
        KINDS[each.do].target == "link" and each.target == link.name for each in (*plan.faults, *plan.traces)
    )


def does_something(impairment: Impairment) -> bool:
    """Whether packets pass otherwise than on a bare pair."""
    i = impairment
    return bool(i.delay_ns or i.jitter_ns or i.loss or i.rate_bps or i.duplicate or i.reorder or i.corrupt)


def link_problems(
    plan: Plan, options: EmuOptions, lacks: Lacks = kernel_lacks, unopenable: Opens | None = None
) -> list[str]:
    """What the plan's links ask for that this machine, or the carrier chosen for them, cannot do."""
    chosen = carriers(plan, options, lacks)
    names = {
        kind: [link for link, carrier in chosen.items() if carrier == kind] for kind in ("netem", "wire")
    }
    found = _wire_problems(names["wire"], unopenable or _unopenable) if names["wire"] else []
    if names["netem"] and (why := lacks("netem")) is not None:
        found.append(
            f"links {listed(names['netem'], 5)} are to be carried by netem, and this kernel lacks sch_netem "
            f"({why}): load it (`modprobe sch_netem`), leave out `--links netem`, {WAY_OUT}"
        )
    for link in plan.links:
        if chosen[link.name] == "netem" and (too_much := cannot(asked(plan, link))):
            found.append(
                f"link {link.name} asks for {' and '.join(too_much)}, which netem cannot do: "
                f"leave out `--links netem`, {WAY_OUT}"
            )
    return found


def _wire_problems(links: list[str], unopenable: Opens) -> list[str]:
    why = unopenable(TUN)
    if why is None:
        return []
    way = "let the container have it (`--device /dev/net/tun`)" if TUN.exists() else "`modprobe tun`"
    return [
        f"links {listed(links, 5)} are to be carried by taps, and {TUN} cannot be opened ({why}): "
        f"{way}, take impairments and faults of links out of the scenario, {WAY_OUT}"
    ]


def _unopenable(path: Path) -> str | None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return error.strerror
    return None
