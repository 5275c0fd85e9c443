"""The node processes of a run: starting them, asking them, breaking them, stopping them.

Here also: the files that they read and write in the run directory. Not here: what
it means for the network that one is down (`live`).
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nodes.config import LinkKey, NodeConfig
from nodes.config_file import dump_config, dump_script, dump_signers, write_keys
from nodes.daemon.clock import Clock
from nodes.daemon.fork_server import NodeProcess
from nodes.daemon.kernel import Account
from nodes.wire.packets import Role
from nodes.wire.seal import KEY_BYTES
from testbed.emu.cgroups import Shares
from testbed.emu.children import SOURCE_ROOT, Watch, stop_all
from testbed.emu.fork_server import ForkedNode, ForkServer
from testbed.emu.programs import Ended, Programs
from testbed.emu.resources import Resources, process_row
from testbed.live.clients import AdminClient, AdminError
from testbed.live.fabric import GONE, POLL_S, Life, NotReadyError, ProcessRow, Status
from testbed.live.registry import Registration
from testbed.plan.keys import Keys
from testbed.plan.model import LinkPlan, NodePlan, Plan
from testbed.plan.rendering import node_config
from testbed.runs.directory import RunDirectory
from testbed.runs.faults import compromised

STOP_TIMEOUT_S = 10.0
DEATH_NOTICE_S = 0.5
"""How long after its connections a killed process itself may take to end."""

PidOf = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """The paths of nodes' files, and the writing of those that they read."""

    plan: Plan
    directory: RunDirectory
    clock: Clock
    keys: Keys = field(default_factory=lambda: Keys(secrets.token_bytes(KEY_BYTES)), repr=False)
    """Of the run's links."""

    def log(self, name: str) -> Path:
        """Where a node writes its log."""
        return self.directory.logs.resolve() / f"{name}.jsonl"

    def errors(self, name: str) -> Path:
        """Where its standard error goes, and what a program writes."""
        program = any(node.name == name for node in self.plan.programs)
        return self.log(name).with_suffix(".log" if program else ".stderr")

    def write(self, node: NodePlan, admin_socket: Path, account: Account | None = None) -> Path:
        """Write a node's configuration, its script if it is a client, its keys if it has some.

        Args:
            node: Which.
            admin_socket: On which it answers.
            account: Whom it runs as, if not whom we do.

        Returns:
            The path of the configuration.
        """
        path = self.directory.config.resolve() / f"{node.name}.toml"
        script = path.with_suffix(".script.jsonl")
        client = node.role is Role.CLIENT
        signs = self.plan.security.signs and not client
        secret = self.plan.security.seals or signs
        scripted = client and not node.run
        config = replace(
            self._settings(node),
            keys_path=str(self._keys_of(node)) if secret else "",
            signers_path=str(self._signers()) if signs else "",
            log_path=str(self.log(node.name)),
            events_path=str(self.directory.events_of(node.name)) if client else "",
            admin_socket="" if node.run else str(admin_socket),
            script_path=str(script) if scripted else "",
            dilate=self.clock.dilate,
            dilate_from_ns=self.clock.dilate_from_ns,
        )
        if scripted:
            script.write_text(dump_script(node.script), encoding="utf-8")
        path.write_text(dump_config(config), encoding="utf-8")
        if secret:
            self.write_keys(node, account)
        if signs and not self._signers().exists():
            self.write_signers(node)
        return path

    def write_signers(self, router: NodePlan) -> None:
        """Write the public keys that routers have now, as one of them knows them."""
        fresh = self._signers().with_suffix(".fresh")
        fresh.write_text(dump_signers(self._settings(router)), encoding="utf-8")
        fresh.replace(self._signers())

    def write_keys(self, node: NodePlan, account: Account | None = None) -> None:
        """Write the keys that a node and its links have now; what stands there already is replaced."""
        path = self._keys_of(node)
        fresh = path.with_suffix(".fresh")
        write_keys(self._settings(node), fresh)
        if account:
            os.chown(fresh, *account)
        fresh.replace(path)

    def _keys_of(self, node: NodePlan) -> Path:
        return self.directory.config.resolve() / f"{node.name}.keys.toml"

    def _signers(self) -> Path:
        """Where the public keys of all routers stand."""
        return self.directory.config.resolve() / "signers.toml"

    def _settings(self, node: NodePlan) -> NodeConfig:
        return node_config(self.plan, node, self.directory.run_id, keys=self.keys)


