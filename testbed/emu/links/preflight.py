"""Says, before anything is started, why a plan's links cannot be carried here and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from testbed.emu.links.choice import Lacks, asked, carriers
from testbed.emu.links.netem import kernel_lacks
from testbed.emu.links.tc import cannot
from testbed.emu.options import EmuOptions
from testbed.plan.model import Plan
from topologies.quantities import listed

TUN = Path("/dev/net/tun")
WAY_OUT = "or use `--world sim`"

Opens = Callable[[Path], str | None]
"""Why a file cannot be opened for reading and writing; None if it can."""


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
