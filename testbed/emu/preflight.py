"""Says, before anything is started, why a plan cannot be emulated here and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from testbed.emu import cgroups
from testbed.emu.links.choice import WAY_OUT, link_problems
from testbed.emu.options import EmuOptions
from testbed.live.live import attack_problems
from testbed.plan.model import Plan

PROGRAMS = {
    "mnexec": "mininet",
    "ifconfig": "net-tools",
    "ip": "iproute2",
    "tc": "iproute2",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "bash": "bash",
}
"""Program -> the Debian package that has it. Mininet itself insists on ifconfig."""
SPARE_DESCRIPTORS = 128
DESCRIPTORS_PER_NODE = 8
"""Two on its process and an admin connection; three more if its Mininet host is given a shell; room."""


def machine_problems() -> list[str]:
    """Why nothing at all can be emulated on this machine; empty if it can."""
    if os.geteuid() != 0:
        return [f"the emulated world makes network namespaces and needs root: `{_as_root()}`, {WAY_OUT}"]
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    found = [
        f"the program `{name}` is missing: `apt install {PROGRAMS[name]}`, {WAY_OUT}" for name in missing
    ]
    if importlib.util.find_spec("mininet") is None:
        found.append(f"the Python package `mininet` is missing: run `make build`, {WAY_OUT}")
    if not missing:
        found += _namespace_problems()
    return found


def _as_root() -> str:
    """This command, as root may give it: `sudo` finds only what is installed for all."""
    beside = Path(sys.executable).with_name("cbn")
    program = str(beside) if beside.exists() else f"{sys.executable} -m testbed.cli"
    return f"sudo {program} {shlex.join(sys.argv[1:])}"


def descriptors_needed(plan: Plan) -> int:
    """Open files that the run's process, or its capture process, holds at once."""
    interfaces = sum(len(router.interfaces) for router in plan.routers)
    return SPARE_DESCRIPTORS + max(DESCRIPTORS_PER_NODE * len(plan.nodes), 2 * interfaces)


def raise_descriptor_limit(plan: Plan) -> None:
    """Let this process and its children open as many files as the plan takes, no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = descriptors_needed(plan)
    if soft != resource.RLIM_INFINITY and soft < needed:
        bounded = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (bounded, hard))


def plan_problems(plan: Plan, options: EmuOptions | None = None) -> list[str]:
    """What this plan asks for that this machine cannot do."""
    links = link_problems(plan, options or EmuOptions())
    return [
        *attack_problems(plan),
        *links,
        *_descriptor_problems(plan),
        *_share_problems(plan),
    ]


def _share_problems(plan: Plan) -> list[str]:
    why = cgroups.why_not(plan)
    if why is None:
        return []
    names = ", ".join(node.name for node in cgroups.limited(plan))
    return [
        f"the share of the processors of {names} is limited, which this machine cannot do ({why}): "
        f"take `cpu` out of the scenario, mount the controller, {WAY_OUT}"
    ]


def _descriptor_problems(plan: Plan) -> list[str]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = descriptors_needed(plan)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return []
    return [
        f"{len(plan.nodes)} nodes take {needed} open files, and the limit is {hard}: "
        f"raise it (`ulimit -Hn {needed}`), {WAY_OUT}"
    ]


def problems(plan: Plan, options: EmuOptions | None = None) -> list[str]:
    """Why this plan cannot be emulated here; empty if it can."""
    return machine_problems() or plan_problems(plan, options)


def _namespace_problems() -> list[str]:
    # Mininet waits for ever for the prompt of a host that mnexec could not start.
    done = subprocess.run(["mnexec", "-n", "true"], capture_output=True, text=True, timeout=10, check=False)
    if done.returncode == 0:
        return []
    why = done.stderr.strip()
    return [f"network namespaces cannot be made here ({why}): a container may forbid it, {WAY_OUT}"]
