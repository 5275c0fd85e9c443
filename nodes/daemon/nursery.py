"""The program `python -m nodes.daemon.nursery ROOM`: a warm process that becomes nodes by forking.

It imports all that a node needs and says `{"ready": true}`; then each order
becomes a process that does what `python -m nodes --config node.toml` does, in
the namespace it was told, at the cost of a fork instead of a start of Python:
what was imported is shared by all. Orders and answers are JSON documents, one
a datagram, over the sequenced socket that is its standard input:

    {"name", "config", "namespace": PID, "errors": PATH, "cgroups": [PATH, ...]}
    {"born": NAME, "pid": PID}      with a pidfd of the process
    {"begin": true}                 an order: let those that were born begin, and all later ones at once
    {"ended": PID, "status": N, "usage": {...}}
                                    N as `subprocess` says it: -N for a signal; `usage` see `_usage`

What is born waits at a gate until it is opened: routers that begin one after
the other would tell each other of each newcomer, hundreds of times over.

The nursery ends when the socket does, and its nodes with it. ROOM is filling: the bytes
of the command line are where the nodes' own command lines will stand.

Not here: what a node does (`main`).
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.daemon import kernel

LONGEST_ORDER = 65_536
FIRST_INHERITED = 3


@dataclass(frozen=True, slots=True)
class Order:
    """A node to be born."""

    name: str
    config: str
    namespace: int
    """The process whose network namespace it is to live in."""
    errors: str
    """The file its standard error and output are added to."""
    cgroups: tuple[str, ...] = ()
    """The `cgroup.procs` files of the groups it is to join."""


class Nursery:
    """Bears nodes on order, and tells when they end."""

    def __init__(self, channel: socket.socket, room: tuple[int, int]) -> None:
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
        """Until nobody is there to order any more."""
        self._say({"ready": True})
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._channel.fileno():
                    self._bury(descriptor)
                elif not self._take_order():
                    return

    def _take_order(self) -> bool:
        datagram = self._channel.recv(LONGEST_ORDER)
        if not datagram:
            return False
        said = json.loads(datagram)
        if "begin" in said:
            self._open_gate()
        else:
            self._bear(Order(**said))
        return True

    def _open_gate(self) -> None:
        if self._latch >= 0:
            os.close(self._latch)
            self._latch = -1

    def _bear(self, order: Order) -> None:
        pid = os.fork()
        if pid == 0:
            if self._latch >= 0:
                os.close(self._latch)
            become(order, self._own_pid, self._room, self._gate)
        descriptor = os.pidfd_open(pid)
        self._pids[descriptor] = pid
        self._poll.register(descriptor, select.POLLIN)
        said = json.dumps({"born": order.name, "pid": pid}).encode()
        socket.send_fds(self._channel, [said], [descriptor])

    def _bury(self, descriptor: int) -> None:
        """Here alone a node is reaped: until then its id and pidfd are nobody else's."""
        self._poll.unregister(descriptor)
        pid = self._pids.pop(descriptor)
        os.close(descriptor)
        _, status, used = os.wait4(pid, 0)
        self._say({"ended": pid, "status": os.waitstatus_to_exitcode(status), "usage": _usage(used)})

    def _say(self, what: object) -> None:
        self._channel.send(json.dumps(what).encode())


def _usage(used: resource.struct_rusage) -> dict[str, int | float]:
    """What a process took in its life, by the kernel's account."""
    return {
        "user_s": round(used.ru_utime, 6),
        "system_s": round(used.ru_stime, 6),
        "peak_resident_bytes": used.ru_maxrss * 1024,
        "waits": used.ru_nvcsw,
        "preemptions": used.ru_nivcsw,
    }


def become(order: Order, parent: int, room: tuple[int, int], gate: int) -> None:
    """Turn this process, which has just been forked, into the node; it does not return."""
    code = 1
    try:
        kernel.die_with(parent)
        os.setsid()
        os.dup2(gate, 0)
        _take_leave(order.errors)
        _settle(order)
        kernel.call_thread(order.name)
        kernel.set_title([sys.executable, "-m", "nodes", "--config", order.config], room)
        _wait_at_gate()
        gc.enable()
        from nodes.daemon.main import main

        code = main(["--config", order.config])
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)  # neither the nursery's clean-up nor its buffers are this process's


def _take_leave(errors: str) -> None:
    """Give up all that was inherited but the gate, and write errors into a file of its own."""
    written = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for target in (1, 2):
        os.dup2(written, target)
    os.closerange(FIRST_INHERITED, os.sysconf("SC_OPEN_MAX"))


def _settle(order: Order) -> None:
    """Move to where the node is to live, as long as it has one thread."""
    for path in order.cgroups:
        with open(path, "w", encoding="ascii") as members:  # noqa: PTH123 - a forked child imports nothing
            members.write("0")
    kernel.enter_network_of(order.namespace, f"the namespace of {order.name}")


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
        print("usage: python -m nodes.daemon.nursery ROOM (standard input: a socket)", file=sys.stderr)
        return 2
    gc.disable()
    channel = socket.socket(fileno=0)
    room = kernel.title_room()
    kernel.set_title([sys.executable, "-m", "nodes.daemon.nursery"], room)
    warm()
    try:
        Nursery(channel, room).serve()
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the run is gone; the kernel ends the nodes with this process
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
