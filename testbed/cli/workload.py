"""`cbn workload`: generate filters and messages into a directory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from fastpath.workload import Generator, Recipe
    from testbed.runs.world import Progress

FILTERS, MESSAGES, RECIPE = "filters.txt", "messages.txt", "recipe.json"


def workload(args: argparse.Namespace) -> int:
    """Write the files and say what is in them."""
    from fastpath.workload import Generator, UsageError

    recipe = _recipe(args)
    try:
        generator = Generator(recipe)
        generator.messages(args.messages)
    except UsageError as error:
        raise exits.CommandError(str(error)) from error
    try:
        with progress(args.quiet) as shown:
            _write(args.directory, generator, recipe, args, shown)
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error
    _report(args, generator)
    return exits.OK


def _recipe(args: argparse.Namespace) -> Recipe:
    from fastpath.workload import Recipe

    return Recipe(
        seed=args.seed,
        interfaces=args.interfaces,
        filters_per_interface=_pair(args.filters_per_interface),
        filters=args.filters,
        constraints=_pair(args.constraints),
        attributes=_pair(args.attributes),
        names=args.names,
        zipf=args.zipf,
        words=args.words,
        piece=args.piece,
        integers=_pair(args.integers),
        types=args.types,
        string_operators=args.string_operators,
        integer_operators=args.integer_operators,
    )


def _pair(ends: Sequence[int]) -> tuple[int, int]:
    low, high = ends
    return low, high


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
    """The file is there when it is complete, and not before."""
    unfinished, lines = path.with_name(path.name + ".part"), 0
    try:
        with unfinished.open("wb") as out:
            for piece in pieces:
                out.write(piece)
                lines += piece.count(b"\n")
                shown.advance(lines)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _report(args: argparse.Namespace, generator: Generator) -> None:
    folder = args.directory
    found = {
        "filters": generator.filters_total,
        "messages": args.messages,
        "files": [str(folder / name) for name in (FILTERS, MESSAGES, RECIPE)],
    }
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{folder}: {found['filters']:,} filters, {found['messages']:,} messages")
    print(f"Next: cbn bench match --filters {folder / FILTERS} --messages {folder / MESSAGES}")
