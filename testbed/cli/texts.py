"""Predicates, advertisements and messages on the command line: how they are read, and answers about them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from testbed.cli import exits
from testbed.cli.command import add_json
from testbed.cli.output import print_json

if TYPE_CHECKING:
    from nodes.model import Predicate
    from testbed.cli.relations import Answer

T = TypeVar("T")


def parsed(parse: Callable[[str], T], text: str, what: str) -> T:
    """What a text says.

    Raises:
        CommandError: It says nothing; names the argument, and the place of the mistake in it.
    """
    from nodes.model import PredicateSyntaxError, UsageError

    try:
        return parse(text)
    except (PredicateSyntaxError, UsageError) as error:
        raise exits.CommandError(f"{what}: {error}") from error


def add_advertisement(parser: argparse.ArgumentParser, which: str) -> None:
    """`--advertisement`."""
    parser.add_argument(
        "--advertisement",
        action="store_true",
        help=f"{which}: constraints on one attribute are alternatives, and an attribute it does not declare "
        "may not occur",
    )


def add_two(parser: argparse.ArgumentParser, which: str) -> None:
    """FIRST and SECOND, two predicates to relate; `which` of them `--advertisement` makes one."""
    parser.add_argument("first", metavar="FIRST", help="a predicate")
    parser.add_argument("second", metavar="SECOND", help="a predicate")
    add_advertisement(parser, which)
    add_json(parser)


def answered(
    args: argparse.Namespace,
    test: Callable[[Predicate, Predicate], Answer],
    words: tuple[str, str, str],
) -> int:
    """Print what a test says of FIRST and SECOND; the words: for yes, for no, and before its example."""
    from nodes.model import parse_predicate

    first = parsed(parse_predicate, args.first, "FIRST")
    answer = test(first, parsed(parse_predicate, args.second, "SECOND"))
    _print(answer, words, as_json=args.json)
    return exits.OK if answer.holds else exits.NOT_CLEAN


def _print(answer: Answer, words: tuple[str, str, str], *, as_json: bool) -> None:
    from nodes.model import format_message

    yes, no, shown = words
    example = None if answer.example is None else format_message(answer.example)
    if as_json:
        parts = [{"part": part.text, "holds": part.holds, "reasons": part.reasons} for part in answer.parts]
        print_json({"holds": answer.holds, "parts": parts, "example": example})
        return
    for part in answer.parts:
        print(f"{'yes' if part.holds else 'no '} {part.text}")
        for reason in part.reasons:
            print(f"      {reason}")
    if example is not None:
        print(f"{shown}: {example}")
    print(yes if answer.holds else no)
