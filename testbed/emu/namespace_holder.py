"""The program `python -m testbed.emu.namespace_holder RUN_ID NODE...`: a process a node holds its namespace.

Each is forked from this one, moves into a network namespace of its own, brings
the loopback interface up, forbids IPv6 (else autoconfiguration and multicast
reports would stand in the captures), and sleeps. When all have done so, their
ids are reported on standard output, in the order of the names. At the end of
standard input, which comes also when the run is killed, all end, and their namespaces with them.

While they live, `ip netns` knows the namespaces as `RUN_ID.NODE`: each is mounted there by
this process and taken away by it, or by `cbn clean` if it was killed. A node's name has
no dot, so the names of two runs are never the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from nodes.daemon import kernel
from nodes.daemon.json_lines import done, refused, say
from nodes.processes import die_with

NETNS = Path("/run/netns")
IPV6 = "/proc/sys/net/ipv6/conf"
# From <linux/sockios.h> and <net/if.h>; the socket module does not name them.
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
REQUEST = "16sH14x"
READY = b"+"


def hold(name: str, parent: int, room: tuple[int, int], report: int) -> NoReturn:
    """Be the holder of one node's namespace."""
    try:
        die_with(parent)
        kernel.set_title(["cbn-namespace", name], room)
        kernel.new_network()
        raise_loopback()
        forbid_ipv6()
        os.write(report, READY)
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        while True:
            signal.pause()
    except OSError as error:
        os.write(report, f"{name}: {error}".encode())
        os._exit(1)


def raise_loopback() -> None:
    """Set this namespace's `lo` up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack(REQUEST, b"lo", 0))
        _, flags = struct.unpack(REQUEST, answer)
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack(REQUEST, b"lo", flags | IFF_UP))


def forbid_ipv6() -> None:
    """For every interface that this namespace has or will have; nothing to do where there is no IPv6."""
    if Path(IPV6).exists():
        for which in ("all", "default"):
            Path(IPV6, which, "disable_ipv6").write_text("1", encoding="ascii")


def fork_holders(names: Sequence[str]) -> list[int]:
    """One holder a name, each in its namespace when this returns.

    Raises:
        OSError: one could not; the text has its name.
    """
    room, parent = kernel.title_room(), os.getpid()
    reports, report = os.pipe()
    pids = []
    for name in names:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            hold(name, parent, room, report)
        pids.append(pid)
    os.close(report)
    ready = 0
    while ready < len(names):
        states = os.read(reports, 4096)
        if states.strip(READY) or not states:
            raise OSError(states.strip(READY).decode(errors="replace") or "a holder died")
        ready += len(states)
    os.close(reports)
    return pids


def show(run_id: str, names: Sequence[str], pids: Sequence[int]) -> None:
    """Let `ip netns` know the namespaces of these processes.

    Raises:
        OSError: one cannot be mounted; the text has its name.
    """
    NETNS.mkdir(mode=0o755, parents=True, exist_ok=True)
    kernel.share_mounts(NETNS)  # else the first `ip netns add` hides what is mounted here
    for name, pid in zip(names, pids, strict=True):
        target = NETNS / f"{run_id}.{name}"
        target.touch(mode=0o444)
        kernel.bind_mount(Path(f"/proc/{pid}/ns/net"), target)


def shown(run_id: str) -> list[Path]:
    """The namespaces of a run that `ip netns` knows."""
    entries = NETNS.iterdir() if NETNS.is_dir() else []
    return [path for path in entries if path.name.rpartition(".")[0] == run_id]


def hide(run_id: str) -> None:
    """Let `ip netns` know none of a run's namespaces any more."""
    for path in shown(run_id):
        with contextlib.suppress(OSError):  # it was made and not mounted yet
            kernel.unmount(path)
        path.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    """Hold the namespaces of these nodes until standard input ends; returns the exit code."""
    run_id, *names = arguments
    gc.disable()  # a collection writes into every object, and what is written to is shared no more
    gc.freeze()
    try:
        pids = fork_holders(names)
        show(run_id, names, pids)
    except OSError as error:
        hide(run_id)
        say(refused(error))
        return 1
    say(done(pids))
    sys.stdin.buffer.read()
    hide(run_id)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
