"""Patterns as text, and the tuples of messages that match them, by docs/patterns.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.judge.judging.texts import Message, Predicate, matches, read_predicate

UNITS_NS = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_TOKEN = re.compile(
    r"""\s*(?:
      \[(?P<predicate>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[^]"'`])*)\]
    | (?P<mark>[()])
    | (?P<number>[0-9]+)(?P<unit>[a-z]*)
    | (?P<word>[a-z]+)
    )\s*""",
    re.VERBOSE | re.DOTALL,
)


class Seen(NamedTuple):
    """A message; in order of time."""

    time_ns: int
    source: int
    sequence: int


Tuples = list[tuple[Seen, ...]]


@dataclass(frozen=True)
class Node:
    """An expression: one predicate, or others and how they are joined."""

    predicate: Predicate | None
    joint: str
    below: tuple[Node, ...]
    within_ns: int | None


@dataclass(frozen=True)
class PatternText:
    """A pattern, read."""

    root: Node
    pairing: str
    wait_ns: int


def read_pattern(text: str) -> PatternText:
    """What a text says; raises ValueError if it is no pattern."""
    tokens = _tokens(text)
    root = _expression(tokens)
    options = {"pairing": "every", "wait": 100_000_000, "keep": 0}
    while tokens:
        word = tokens.pop(0)
        if word not in options:
            raise ValueError(f"{word} in {text}")
        options[str(word)] = tokens.pop(0)  # type: ignore[assignment]
    return PatternText(root, str(options["pairing"]), int(options["wait"]))


def _tokens(text: str) -> list[str | int | Predicate]:
    found: list[str | int | Predicate] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"no word at {at} of {text}")
        if token["predicate"] is not None:
            found.append(read_predicate(token["predicate"]))
        elif token["number"]:
            found.append(int(token["number"]) * UNITS_NS.get(token["unit"], 1))
        else:
            found.append(token["mark"] or token["word"])
        at = token.end()
    return found


def _expression(tokens: list[str | int | Predicate]) -> Node:
    below, joint = [_operand(tokens)], ""
    while tokens and tokens[0] in ("then", "and", "or"):
        joint = str(tokens.pop(0))
        if tokens[0] == "another":
            joint += f" {tokens.pop(0)}"
        below.append(_operand(tokens))
    within_ns = None
    if tokens and tokens[0] == "within":
        tokens.pop(0)
        within_ns = tokens.pop(0)
    if not joint:
        return below[0]
    return Node(None, joint, tuple(below), within_ns)  # type: ignore[arg-type]


def _operand(tokens: list[str | int | Predicate]) -> Node:
    token = tokens.pop(0)
    if isinstance(token, frozenset):
        return Node(token, "", (), None)
    if token != "(":
        raise ValueError(f"no operand: {token}")
    inside = _expression(tokens)
    if tokens.pop(0) != ")":
        raise ValueError("a ( without its )")
    return inside


def predicates_of(node: Node) -> Iterator[Predicate]:
    """Those of its parts."""
    if node.predicate is not None:
        yield node.predicate
    for each in node.below:
        yield from predicates_of(each)


def longest_ns(node: Node) -> int:
    """How long a match may last."""
    if node.within_ns is not None or not node.below:
        return node.within_ns or 0
    return max(map(longest_ns, node.below))


def all_matches(node: Node, messages: Sequence[tuple[Seen, Message]]) -> Tuples:
    """Every match, in order."""
    found = set(_matches(node, messages, None))
    return sorted(found, key=lambda match: (max(match), sorted(match), match))


def _matches(node: Node, messages: Sequence[tuple[Seen, Message]], around_ns: int | None) -> Tuples:
    """Those that fit a window around it."""
    if node.predicate is not None:
        return [(seen,) for seen, message in messages if matches(node.predicate, message)]
    windows = [each for each in (node.within_ns, around_ns) if each is not None]
    window_ns = min(windows) if windows else None
    of_each = [_matches(each, messages, window_ns) for each in node.below]
    if node.joint == "or":
        found = [match for each in of_each for match in each]
    else:
        found = of_each[0]
        for each in of_each[1:]:
            found = [a + b for a in found for b in each if _joins(node.joint, a, b, window_ns)]
    return [match for match in found if _fits(match, window_ns)]


def _joins(joint: str, a: tuple[Seen, ...], b: tuple[Seen, ...], window_ns: int | None) -> bool:
    if joint == "then" and not max(a)[0] < min(b)[0]:
        return False
    if joint == "and another" and set(a) & set(b):
        return False
    return _fits(a + b, window_ns)


def _fits(match: tuple[Seen, ...], window_ns: int | None) -> bool:
    return window_ns is None or max(match)[0] - min(match)[0] <= window_ns


def paired(pairing: str, found: Tuples) -> Tuples:
    """Those that are told."""
    used: set[Seen] = set()
    chosen = []
    for match in found:
        counts = {"every": set[Seen](), "first": {min(match)}, "once": set(match)}[pairing]
        if not used & counts:
            used |= counts
            chosen.append(match)
    return chosen
