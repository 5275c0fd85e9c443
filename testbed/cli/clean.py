"""`cbn clean`: removes what dead runs left behind; the finding and removing is `testbed.emu.cleanup`."""

from __future__ import annotations

import argparse
import json

from testbed.cli import exits
from testbed.emu.cleanup import CleanReport
from testbed.emu.cleanup import clean as clean_machine


def clean(args: argparse.Namespace) -> int:
    """Clean up, and say what that meant."""
    try:
        report = clean_machine(dry_run=args.dry_run)
    except PermissionError as error:
        raise exits.CommandError(
            f"dead runs were found that are not yours to remove ({error.filename}): use sudo", exits.MACHINE
        ) from error
    if args.json:
        print(json.dumps(_to_plain(report), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_lines(report)))
    return exits.FAILED if report.survivors else exits.OK


def _to_plain(report: CleanReport) -> dict[str, object]:
    def plain(leftovers: tuple[object, ...]) -> list[dict[str, object]]:
        return [{"pid": p.pid, "run_id": p.run_id, "command": p.command} for p in leftovers]  # type: ignore[attr-defined]

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
