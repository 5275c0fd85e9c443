"""The words of `cbn run` that say how to emulate, and what they come to."""

from __future__ import annotations

import argparse

from testbed.emu.options import LINK_CHOICES, EmuOptions


def add_emulation(command: argparse.ArgumentParser) -> None:
    """`--links` and `--dilate`."""
    emulation = command.add_argument_group("emulation")
    emulation.add_argument(
        "--links",
        choices=LINK_CHOICES,
        default="auto",
        help="what carries links that delay or lose (default: netem where the kernel has it, else wire)",
    )
    emulation.add_argument(
        "--dilate",
        type=_dilation,
        default=1,
        metavar="N",
        help="let the run's time go N times slower than real time, for a machine that is too slow",
    )


def emu_options(args: argparse.Namespace) -> EmuOptions:
    """The options that the command line asks for."""
    return EmuOptions(links=args.links, dilate=args.dilate)


def _dilation(text: str) -> int:
    from nodes.config import MOST_DILATE  # takes longer than all of the command line

    if not text.isdecimal() or not 1 <= int(text) <= MOST_DILATE:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MOST_DILATE}, found {text!r}")
    return int(text)
