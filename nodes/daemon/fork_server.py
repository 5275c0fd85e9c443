"""The program `python -m nodes.daemon.fork_server ROOM`: a warm process that forks nodes.

It imports all that a node needs and reports that it is ready. Each request to fork then
makes a process that does what `python -m nodes --config node.toml` does, in the
namespace it is given, at the cost of a fork instead of a start of Python: what was
imported is shared by all. Requests (`nodes.daemon.json_lines`) come over the socket that
is its standard input:

    {"do": "fork", "node": {...}}   see `NodeProcess`; the result is its pid, a pidfd comes along
    {"do": "begin"}                 let those that were forked begin, and all later ones at once
    {"ended": PID, "status": N, "usage": {...}, "monotonic_ns": T}
                                    news; N as `subprocess` has it: -N for a signal; `usage` see `_usage`

A forked node waits at a gate until it is opened: routers that begin one after the other
would announce each newcomer to each other, hundreds of times over.

The fork server ends when the socket does, and its nodes with it. ROOM is filling: the
bytes of the command line are where the nodes' own command lines will stand.

Not here: what a node does (`main`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from nodes.daemon import kernel
from nodes.daemon.json_lines import Channel, ClosedError, done, refused
from nodes.processes import die_with

FIRST_INHERITED = 3
NOT_FOUND = 127
"""The exit status of a program that could not be started, as of shells."""


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A node that is to be forked, or a program in the place of one."""

    name: str
    config: str
    namespace: int
    """The process whose network namespace it is to live in."""
    errors: str
    """The file its standard error and output are added to."""
    cgroups: tuple[str, ...] = ()
    """The `cgroup.procs` files of the groups it is to join."""
    program: Sequence[str] = ()
    """What is to run instead of the node, and its arguments; empty: the node."""
    folder: str = ""
    """Where a program starts."""
    account: Sequence[int] = ()
    """The user and the group that it is to run as; empty: those of this process."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What a program's environment has besides this process's."""


class ForkServer:
    """Forks nodes on request, and reports their ends."""

    def __init__(self, channel: Channel, room: tuple[int, int]) -> None:
        self._channel = channel
        self._room = room
        self._own_pid = os.getpid()
        self._gate, self._latch = os.pipe()
        """Nothing is ever written: to close the latch opens the gate, for those to come as well."""
        self._pids: dict[int, int] = {}
        """pidfd -> pid of each node that lives."""
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)

    def serve(self) -> None:
        """Until nobody is there to ask any more; raises `ClosedError` then."""
        self._channel.send(done("ready"))
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._channel.fileno():
                    self._reap(descriptor)
                    continue
                request = self._channel.receive()
                while request is not None:
                    self._answer(request)
                    request = self._channel.receive(0)

    def _answer(self, request: Mapping[str, Any]) -> None:
        match request:
            case {"do": "begin"}:
                if self._latch >= 0:
                    os.close(self._latch)
                    self._latch = -1
                self._channel.send(done(None))
            case {"do": "fork", "node": dict(node)}:
                self._fork(NodeProcess(**node))
            case _:
                self._channel.send(refused("expected `begin`, or `fork` with a node"))

    def _fork(self, node: NodeProcess) -> None:
        pid = os.fork()
        if pid == 0:
            if self._latch >= 0:
                os.close(self._latch)
            become(node, self._own_pid, self._room, self._gate)
        descriptor = os.pidfd_open(pid)
        self._pids[descriptor] = pid
        self._poll.register(descriptor, select.POLLIN)
        self._channel.send(done(pid), [descriptor])

    def _reap(self, descriptor: int) -> None:
        """Here alone a node is reaped: until then its id and pidfd are nobody else's."""
        self._poll.unregister(descriptor)
        pid = self._pids.pop(descriptor)
        os.close(descriptor)
        _, status, used = os.wait4(pid, 0)
        how = {"status": os.waitstatus_to_exitcode(status), "usage": _usage(used)}
        news = {"ended": pid, **how, "monotonic_ns": time.monotonic_ns()}
        self._channel.send(news)


def _usage(used: resource.struct_rusage) -> dict[str, int | float]:
    """What a process took in its life, by the kernel's account."""
    return {
        "user_s": round(used.ru_utime, 6),
        "system_s": round(used.ru_stime, 6),
        "peak_resident_bytes": used.ru_maxrss * 1024,
        "waits": used.ru_nvcsw,
        "preemptions": used.ru_nivcsw,
    }


def become(node: NodeProcess, parent: int, room: tuple[int, int], gate: int) -> None:
    """Turn this process, which has just been forked, into the node; it does not return."""
    code = 1
    try:
        die_with(parent)
        os.setsid()
        os.dup2(gate, 0)
        _release_inherited(node.errors)
        _move_in(node)
        if node.account:
            kernel.run_as(kernel.Account(*node.account))
            die_with(parent)  # which a change of user undoes
        if node.program:
            _run_program(node)
        kernel.call_thread(node.name)
        kernel.set_title([sys.executable, "-m", "nodes", "--config", node.config], room)
        _wait_at_gate()
        gc.enable()
        from nodes.daemon.main import main

        code = main(["--config", node.config])
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)  # neither the parent's clean-up nor its buffers are this process's


def _release_inherited(errors: str) -> None:
    """Close all that was inherited but the gate, and write errors into a file of its own."""
    written = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for target in (1, 2):
        os.dup2(written, target)
    os.closerange(FIRST_INHERITED, os.sysconf("SC_OPEN_MAX"))


def _move_in(node: NodeProcess) -> None:
    """Move to where the node is to live, as long as it has one thread."""
    for path in node.cgroups:
        with open(path, "w", encoding="ascii") as members:  # noqa: PTH123 - a forked child imports nothing
            members.write("0")
    kernel.enter_network_of(node.namespace, f"the namespace of {node.name}")


def _run_program(node: NodeProcess) -> NoReturn:
    """Become the program; where that is not possible, say so and end as a shell does."""
    _wait_at_gate()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program inherits
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(node.folder)
        os.execvpe(node.program[0], list(node.program), {**os.environ, **node.environment})
    except OSError as error:
        print(f"cannot run {node.program[0]} in {node.folder}: {error.strerror}", file=sys.stderr)
        raise SystemExit(NOT_FOUND) from error


def _wait_at_gate() -> None:
    """Wait until standard input, which is the gate, ends; then have none."""
    os.read(0, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def warm() -> None:
    """Import what a router or a client needs, and let the collector never look at it again.

    A collection would write into the headers of all objects, and each node had
    a copy of its own of every page.
    """
    import nodes.client.core
    import nodes.client.script
    import nodes.daemon.client
    import nodes.daemon.main
    import nodes.daemon.router  # noqa: F401

    gc.collect()
    gc.freeze()


def main(arguments: Sequence[str]) -> int:
    """Serve until standard input ends; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m nodes.daemon.fork_server ROOM (standard input: a socket)", file=sys.stderr)
        return 2
    gc.disable()
    channel = Channel(socket.socket(fileno=0))
    room = kernel.title_room()
    kernel.set_title([sys.executable, "-m", "nodes.daemon.fork_server"], room)
    warm()
    with contextlib.suppress(ClosedError):  # the run is gone; the kernel ends the nodes with this process
        ForkServer(channel, room).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
