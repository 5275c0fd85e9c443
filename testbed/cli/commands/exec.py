"""`cbn exec`: a program takes the place of a client of a running network, and gives it back."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.cli.command import NETWORKS, Command, add_network
from testbed.cli.commands.attach import split_rest

_HELP = """\
examples:
  cbn exec bob -- python app.py --rate 100
      app.py is the client bob: `cbn.Client.from_environment()` connects it
  cbn exec bob python -i

The client steps aside: it withdraws its subscriptions and gives its address free. When the program has
ended it comes back, with the subscriptions that it had. What the program subscribes to, publishes and is
delivered are events of the run. It runs in the client's namespace and in this folder, at this terminal;
the exit code is the program's.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="CLIENT", help="the client that the program is")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="-- PROGRAM", help="and its arguments")
    add_network(parser)


def _exec(args: argparse.Namespace) -> int:
    """Run the program in the client's place; its exit code is ours."""
    from testbed.cli import exits
    from testbed.cli.networks import talk
    from testbed.emu.attachment import command_in, variables
    from testbed.emu.programs import PROGRAM_MARK, environment

    name, program = split_rest(args.run, args.rest)
    if not program:
        raise exits.CommandError("which program? `cbn exec CLIENT -- PROGRAM ...`", exits.USAGE)
    with talk(name) as (run, caller):
        made = caller.ask("exec", client=args.node)
        about = {**variables(run, made["client"]), **environment(made["config"]), PROGRAM_MARK: made["mark"]}
        sys.stdout.flush()
        with _interrupted_for_the_program():
            status = subprocess.run(
                command_in(run, made["client"], program), env=about, check=False
            ).returncode
        caller.ask("exec_ended", client=made["client"], status=status)
    return status if status >= 0 else 128 - status


@contextmanager
def _interrupted_for_the_program() -> Iterator[None]:
    """Ctrl-C reaches the program by itself; this process waits for its end."""
    # Not SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


COMMAND = Command("run a program in the place of a client", _arguments, _exec, NETWORKS, _HELP)
