"""The program `python -m testbed.emu.holders NODE...`: one small process a node, holding its namespace.

Each is forked from this one, moves into a network namespace of its own, brings
the loopback interface up, forbids IPv6 (else autoconfiguration and multicast
reports would stand in the captures), and sleeps. When all have done so, their
ids are said on standard output, as one JSON document in the order of the
names: `{"holders": [PID, ...]}`, or `{"error": TEXT}`. At the end of standard
input, which comes when the run is gone, all end, and their namespaces with them.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from nodes.daemon import kernel

IPV6 = "/proc/sys/net/ipv6/conf"
# From <linux/sockios.h> and <net/if.h>; the socket module does not name them.
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
REQUEST = "16sH14x"
READY = b"+"
_FIRST_INHERITED = 3


def hold(name: str, parent: int, room: tuple[int, int], told: int) -> NoReturn:
    """Be the holder of one node's namespace."""
    try:
        kernel.die_with(parent)
        kernel.set_title(["cbn-namespace", name], room)
        kernel.new_network()
        raise_loopback()
        forbid_ipv6()
        os.write(told, READY)
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        while True:
            signal.pause()
    except OSError as error:
        os.write(told, f"{name}: {error}".encode())
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
    heard, told = os.pipe()
    pids = []
    for name in names:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            hold(name, parent, room, told)
        pids.append(pid)
    os.close(told)
    ready = 0
    while ready < len(names):
        said = os.read(heard, 4096)
        if said.strip(READY) or not said:
            raise OSError(said.strip(READY).decode(errors="replace") or "a holder died")
        ready += len(said)
    os.close(heard)
    return pids


def main(names: Sequence[str]) -> int:
    """Hold the namespaces of these nodes until standard input ends; returns the exit code."""
    gc.disable()  # a collection writes into every object, and what is written to is shared no more
    gc.freeze()
    try:
        pids = fork_holders(names)
    except OSError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps({"holders": pids}), flush=True)
    sys.stdin.buffer.read()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
