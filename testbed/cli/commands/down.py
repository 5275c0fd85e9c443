"""`cbn down`: ends running networks in order."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_judge, add_quiet
from testbed.cli.output import print_json
from testbed.cli.progress import progress
from topologies.quantities import how_many

if TYPE_CHECKING:
    from testbed.live.clients import ControlClient
    from testbed.runs.world import Progress

_HELP = """\
examples:
  cbn down
  cbn down lab
  cbn down --all

Waits until what was sent has arrived, ends the nodes in order, leaves the run directory
complete, and says whether every client got what it should have. `cbn analyze` makes
tables and a report of it.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", nargs="?", metavar="RUN", help="which (default: the only one)")
    parser.add_argument("--run", metavar="RUN", help="the same")
    parser.add_argument("--all", action="store_true", help="all of them")
    add_judge(parser)
    add_quiet(parser)
    add_json(parser)


def _down(args: argparse.Namespace) -> int:
    """End one network, or all; returns the exit code."""
    if args.all and (args.network or args.run):
        raise exits.CommandError("--all ends all networks: name none beside it")
    from testbed.cli import judging

    ended, failed = [], []
    for name in _names(args):
        with progress(args.quiet) as shown:
            try:
                entry = _end(name, shown)
                if args.judge and entry["outcome"] == "complete":
                    entry["verdict"] = judging.judge(Path(entry["directory"]), None, shown)
                ended.append(entry)
            except exits.CommandError as error:
                if not args.all:
                    raise
                failed.append(str(error))  # the others are to end all the same
    _report(args.json, ended)
    if failed:
        raise exits.CommandError("\n".join(failed), exits.FAILED)
    good = all(entry["outcome"] == "complete" for entry in ended)
    return exits.OK if good else exits.FAILED


def _names(args: argparse.Namespace) -> list[str | None]:
    from testbed.live.registry import running

    if not args.all:
        return [args.network or args.run]
    return [run.run_id for run in running() if run.kept and run.alive] or [None]


def _end(name: str | None, shown: Progress) -> dict[str, Any]:
    """Ask for the end, and follow it until the supervisor has gone."""
    from testbed.cli.networks import talk
    from testbed.live.clients import LostError

    with talk(name) as (run, caller):
        directory = caller.ask("down")["directory"]
        try:
            outcome = _follow(caller, shown)
        except LostError as error:
            raise exits.CommandError(
                f"{run.run_id}: its supervisor ended before it was done ({error}); `cbn clean` removes "
                f"what it left; {directory}/logs/supervisor.log may say why",
                exits.FAILED,
            ) from error
    return {"run_id": run.run_id, "directory": directory, **outcome}


def _follow(caller: ControlClient, shown: Progress) -> dict[str, Any]:
    from testbed.cli.networks import show_progress
    from testbed.live.clients import LostError

    for line in caller.lines():
        if "outcome" in line:
            return line
        show_progress(line, shown)
    raise LostError("it sent nothing more")


def _report(as_json: bool, ended: list[dict[str, Any]]) -> None:
    if as_json:
        print_json({"ended": [{k: v for k, v in entry.items() if k != "said"} for entry in ended]})
        return
    from testbed.cli.judging import print_judged

    for entry in ended:
        why = f": {entry['message']}" if entry["message"] else ""
        frames = entry["captures"]["frames"]
        print(f"{entry['run_id']}: {entry['outcome']}{why}, {how_many(frames, 'frame')} captured")
        if entry.get("verdict"):
            print_judged(entry["verdict"])
        print("\n".join([f"Next: cbn analyze {entry['directory']}", *entry["said"]]))


COMMAND = Command("end a running network", _arguments, _down, NETWORKS, _HELP)
