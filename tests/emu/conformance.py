"""Prints what each carrier of links was asked for and what it did: `python -m tests.emu.conformance`.

Needs root. The same checks are tests in `test_link_conformance.py`. On a machine that is too slow for them,
`--dilate 10` has links take ten times as long; what is printed is divided by ten.
"""

from __future__ import annotations

import argparse
import sys

from testbed.emu.links.tc import kernel_lacks
from tests.emu.link_checks import CHECKS, DOUBLES, NOT_BY_NETEM, Check, Row, check_duplication, check_mtu
from tests.emu.link_lines import Line, SimulatedLine, SlowedLine

CARRIERS = ("simulator", "wire", "netem")


def main() -> int:
    """Print the table; 1 if anything does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.emu.conformance", description=__doc__)
    parser.add_argument("carriers", nargs="*", metavar="CARRIER", help=f"default: {', '.join(CARRIERS)}")
    parser.add_argument("--dilate", type=int, default=1, metavar="N", help="take so many times as long")
    args = parser.parse_args()
    print(f"{'carrier':10} {'property':30} {'asked':18} {'measured':18}")
    failed = False
    for carrier in args.carriers or CARRIERS:
        why = kernel_lacks("netem") if carrier == "netem" else None
        if why is not None:
            print(f"{carrier:10} not here: this kernel lacks sch_netem ({why})")
            continue
        for row in rows_of(carrier, args.dilate):
            failed |= not row.holds
            mark = "" if row.holds else "  DOES NOT HOLD"
            print(f"{carrier:10} {row.name:30} {row.asked:18} {row.measured:18}{mark}", flush=True)
    return int(failed)


def rows_of(carrier: str, dilate: int = 1) -> list[Row]:
    """All properties of one carrier."""
    if carrier == "netem":
        return rows_of_netem(dilate)
    line = _line(carrier, 1500, dilate)
    try:
        rows = [row for check in CHECKS.values() for row in check(line)]
    finally:
        line.close()
    return rows + rows_of_mtu(carrier, dilate)


def rows_of_netem(dilate: int = 1) -> list[Row]:
    """Those that netem can show."""
    able = [check for name, check in CHECKS.items() if name not in NOT_BY_NETEM]
    return [row for check in able for row in on_its_own(check, dilate)] + rows_of_mtu("netem", dilate)


def rows_of_mtu(carrier: str, dilate: int = 1) -> list[Row]:
    """Of a link with a small one."""
    small = _line(carrier, 600, dilate)
    try:
        return check_mtu(small)
    finally:
        small.close()


def on_its_own(check: Check, dilate: int = 1) -> list[Row]:
    """On a link of its own: netem cannot change from everything to everything."""
    line = SlowedLine("netem", dilate=dilate, does=DOUBLES if check is check_duplication else None)
    try:
        return check(line)
    finally:
        line.close()


def _line(carrier: str, mtu: int, dilate: int) -> Line:
    return SimulatedLine(mtu) if carrier == "simulator" else SlowedLine(carrier, mtu, dilate)


if __name__ == "__main__":
    sys.exit(main())
