"""Prints what each carrier of links was asked for and what it did: `python -m tests.emu.conformance`.

Needs root. The same checks are tests in `test_link_conformance.py`.
"""

from __future__ import annotations

import sys

from testbed.emu.links.tc import kernel_lacks
from tests.emu.link_checks import CHECKS, DOUBLES, NOT_BY_NETEM, Check, Row, check_duplication, check_mtu
from tests.emu.link_lines import Line, RealLine, SimulatedLine

CARRIERS = ("simulator", "wire", "netem")


def main() -> int:
    """Print the table; 1 if anything does not hold."""
    print(f"{'carrier':10} {'property':30} {'asked':18} {'measured':18}")
    failed = False
    for carrier in CARRIERS:
        why = kernel_lacks("netem") if carrier == "netem" else None
        if why is not None:
            print(f"{carrier:10} not here: this kernel lacks sch_netem ({why})")
            continue
        for row in rows_of(carrier):
            failed |= not row.holds
            mark = "" if row.holds else "  DOES NOT HOLD"
            print(f"{carrier:10} {row.name:30} {row.asked:18} {row.measured:18}{mark}", flush=True)
    return int(failed)


def rows_of(carrier: str) -> list[Row]:
    """All properties of one carrier."""
    if carrier == "netem":
        return rows_of_netem()
    line = _line(carrier, 1500)
    try:
        rows = [row for check in CHECKS.values() for row in check(line)]
    finally:
        line.close()
    return rows + rows_of_mtu(carrier)


def rows_of_netem() -> list[Row]:
    """Those that netem can show."""
    able = [check for name, check in CHECKS.items() if name not in NOT_BY_NETEM]
    return [row for check in able for row in on_its_own(check)] + rows_of_mtu("netem")


def rows_of_mtu(carrier: str) -> list[Row]:
    """Of a link with a small one."""
    small = _line(carrier, 600)
    try:
        return check_mtu(small)
    finally:
        small.close()


def on_its_own(check: Check) -> list[Row]:
    """On a link of its own: netem cannot change from everything to everything."""
    line = RealLine("netem", does=DOUBLES if check is check_duplication else None)
    try:
        return check(line)
    finally:
        line.close()


def _line(carrier: str, mtu: int) -> Line:
    return SimulatedLine(mtu) if carrier == "simulator" else RealLine(carrier, mtu)


if __name__ == "__main__":
    sys.exit(main())
