"""Filters and messages by the generator of FWD Table 1 (F7, E2, E3), for the clients of a scenario.

One generator a scenario, so that filters and messages share their names and
words. Its filters are dealt out in order of the clients, its messages in order
of the publications.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from fastpath.workload import Generator, Recipe, UsageError
from nodes.model import Value
from testbed.plan.dis import NAME as DIS
from testbed.plan.source import Source

_ANY_NUMBER = 1_000_000_000
_OPERATORS = {"=": "=", "<": "<", ">": ">", "^": ">*", "$": "*<", "*": "*"}
"""As the generator writes them, and as predicates do."""


class Generated:
    """The lines of the generator, as predicates and messages."""

    def __init__(self, source: Source, spec: Mapping[str, Any], seed: int) -> None:
        self._filters: Iterator[bytes] = iter(())
        self._messages: Iterator[bytes] = iter(())
        self.works = False
        """Whether there is a generator; if not, the source has the reason among its problems."""
        try:
            generator = Generator(_recipe(spec, seed))
            generator.messages(1)
        except UsageError as error:
            source.complain(("workload",), str(error))
            return
        self._filters = _lines(generator.filters())
        self._messages = _lines(generator.messages(_ANY_NUMBER))
        self.works = True

    def predicate(self, filters: int) -> str:
        """The next filters, as one predicate."""
        return " or ".join(_filter(line) for _, line in zip(range(filters), self._filters, strict=False))

    def message(self) -> dict[str, Value]:
        """The next message."""
        return _message(next(self._messages, b"m 0"))


def _recipe(spec: Mapping[str, Any], seed: int) -> Recipe:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in spec.items()
        if name != DIS
    }
    if "zipf" in given:
        given["zipf"] = str(given["zipf"])
    # A message cannot have more attributes than there are names.
    given.setdefault("attributes", (1, min(19, spec.get("names", 1000))))
    return Recipe(seed=seed, interfaces=1, filters=_ANY_NUMBER, **given)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    return chain.from_iterable(piece.splitlines() for piece in pieces)


def _filter(line: bytes) -> str:
    """`f 0 2 name s= word other i< 7` as a filter."""
    words = line.decode().split(" ")[3:]
    constraints = zip(words[::3], words[1::3], words[2::3], strict=True)
    return " and ".join(
        f"{name} {_OPERATORS[how[1:]]} {_literal(how[0], text)}"
        for name, how, text in dict.fromkeys(constraints)
    )


def _message(line: bytes) -> dict[str, Value]:
    """`m 2 name s word other i 7` as a message."""
    words = line.decode().split(" ")[2:]
    return {
        name: int(text) if kind == "i" else text
        for name, kind, text in zip(words[::3], words[1::3], words[2::3], strict=True)
    }


def _literal(kind: str, text: str) -> str:
    return text if kind == "i" else json.dumps(text)
