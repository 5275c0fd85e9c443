"""The program `python -m testbed.cluster.agent RUN_ID`: makes a machine's share of a plan, and does as asked.

It is the systemd unit `cbn-agent@RUN_ID` (role `nodes`), and is asked over a Unix socket, in lines of JSON
(`nodes.daemon.json_lines`), by a controller that has logged in (`agents`, `relay`). A connection that
breaks may be made again. An agent that hears nothing of its controller for `LEASE_S` ends, and all that it
has made with it: so a controller that dies leaves nothing that runs. The files of the run stay until the
controller has fetched them, or the next run begins.

Requests are numbered: one that comes again, because the connection broke before its result had been
received, is not carried out twice. A result is `{"value": ...}`, or `{"error": [KIND, TEXT]}`, one of
`protocol.KINDS`.

With `--clean` instead of a run's id: removes what an agent that was killed has left.
"""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from nodes.config import LinkKey
from nodes.daemon.clock import Clock
from nodes.daemon.json_lines import Caller, Limits, Request, RequestError, Server
from nodes.daemon.kernel import Account
from nodes.daemon.loop import Selector
from nodes.records import from_plain, to_plain
from testbed.cluster.collect import write_index
from testbed.cluster.program_files import PROGRAMS, unpack
from testbed.cluster.protocol import KINDS, RUNS, VERSION
from testbed.cluster.round_trip import least_ns
from testbed.cluster.share import Share
from testbed.cluster.unit import ACCOUNT, LEASE_S, socket_of
from testbed.emu.attachment import end_attached
from testbed.emu.cleanup import clean
from testbed.emu.options import EmuOptions
from testbed.live.fabric import Life, NetworkError
from testbed.live.registry import RegistryError, Running, register, running
from testbed.plan.model import Fault, Impairment
from testbed.plan.recorded import PLAN, plan_from_json, plan_to_json
from testbed.runs.directory import RunDirectory

ALWAYS = ("now", "processes", "deaths", "crash", "stop", "decode", "remove", "end")
"""What is done also when a process has died that was not to."""
LOOK_S = 1.0
NO_ROOM = f"no room is left on the disk for the files of runs: make some in {RUNS}"
FULL_BYTES = 1 << 20
"""A disk with less room than this is as good as full."""
LIMITS = Limits(request_bytes=1 << 30, backlog_bytes=1 << 30)
"""Only root can ask, and plans are long."""


