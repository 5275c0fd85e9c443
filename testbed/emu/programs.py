"""Programs that are clients: starting them, noticing their ends, ending them with all that they started.

A program is asked nothing. What it does as a client, the library it uses (`nodes.client`) writes
into the client's files: events, for the verdict, and its status, by which the run knows whether the
network has converged. A program that does not use the library, or has left the network, has no status;
then its link may be up or down.

Not here: when programs start and end (`stages`), and what a crash means for the network (`faults`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodes.daemon import kernel
from nodes.daemon.fork_server import NodeProcess
from nodes.processes import environment_of
from testbed.emu.children import SOURCE_ROOT
from testbed.plan.model import NodePlan
from testbed.runs.events import EventFile

if TYPE_CHECKING:
    from testbed.emu.nodes import Nodes

CONFIG_VARIABLE = "CBN_NODE"
"""Names the configuration of the client that a program is (`nodes.client.aio`)."""
PROGRAM_MARK = "CBN_PROGRAM"
"""Marks a program and what it starts: the run's id and the client's name."""
END_S = 10.0
"""How long a program that is asked to end may take."""
AS_ASKED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
"""How a program ends that was asked to: by itself, by the signal, or as a shell reports that."""
POLL_S = 0.01
FOREVER_NS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ended:
    """A program has ended by itself."""

    name: str
    said: str
    """What is worth telling a person; empty: nothing."""
    abrupt: bool
    """It had subscriptions that it did not withdraw: the network does not know yet."""
    at_ns: int
    """When, by the run's clock."""


