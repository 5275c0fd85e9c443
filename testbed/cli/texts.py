"""Predicates, advertisements and messages on the command line: how they are read, and answers about them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from testbed.cli import exits
from testbed.cli.output import print_json

if TYPE_CHECKING:
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


def print_answer(answer: Answer, yes: str, no: str, shown: str, *, as_json: bool) -> None:
    """An answer with its reasons; `shown` says what its example shows."""
    from nodes.model import format_message

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
