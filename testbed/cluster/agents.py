"""The controller's connections to the agents on the machines: logging in, asking, fetching files."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nodes.daemon.json_lines import Channel, ClosedError, RefusedError
from testbed.cluster.hosts import Machine
from testbed.cluster.protocol import KINDS, RUNS, VERSION
from testbed.cluster.ssh import ssh_command
from testbed.emu.children import Child, start
from testbed.live.fabric import NetworkError, ProcessDiedError

PYTHON = "/opt/cbn/current/environment/bin/python"
"""Where the role `package` puts it."""
LOGIN_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 15.0
FETCH_TIMEOUT_S = 600.0
READINGS = 15
_REMEDIES = {
    "command not found": "the machine is not provisioned: play playbooks/site.yml (docs/clusters.md)",
    "No such file": "the machine is not provisioned: play playbooks/site.yml (docs/clusters.md)",
    "password is required": "the account may not use sudo without a password",
    "Permission denied": "the machine does not take the key: see `user` and `key` in the hosts file",
    "Host key verification failed": "the machine's key is not the known one: see `known_hosts`",
    "timed out": "the machine does not answer: is it on, is its address right?",
    "No route to host": "the machine does not answer: is it on, is its address right?",
    "Connection refused": "no sshd answers there: see `address` and `port` in the hosts file",
}


class Agent:
    """The agent on one machine.

    Args:
        machine: where it is.
        logs: the folder for what it says of its end.
    """

    def __init__(self, machine: Machine, logs: Path) -> None:
        self.machine = machine
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = ssh_command(machine, ["sudo", "-n", PYTHON, "-m", "testbed.cluster.agent"])
        with theirs:
            name = f"the agent on {machine.name} ({machine.address})"
            self.child: Child = start(
                name, command, os.environ, logs / f"{machine.name}.agent.log", stdio=theirs
            )
        self.child.channel = self.channel = Channel(ours)
        self._awaited = 0
        """Answers that were not fetched: whoever waited for them was interrupted."""

    def await_ready(self) -> None:
        """Wait until the agent answers.

        Raises:
            NetworkError: nobody can log in, or the machine is not provisioned; the text has the remedy.
        """
        try:
            hello = self.child.ready(LOGIN_TIMEOUT_S)
        except ProcessDiedError as error:
            remedy = next((text for sign, text in _REMEDIES.items() if sign in str(error)), "")
            raise NetworkError(f"{error}{f'; {remedy}' if remedy else ''}") from error
        if hello["protocol"] != VERSION:
            raise NetworkError(
                f"{self.machine.name} has another version of cbn ({hello['version']}): "
                "play playbooks/site.yml"
            )

    def post(self, do: str, **arguments: object) -> None:
        """Make a request and do not wait: `answer` fetches its result.

        Raises:
            ProcessDiedError: the agent is gone.
        """
        try:
            while self._awaited:
                self._reply()
            self.channel.send({"do": do, **arguments}, seconds=ANSWER_TIMEOUT_S)
        except ClosedError as error:
            raise self.child.failure(error) from error
        self._awaited = 1

    def answer(self) -> Any:
        """The result of the request that was posted.

        Raises:
            ProcessDiedError: the agent is gone, or a process on its machine.
            NetworkError: it was not done, and so the other `KINDS`.
        """
        try:
            reply = self._reply()
        except (ClosedError, RefusedError) as error:
            raise self.child.failure(error) from error
        if "error" in reply:
            kind, text = reply["error"]
            raise KINDS[kind](f"{self.machine.name}: {text}")
        return reply["value"]

    def _reply(self) -> Any:
        try:
            reply = self.channel.result(ANSWER_TIMEOUT_S)
        except RefusedError:
            self._awaited = 0
            raise
        self._awaited = 0
        return reply

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result. Raises as `answer`."""
        self.post(do, **arguments)
        return self.answer()

    def offset_ns(self) -> tuple[int, int]:
        """How much its clock is ahead of ours, and the uncertainty: half of the shortest way and back."""
        best: tuple[int, int] | None = None
        for _ in range(READINGS):
            before_ns = time.time_ns()
            theirs_ns = int(self.ask("now"))
            after_ns = time.time_ns()
            half_ns = (after_ns - before_ns) // 2
            if best is None or half_ns < best[1]:
                best = theirs_ns - (before_ns + half_ns), half_ns
        assert best is not None
        return best

    def fetch(self, run_id: str, to: Path) -> None:
        """Bring the run's files home, into this folder.

        Raises:
            NetworkError: they could not be had whole.
        """
        to.mkdir(parents=True, exist_ok=True)
        packed = ["sudo", "-n", "tar", "--create", "--gzip", "--directory", str(RUNS / run_id), "."]
        unpack = ["tar", "--extract", "--gzip", "--no-same-owner", "--directory", str(to)]
        with subprocess.Popen(
            ssh_command(self.machine, packed), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as far:
            near = subprocess.run(unpack, stdin=far.stdout, check=False, timeout=FETCH_TIMEOUT_S)
        if far.returncode or near.returncode:
            raise NetworkError(
                f"the files of {self.machine.name} could not be fetched: {RUNS / run_id} there"
            )

    def close(self) -> list[str]:
        """Let the agent end, with all that it has made; what went wrong, for people."""
        return self.child.stop(STOP_TIMEOUT_S)


class AgentsWatch:
    """Waits, but not past the end of an agent."""

    def __init__(self) -> None:
        self._agents: dict[int, Agent] = {}
        self._poll = select.poll()

    def add(self, agent: Agent) -> None:
        """From now on its end ends any wait."""
        self._agents[agent.channel.fileno()] = agent
        self._poll.register(agent.channel.fileno(), select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Wait that long.

        Raises:
            ProcessDiedError: an agent, or the connection to it, has ended.
        """
        for descriptor, _ in self._poll.poll(max(0.0, seconds) * 1000):
            agent = self._agents[descriptor]
            raise agent.child.failure(ClosedError("the connection to it has ended"))


def together(
    agents: Iterable[Agent], do: str, arguments: Mapping[str, Mapping[str, object]] | None = None
) -> dict[str, Any]:
    """Ask several at once, so that they work at the same time; the results by machine.

    Args:
        agents: whom.
        do: what.
        arguments: by machine, if there are any.

    Raises:
        NetworkError: the first that failed, after all have answered; and so the other `KINDS`.
    """
    asked = list(agents)
    for agent in asked:
        agent.post(do, **(arguments or {}).get(agent.machine.name, {}))
    results, first = {}, None
    for agent in asked:
        try:
            results[agent.machine.name] = agent.answer()
        except tuple(KINDS.values()) as error:
            first = first or error
    if first is not None:
        raise first
    return results
