"""The program `python -m testbed.cluster.relay RUN_ID [start]`: joins a login to the agent of a run.

A controller that has logged in calls it: what it writes goes to the agent's socket, and what the agent
answers comes back. With `start` the agent is started first. Here the connection may break: the
agent goes on, and whoever calls this again is joined to the same one.

Little is imported, since every login waits for it.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence

from testbed.cluster.unit import socket_of, unit_of

READ_BYTES = 1 << 18
EXIT_CANNOT = 1
EXIT_NO_AGENT = 3
STDIN, STDOUT = 0, 1
_ROUTINE = ("Start", "Stop", "Killing process", "Failed with result", "Consumed", "Deactivated")
"""How lines begin that systemd writes about every unit."""


def main(arguments: Sequence[str]) -> int:
    """Relay until either end closes; returns the exit code."""
    if not arguments or arguments[1:] not in ([], ["start"]):
        print("usage: python -m testbed.cluster.relay RUN_ID [start]", file=sys.stderr)
        return 2
    run_id = arguments[0]
    if arguments[1:]:
        started = subprocess.run(["systemctl", "start", unit_of(run_id)], check=False)
        if started.returncode:
            print(f"{unit_of(run_id)} cannot be started: {last_words(run_id)}", file=sys.stderr)
            return EXIT_CANNOT
    agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        agent.connect(str(socket_of(run_id)))
    except OSError:
        print(f"there is no agent of the run {run_id} any more: {last_words(run_id)}", file=sys.stderr)
        return EXIT_NO_AGENT
    if relay(agent):
        # It has closed the connection, so it is ending: what is left of it is seen to before we end.
        subprocess.run(["systemctl", "stop", unit_of(run_id)], check=False)
    return 0


def relay(agent: socket.socket) -> bool:
    """Carry bytes between the standard streams and the agent; whether it was the agent that ended it."""
    poll = select.poll()
    poll.register(STDIN, select.POLLIN)
    poll.register(agent, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if agent.fileno() in ready:
            data = _received(agent)
            if not data:
                return True
            _write(data)
        if STDIN in ready:
            data = os.read(STDIN, READ_BYTES)
            if not data:
                return False
            try:
                agent.sendall(data)
            except ConnectionError:
                return True


def last_words(run_id: str) -> str:
    """What the journal has about the unit's end."""
    unit = unit_of(run_id)
    subprocess.run(["journalctl", "--sync"], check=False)
    command = ["journalctl", "--unit", unit, "--lines", "400", "--output", "cat", "--quiet"]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    lines = [line.removeprefix(f"{unit}: ") for line in told.splitlines()]
    telling = [line for line in lines if line.strip() and not line.startswith(_ROUTINE)]
    return "; ".join(telling[-2:]) or "the journal does not say why"


def _received(agent: socket.socket) -> bytes:
    try:
        return agent.recv(READ_BYTES)
    except ConnectionError:
        return b""


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(STDOUT, left) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
