"""The command line of `cbn`: its words, and help that teaches. Imports no command."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli.parser_bench import add_bench, add_workload
from testbed.cli.parser_compare import add_diff, add_replay
from testbed.cli.parser_emulation import add_emulation
from testbed.cli.parser_export import add_export
from testbed.cli.parser_live import add_live
from testbed.cli.parser_matrix import add_matrix
from testbed.cli.parser_reproduce import add_reproduce
from testbed.cli.parser_topo import add_topo

_EXITS = """\
exit codes:
  0    done; where there is a verdict, it is clean
  1    the verdict is not clean: deliveries missing, duplicate or spurious; where
       the scenario expects something, that decides
       (cbn match: the message does not match)
  2    a wrong command line or a broken scenario; nothing was started
  3    this machine cannot do it; cbn doctor says how to fix that
  4    the run was started and failed
  70   a defect of cbn itself; CBN_DEBUG=1 shows where
  130  interrupted (Ctrl-C), 143 terminated: cleaned up, the run directory is kept
"""

_TOP = f"""\
first steps:
  cbn doctor                        what works on this machine, and how to get the rest
  cbn scenarios                     the scenarios that come with the testbed
  cbn show quickstart               what is in one of them
  cbn run quickstart --analyze      run it, compare with what should have arrived
  cbn run my.yaml --world sim       your own, in the simulator: no root, same bytes every time
  cbn up quickstart                 leave a network running, and work on it by hand

{_EXITS}
The pages under docs/ say the rest: cli.md, scenario-reference.md, run-directory.md.
"""

_RUN = """\
examples:
  cbn run quickstart
      in the best world this machine has; says which and why
  cbn run quickstart --world sim --seed 7 --analyze
      in the simulator, with another seed, then the verdict and a report
  cbn run my.yaml --set scheme=pif --set timing.hop_delay=2ms
      override scalars of the file; the key is the path to them, with dots
  cbn run my.yaml --out /tmp/here --force --json
      replace the run in /tmp/here; one JSON object on standard output
  cbn run outage
      a scenario that expects something is a test: the exit code says whether it holds
  cbn run schemes --jobs 2 --only size=10
      a scenario with a matrix is many runs, in one folder with one table

worlds:
  sim   one process, simulated time: deterministic, needs neither root nor Mininet
  emu   Mininet hosts joined by veth links, real processes, real time: needs root
  auto  emu where it works, else sim (the default)

Ctrl-C ends a run in order: everything it made is removed, its directory is kept
and its manifest says that it was interrupted. After kill -9, `cbn clean` removes
what was left behind.
"""

_ANALYZE = """\
examples:
  cbn analyze runs/quickstart-sim-20260101T120000Z-1a2b
  cbn analyze DIR --json | jq .missing

Writes tables/*.parquet, verdict.json and report.html into the run directory.
Needs Java 17 and PySpark (cbn doctor). Exit code 1 means: analysed, and some
delivery is missing, duplicate or spurious.
"""

_DOCTOR = """\
Every check says what it is needed for and how to fix it. The exit code is 0 if
at least the simulator works here.
"""

_CLEAN = """\
Removes what dead runs left on this machine: their processes, network namespaces,
links and temporary files, all of which carry the run's id. Runs that are alive,
other people's namespaces and all run directories are left alone.
"""

_MATCH = """\
examples:
  cbn match 'dest = "ORD" and price < 400' 'dest = "ORD", price = 350'
  cbn match 'airline >* "U" or stops = 0' 'airline = "UA", stops = 1'

Types count: 400 is an integer, 400.0 a float, and neither equals the other.
Exit code 0: matches; 1: does not.
"""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="cbn",
        description="Build, emulate, break, measure and compare content-based networks.",
        epilog=_TOP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_analyze(commands)
    add_replay(commands, _command, _json)
    add_diff(commands, _command, _json)
    add_export(commands, _command, _json)
    add_live(commands, _command, _scenario, _json)
    _add_small(commands)
    add_topo(commands, _command, _json)
    add_workload(commands, _command, _json)
    add_bench(commands, _command, _json)
    add_reproduce(commands, _command, _json)
    return parser


class _Parser(argparse.ArgumentParser):
    """Says after a wrong command line where help is to be had."""

    def __init__(self, **settings: object) -> None:
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

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


_Commands = argparse._SubParsersAction  # argparse has no public name for it


def _command(
    commands: _Commands[_Parser], name: str, summary: str, epilog: str = "", module: str = ""
) -> _Parser:
    """A subcommand, carried out by the function of its name in `module` (default: the module of its name)."""
    command = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(module=module or name, function=name)
    return command


def _add_run(commands: _Commands[_Parser]) -> None:
    run = _command(commands, "run", "run a scenario", _RUN)
    _scenario(run)
    run.add_argument("--world", choices=("sim", "emu", "auto"), default="auto", help="where (default: auto)")
    run.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/<run id>)")
    run.add_argument("--force", action="store_true", help="replace a previous run in DIR")
    add_matrix(run)
    add_emulation(run, auto=True)
    _json(run)
    run.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")


def _add_analyze(commands: _Commands[_Parser]) -> None:
    analyze = _command(commands, "analyze", "compare a run with what should have happened", _ANALYZE)
    analyze.add_argument("directory", type=Path, metavar="DIR", help="a run directory")
    _json(analyze)
    analyze.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")


def _add_small(commands: _Commands[_Parser]) -> None:
    doctor = _command(commands, "doctor", "say what this machine can and cannot do", _DOCTOR)
    _json(doctor)
    clean = _command(commands, "clean", "remove what dead runs left behind", _CLEAN)
    clean.add_argument("--dry-run", action="store_true", help="say what would be removed, remove nothing")
    _json(clean)
    scenarios = _command(commands, "scenarios", "list the scenarios that come with the testbed")
    _json(scenarios)
    show = _command(commands, "show", "show what is in a scenario, and what will happen")
    _scenario(show)
    show.add_argument("--all", action="store_true", help="leave no row of a table out")
    _json(show)
    match = _command(commands, "match", "say whether a predicate matches a message", _MATCH)
    match.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    match.add_argument("message", metavar="MESSAGE", help="as in a scenario")
    _json(match)


def _scenario(command: _Parser) -> None:
    command.add_argument(
        "scenario", metavar="SCENARIO", help="a file, or the name of a shipped scenario (cbn scenarios)"
    )
    command.add_argument("--seed", type=int, metavar="N", help="instead of the scenario's own seed")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="override a scalar of the scenario; repeatable",
    )


def _json(command: _Parser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
