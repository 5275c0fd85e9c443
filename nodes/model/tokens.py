"""Cuts the text of predicates and messages into tokens, each with its column.

Here: literals and their escapes. Not here: the grammar (`syntax`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from nodes.model.text import BARE_NAME, KEYWORDS
from nodes.model.values import Time, UsageError, Value, check_name, check_value

Kind = Literal["name", "keyword", "operator", "value", "mark", "duration", "end"]

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(
    r"[+-]?(?:inf(?![A-Za-z0-9_.\-])|[0-9]+(?P<point>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?)"
)
_OPERATOR = re.compile(r">\*|\*<|[!<>]=|[=<>*]")
_MARK = re.compile(r"[(),]")
_BRACKET = re.compile(r"[\[\]]")
_DURATION = re.compile(r"[0-9]{1,12}(?:ns|us|ms|s|min|h)(?![A-Za-z0-9_.\-])")
_TIME = re.compile(
    r"@(?:(?P<ns>-?[0-9]{1,20})ns|(?P<date>[0-9-]{10}T[0-9:]{8})(?:\.(?P<fraction>[0-9]{1,9}))?Z)"
)
_ESCAPE = re.compile(r"\\(?:u\{(?P<code>[0-9A-Fa-f]{1,6})\}|(?P<letter>.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "`": "`"}
_WINDOW = 60


class PredicateSyntaxError(ValueError):
    """A text is not a predicate, filter or message.

    Attributes:
        column: Where, counted in characters from 1 over the whole text.
        reason: What is wrong, in one line.
        hint: What to do about it; may be empty.
    """

    def __init__(self, text: str, column: int, reason: str, hint: str = "") -> None:
        """Show the line of the text with a caret under the place."""
        self.text, self.column, self.reason, self.hint = text, column, reason, hint
        message = f"column {column}: {reason}" + (f"; {hint}" if hint else "")
        super().__init__(f"{message}\n{_pointed(text, column)}")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: its kind, its text or value, and the column where it begins (from 1)."""

    kind: Kind
    text: str
    column: int
    value: Value | None = None


def tokenize(text: str, *, pattern: bool = False) -> list[Token]:
    """All tokens of a text, the last one of kind `end`.

    Args:
        text: What is cut.
        pattern: A pattern's text has brackets, and durations as `5s`.

    Raises:
        PredicateSyntaxError: Some characters form no token.
    """
    tokens: list[Token] = []
    at = _skip(text, 0)
    while at < len(text):
        token, at = (_pattern_token(text, at) if pattern else None) or _token(text, at)
        tokens.append(token)
        at = _skip(text, at)
    return [*tokens, Token("end", "", len(text.rstrip()) + 1)]


def _pattern_token(text: str, at: int) -> tuple[Token, int] | None:
    if found := _BRACKET.match(text, at):
        return Token("mark", found[0], at + 1), found.end()
    if found := _DURATION.match(text, at):
        return Token("duration", found[0], at + 1), found.end()
    return None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _token(text: str, at: int) -> tuple[Token, int]:
    first = text[at]
    if first in "\"'`":
        return _quoted(text, at)
    if first == "@":
        return _time(text, at)
    if number := _NUMBER.match(text, at):
        return _number(text, number)
    patterns: list[tuple[Kind, re.Pattern[str]]] = [
        ("name", BARE_NAME), ("operator", _OPERATOR), ("mark", _MARK)
    ]  # fmt: skip
    for kind, pattern in patterns:
        if found := pattern.match(text, at):
            return _word(kind, found[0], at + 1), found.end()
    raise PredicateSyntaxError(text, at + 1, f"{first!r} has no meaning here", _HINTS.get(first, ""))


_HINTS = {
    "&": "write and",
    "|": "write or",
    "!": "not equal is written !=",
    "~": "prefix is written >*, suffix *<, substring *",
}


