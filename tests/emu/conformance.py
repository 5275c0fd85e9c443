"""Prints what each carrier of links was asked for and what it did: `python -m tests.emu.conformance`.

Needs root. The same checks are tests in `test_link_conformance.py`.
"""

from __future__ import annotations

import sys

from testbed.emu.links.netem import kernel_lacks
from tests.emu.link_checks import CHECKS, NOT_BY_NETEM, Row, check_mtu
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
    rows: list[Row] = []
    line = _line(carrier, 1500)
    try:
        for name, check in CHECKS.items():
            if carrier == "netem" and name in NOT_BY_NETEM:
                rows.append(Row(name, "-", NOT_BY_NETEM[name], True))
            else:
                rows += check(line)
    finally:
        line.close()
    small = _line(carrier, 600)
    try:
        return rows + check_mtu(small)
    finally:
        small.close()


def _line(carrier: str, mtu: int) -> Line:
    return SimulatedLine(mtu) if carrier == "simulator" else RealLine(carrier, mtu)


if __name__ == "__main__":
    sys.exit(main())
