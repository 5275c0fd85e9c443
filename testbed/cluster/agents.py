"""The controller's connections to the agents on the machines: logging in, asking, and doing so again."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nodes.daemon.json_lines import Channel, ClosedError, encode
from testbed.cluster.hosts import Machine
from testbed.cluster.protocol import KINDS, VERSION
from testbed.cluster.relay import EXIT_NO_AGENT
from testbed.cluster.ssh import KEEP_ALIVE, as_root, explained, ssh_command
from testbed.cluster.unit import LEASE_S
from testbed.emu.children import Child, start
from testbed.live.fabric import NetworkError, ProcessDiedError
from testbed.plan.recorded import ClockReading

PYTHON = "/opt/cbn/current/environment/bin/python"
"""Where the role `package` puts it."""
LOGIN_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 15.0
AGAIN_S = 0.5
"""Between two attempts to make a connection again."""
BEAT_S = 2.0
READINGS = 15


class Agent:
    """The agent on one machine, which a run starts.

    Args:
        machine: where it is.
        run_id: of the run that it is for.
        logs: the folder for what ssh says.
    """

    def __init__(self, machine: Machine, run_id: str, logs: Path) -> None:
        self.machine = machine
        self.remarks: list[str] = []
        """Connections that were lost and made again, for people."""
        self.ready = False
        """Whether it has answered."""
        self._run_id = run_id
        self._logs = logs
        self._sending = threading.Lock()
        self._number = 0
        self._posted: dict[str, object] | None = None
        """The request whose answer has not been fetched: maybe who waited for it was interrupted."""
        self._lost: ProcessDiedError | None = None
        self._child = self._call("start")

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"the agent on {self.machine.name} ({self.machine.address})"

    def await_ready(self) -> None:
        """Wait until the agent answers.

        Raises:
            NetworkError: nobody can log in, or the machine is not provisioned; the text has the remedy.
        """
        try:
            hello = self._hello(self._child)
        except ProcessDiedError as error:
            raise NetworkError(explained(str(error))) from error
        if hello["protocol"] != VERSION:
            raise NetworkError(
                f"{self.machine.name} has another version of cbn ({hello['version']}): "
                "play playbooks/site.yml"
            )
        self.ready = True

    def fileno(self) -> int:
        """For polling: nothing comes unasked, so it is ready when the connection has ended."""
        return self._channel(self._child).fileno()

    def post(self, do: str, **arguments: object) -> None:
        """Make a request and do not wait: `answer` fetches its result.

        Raises:
            ProcessDiedError: the agent is gone.
        """
        self.check()
        if self._posted is not None:
            self._reply()
        self._number += 1
        self._posted = {"do": do, "number": self._number, **arguments}
        try:
            self._send(self._child, self._posted)
        except ClosedError as error:
            self.reconnect(error)

    def answer(self) -> Any:
        """The result of the request that was posted.

        Raises:
            ProcessDiedError: the agent is gone, or a process on its machine.
            NetworkError: it was not done, and so the other `KINDS`.
        """
        reply = self._reply()
        if "error" in reply:
            kind, text = reply["error"]
            raise KINDS[kind](f"{self.machine.name}: {text}")
        return reply["value"]

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result. Raises as `answer`."""
        self.post(do, **arguments)
        return self.answer()

    def beat(self) -> None:
        """Let the agent know that its controller is there, if it can be told at once."""
        if self._sending.acquire(blocking=False):
            try:
                with suppress(OSError):  # who asks next finds out, and makes the connection again
                    line = encode({"do": "beat"})
                    self._channel(self._child).socket.send(line, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            finally:
                self._sending.release()

    def reconnect(self, why: Exception) -> None:
        """The connection has ended: make it again, and ask once more what was not answered.

        Raises:
            ProcessDiedError: that cannot be done while the agent would wait, or it has ended.
        """
        self.check()
        began = time.monotonic()
        failure = self._child.failure(why)
        while True:
            self._child.stop(0)
            if self._child.process.returncode == EXIT_NO_AGENT or time.monotonic() - began > LEASE_S:
                self._lost = ProcessDiedError(f"{self.machine.name} is cut off: {failure}")
                raise self._lost
            time.sleep(AGAIN_S)
            child = self._call()
            with self._sending:
                self._child = child
            try:
                self._hello(child)
                if self._posted is not None:
                    self._send(child, self._posted)
            except (ProcessDiedError, ClosedError) as error:
                failure = child.failure(error) if isinstance(error, ClosedError) else error
                continue
            took_s = time.monotonic() - began
            self.remarks.append(f"the connection to {self.machine.name} was lost for {took_s:.1f} s")
            return

    def check(self) -> None:
        """Raises `ProcessDiedError` if it has been lost."""
        if self._lost is not None:
            raise self._lost

    def read_clock(self) -> ClockReading:
        """What its clock says: the shortest way there and back of many."""
        readings = []
        for _ in range(READINGS):
            asked_ns = time.time_ns()
            said_ns = int(self.ask("now"))
            readings.append(ClockReading(asked_ns, said_ns, time.time_ns()))
        return min(readings, key=lambda reading: reading.uncertainty_ns)

    def close(self) -> list[str]:
        """Let the agent end, with all that it has made; what went wrong, for people."""
        try:
            self.ask("end")
        except tuple(KINDS.values()) as error:
            self._child.stop(0)
            return [str(error)]
        return self._child.stop(STOP_TIMEOUT_S)

    def abandon(self) -> None:
        """Break off; the agent, if there is one, ends by itself."""
        self._child.stop(0)

    def _call(self, *words: str) -> Child:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        relay = as_root([PYTHON, "-m", "testbed.cluster.relay", self._run_id, *words])
        log = self._logs / f"{self.machine.name}.agent.log"
        with theirs:
            child = start(
                self.name, ssh_command(self.machine, relay, KEEP_ALIVE), os.environ, log, stdio=theirs
            )
        child.channel = Channel(ours)
        return child

    @staticmethod
    def _channel(child: Child) -> Channel:
        assert child.channel is not None
        return child.channel

    def _hello(self, child: Child) -> Any:
        """The first answer over a new connection. Raises `ProcessDiedError`."""
        try:
            self._send(child, {"do": "hello"})
        except ClosedError as error:
            raise child.failure(error) from error
        return child.ready(LOGIN_TIMEOUT_S)

    def _send(self, child: Child, request: Mapping[str, object]) -> None:
        with self._sending:
            self._channel(child).send(request, seconds=ANSWER_TIMEOUT_S)

    def _reply(self) -> Any:
        """The result of the request that was posted, over one connection or another."""
        while True:
            try:
                line = self._channel(self._child).receive(ANSWER_TIMEOUT_S)
            except ClosedError as error:
                self.reconnect(error)
                continue
            asked, self._posted = self._posted, None
            if line is None:
                raise ProcessDiedError(f"{self.name}: no answer within {ANSWER_TIMEOUT_S:g} s")
            if not line["ok"]:
                raise ProcessDiedError(f"{self.name} refused {(asked or {}).get('do')}: {line['error']}")
            return line["result"]


class Beats:
    """Lets agents know, from a thread of its own, that their controller is there."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = agents
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(BEAT_S):
            for agent in list(self._agents):
                agent.beat()


class AgentsWatch:
    """Waits, but not past the end of an agent."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = list(agents)

    def wait(self, seconds: float) -> None:
        """Wait that long; a connection that ends meanwhile is made again.

        Raises:
            ProcessDiedError: an agent has ended, or cannot be reached any more.
        """
        poll = select.poll()
        by_descriptor = {agent.fileno(): agent for agent in self._agents}
        for descriptor, agent in by_descriptor.items():
            agent.check()
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(max(0.0, seconds) * 1000):
            by_descriptor[descriptor].reconnect(ClosedError("the connection to it has ended"))


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
