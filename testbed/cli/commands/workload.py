"""`cbn workload`: generate filters and messages into a directory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import MEASURING, Command, add_json, add_quiet
from testbed.cli.output import print_json
from testbed.cli.progress import progress
from topologies.quantities import how_many

if TYPE_CHECKING:
    from fastpath.workload import Generator, Recipe
    from testbed.runs.world import Progress

FILTERS, MESSAGES, RECIPE = "filters.txt", "messages.txt", "recipe.json"


_HELP = """\
examples:
  cbn workload build/w --interfaces 20 --filters 1000000 --messages 1000
      5 million constraints, dealt out evenly to 20 interfaces
  cbn workload build/central --interfaces 1000000 --filters-per-interface 1 1
      one filter an interface
  cbn workload build/pieces --piece 3 --seed 7
      3-letter pieces of words as operands of prefix, suffix and substring

Writes filters.txt, messages.txt and recipe.json into DIR. Every option left out
has the value of the paper (FWD Table 1 and section 5.1; ranges include both
ends). The same options give the same bytes on every machine.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="where to write the files")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="(default: 1)")
    _add_filters(parser)
    _add_values(parser)
    parser.add_argument("--force", action="store_true", help="replace a workload in DIR")
    add_quiet(parser)
    add_json(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("filters and messages")
    group.add_argument("--interfaces", type=int, default=20, metavar="I", help="(default: 20)")
    _range(group, "--filters-per-interface", (1, 99_999), "default: 1 99999, about a million filters")
    group.add_argument(
        "--filters", type=int, metavar="F", help="exactly F in all, dealt out evenly, in place of that range"
    )
    _range(group, "--constraints", (1, 9), "per filter (default: 1 9)")
    group.add_argument("--messages", type=int, default=100, metavar="M", help="(default: 100)")
    _range(group, "--attributes", (1, 19), "per message (default: 1 19)")


def _add_values(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("names, types, operators, values")
    group.add_argument("--names", type=int, default=1000, metavar="N", help="names there are (default: 1000)")
    group.add_argument("--zipf", default="1", metavar="S", help="exponent for names (default: 1; 0: uniform)")
    group.add_argument("--words", type=int, default=1000, metavar="N", help="string values (default: 1000)")
    group.add_argument(
        "--piece",
        type=int,
        default=0,
        metavar="N",
        help="operands of prefix, suffix and substring are N letters of a word (default: 0, the whole word)",
    )
    _range(group, "--integers", (0, 99), "integer values (default: 0 99)")
    _mix(group, "--types", "s:50,i:50", "strings and integers")
    _mix(group, "--string-operators", "=:35,^:15,$:15,*:15,<:10,>:10", "^ prefix, $ suffix, * substring")
    _mix(group, "--integer-operators", "=:60,<:20,>:20", "also != <= >=")


def _range(group: Any, name: str, default: tuple[int, int], text: str) -> None:
    group.add_argument(name, type=int, nargs=2, default=default, metavar=("LOW", "HIGH"), help=text)


def _mix(group: Any, name: str, default: str, text: str) -> None:
    group.add_argument(
        name, type=mix, default=mix(default), metavar="MIX", help=f"{text} (default: {default})"
    )


def mix(text: str) -> dict[str, int]:
    """`=:60,<:40` as weights by operator."""
    weights: dict[str, int] = {}
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        if not (colon and name and weight.isascii() and weight.isdigit()):
            raise argparse.ArgumentTypeError(f"{part!r} is not NAME:WEIGHT, such as =:60")
        if name in weights:
            raise argparse.ArgumentTypeError(f"{name} has two weights")
        weights[name] = int(weight)
    return weights


def _workload(args: argparse.Namespace) -> int:
    from fastpath.workload import Generator, UsageError

    recipe = _recipe(args)
    with exits.explained(UsageError):
        generator = Generator(recipe)
        generator.messages(args.messages)
    try:
        with progress(args.quiet) as shown:
            _write(args.directory, generator, recipe, args, shown)
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error
    _report(args, generator)
    return exits.OK


def _recipe(args: argparse.Namespace) -> Recipe:
    from fastpath.workload import Recipe

    given: dict[str, Any] = {field.name: getattr(args, field.name) for field in fields(Recipe)}
    ranges = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return Recipe(**given | ranges)


def _write(
    folder: Path, generator: Generator, recipe: Recipe, args: argparse.Namespace, shown: Progress
) -> None:
    taken = [folder / name for name in (FILTERS, MESSAGES, RECIPE) if (folder / name).exists()]
    if taken and not args.force:
        raise exits.CommandError(f"{taken[0]} exists; --force replaces it")
    folder.mkdir(parents=True, exist_ok=True)
    shown.phase("filters", generator.filters_total)
    _write_whole(folder / FILTERS, generator.filters(), shown)
    shown.phase("messages", args.messages)
    _write_whole(folder / MESSAGES, generator.messages(args.messages), shown)
    text = json.dumps(asdict(recipe) | {"messages": args.messages}, indent=1)
    _write_whole(folder / RECIPE, [text.encode() + b"\n"], shown)


def _write_whole(path: Path, pieces: Iterable[bytes], shown: Progress) -> None:
    from testbed.runs.whole_files import written_whole

    lines = 0
    with written_whole(path) as unfinished, unfinished.open("wb") as out:
        for piece in pieces:
            out.write(piece)
            lines += piece.count(b"\n")
            shown.advance(lines)


def _report(args: argparse.Namespace, generator: Generator) -> None:
    folder = args.directory
    found = {
        "filters": generator.filters_total,
        "messages": args.messages,
        "files": [str(folder / name) for name in (FILTERS, MESSAGES, RECIPE)],
    }
    if args.json:
        print_json(found)
        return
    print(f"{folder}: {how_many(found['filters'], 'filter')}, {how_many(found['messages'], 'message')}")
    print(f"Next: cbn bench match --filters {folder / FILTERS} --messages {folder / MESSAGES}")


COMMAND = Command(
    "generate filters and messages to measure matching with", _arguments, _workload, MEASURING, _HELP
)
