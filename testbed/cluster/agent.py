"""The program `python -m testbed.cluster.agent`: makes a machine's share of a plan, and does as asked.

It is asked over its standard input, in lines of JSON (`nodes.daemon.json_lines`), by a
controller that has logged in (`agents`). The end of the input ends it, and all that it
has made with it: so a controller that dies, or a connection that breaks, leaves nothing that
runs. The files of the run stay until the controller has fetched them, or the next run begins.

A result is `{"value": ...}`, or `{"error": [KIND, TEXT]}`, one of `protocol.KINDS`.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import metadata
from typing import Any

from nodes.daemon.json_lines import Request, RequestError, done, say, serve
from testbed.cluster.protocol import KINDS, RUNS, VERSION
from testbed.cluster.share import Share
from testbed.emu.cleanup import clean
from testbed.live.fabric import NetworkError
from testbed.live.registry import RegistryError, register, running
from testbed.plan.model import Impairment
from testbed.plan.recorded import plan_from_json
from testbed.runs.directory import RunDirectory

ALWAYS = ("now", "stop", "remove")
"""What is done also when a process has died that was not to."""


class Agent:
    """Does what a controller asks for."""

    def __init__(self) -> None:
        self._share: Share | None = None
        self._directory: RunDirectory | None = None
        self._undo: list[Callable[[], None]] = []
        self._commands: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "now": lambda _: time.time_ns(),
            "prepare": self._prepare,
            "start_nodes": lambda _: self.share.start(),
            "starting": lambda _: self.share.nodes.starting(),
            "statuses": lambda _: self.share.nodes.statuses(),
            "client_statuses": lambda _: self.share.nodes.client_statuses(),
            "unsettled": lambda _: self.share.nodes.unsettled(),
            "start_scripts": lambda r: self.share.nodes.start_scripts(r["at_ns"]),
            "ask": lambda r: self.share.nodes.ask(r["node"], r["what"], **r["arguments"]),
            "crash": lambda r: self.share.nodes.crash(r["node"]),
            "restart": lambda r: self.share.nodes.restart(r["node"]),
            "hold": lambda r: self.share.nodes.hold(r["node"]),
            "resume": lambda r: self.share.nodes.resume(r["node"]),
            "take_down": lambda r: self.share.wires.ask("take_down", link=r["link"]),
            "bring_up": lambda r: self.share.wires.ask("bring_up", link=r["link"]),
            "impair": self._impair,
            "stop": self._stop,
            "remove": self._remove,
        }

    @property
    def share(self) -> Share:
        """What was prepared."""
        if self._share is None:
            raise NetworkError("nothing has been prepared")
        return self._share

    def hello(self) -> dict[str, object]:
        """What the controller is told first."""
        return {"protocol": VERSION, "version": metadata.version("cbn-testbed")}

    def answer(self, request: Request) -> object:
        """Do what a request asks for.

        Raises:
            RequestError: there is no such request.
        """
        command = self._commands.get(str(request["do"]))
        if command is None:
            raise RequestError(f"unknown request; known are {', '.join(self._commands)}")
        try:
            if self._share is not None and request["do"] not in ALWAYS:
                self._share.watch.wait(0)
            return {"value": command(request)}
        except tuple(KINDS.values()) as error:
            return {"error": [type(error).__name__, str(error)]}
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return {"error": [NetworkError.__name__, f"{where}{error.strerror or error}"]}

    def end(self) -> None:
        """Undo all that was done, but for the files."""
        undo, self._undo = self._undo, []
        for each in reversed(undo):
            each()

    def _prepare(self, request: Mapping[str, Any]) -> None:
        clean()
        others = [run for run in running() if run.alive]
        if others:
            names = ", ".join(run.run_id for run in others)
            raise RegistryError(f"the machine is taken by another run: {names}")
        for folder in RUNS.iterdir() if RUNS.is_dir() else []:
            shutil.rmtree(folder)  # of a run whose controller has not lived to fetch it
        run_id = str(request["run_id"])
        directory = self._directory = RunDirectory.create(RUNS / run_id, run_id)
        registration = register(run_id, directory.path)
        self._undo.append(registration.remove)
        registration.note(kind="share", started_ns=time.time_ns(), node_count=len(request["own"]))
        plan = plan_from_json(request["plan"])
        tunnels = {name: (address, port) for name, (address, port) in request["tunnels"].items()}
        share = self._share = Share(plan, request["own"], tunnels, registration, directory)
        self._undo.append(share.stop)
        share.build()

    def _impair(self, request: Mapping[str, Any]) -> None:
        there, back = (asdict(Impairment(**request[way])) for way in ("impairment", "back"))
        self.share.wires.ask("impair", link=request["link"], impairment=there, back=back)

    def _stop(self, _: Mapping[str, Any]) -> dict[str, object]:
        share, self._share = self._share, None
        self.end()
        if share is None:
            return {"problems": [], "remarks": [], "captured": {}}
        return {
            "problems": share.problems,
            "remarks": share.recorder.losses(),
            "captured": share.captured(),
        }

    def _remove(self, _: Mapping[str, Any]) -> None:
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory.path)


def main() -> int:
    """Serve until the input ends; returns the exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))
    agent = Agent()
    try:
        say(done(agent.hello()))
        serve(agent.answer)
    finally:
        agent.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