class Programs:
    """The programs of one network, by the names of the clients that they are."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._plans = {node.name: node for node in nodes.plan.programs}
        self._going: dict[str, int] = {}
        """Process by name."""
        self._lent: dict[str, None] = {}
        """Clients whose place a program has taken that is not ours (`cbn exec`)."""

    def __contains__(self, name: str) -> bool:
        return name in self._plans

    @property
    def names(self) -> list[str]:
        """All, whether they run or not, and those that have taken a client's place."""
        return [*self._plans, *self._lent]

    @property
    def lent(self) -> list[str]:
        """The clients whose place a program has taken."""
        return list(self._lent)

    @property
    def going(self) -> list[str]:
        """Those that run, or are paused."""
        return list(self._going)

    def described(self, node: NodePlan, config: Path) -> NodeProcess:
        """What the fork server is to start."""
        nodes = self._nodes
        return NodeProcess(
            node.name,
            str(config),
            nodes.namespace_of(node.name),
            str(nodes.files.errors(node.name)),
            nodes.shares.members(node.name),
            program=node.run,
            folder=str(nodes.programs_folder or folder_of(nodes.plan.scenario_path)),
            account=nodes.account or (),
            environment={**environment(config), PROGRAM_MARK: self._mark(node.name)},
        )

    def note_start(self, name: str, pid: int) -> None:
        """One has been started."""
        self._going[name] = pid

    def before_start(self, name: str) -> None:
        """Write that it starts, before it writes itself."""
        self._events(name).append(self._nodes.files.clock.now_ns(), "program_started")
        if self._nodes.account:
            os.chown(self._nodes.files.directory.events_of(name), *self._nodes.account)

    def ended(self) -> Iterator[Ended]:
        """Those that have ended by themselves since the last call."""
        for name in self.going:
            status = self._nodes.children[name].process.poll()
            if status is not None:
                yield self._note_end(name, status)

    def kill(self, name: str) -> None:
        """End one, with the loss of all it knew; nothing if it has ended."""
        if name in self._going:
            self._kill(name)

    def end(self) -> list[str]:
        """Ask all that run to end, then make them; what went wrong, for people."""
        going = self.going
        for name in going:
            self._send(name, signal.SIGTERM)
            self._send(name, signal.SIGCONT)
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline and self._any_runs(going):
            time.sleep(POLL_S)
        return [said for name in going if (said := self._end_at_last(name))]

    def lend(self, name: str) -> str:
        """A program of somebody else is this client from now on; returns the mark that it must have."""
        self._lent[name] = None
        self.before_start(name)
        return self._mark(name)

    def take_back(self, name: str, status: int) -> Ended:
        """That program has ended, or is ended now."""
        del self._lent[name]
        return self._clear(name, status, self._nodes.files.clock.now_ns())

    def hold(self, name: str) -> None:
        """Let one stand still, with what it has started."""
        self._send(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let it go on."""
        self._send(name, signal.SIGCONT)

    def statuses(self) -> dict[str, dict[str, Any]]:
        """The cores' statuses of those that run and are clients of the network now."""
        found = {}
        for name in (*self._going, *self._lent):
            try:
                status = json.loads(self._status(name).read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
            # Written when something changed: since then it may have received any number of HELLOs.
            found[name] = {**status["core"], "received_ns": FOREVER_NS}
        return found

    def _any_runs(self, names: list[str]) -> bool:
        return any(self._nodes.children[name].process.poll() is None for name in names)

    def _end_at_last(self, name: str) -> str:
        """Take the end of one that was asked for it, or end it; what went wrong, for people."""
        status = self._nodes.children[name].process.poll()
        if status is None:
            self._kill(name)
            return f"the program of {name} did not end within {END_S:g} s of SIGTERM and was killed"
        ended = self._note_end(name, status)
        return "" if status in AS_ASKED else ended.said

    def _kill(self, name: str) -> None:
        process = self._nodes.children[name].process
        process.kill()
        self._note_end(name, process.wait())

    def _note_end(self, name: str, status: int) -> Ended:
        """It has ended: see `_clear`."""
        del self._going[name]
        child = self._nodes.children[name]
        self._nodes.resources.note_end(name, child.process.usage)
        clock = self._nodes.files.clock
        at_ns = clock.now_ns() - (time.monotonic_ns() - child.process.ended_ns) // clock.dilate
        return self._clear(name, status, at_ns, child.death() or "" if status else "")

    def _clear(self, name: str, status: int, at_ns: int, said: str = "") -> Ended:
        """Take what is left of it away, and write its end, and that of what it held, into its events."""
        end_marked(PROGRAM_MARK, self._mark(name))
        self._status(name).unlink(missing_ok=True)
        events = self._events(name)
        held = events.held()
        for event, name_of_number, number in held:
            events.append(at_ns, event, **{name_of_number: number})
        events.append(at_ns, "program_ended", status=status)
        return Ended(name, said, bool(held), at_ns)

    def _send(self, name: str, number: signal.Signals) -> None:
        """To the program and what it has started, unless that has left its session."""
        if self._nodes.children[name].process.poll() is None:
            os.killpg(self._going[name], number)

    def _events(self, name: str) -> EventFile:
        return EventFile(self._nodes.files.directory.events_of(name), name)

    def _status(self, name: str) -> Path:
        return self._nodes.files.log(name).with_suffix(".status.json")

    def _mark(self, name: str) -> str:
        return f"{self._nodes.registration.run_id} {name}"


def folder_of(scenario_path: str) -> Path:
    """Where the programs of a scenario start: its folder."""
    return Path(scenario_path).resolve().parent


def environment(config: str | Path) -> dict[str, str]:
    """What a program finds in its environment besides this process's: `import cbn`, and our Python, work."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    modules = [*filter(None, [os.environ.get("PYTHONPATH")]), str(SOURCE_ROOT)]
    return {
        CONFIG_VARIABLE: str(config),
        "PATH": os.pathsep.join(paths),
        "PYTHONPATH": os.pathsep.join(modules),
    }


def end_marked(variable: str, value: str) -> None:
    """Kill every process that has this in its environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _is_marked(variable, value, int(entry.name)):
            is_meant = partial(_is_marked, variable, value, int(entry.name))
            kernel.end_process(int(entry.name), is_meant, (signal.SIGKILL,), END_S)


def _is_marked(variable: str, value: str, pid: int) -> bool:
    return environment_of(pid).get(variable) == value
