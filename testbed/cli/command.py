"""What a subcommand of `cbn` is, and the options that several of them share.

A module in `testbed/cli/commands` is a subcommand of the module's name: it holds
one `COMMAND`. Such a module and this one import at their top only what is
quick to import, because `cbn --help` loads them all; what a command works with
is imported by the functions that use it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from topologies.quantities import DURATION_FORM, duration_ns

if TYPE_CHECKING:
    from analysis.settings import Asked
    from testbed.emu.options import EmuOptions

RUNS = "runs of scenarios"
NETWORKS = "a running network"
SCENARIOS = "scenarios, topologies, predicates"
MEASURING = "measuring"
MACHINE = "this machine"
GROUPS = (RUNS, NETWORKS, SCENARIOS, MEASURING, MACHINE)
"""The headings of `cbn --help`, in order."""

_COMMANDS = Path(__file__).parent / "commands"
AUTO = 0
"""What `--dilate auto` is read as."""
COUNT_MAX = 10_000_000


class Command(NamedTuple):
    """A subcommand: its help, its arguments, and what it does."""

    summary: str
    """One line, beginning with a verb in lower case."""
    arguments: Callable[[argparse.ArgumentParser], None] | None = None
    execute: Callable[[argparse.Namespace], int] | None = None
    """Returns the exit code. None: one of `commands` has to be named."""
    group: str = ""
    """One of `GROUPS`."""
    help: str = ""
    """Examples and whatever else a person should know, below the list of options."""
    commands: Mapping[str, Command] = {}
    """Subcommands of this one."""


def names() -> list[str]:
    """The subcommands there are: one for each module in `testbed/cli/commands`."""
    return sorted(path.stem for path in _COMMANDS.glob("[!_]*.py"))


def load(name: str) -> Command:
    """The subcommand of that name."""
    command: Command = import_module(f"testbed.cli.commands.{name}").COMMAND
    return command


def add_scenario(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """SCENARIO, and what overrides its values; `optional`: it may be left out."""
    parser.add_argument(
        "scenario",
        nargs="?" if optional else None,
        metavar="SCENARIO",
        help="a file, the name of a shipped scenario (cbn scenarios), or FILE.py:CLASS, a Mininet topology",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="instead of the scenario's own seed")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="override a scalar of the scenario; repeatable",
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """Where the run directory goes."""
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/<run id>)")
    parser.add_argument("--force", action="store_true", help="replace a previous run in DIR")


def add_emulation(parser: argparse.ArgumentParser, auto: bool = False) -> None:
    """`--links` and `--dilate`; `auto`: whether the testbed may choose how slow time is to go."""
    from testbed.emu.options import LINK_CHOICES

    emulation = parser.add_argument_group("emulation")
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
    """The options that `add_emulation` has read."""
    from testbed.emu.options import EmuOptions

    return EmuOptions(links=args.links, dilate=args.dilate or 1, dilate_auto=args.dilate == AUTO)


def add_placement(to: argparse._ActionsContainer, required: bool = False) -> None:
    """Which machines a cluster has, and which node runs where."""
    from testbed.cluster.options import RULES

    to.add_argument(
        "--hosts",
        required=required,
        metavar="HOSTS",
        help="the machines: a file (docs/clusters.md), or metal",
    )
    to.add_argument(
        "--place", choices=RULES, default=RULES[0], help="how nodes are placed (default: balanced)"
    )
    to.add_argument(
        "--put",
        action="append",
        default=[],
        type=_put,
        metavar="ROUTER=MACHINE",
        help="place a router, with its clients, by hand; repeatable",
    )


def add_captures(to: argparse._ActionsContainer) -> None:
    """What comes home from the machines of a cluster."""
    from testbed.cluster.options import CAPTURES

    to.add_argument(
        "--captures",
        choices=CAPTURES,
        default=CAPTURES[0],
        help="captures stay on the machine and come home as tables, or come home as they are, for Wireshark "
        "(default: machine)",
    )


def add_network(parser: argparse.ArgumentParser) -> None:
    """Which running network is meant."""
    parser.add_argument(
        "--run", metavar="RUN", help="which network: id or name (default: $CBN_NETWORK, or the only one)"
    )


def add_judge(parser: argparse.ArgumentParser) -> None:
    """`--no-judge`."""
    parser.add_argument(
        "--no-judge",
        action="store_false",
        dest="judge",
        help="end without a verdict (a run that is analysed ends with that of the analysis)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def add_table(to: argparse._ActionsContainer) -> None:
    """How the table of many runs is printed."""
    to.add_argument("--columns", metavar="A,B,...", help="the columns to print, such as p99,control_bytes")
    to.add_argument("--csv", action="store_true", help="print the table as CSV, in plain numbers")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """`--quiet`."""
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")


def add_spark(to: argparse._ActionsContainer) -> None:
    """Where Spark runs, and how."""
    to.add_argument(
        "--master",
        default="",
        metavar="URL",
        help="where Spark runs: local[N], spark://HOST:PORT, sc://HOST:PORT, or another of Spark's "
        "(default: $CBN_SPARK_MASTER, else all cores of this machine)",
    )
    to.add_argument(
        "--conf",
        action="append",
        default=[],
        type=_setting,
        metavar="KEY=VALUE",
        help="a setting of Spark, in the place of what is chosen; repeatable",
    )
    to.add_argument("--event-log", type=Path, metavar="DIR", help="keep the log of Spark's history server")


def asked_of_spark(args: argparse.Namespace) -> Asked:
    """The options that `add_spark` has read."""
    from analysis.settings import Asked

    return Asked(args.master, dict(args.conf), args.event_log)


def _put(text: str) -> tuple[str, str]:
    router, equals, machine = text.partition("=")
    if not (router and equals and machine):
        raise argparse.ArgumentTypeError(f"expected ROUTER=MACHINE, such as r1=left; found {text!r}")
    return router, machine


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (equals and key.startswith("spark.")):
        raise argparse.ArgumentTypeError(
            f"expected KEY=VALUE, such as spark.driver.memory=4g; found {text!r}"
        )
    return key, value


def count(text: str) -> int:
    """A whole number from 1 to ten million."""
    return _whole(text, COUNT_MAX)


def seconds(text: str) -> float:
    """A duration with its unit, as scenarios write them: `10ms` is 0.01."""
    try:
        return duration_ns(text) / 1e9
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {DURATION_FORM}; found {text!r}") from None


def _dilation_or_auto(text: str) -> int:
    return AUTO if text == "auto" else _dilation(text)


def _dilation(text: str) -> int:
    from nodes.config import MOST_DILATE

    return _whole(text, MOST_DILATE)


def _whole(text: str, most: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {most:,}, found {text!r}")
    return int(text)
