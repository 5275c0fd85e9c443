"""Limits what nodes may use of the processors, by control groups of the kernel, old (v1) or new (v2).

Each node that the plan limits gets a group `cbn-testbed/<run id>/<node>`; the
groups go with the run, or are removed by `cbn clean`, which knows them by the
run's id. Not here: how a process joins (`nodes.daemon.fork_server`).
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from testbed.live.fabric import NetworkError
from testbed.plan.model import NodePlan, Plan

MOUNTS = Path("/proc/self/mounts")
OURS = "cbn-testbed"
MEMBERS = "cgroup.procs"
PERIOD_US = 100_000
LEAST_US = 1_000
"""The kernel takes no smaller share of a period."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where the kernel's groups with the processor controller are."""

    root: Path
    version: int

    def limit(self, group: Path, cpu: float) -> None:
        """Let the group use so many cores."""
        quota_us = max(LEAST_US, round(cpu * PERIOD_US))
        if self.version == 2:
            _write(group / "cpu.max", f"{quota_us} {PERIOD_US}")
        else:
            _write(group / "cpu.cfs_period_us", str(PERIOD_US))
            _write(group / "cpu.cfs_quota_us", str(quota_us))

    def make(self, *names: str) -> Path:
        """A group, and those above it, each of which may limit the next."""
        group = self.root
        for name in names:
            if self.version == 2:
                _write(group / "cgroup.subtree_control", "+cpu")
            group = group / name
            group.mkdir(exist_ok=True)
        return group


def hierarchy(mounts: Path = MOUNTS) -> Hierarchy | None:
    """The one that has the processor controller; None: this machine has none."""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        _, where, kind, options, *_ = line.split()
        root = Path(where)
        if kind == "cgroup" and "cpu" in options.split(",") and (root / "cpu.cfs_quota_us").exists():
            return Hierarchy(root, 1)
        if kind == "cgroup2" and "cpu" in _read(root / "cgroup.controllers").split():
            return Hierarchy(root, 2)
    return None


def limited(plan: Plan) -> list[NodePlan]:
    """The nodes whose use of the processors the plan limits."""
    return [node for node in plan.nodes if node.cpu is not None]


def why_not(plan: Plan, mounts: Path = MOUNTS) -> str | None:
    """Why this machine cannot limit what the plan wants limited; None: it can, or need not.

    Whether it can is tried: a container may show groups and forbid making one.
    """
    if not limited(plan):
        return None
    found = hierarchy(mounts)
    if found is None:
        return "no control group hierarchy with the `cpu` controller is mounted"
    try:
        probe = found.make(OURS, f"probe-{os.getpid()}", "node")
        try:
            found.limit(probe, 0.5)
        finally:
            probe.rmdir()
            probe.parent.rmdir()
            _remove_empty(found.root / OURS)
    except OSError as error:
        return f"no control group can be made in {found.root} ({error.strerror or error})"
    return None


class Shares:
    """The groups of one run's nodes."""

    def __init__(self, plan: Plan, run_id: str) -> None:
        self._nodes = limited(plan)
        self._run_id = run_id
        self._found = hierarchy() if self._nodes else None
        self._groups: dict[str, Path] = {}

    def make(self) -> None:
        """Make a group for every node that is limited.

        Raises:
            NetworkError: the kernel does not let us.
        """
        for node in self._nodes:
            assert node.cpu is not None
            try:
                if self._found is None:
                    raise OSError("there is no `cpu` controller")
                group = self._groups[node.name] = self._found.make(OURS, self._run_id, node.name)
                self._found.limit(group, node.cpu)
            except OSError as error:
                raise NetworkError(f"{node.name} cannot be limited to {node.cpu:g} cores: {error}") from error

    def members(self, node: str) -> tuple[str, ...]:
        """The files to write to for a process that is to be limited as this node; often none."""
        return (str(self._groups[node] / MEMBERS),) if node in self._groups else ()

    def remove(self) -> None:
        """Remove the groups; their processes have ended."""
        if self._groups:
            remove_groups(self._run_id)


def remove_groups(run_id: str) -> None:
    """Remove the groups of a run, if it has any; one that still has a process stays, for `cbn clean`."""
    found = hierarchy()
    if found is None:
        return
    folder = found.root / OURS / run_id
    if folder.is_dir():
        for group in [path for path in folder.iterdir() if path.is_dir()]:
            with contextlib.suppress(OSError):
                group.rmdir()
        _remove_empty(folder)
    _remove_empty(found.root / OURS)


def _remove_empty(group: Path) -> None:
    """Another run may just be making its own in there."""
    with contextlib.suppress(OSError):
        group.rmdir()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
