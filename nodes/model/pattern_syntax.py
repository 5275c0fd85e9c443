"""Patterns as text, read and written, as in docs/patterns.md.

    pattern    = expression {"pairing" ("every" | "first" | "once") | "keep" integer | "wait" duration}
    expression = operand {joint operand} ["within" duration]
    joint      = "then" | "and" | "and another" | "or"
    operand    = "[" predicate "]" | "(" expression ")"

The joints of one expression are all the same. Not here: predicates (`syntax`), meaning (`patterns`).
"""

from __future__ import annotations

import re

from nodes.model.patterns import (
    DEPTH_MAX,
    KEEP_DEFAULT,
    PARTS_MAX,
    WAIT_DEFAULT_NS,
    Composed,
    Expression,
    Joint,
    Pairing,
    Part,
    Pattern,
    is_bounded,
)
from nodes.model.syntax import Parser
from nodes.model.text import format_predicate
from nodes.model.tokens import Token, tokenize
from nodes.model.values import UsageError

_UNITS_NS = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_JOINTS = "then, and, and another, or"
_HINT = 'the parts of a pattern stand in brackets: [dest = "ORD"] then [price < 400] within 5s'


def parse_pattern(text: str) -> Pattern:
    """A pattern from its text.

    Raises:
        PredicateSyntaxError: It is none; `column` is the place of the mistake.
    """
    return _PatternParser(text).pattern()


def format_pattern(pattern: Pattern) -> str:
    """A pattern as canonical text; what has its default is not written."""
    text = format_expression(pattern.expression)
    if pattern.pairing is not Pairing.EVERY:
        text += f" pairing {pattern.pairing.value}"
    if pattern.keep != KEEP_DEFAULT:
        text += f" keep {pattern.keep}"
    if pattern.wait_ns != WAIT_DEFAULT_NS:
        text += f" wait {format_duration(pattern.wait_ns)}"
    return text


def format_expression(expression: Expression) -> str:
    """An expression as canonical text."""
    if isinstance(expression, Part):
        return f"[{format_predicate(expression.predicate)}]"
    text = f" {expression.joint.value} ".join(_operand(each) for each in expression.operands)
    return text if expression.within_ns is None else f"{text} within {format_duration(expression.within_ns)}"


def format_duration(duration_ns: int) -> str:
    """A duration in the largest unit that needs no fraction."""
    unit = next(unit for unit, size in _UNITS_NS.items() if duration_ns % size == 0)
    return "0s" if duration_ns == 0 else f"{duration_ns // _UNITS_NS[unit]}{unit}"


def _operand(expression: Expression) -> str:
    text = format_expression(expression)
    return text if isinstance(expression, Part) else f"({text})"


class _PatternParser(Parser):
    """Recursive descent over the tokens of a pattern; predicates between brackets are the base's."""

    def __init__(self, text: str) -> None:
        super().__init__(text, tokenize(text, pattern=True))
        self._nested = 0
        self._parts = 0

    def pattern(self) -> Pattern:
        expression = self._expression()
        if not is_bounded(expression):
            hint = "say how far apart they may be, as in: within 5s"
            raise self.error(self.token, "nothing bounds the time between the messages of this pattern", hint)
        options: dict[str, Token] = {}
        while self.token.kind == "name" and self.token.text in ("pairing", "keep", "wait"):
            word = self.next()
            if word.text in options:
                raise self.error(word, f"{word.text} stands twice")
            options[word.text] = self.next()
        if self.token.kind != "end":
            raise self.expected(f"{_JOINTS}, within, pairing, keep, wait, or the end of the pattern")
        pairing, keep = self._pairing(options.get("pairing")), self._keep(options.get("keep"))
        return self._made(expression, pairing, keep, options)

    def _made(
        self, expression: Expression, pairing: Pairing, keep: int, options: dict[str, Token]
    ) -> Pattern:
        wait = options.get("wait")
        wait_ns = WAIT_DEFAULT_NS if wait is None else self._duration(wait)
        try:
            return Pattern(expression, pairing, keep, wait_ns)
        except UsageError as error:
            where = next(
                (options[name] for name in ("keep", "wait") if name in str(error) and name in options), None
            )
            raise self.error(where or self.tokens[0], str(error)) from None

    def _expression(self) -> Expression:
        operands = [self._joined_operand()]
        joint: Joint | None = None
        while (found := self._joint()) is not None:
            where, word = found
            if joint not in (None, word):
                assert joint is not None
                hint = f"parentheses say what belongs together: ({joint.value} ...) {word.value} ..."
                raise self.error(where, f"{word.value} stands beside {joint.value}", hint)
            joint = word
            operands.append(self._joined_operand())
        within = self.token
        window_ns = None
        if within.kind == "name" and within.text == "within":
            self.next()
            window_ns = self._duration(self.next())
        if joint is None:
            if window_ns is not None:
                raise self.error(within, "a window is for several messages; this is one")
            return operands[0]
        try:
            return Composed(joint, tuple(operands), window_ns)
        except UsageError as error:
            raise self.error(self.tokens[self.at - 1], str(error)) from None

    def _joint(self) -> tuple[Token, Joint] | None:
        where = self.token
        if self.take("keyword", "and"):
            return where, Joint.AND_ANOTHER if self.take("name", "another") else Joint.AND
        if self.take("keyword", "or"):
            return where, Joint.OR
        if self.take("name", "then"):
            return where, Joint.THEN
        return None

    def _joined_operand(self) -> Expression:
        opening = self.token
        if self.take("mark", "["):
            return self._part(opening)
        if not self.take("mark", "("):
            raise self.expected("[ or (", _HINT)
        self._nested += 1
        if self._nested > DEPTH_MAX:
            raise self.error(opening, f"patterns are nested at most {DEPTH_MAX} deep")
        inside = self._expression()
        self._nested -= 1
        if not self.take("mark", ")"):
            raise self.expected(f"{_JOINTS}, within, or ) for the ( in column {opening.column}")
        return inside

    def _part(self, opening: Token) -> Part:
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise self.error(opening, f"a pattern has at most {PARTS_MAX} parts")
        predicate = self.predicate()
        if not self.take("mark", "]"):
            raise self.expected(f"and, or, or ] for the [ in column {opening.column}")
        return Part(predicate)

    def _duration(self, token: Token) -> int:
        number = re.match("[0-9]+", token.text)
        if token.kind != "duration" or number is None:
            found = token.text or "the end"
            hint = "a number with a unit: " + " ".join(_UNITS_NS)
            raise self.error(token, f"expected a duration, found {found}", hint)
        return int(number[0]) * _UNITS_NS[token.text[number.end() :]]

    def _pairing(self, token: Token | None) -> Pairing:
        if token is None:
            return Pairing.EVERY
        for pairing in Pairing:
            if token.text == pairing.value:
                return pairing
        raise self.error(
            token, f"no such pairing: {token.text or 'the end'}", "there are every, first and once"
        )

    def _keep(self, token: Token | None) -> int:
        if token is None:
            return KEEP_DEFAULT
        if type(token.value) is not int:
            raise self.error(token, f"expected a number of messages, found {token.text or 'the end'}")
        return token.value