def _word(kind: Kind, word: str, column: int) -> Token:
    if word in ("true", "false"):
        return Token("value", word, column, word == "true")
    return Token("keyword" if word in KEYWORDS else kind, word, column)


def _number(text: str, found: re.Match[str]) -> tuple[Token, int]:
    word, column, end = found[0], found.start() + 1, found.end()
    if BARE_NAME.match(text, end) or text[end : end + 1] == ".":
        hint = "names that begin with a digit stand in `backquotes`"
        raise PredicateSyntaxError(text, end + 1, f"the number {word} runs into {text[end]!r}", hint)
    if word.endswith("inf") or found["point"] or found["exponent"]:
        value: Value = float(word)
        if math.isinf(float(word)) and not word.endswith("inf"):
            raise PredicateSyntaxError(text, column, f"{word} is too large for a float", "write inf")
        return Token("value", word, column, check_value(value)), end
    if len(word) > 20:
        raise PredicateSyntaxError(
            text, column, "the integer has more than 64 bits", "write a float, e.g. 1e30"
        )
    return Token("value", word, column, _checked(text, column, int(word))), end


def _time(text: str, at: int) -> tuple[Token, int]:
    found = _TIME.match(text, at)
    if not found or BARE_NAME.match(text, found.end()):
        raise PredicateSyntaxError(
            text, at + 1, "not a time", "write @2026-01-01T12:00:00Z, with up to 9 fractional digits, or @5ns"
        )
    if found["ns"]:
        ns = int(found["ns"])
    else:
        try:
            moment = datetime.strptime(found["date"], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
        except ValueError as error:
            raise PredicateSyntaxError(text, at + 1, f"no such time: {error}") from None
        # Whole seconds are exact in the float that `timestamp` returns.
        ns = int(moment.timestamp()) * 1_000_000_000 + int((found["fraction"] or "0").ljust(9, "0"))
    return Token("value", found[0], at + 1, _checked(text, at + 1, Time(ns))), found.end()


def _quoted(text: str, at: int) -> tuple[Token, int]:
    quote, here, parts = text[at], at + 1, []
    while here < len(text) and text[here] != quote:
        if text[here] == "\\":
            char, here = _escape(text, here)
        else:
            char, here = text[here], here + 1
        parts.append(char)
    if here >= len(text):
        raise PredicateSyntaxError(text, at + 1, f"this {quote} is never closed")
    inside = "".join(parts)
    if quote == "`":
        _checked_name(text, at + 1, inside)
        return Token("name", inside, at + 1), here + 1
    return Token("value", text[at : here + 1], at + 1, _checked(text, at + 1, inside)), here + 1


def _escape(text: str, at: int) -> tuple[str, int]:
    found = _ESCAPE.match(text, at)
    if found and found["code"]:
        code = int(found["code"], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise PredicateSyntaxError(text, at + 1, f"there is no character {code:x}")
        return chr(code), found.end()
    if found and found["letter"] in _LETTERS:
        return _LETTERS[found["letter"]], found.end()
    raise PredicateSyntaxError(
        text, at + 1, "not an escape", "the escapes are \\\" \\' \\` \\\\ \\n \\t and \\u{e9}"
    )


def _checked(text: str, column: int, value: Value) -> Value:
    try:
        return check_value(value)
    except UsageError as error:
        raise PredicateSyntaxError(text, column, str(error)) from None


def _checked_name(text: str, column: int, name: str) -> None:
    try:
        check_name(name)
    except UsageError as error:
        raise PredicateSyntaxError(text, column, str(error)) from None


def _pointed(text: str, column: int) -> str:
    """The line of the text that holds the column, cut to a window, and a caret under it."""
    at = column - 1
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line, place = text[start : end if end >= 0 else len(text)], at - start
    left = max(0, place - _WINDOW)
    shown = "".join(c if c.isprintable() else " " for c in line[left : place + _WINDOW])
    return f"  {shown}\n  {' ' * (place - left)}^"
