"""`cbn exec`: a program takes the place of a client of a running network, and gives it back."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.command import NETWORKS, Command, add_network
from testbed.cli.commands.attach import split_rest

if TYPE_CHECKING:
    from testbed.live.registry import Running

_HELP = """\
examples:
  cbn exec bob -- python app.py --rate 100
      app.py is the client bob: `cbn.Client.from_environment()` connects it
  cbn exec bob python -i

The client steps aside: it withdraws its subscriptions and gives its address free. When the program has
ended it comes back, with the subscriptions that it had. What the program subscribes to, publishes and is
delivered are events of the run. It runs in the client's namespace and in this folder, at this terminal;
the exit code is the program's. On a cluster it runs on the client's machine, as the account `cbn`; if a word
of the program names a file here, the files of this folder are sent there before.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="CLIENT", help="the client that the program is")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="-- PROGRAM", help="and its arguments")
    add_network(parser)


def _exec(args: argparse.Namespace) -> int:
    """Run the program in the client's place; its exit code is ours."""
    from testbed.cli import exits
    from testbed.cli.networks import talk

    name, program = split_rest(args.run, args.rest)
    if not program:
        raise exits.CommandError("which program? `cbn exec CLIENT -- PROGRAM ...`", exits.USAGE)
    with talk(name) as (run, caller):
        made = caller.ask("exec", client=args.node)
        command, about = _command(run, made, program)
        sys.stdout.flush()
        with _interrupted_for_the_program():
            status = subprocess.run(command, env=about, check=False).returncode
        caller.ask("exec_ended", client=made["client"], status=status)
    return status if status >= 0 else 128 - status


def _command(run: Running, made: Mapping[str, Any], program: list[str]) -> tuple[list[str], dict[str, str]]:
    """What is to be called, in which environment, to run the program in the client's namespace."""
    from testbed.cli import exits
    from testbed.cluster.attachment import LOGIN, program_command, send_folder
    from testbed.emu.attachment import command_in, variables
    from testbed.emu.programs import CONFIG_VARIABLE, PROGRAM_MARK, environment
    from testbed.live.fabric import NetworkError

    client = made["client"]
    if LOGIN not in run.record["nodes"][client]:
        about = {**variables(run, client), **environment(made["config"]), PROGRAM_MARK: made["mark"]}
        return command_in(run, client, program), about
    here = any(Path(word).is_file() for word in program)
    with exits.explained(NetworkError):
        send_folder(run, client, Path.cwd() if here else None)
    given = {CONFIG_VARIABLE: made["config"], PROGRAM_MARK: made["mark"]}
    return program_command(run, client, program, given), dict(os.environ)


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
