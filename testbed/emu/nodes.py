"""The node processes of a run: starting them, asking them, stopping them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nodes.config_file import dump_config, dump_script
from nodes.convergence import unconverged
from nodes.wire.packets import Role
from testbed.emu.admin import AdminClient, AdminError
from testbed.emu.clock import EmulatedClock
from testbed.emu.drain import Status
from testbed.emu.processes import Child, Watch, drop_empty_errors, start, stop_all
from testbed.emu.registry import Registration
from testbed.plan import node_config
from testbed.plan.model import NodePlan, Plan
from testbed.runs.directory import RunDirectory

SOURCE_ROOT = Path(__file__).resolve().parents[2]
POLL_S = 0.02
STOP_TIMEOUT_S = 10.0
DEATH_NOTICE_S = 0.5
"""How long after its connections a killed process itself may take to end."""


class NotReadyError(RuntimeError):
    """The network did not come to rest in the time the plan gives it."""


@dataclass(slots=True)
class Nodes:
    """One process a node, one admin connection each, in order of node id."""

    plan: Plan
    directory: RunDirectory
    registration: Registration
    watch: Watch
    clock: EmulatedClock = field(default_factory=EmulatedClock)
    children: list[Child] = field(default_factory=list)
    admins: dict[str, AdminClient] = field(default_factory=dict)
    _poll_took_s: float = 0.0

    def start(self, inside: Callable[[str], Sequence[str]]) -> None:
        """Write every node's configuration, then start every node."""
        commands = [(node, self._command(node)) for node in self.plan.nodes]
        environment = self.registration.environment()
        for node, command in commands:
            log = self.directory.logs / f"{node.name}.jsonl"
            what = f"node {node.name}"
            child = start(what, command, environment, log, inside=inside(node.name), cwd=SOURCE_ROOT)
            self.children.append(child)
            self.watch.add(child)
            self.admins[node.name] = AdminClient(node.name, self.registration.socket(node.node_id))

    def await_listening(self, deadline: float) -> None:
        """Wait until every node answers.

        Raises:
            NotReadyError: some do not in time.
            ProcessDiedError: one has ended.
        """
        waiting = list(self.admins.values())
        while waiting := [admin for admin in waiting if not admin.connect()]:
            if time.monotonic() > deadline:
                raise NotReadyError(f"no answer from {', '.join(admin.name for admin in waiting)}")
            self.watch.wait(POLL_S)

    def await_converged(self, deadline: float) -> None:
        """Wait until the network agrees with itself, by the nodes' own accounts.

        Raises:
            NotReadyError: it does not in time; the text lists what is amiss.
            ProcessDiedError: a node has ended.
        """
        while reasons := unconverged({name: status["core"] for name, status in self.statuses().items()}):
            if time.monotonic() > deadline:
                raise NotReadyError("; ".join(reasons))
            self.pause()

    def statuses(self) -> dict[str, Status]:
        """Every node's account of itself, asked for now."""
        return self._statuses(list(self.admins))

    def client_statuses(self) -> dict[str, Status]:
        """The clients' accounts alone."""
        return self._statuses([node.name for node in self.plan.clients])

    def pause(self, seconds: float = POLL_S) -> None:
        """Wait between two polls: so long that polling takes a tenth of the time at most.

        Raises:
            ProcessDiedError: a node has ended.
        """
        self.watch.wait(max(seconds, 9 * self._poll_took_s))

    def start_scripts(self, start_ns: int) -> list[str]:
        """Tell all clients when time zero is; the names of those that heard it too late."""
        heard = {node.name: self._ask(node.name, "start", at_ns=start_ns) for node in self.plan.clients}
        return [name for name, reply in heard.items() if reply["now_ns"] >= start_ns]

    def stop(self) -> list[str]:
        """End all nodes, which write their last status; what went wrong, for people."""
        for admin in self.admins.values():
            admin.close()
        said = stop_all(self.children, STOP_TIMEOUT_S)
        drop_empty_errors(self.children)
        return said

    def _statuses(self, names: Sequence[str]) -> dict[str, Status]:
        began = time.monotonic()
        statuses = {name: self._ask(name, "status") for name in names}
        self._poll_took_s = time.monotonic() - began
        return statuses

    def _ask(self, name: str, do: str, **arguments: object) -> Any:
        """Ask a node; if it breaks off because it has died, that is the news."""
        try:
            return self.admins[name].ask(do, **arguments)
        except AdminError:
            self.watch.wait(DEATH_NOTICE_S)
            raise

    def _command(self, node: NodePlan) -> list[str]:
        path = (self.directory.config / f"{node.name}.toml").resolve()
        script = path.with_suffix(".script.jsonl")
        client = node.role is Role.CLIENT
        config = replace(
            node_config(self.plan, node, self.directory.run_id),
            log_path=str((self.directory.logs / f"{node.name}.jsonl").resolve()),
            events_path=str(events_log(self.directory, node).resolve()) if client else "",
            admin_socket=str(self.registration.socket(node.node_id)),
            script_path=str(script) if client else "",
            dilate=self.clock.dilate,
            dilate_from_ns=self.clock.dilate_from_ns,
        )
        if client:
            script.write_text(dump_script(node.script), encoding="utf-8")
        path.write_text(dump_config(config), encoding="utf-8")
        return [sys.executable, "-m", "nodes", "--config", str(path)]


def events_log(directory: RunDirectory, client: NodePlan) -> Path:
    """Where a client writes its events; merged into the run's and removed at its end."""
    return directory.logs / f"{client.name}.events.jsonl"


def scripted_actions(plan: Plan) -> int:
    """How many actions the scripts hold."""
    return sum(len(client.script) for client in plan.clients)


def done_actions(plan: Plan, statuses: Mapping[str, Status]) -> int:
    """How many of them the clients have done."""
    remaining = sum(int(status["core"]["script_remaining"]) for status in statuses.values())
    return scripted_actions(plan) - remaining


def failed_actions(statuses: Mapping[str, Status]) -> list[str]:
    """What there is to say about actions that clients could not do."""
    failed = {name: int(status["core"]["script_failed"]) for name, status in statuses.items()}
    return [f"{name} could not do {n} of its actions (see its log)" for name, n in failed.items() if n]
