"""What each node of a run is told, and where what it says is kept: its files in the run directory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nodes.config_file import dump_config, dump_script
from nodes.wire.packets import Role
from testbed.emu.clock import EmulatedClock
from testbed.plan.model import NodePlan, Plan
from testbed.plan.rendering import node_config
from testbed.runs.directory import RunDirectory


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """The paths of nodes' files, and the writing of those that they read."""

    plan: Plan
    directory: RunDirectory
    clock: EmulatedClock

    def log(self, name: str) -> Path:
        """Where a node writes its log."""
        return self.directory.logs.resolve() / f"{name}.jsonl"

    def errors(self, name: str) -> Path:
        """Where its standard error goes."""
        return self.log(name).with_suffix(".stderr")

    def events(self, name: str) -> Path:
        """Where a client writes its events; merged into the run's and removed at its end."""
        return self.directory.logs.resolve() / f"{name}.events.jsonl"

    def write(self, node: NodePlan, admin_socket: Path) -> Path:
        """Write a node's configuration, and its script if it is a client; the configuration's path."""
        path = self.directory.config.resolve() / f"{node.name}.toml"
        script = path.with_suffix(".script.jsonl")
        client = node.role is Role.CLIENT
        config = replace(
            node_config(self.plan, node, self.directory.run_id),
            log_path=str(self.log(node.name)),
            events_path=str(self.events(node.name)) if client else "",
            admin_socket=str(admin_socket),
            script_path=str(script) if client else "",
            dilate=self.clock.dilate,
            dilate_from_ns=self.clock.dilate_from_ns,
        )
        if client:
            script.write_text(dump_script(node.script), encoding="utf-8")
        path.write_text(dump_config(config), encoding="utf-8")
        return path