@dataclass(slots=True)
class Nodes:
    """One process a node, one admin connection each, in order of node id."""

    plan: Plan
    files: NodeFiles
    registration: Registration
    watch: Watch
    fork_server: ForkServer
    namespace_of: PidOf
    shares: Shares
    account: Account | None = None
    """Whom nodes run as; None: whom we run as."""
    programs_folder: Path | None = None
    """Where programs start; None: in the scenario's folder."""
    children: dict[str, ForkedNode] = field(default_factory=dict)
    """The process of each node that has one, or had one until it was killed."""
    admins: dict[str, AdminClient] = field(default_factory=dict)
    life: dict[str, Life] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    programs: Programs = field(init=False)
    _poll_took_s: float = 0.0
    _untold: set[str] = field(default_factory=set)
    """Whose keys were changed while they did not run, or are being changed."""

    def __post_init__(self) -> None:
        """The clients that are programs are another's to start and end."""
        self.programs = Programs(self)

    def start(self) -> None:
        """Write every node's configuration, then start every node but the programs.

        Raises:
            ProcessDiedError: the fork server could not.
        """
        wanted = [(node, self._described(node)) for node in self.plan.nodes]
        for node, described in wanted:
            if node.run:
                self.life[node.name] = Life.WAITING
                continue
            self.admins[node.name] = AdminClient(node.name, self.registration.socket(node.node_id))
            self._fork(described)
        self.fork_server.begin()

    def start_programs(self) -> None:
        """Start the clients that are programs.

        Raises:
            ProcessDiedError: the fork server could not.
        """
        for node in self.plan.programs:
            self._fork(self._described(node))

    @property
    def lent(self) -> list[str]:
        """The clients whose place a program of somebody else has taken."""
        return self.programs.lent

    def config_of(self, name: str) -> Path:
        """The configuration that a node, or its program, reads."""
        return self.files.directory.config.resolve() / f"{name}.toml"

    def lend(self, name: str) -> str:
        """Let a program of somebody else take a client's place; returns the mark that it must have.

        Raises:
            AdminError: The client refuses.
        """
        if self.life[name] is Life.RUNNING:
            self.ask(name, "step_aside")
        self.life[name] = Life.LENT
        return self.programs.lend(name)

    def take_back(self, name: str, status: int) -> Ended:
        """That program has ended, with this status, or is ended now; the client goes on."""
        ended = self.programs.take_back(name, status)
        if name in self.programs:
            self.life[name] = Life.ENDED
        else:
            self.life[name] = Life.RUNNING
            self.ask(name, "come_back")
        return ended

    def end_programs(self) -> list[str]:
        """End those of them that still run; what went wrong, for people."""
        for name in self.programs.lent:
            self.programs.take_back(name, -signal.SIGKILL)
            self.life[name] = Life.RUNNING
        said = self.programs.end()
        self.life |= dict.fromkeys(self.programs.names, Life.ENDED)
        return said

    def await_listening(self, deadline: float) -> None:
        """Wait until every node answers.

        Raises:
            NotReadyError: some do not in time.
            ProcessDiedError: one has ended.
        """
        while waiting := self.starting():
            if time.monotonic() > deadline:
                raise NotReadyError(f"no answer from {', '.join(waiting)}")
            self.watch.wait(POLL_S)

    def starting(self) -> list[str]:
        """The nodes that were started and do not answer yet."""
        for name, life in self.life.items():
            if life is Life.STARTING and self.admins[name].connect():
                self.life[name] = Life.RUNNING
        self._tell_keys()
        return [name for name, life in self.life.items() if life is Life.STARTING]

    @property
    def running(self) -> list[str]:
        """The nodes that answer and are not paused, in order of id."""
        return [name for name, life in self.life.items() if life is Life.RUNNING]

    def statuses(self) -> dict[str, Status]:
        """The account of itself of every node that runs, asked for now."""
        return self._statuses(self.running)

    def unsettled(self) -> list[str]:
        """The routers that have something under way: a question that takes neither them nor us any time."""
        running = {*self.running}
        began = time.monotonic()
        names = [node.name for node in self.plan.routers if node.name in running]
        answers = self._ask_all(names, "settled")
        self._poll_took_s = time.monotonic() - began
        return [name for name, answer in answers.items() if not answer["settled"]]

    def client_statuses(self) -> dict[str, Status]:
        """Those of the clients alone."""
        running = {*self.running}
        return self._statuses([node.name for node in self.plan.clients if node.name in running])

    def pause(self, seconds: float = POLL_S) -> None:
        """Wait between two polls: so long that polling takes a tenth of the time at most.

        Raises:
            ProcessDiedError: a node has ended that was not to.
        """
        self.watch.wait(self.rest_s(seconds))

    def rest_s(self, seconds: float) -> float:
        """That long, but so long at least that polling takes a tenth of the time at most."""
        return max(seconds, POLL_S, 9 * self._poll_took_s)

    def start_scripts(self, start_ns: int) -> list[str]:
        """Tell all clients when time zero is; the names of those that heard it too late."""
        heard = self._ask_all([node.name for node in self.plan.scripted], "start", at_ns=start_ns)
        return [name for name, reply in heard.items() if reply["now_ns"] >= start_ns]

    def ask(self, name: str, do: str, **arguments: object) -> Any:
        """Ask a node; if it breaks off because it has died, that is the news.

        Raises:
            AdminError: it refused, or does not answer.
            ProcessDiedError: it has died.
        """
        try:
            return self.admins[name].ask(do, **arguments)
        except AdminError:
            self.watch.wait(DEATH_NOTICE_S)
            raise

    def processes(self) -> dict[str, ProcessRow]:
        """What the processes take of those that have one."""
        there = {name: child for name, child in self.children.items() if self.life[name] not in GONE}
        return {name: process_row(child.process.pid) for name, child in there.items()}

    def deaths(self) -> dict[str, str]:
        """The nodes that have ended without having been asked to, each with how, for people."""
        expected = [name for name in self.children if self.life[name] is Life.CRASHED]
        found = {name: child.death() for name, child in self.children.items() if name not in expected}
        return {name: death for name, death in found.items() if death}

    def check(self) -> None:
        """Raise `ProcessDiedError` if something has ended that was not to."""
        self.watch.wait(0)

    def weigh(self) -> None:
        """Note how much memory each process has for itself alone now."""
        for name, child in self.children.items():
            if self.life[name] not in GONE:
                self.resources.note_memory(name, child.process.pid)

    def give_key(self, link: LinkPlan, key: LinkKey, *, used: bool) -> None:
        """See `testbed.live.fabric.Nodes`; ends that run elsewhere are told there."""
        number = self.plan.links.index(link)
        (self.files.keys.use if used else self.files.keys.offer)(number, key)
        for node in self.plan.nodes:
            if any(interface.link == number for interface in node.interfaces):
                self.files.write_keys(node, self.account)
                self._untold.add(node.name)
        self._tell_keys()

    def give_signer(self, name: str, public: bytes, seed: bytes = b"") -> None:
        """See `testbed.live.fabric.Nodes`; without the seed if the router does not run here."""
        router = next(node for node in self.files.plan.routers if node.name == name)
        self.files.keys.replace_signer(router.node_id, public, seed)
        self.files.write_signers(router)
        self._untold.update(node.name for node in self.plan.routers)
        self._tell_keys()

    def _tell_keys(self) -> None:
        """Let those who run read their keys anew that have not since these were changed."""
        for name in [name for name in self.running if name in self._untold]:
            self.ask(name, "keys")
            self._untold.remove(name)

    def crash(self, name: str) -> None:
        """End a router or a program here and now, with the loss of all it knew."""
        if name in self.programs:
            self.programs.kill(name)
            self.life[name] = Life.CRASHED
            return
        child = self.children[name]
        self.watch.forget(child)
        self.life[name] = Life.CRASHED
        self.admins[name].close()
        child.process.kill()
        child.process.wait()
        self.resources.note_end(name, child.process.usage)

    def restart(self, name: str) -> None:
        """Start what has crashed anew, where it was; what it draws depends on when it starts."""
        node = next(node for node in self.plan.nodes if node.name == name)
        self._fork(self._described(node))

    def hold(self, name: str) -> None:
        """Let a node stand still."""
        if name in self.programs:
            self.programs.hold(name)
        else:
            self.children[name].process.send_signal(signal.SIGSTOP)
        self.life[name] = Life.PAUSED

    def resume(self, name: str) -> None:
        """Let it go on."""
        if name in self.programs:
            self.programs.resume(name)
            self.life[name] = Life.PROGRAM
            return
        self.children[name].process.send_signal(signal.SIGCONT)
        self.life[name] = Life.RUNNING
        self._tell_keys()

    def stop(self) -> list[str]:
        """End all nodes, which write their last status; what went wrong, for people."""
        told = self.end_programs()
        for admin in self.admins.values():
            admin.close()
        for name in [name for name, life in self.life.items() if life is Life.PAUSED]:
            self.children[name].process.terminate()  # it is to end, not to go on with what has waited
            self.resume(name)
        alive = {name: child for name, child in self.children.items() if self.life[name] not in GONE}
        said = stop_all(list(alive.values()), STOP_TIMEOUT_S)
        for name, child in alive.items():
            self.resources.note_end(name, child.process.usage)
        return [*told, *said]

    def _fork(self, node: NodeProcess) -> None:
        if node.name in self.programs:
            self.programs.before_start(node.name)
        process = self.fork_server.fork(node)
        a_program = node.name in self.programs
        name = f"the program of {node.name}" if a_program else f"node {node.name}"
        errors = self.files.errors(node.name)
        child = ForkedNode(name, process, errors if a_program else self.files.log(node.name), errors)
        self.children[node.name] = child
        if a_program:
            self.programs.note_start(node.name, process.pid)
            self.life[node.name] = Life.PROGRAM
            return
        self.life[node.name] = Life.STARTING
        self.watch.add(child, process.watch_descriptor())

    def _described(self, node: NodePlan) -> NodeProcess:
        config = self.files.write(node, self.registration.socket(node.node_id), self.account)
        if node.run:
            return self.programs.described(node, config)
        errors, groups = str(self.files.errors(node.name)), self.shares.members(node.name)
        attacks = node.name in compromised(self.plan)
        return NodeProcess(
            node.name,
            str(config),
            self.namespace_of(node.name),
            errors,
            groups,
            (sys.executable, "-m", "nodes.attacks", "--config", str(config)) if attacks else (),
            str(SOURCE_ROOT) if attacks else "",
            account=self.account or (),
        )

    def _statuses(self, names: Sequence[str]) -> dict[str, Status]:
        began = time.monotonic()
        statuses = self._ask_all(names, "status")
        self._poll_took_s = time.monotonic() - began
        return statuses

    def _ask_all(self, names: Sequence[str], do: str, **arguments: object) -> dict[str, Any]:
        """Ask many at once, so that they think at the same time."""
        try:
            for name in names:
                self.admins[name].post(do, **arguments)
            return {name: self.admins[name].answer(do) for name in names}
        except AdminError:
            self.watch.wait(DEATH_NOTICE_S)
            raise