class Agent:
    """Does what a controller asks for.

    Args:
        run_id: of the run that it is for.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._share: Share | None = None
        self._stopped: Share | None = None
        """What has been captured is known then."""
        self._directory: RunDirectory | None = None
        self._undo: list[Callable[[], None]] = []
        self._heard_s = time.monotonic()
        self._last: tuple[int | None, object] = None, None
        """The number of the last request, and its result."""
        self._ended = False
        self._commands: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "now": lambda _: time.time_ns(),
            "prepare": self._prepare,
            "leave_out": lambda r: self.share.links.leave_out(r["crossing_ns"]),
            "round_trips": lambda r: {name: least_ns(address) for name, address in r["to"].items()},
            "start_nodes": lambda _: self.share.start(),
            "starting": lambda _: self.share.nodes.starting(),
            "statuses": lambda _: self.share.nodes.statuses(),
            "client_statuses": lambda _: self.share.nodes.client_statuses(),
            "unsettled": lambda _: self.share.nodes.unsettled(),
            "start_scripts": lambda r: self.share.nodes.start_scripts(r["at_ns"]),
            "ask": lambda r: self.share.nodes.ask(r["node"], r["what"], **r["arguments"]),
            "processes": lambda _: self.share.nodes.processes(),
            "deaths": lambda _: self.share.nodes.deaths(),
            "start_programs": lambda _: self.share.nodes.start_programs(),
            "end_programs": lambda _: self.share.nodes.end_programs(),
            "programs": lambda _: self._programs(),
            "lend": lambda r: self.share.nodes.lend(r["node"]),
            "take_back": lambda r: asdict(self.share.nodes.take_back(r["node"], r["status"])),
            "check": lambda _: None,  # a death is told before anything is done
            "crash": lambda r: self.share.nodes.crash(r["node"]),
            "restart": lambda r: self.share.nodes.restart(r["node"]),
            "hold": lambda r: self.share.nodes.hold(r["node"]),
            "resume": lambda r: self.share.nodes.resume(r["node"]),
            "take_down": lambda r: self.share.links.take_down(r["link"]),
            "bring_up": lambda r: self.share.links.bring_up(r["link"]),
            "impair": self._impair,
            "give_key": self._give_key,
            "give_signer": lambda r: self.share.nodes.give_signer(
                r["node"], bytes.fromhex(r["public"]), bytes.fromhex(r["seed"])
            ),
            "attack_link": lambda r: self.share.attackers.begin(from_plain(Fault, r["fault"])),
            "attacked": lambda _: [(to_plain(fault), acts) for fault, acts in self.share.attackers.ended()],
            "begin_background": lambda r: self.share.begin_background(r["at_ns"]),
            "begin_measuring": lambda _: self.share.begin_measuring(),
            "end_measuring": lambda _: to_plain(self.share.end_measuring()),
            "stop": self._stop,
            "decode": self._decode,
            "remove": self._remove,
            "end": self._end,
        }

    @property
    def share(self) -> Share:
        """What was prepared."""
        if self._share is None:
            raise NetworkError("nothing has been prepared")
        return self._share

    def serve(self, selector: Selector) -> None:
        """Answer until asked to end, or the controller is gone."""
        while not self._ended:
            selector.turn(LOOK_S)
            if time.monotonic() - self._heard_s > LEASE_S:
                print(f"the controller has been gone for {LEASE_S:g} s: all is taken away", file=sys.stderr)
                return

    def answer(self, _: Caller, request: Request) -> object:
        """Do what a request asks for, unless that has been done before; the result, or None for none.

        Raises:
            RequestError: there is no such request.
        """
        self._heard_s = time.monotonic()
        if request["do"] == "beat":
            return None
        if request["do"] == "hello":
            return {"protocol": VERSION, "version": metadata.version("cbn-testbed")}
        number = request.get("number")
        if not isinstance(number, int):
            raise RequestError('expected the key "number"')
        if number != self._last[0]:
            self._last = number, self._result(request)
            self._heard_s = time.monotonic()
        return self._last[1]

    def end(self) -> None:
        """Undo all that was done, but for the files; if something cannot be undone, the rest is."""
        undo, self._undo = self._undo, []
        with ExitStack() as rest:
            for each in undo:
                rest.callback(each)

    def _result(self, request: Request) -> object:
        command = self._commands.get(str(request["do"]))
        if command is None:
            raise RequestError(f"unknown request; known are {', '.join(self._commands)}")
        try:
            if self._share is not None and request["do"] not in ALWAYS:
                self._share.watch.wait(0)
            return {"value": command(request)}
        except tuple(KINDS.values()) as error:
            return {"error": [type(error).__name__, f"{error}; {NO_ROOM}" if _is_full() else str(error)]}
        except OSError as error:
            return {"error": [NetworkError.__name__, _reason(error)]}

    def _prepare(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Returns what carries each link that has an end here."""
        clean()
        others = [run for run in running() if run.alive]
        if others:
            names = ", ".join(f"{run.run_id}{_since(run)}" for run in others)
            raise RegistryError(f"the machine is taken by another run: {names}")
        for folder in RUNS.iterdir() if RUNS.is_dir() else []:
            shutil.rmtree(folder)  # of a run whose controller has not lived to fetch it
        directory = self._directory = RunDirectory.create(RUNS / self._run_id, self._run_id)
        registration = register(self._run_id, directory.path)
        self._undo.append(registration.remove)
        registration.note(kind="share", started_ns=time.time_ns(), node_count=len(request["own"]))
        plan = plan_from_json(request["plan"])
        unpack(request["programs"], directory.path / PROGRAMS, _account())
        tunnels = {name: (address, port) for name, (address, port) in request["tunnels"].items()}
        share = self._share = Share(
            plan,
            request["own"],
            tunnels,
            registration,
            directory,
            account=_account(),
            clock=Clock(request["dilate"], request["dilate_from_ns"]),
            secret=bytes.fromhex(request["secret"]),
            options=EmuOptions(links=request["links"], adjustable=request["adjustable"]),
        )
        self._undo.append(share.stop)
        share.build()
        return share.links.carriers

    def _programs(self) -> dict[str, object]:
        """What is known of programs that run; those that have ended by themselves since the last call."""
        nodes = self.share.nodes
        ended = list(nodes.programs.ended())
        nodes.life |= {each.name: Life.ENDED for each in ended}
        return {"statuses": nodes.programs.statuses(), "ended": [asdict(each) for each in ended]}

    def _impair(self, request: Mapping[str, Any]) -> None:
        there, back = (Impairment(**request[way]) for way in ("impairment", "back"))
        self.share.links.impair(request["link"], there, back)

    def _give_key(self, request: Mapping[str, Any]) -> None:
        link = next(link for link in self.share.plan.links if link.name == request["link"])
        key = LinkKey(request["key_id"], bytes.fromhex(request["secret"]))
        self.share.nodes.give_key(link, key, used=request["used"])

    def _stop(self, _: Mapping[str, Any]) -> dict[str, object]:
        end_attached(self._run_id)
        share, self._share = self._share, None
        self._stopped = share
        problems = []
        try:
            self.end()
        except OSError as error:
            problems = [_reason(error)]
        if share is None:
            return {"problems": problems, "remarks": [], "captured": {}, "files": self._directory is not None}
        return {
            "problems": [*problems, *share.problems],
            "remarks": [*share.recorder.losses(), *share.remarks],
            "captured": share.captured(),
            "files": True,
        }

    def _decode(self, _: Mapping[str, Any]) -> None:
        """In a process of its own: what it needs, an agent does not."""
        if self._stopped is None or self._directory is None:
            raise NetworkError("nothing has been captured")
        directory = self._directory
        (directory.path / PLAN).write_text(plan_to_json(self._stopped.plan), encoding="utf-8")
        write_index(self._stopped.plan, directory, 0, self._stopped.captured())
        command = [sys.executable, "-m", "analysis.decoded", str(directory.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for path in (directory.path / PLAN, directory.captures / "index.json"):
            path.unlink()
        if done.returncode:
            why = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            raise NetworkError(f"captures come home as they are, for they could not be decoded: {why}")

    def _remove(self, _: Mapping[str, Any]) -> None:
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory.path)

    def _end(self, _: Mapping[str, Any]) -> None:
        self._ended = True


def _since(run: Running) -> str:
    started_ns = run.record.get("started_ns")
    if not isinstance(started_ns, int):
        return ""
    return f", since {datetime.fromtimestamp(started_ns // 10**9, UTC):%H:%M:%S} UTC"


def _is_full() -> bool:
    """Whether that may be why a process has ended: nodes end if they cannot write their logs."""
    return RUNS.is_dir() and shutil.disk_usage(RUNS).free < FULL_BYTES


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return NO_ROOM
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _account() -> Account:
    try:
        found = pwd.getpwnam(ACCOUNT)
    except KeyError:
        raise NetworkError(
            f"there is no account `{ACCOUNT}`, which nodes run as: play playbooks/site.yml"
        ) from None
    return Account(found.pw_uid, found.pw_gid)


def _tell_systemd(state: str) -> None:
    """As sd_notify(3); nothing, if systemd has not started this."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto(state.encode(), path.replace("@", "\0", 1) if path.startswith("@") else path)


def _on_signal(caught: int, _: object) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # what is to be undone now is undone whole
    sys.exit(128 + caught)


def main(arguments: Sequence[str]) -> int:
    """Serve until the end; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.cluster.agent RUN_ID, or --clean", file=sys.stderr)
        return 2
    if arguments[0] == "--clean":
        clean()
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _on_signal)
    agent, selector = Agent(arguments[0]), Selector()
    server = Server(socket_of(arguments[0]), selector, agent.answer, LIMITS)
    try:
        _tell_systemd("READY=1")
        agent.serve(selector)
    finally:
        agent.end()
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
