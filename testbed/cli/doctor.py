"""`cbn doctor`: what this machine can and cannot do, and how to fix it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from testbed.cli import exits
from testbed.cli.checks import Check, run_checks

ABILITIES = {
    "sim": "simulate (cbn run --world sim)",
    "emu": "emulate with Mininet (cbn run --world emu)",
    "links": "emulate what links do to packets, and cut them",
    "netem": "have the kernel do it (cbn run --links netem)",
    "analysis": "analyse runs (cbn analyze)",
    "provision": "provision machines (Vagrant, Ansible)",
    "comfort": "look into captures and such",
}
"""What checks are needed for; each check names one or more of these."""


def doctor(args: argparse.Namespace) -> int:
    """Check everything; exit code 0 if at least the simulator works."""
    checks = run_checks()
    able = {name: all(c.ok for c in checks if name in c.needed_for) for name in ABILITIES}
    if args.json:
        document = {"abilities": able, "checks": [asdict(c) for c in checks]}
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        _print(checks, able)
    return exits.OK if able["sim"] else exits.MACHINE


def _print(checks: Sequence[Check], able: dict[str, bool]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "check", "found", "needed for"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]"
        table.add_row(mark, check.name, check.found, ", ".join(check.needed_for))
    console = Console()
    console.print(table, highlight=False)
    _print_fixes([c for c in checks if not c.ok])
    print()
    for name, text in ABILITIES.items():
        print(f"{'can   ' if able[name] else 'cannot'} {text}")


def _print_fixes(missing: Sequence[Check]) -> None:
    if missing:
        print("\nhow to fix it:")
    for check in missing:
        print(f"  {check.name}: {check.fix}")
