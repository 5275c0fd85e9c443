"""Reads predicates, filters and messages from text, as in docs/predicate-syntax.md.

    predicate  = all-of {"or" all-of}
    all-of     = primary {"and" primary}
    primary    = "(" predicate ")" | "all" | "none" | constraint
    constraint = name operator value | name "any" type
    message    = "none" | name "=" value {"," name "=" value}

Here: the grammar, and expansion into a disjunction of filters within a bound.
Not here: tokens and literals (`tokens`), writing (`text`, re-exported).
"""

from __future__ import annotations

import math
from itertools import product

from nodes.model.constraints import Constraint, Op
from nodes.model.filters import EVERYTHING, NOTHING, Filter, Predicate
from nodes.model.text import format_filter, format_message, format_predicate, format_value
from nodes.model.tokens import PredicateSyntaxError, Token, tokenize
from nodes.model.values import Type, UsageError, Value, check_message, check_name, type_of

__all__ = [
    "PredicateSyntaxError",
    "format_filter",
    "format_message",
    "format_predicate",
    "format_value",
    "parse_filter",
    "parse_message",
    "parse_predicate",
]

EXPANSION_MAX = 4_096
"""How many filters parentheses may expand to."""
EXPANDED_CONSTRAINTS_MAX = 1_000_000
"""How many constraints parentheses may make in one text."""
DEPTH_MAX = 100
"""How deep parentheses may be nested."""

_OPERATORS = {op.text: op for op in Op}
_TYPES = {kind.text: kind for kind in Type}


def parse_predicate(text: str) -> Predicate:
    """A predicate from its text.

    Raises:
        PredicateSyntaxError: It is none; `column` is the place of the mistake.
    """
    parser = Parser(text)
    predicate = parser.predicate()
    parser.expect_end("and, or, or the end of the predicate")
    return predicate


def parse_filter(text: str) -> Filter:
    """A filter (a subscription's or an advertisement's) from its text: no `or`, no `none`.

    Raises:
        PredicateSyntaxError: It is none; `column` is the place of the mistake.
    """
    parser = Parser(text)
    for token in parser.tokens:
        if token.kind == "keyword" and token.text in ("or", "none"):
            raise parser.error(token, f"{token.text} cannot stand in a filter", "a filter is one conjunction")
    predicate = parser.predicate()
    parser.expect_end("and, or the end of the filter")
    return predicate.filters[0]


def parse_message(text: str) -> dict[str, Value]:
    """A message from its text.

    Raises:
        PredicateSyntaxError: It is none; `column` is the place of the mistake.
    """
    parser = Parser(text)
    message: dict[str, Value] = {}
    if not parser.take("keyword", "none"):
        parser.attribute(message)
        while parser.take("mark", ","):
            parser.attribute(message)
    parser.expect_end("a comma or the end of the message")
    return check_message(message)


class Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, tokens: list[Token] | None = None) -> None:
        self.text = text
        self.tokens = tokenize(text) if tokens is None else tokens
        self.at = 0
        self.depth = 0
        self.expanded = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def error(self, token: Token, reason: str, hint: str = "") -> PredicateSyntaxError:
        return PredicateSyntaxError(self.text, token.column, reason, hint)

    def expected(self, what: str, hint: str = "") -> PredicateSyntaxError:
        found = self.token.text if self.token.kind != "end" else "the end"
        return self.error(self.token, f"expected {what}, found {found}", hint)

    def next(self) -> Token:
        token = self.token
        self.at += token.kind != "end"
        return token

    def take(self, kind: str, text: str) -> bool:
        found = self.token.kind == kind and self.token.text == text
        self.at += found
        return found

    def expect_end(self, what: str) -> None:
        if self.token.kind != "end":
            raise self.expected(what, _hint_after(self.token))

    def predicate(self) -> Predicate:
        filters = list(self.conjunction().filters)
        while self.take("keyword", "or"):
            filters.extend(self.conjunction().filters)
        return Predicate(filters)

    def conjunction(self) -> Predicate:
        start = self.token
        factors = [self.primary()]
        while self.take("keyword", "and"):
            factors.append(self.primary())
        return self.expand(start, factors)

    def expand(self, start: Token, factors: list[Predicate]) -> Predicate:
        if len(factors) == 1:
            return factors[0]
        size = math.prod(len(factor.filters) for factor in factors)
        widths = [max((len(f.constraints) for f in factor.filters), default=0) for factor in factors]
        self.expanded += size * sum(widths) if size > 1 else 0
        if size > EXPANSION_MAX or self.expanded > EXPANDED_CONSTRAINTS_MAX:
            limit = f"at most {EXPANSION_MAX} filters can be had from one conjunction"
            raise self.error(start, f"this expands to {size} filters", limit)
        try:
            return Predicate(
                Filter(c for f in combination for c in f.constraints)
                for combination in product(*(factor.filters for factor in factors))
            )
        except UsageError as error:
            raise self.error(start, str(error)) from None

    def primary(self) -> Predicate:
        if self.take("mark", "("):
            return self.group(self.tokens[self.at - 1])
        if self.take("keyword", "all"):
            return EVERYTHING
        if self.take("keyword", "none"):
            return NOTHING
        return Predicate([Filter([self.constraint()])])

    def group(self, opening: Token) -> Predicate:
        if self.depth == DEPTH_MAX:
            raise self.error(opening, f"parentheses stand more than {DEPTH_MAX} deep")
        self.depth += 1
        inside = self.predicate()
        self.depth -= 1
        if not self.take("mark", ")"):
            raise self.expected(f") for the ( in column {opening.column}")
        return inside

    def constraint(self) -> Constraint:
        name = self.name("an attribute's name, (, all or none")
        operator = self.next()
        op = _OPERATORS.get(operator.text) if operator.kind in ("operator", "keyword") else None
        if op is None:
            self.at -= operator.kind != "end"
            hint = _hint_instead_of_operator(name, self.token)
            raise self.expected(f"an operator after {name}", hint)
        if op is Op.ANY:
            return Constraint(name, self.type(), op)
        value = self.value()
        try:
            return Constraint(name, type_of(value), op, value)
        except UsageError as error:
            raise self.error(operator, str(error)) from None

    def attribute(self, message: dict[str, Value]) -> None:
        where = self.token
        name = self.name("an attribute's name")
        if name in message:
            raise self.error(where, f"attribute {name} stands twice", "names are unique in a message")
        if not self.take("operator", "="):
            raise self.expected(f"= after {name}")
        message[name] = self.value()

    def name(self, what: str) -> str:
        token = self.token
        if token.kind != "name":
            hint = (
                f"an attribute called {token.text} stands in `backquotes`" if token.kind == "keyword" else ""
            )
            raise self.expected(what, hint)
        try:
            check_name(token.text)
        except UsageError as error:
            raise self.error(token, str(error)) from None
        return self.next().text

    def type(self) -> Type:
        kind = _TYPES.get(self.token.text)
        if kind is None:
            raise self.expected("a type after any", "the types are " + " ".join(_TYPES))
        self.next()
        return kind

    def value(self) -> Value:
        token = self.token
        if token.value is None:
            raise self.expected("a value", _hint_instead_of_value(token))
        self.next()
        return token.value


_INSTEAD = {
    "in": "{name} = 1 or {name} = 2: one constraint for each value, joined with or",
    "between": "{name} >= 1 and {name} <= 2",
    "like": '{name} >* "a" for a prefix, {name} *< "a" for a suffix, {name} * "a" for a substring',
    "exists": "{name} any integer: an attribute of that name and type",
}
"""What to write in the place of words that other languages have for operators."""


def _hint_instead_of_operator(name: str, found: Token) -> str:
    word = found.text.lower()
    if name.lower() == "not" or word == "not":
        return "there is no not: write the opposite operator, != for =, >= for <, <= for >"
    if word in _INSTEAD:
        return f"there is no {word}: write {_INSTEAD[word].format(name=name)}"
    return "the operators are " + " ".join(_OPERATORS)


def _hint_after(token: Token) -> str:
    return "join constraints with and" if token.kind == "name" or token.text == "," else ""


def _hint_instead_of_value(token: Token) -> str:
    if token.text == "=":
        return "equality is written with one ="
    if token.text.lower() == "nan":
        return "NaN is equal to nothing and cannot be a value"
    return f'strings stand in quotes: "{token.text}"' if token.kind in ("name", "keyword") else ""
