"""A network that runs for days while everything breaks: `make soak DAYS=7`, `make soak WORLD=emu HOURS=2`.

In rounds routers crash and start again, links fail and flap, a part of the network is cut off, clients leave
and return, subscriptions come and go, and links get new keys. In the calm at the end of each round messages
are owed, and what every router forwards by is held to a computation over the whole network (in the simulator
at every fixpoint). Memory and open descriptors are sampled all the time: the table has their slopes.

The exit code is 1 if memory or descriptors grow beyond noise, a table has drifted, or a delivery is missing,
comes twice or is not owed. All samples are in `build/soak/WORLD/samples.csv`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from testbed.cli.progress import progress
from tests.faults.variants import VARIANTS
from tests.soak import emulated, simulated
from tests.soak.drawing import Soak, rounds_within
from tests.soak.findings import page

DAY_S, HOUR_S = 86_400.0, 3_600.0
ROUTERS = {"sim": 100, "emu": 16}
HOLD_MS = {"sim": 40_000, "emu": 4_000}
"""HELLOs come four times as often: every ten seconds, as OSPF has them; an emulation has less time."""
ROUND_HOLDS = {"sim": 180, "emu": 45}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--world", choices=("sim", "emu"), default="sim", help="emu needs root (default: sim)"
    )
    lasting = parser.add_mutually_exclusive_group()
    lasting.add_argument("--days", type=float, help="how long (default: 7 in the simulator)")
    lasting.add_argument("--hours", type=float, help="how long (default: 2 in the emulated world)")
    parser.add_argument("--routers", type=int, help="how many (default: 100 simulated, 16 emulated)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (default: 1)")
    parser.add_argument("--scheme", choices=sorted(n for n in VARIANTS if "/" not in n), default="pif")
    parser.add_argument(
        "--hold-ms", type=int, help="hold time, by which all is measured (default: 40,000 or 4,000)"
    )
    parser.add_argument("--out", type=Path, default=Path("build/soak"), help="where samples and captures go")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser.parse_args(arguments)


def seconds_of(args: argparse.Namespace) -> float:
    """How long it is to take, on the network's clock."""
    if args.days is not None:
        return float(args.days * DAY_S)
    if args.hours is not None:
        return float(args.hours * HOUR_S)
    return 7 * DAY_S if args.world == "sim" else 2 * HOUR_S


def soak_of(args: argparse.Namespace) -> Soak:
    """What is asked for."""
    hold_ms, round_holds = args.hold_ms or HOLD_MS[args.world], ROUND_HOLDS[args.world]
    rounds = rounds_within(seconds_of(args), hold_ms, round_holds)
    routers = args.routers or ROUTERS[args.world]
    return Soak(args.seed, routers, rounds, hold_ms, round_holds, args.scheme, captures=args.world == "emu")


def main(arguments: Sequence[str]) -> int:
    """Soak, and print what was found."""
    args = parsed(arguments)
    soak, folder = soak_of(args), args.out / args.world
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(
        f"seed {soak.seed}, {soak.routers} routers, {soak.rounds} rounds of {soak.round_ms / 1e3:g} s",
        flush=True,
    )
    with progress(args.quiet) as shown:
        if args.world == "emu":
            found = emulated.soaked(soak, folder, f"soak-{os.getpid()}", shown)
        else:
            found = simulated.soaked(soak, folder, shown)
    bounds_of = (emulated if args.world == "emu" else simulated).bounds_of
    print("\n".join(page(found, bounds_of)))
    return 1 if found.wrong(bounds_of) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
