"""The words of `cbn run` that say how to emulate, and what they come to."""

from __future__ import annotations

import argparse

from testbed.emu.options import LINK_CHOICES, EmuOptions

AUTO = 0
"""What `--dilate auto` is read as."""


def add_emulation(command: argparse.ArgumentParser, auto: bool = False) -> None:
    """`--links` and `--dilate`; `auto`: whether it may be left to the testbed how slow time is to go."""
    emulation = command.add_argument_group("emulation")
    emulation.add_argument(
        "--links",
        choices=LINK_CHOICES,
        default="auto",
        help="what carries links that delay or lose (default: netem where the kernel has it, else wire)",
    )
    emulation.add_argument(
        "--dilate",
        type=_dilation_or_auto if auto else _dilation,
        default=1,
        metavar="N",
        help="let the run's time go N times slower than real time, for a machine that is too slow"
        + ("; auto: run again, slower, while that may help" if auto else ""),
    )


def emu_options(args: argparse.Namespace) -> EmuOptions:
    """The options that the command line asks for."""
    return EmuOptions(links=args.links, dilate=args.dilate or 1, dilate_auto=args.dilate == AUTO)


def _dilation_or_auto(text: str) -> int:
    return AUTO if text == "auto" else _dilation(text)


def _dilation(text: str) -> int:
    from nodes.config import MOST_DILATE  # takes longer than all of the command line

    if not text.isdecimal() or not 1 <= int(text) <= MOST_DILATE:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MOST_DILATE}, found {text!r}")
    return int(text)
