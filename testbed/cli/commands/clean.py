"""`cbn clean`: removes what dead runs left behind; `testbed.emu.cleanup` finds and removes it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import MACHINE, Command, add_json
from testbed.cli.output import print_json

if TYPE_CHECKING:
    from testbed.emu.cleanup import CleanReport

_HELP = """\
Removes what dead runs left on this machine: their processes, network namespaces,
links and temporary files, all of which carry the run's id; likewise the Java processes
and temporary files of an analysis that was killed. Runs that are alive,
other people's namespaces and all run directories are left alone.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="list what would be removed, remove nothing")
    add_json(parser)


def _clean(args: argparse.Namespace) -> int:
    from testbed.emu.cleanup import clean

    try:
        report = clean(dry_run=args.dry_run)
    except PermissionError as error:
        raise exits.CommandError(
            f"dead runs were found that are not yours to remove ({error.filename}): use sudo", exits.MACHINE
        ) from error
    if args.json:
        print_json(_to_plain(report))
    else:
        print("\n".join(_lines(report)))
    return exits.FAILED if report.survivors else exits.OK


def _to_plain(report: CleanReport) -> dict[str, object]:
    def plain(leftovers: tuple[Any, ...]) -> list[dict[str, object]]:
        return [{"pid": p.pid, "run_id": p.run_id, "command": p.command} for p in leftovers]

    return {
        "dry_run": report.dry_run,
        "processes": plain(report.processes),
        "folders": [str(folder) for folder in report.folders],
        "live_runs": list(report.live_runs),
        "survivors": plain(report.survivors),
    }


def _lines(report: CleanReport) -> list[str]:
    verb = "would remove" if report.dry_run else "removed"
    lines = [f"{verb} process {p.pid} of run {p.run_id}: {p.command}" for p in report.processes]
    lines += [f"{verb} {folder}" for folder in report.folders]
    lines += [f"left alone: run {name} is going on" for name in report.live_runs]
    lines += [f"process {p.pid} of run {p.run_id} did not end when killed" for p in report.survivors]
    return lines or ["nothing was left behind"]


COMMAND = Command("remove what dead runs left behind", _arguments, _clean, MACHINE, _HELP)
