"""`cbn down`: ends running networks in order."""

from __future__ import annotations

import argparse
import json
from typing import Any

from testbed.cli import exits
from testbed.cli.networks import talk
from testbed.cli.progress import progress
from testbed.emu.caller import Caller, LostError
from testbed.emu.running import running
from testbed.runs.world import Progress


def down(args: argparse.Namespace) -> int:
    """End one network, or all; the exit code says whether all ended well."""
    if args.all and (args.network or args.run):
        raise exits.CommandError("--all ends all networks: name none beside it")
    ended, failed = [], []
    for name in _names(args):
        with progress(args.quiet) as shown:
            try:
                ended.append(_end(name, shown))
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
    if not args.all:
        return [args.network or args.run]
    return [run.run_id for run in running() if run.kept and run.alive] or [None]


def _end(name: str | None, shown: Progress) -> dict[str, Any]:
    """Ask for the end, and follow it until the keeper has gone."""
    with talk(name) as (run, caller):
        directory = caller.ask("down")["directory"]
        try:
            outcome = _follow(caller, shown)
        except LostError as error:
            raise exits.CommandError(
                f"{run.run_id}: its keeper ended before it was done ({error}); `cbn clean` removes what it "
                f"left; {directory}/logs/keeper.log may say why",
                exits.FAILED,
            ) from error
    return {"run_id": run.run_id, "directory": directory, **outcome}


def _follow(caller: Caller, shown: Progress) -> dict[str, Any]:
    for line in caller.lines():
        if "outcome" in line:
            return line
        if "phase" in line:
            shown.phase(line["phase"], line["total"])
        elif "done" in line:
            shown.advance(line["done"])
        elif "say" in line:
            shown.say(line["say"])
    raise LostError("it said nothing more")


def _report(as_json: bool, ended: list[dict[str, Any]]) -> None:
    if as_json:
        shown = [{key: value for key, value in entry.items() if key != "said"} for entry in ended]
        print(json.dumps({"ended": shown}, indent=1, ensure_ascii=False))
        return
    for entry in ended:
        why = f": {entry['message']}" if entry["message"] else ""
        packets = entry["captures"]["packets"]
        print(f"{entry['run_id']}: {entry['outcome']}{why}, {packets:,} packets captured")
        print("\n".join([f"Next: cbn analyze {entry['directory']}", *entry["said"]]))
