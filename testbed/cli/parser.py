"""The command line of `cbn`, put together from its subcommands, and the help that they share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from testbed.cli.command import GROUPS, Command, load, names
from testbed.plan.problems import did_you_mean

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction["_Parser"]  # argparse has no public name for it

_FIRST_STEPS = """\
first steps:
  cbn doctor                        what works on this machine, and how to get the rest
  cbn scenarios                     the scenarios that come with the testbed
  cbn show quickstart               what is in one of them
  cbn run quickstart --analyze      run it, compare with what should have arrived
  cbn run my.yaml --world sim       your own, in the simulator: no root, same bytes every time
  cbn up quickstart                 leave a network running, and work on it live

exit codes:
  0    done; where there is a verdict, nothing is wrong
  1    deliveries are missing, duplicate or spurious, too little could be judged, or
       the counts are in doubt; where the scenario expects something, that decides
       (cbn match: the message does not match)
  2    a wrong command line or a broken scenario; nothing was started
  3    this machine cannot do it; cbn doctor lists the fixes
  4    the run was started and failed
  70   a defect of cbn itself; CBN_DEBUG=1 shows where
  130  interrupted (Ctrl-C), 143 terminated: cleaned up, the run directory is kept

The pages under docs/ have the rest: cli.md, scenario-reference.md, run-directory.md.
"""


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """The whole command line, or, to be quick, no more of it than the subcommand `only` if there is one."""
    known = names()
    found = {name: load(name) for name in ([only] if only in known else known)}
    parser = _Parser(
        prog="cbn",
        usage="cbn [-h] [--version] COMMAND ...",
        description="Build, emulate, break, measure and compare content-based networks.",
        epilog=f"{_listed(found)}\n{_FIRST_STEPS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    _add(parser.add_subparsers(prog="cbn", metavar="COMMAND", required=True, help=argparse.SUPPRESS), found)
    return parser


def _listed(found: Mapping[str, Command]) -> str:
    """The subcommands by group."""
    lines = []
    for group in GROUPS:
        lines += [f"{group}:", *(f"  {n:<10}  {c.summary}" for n, c in found.items() if c.group == group), ""]
    return "\n".join(lines)


def _add(to: _Commands, found: Mapping[str, Command], listed: bool = False) -> None:
    for name, command in found.items():
        help_: dict[str, Any] = {"help": command.summary} if listed else {}
        parser = to.add_parser(
            name,
            **help_,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=command.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command.arguments is not None:
            command.arguments(parser)
        if command.execute is None:
            inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
            _add(inner, command.commands, listed=True)
        else:
            parser.set_defaults(execute=command.execute)


class _Parser(argparse.ArgumentParser):
    """Points to the help after a wrong command line."""

    def __init__(self, **settings: object) -> None:
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse what is not known here, where the options are known that may have been meant."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unrecognized(unknown))
        return found, unknown

    def _unrecognized(self, arguments: Sequence[str]) -> str:
        options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
        hints = [did_you_mean(option, self._option_string_actions) for option in options]
        return "; ".join([f"unrecognized arguments: {' '.join(arguments)}", *filter(None, hints)])

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """As argparse does, with the nearest of the choices where one is near."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(value, map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"there is no {value}; {hint}") if hint else error from None

    def error(self, message: str) -> None:  # type: ignore[override]
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib import metadata

        try:
            found = metadata.version("cbn-testbed")
        except metadata.PackageNotFoundError:
            found = "(not installed: run from its source tree)"
        print(f"cbn {found}")
        parser.exit(0)
