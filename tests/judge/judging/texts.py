"""Predicates and messages as text, and what matches, by docs/predicate-syntax.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from tests.judge.judging.packets import BOOLEAN, FLOAT, INTEGER, STRING, TIME, Value

Message = Mapping[str, Value]
Test = Callable[[Message], bool]
TYPES = {"string": STRING, "integer": INTEGER, "float": FLOAT, "boolean": BOOLEAN, "time": TIME}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)
    | (?P<time>@[0-9TZ:.+-]+(?:ns)?)
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-inf\b)
    | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
    | (?P<sign>>\*|\*<|!=|<=|>=|[=<>*(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|(.))", re.DOTALL)
_SIGNS: Mapping[str, Callable[[object, object], bool]] = {
    "=": lambda ours, theirs: ours == theirs,
    "!=": lambda ours, theirs: ours != theirs,
    "<": lambda ours, theirs: ours < theirs,  # type: ignore[operator]
    ">": lambda ours, theirs: ours > theirs,  # type: ignore[operator]
    "<=": lambda ours, theirs: ours <= theirs,  # type: ignore[operator]
    ">=": lambda ours, theirs: ours >= theirs,  # type: ignore[operator]
    ">*": lambda ours, theirs: str(ours).startswith(str(theirs)),
    "*<": lambda ours, theirs: str(ours).endswith(str(theirs)),
    "*": lambda ours, theirs: str(theirs) in str(ours),
}


class _Words:
    """The words of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise ValueError(f"no word at {at} of {text!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()

    @property
    def next(self) -> tuple[str, str]:
        return self._tokens[0] if self._tokens else ("end", "")

    def take(self) -> tuple[str, str]:
        return self._tokens.pop(0)

    def takes(self, kind: str, text: str) -> bool:
        """Whether this is the next word; if so it is taken."""
        if self.next != (kind, text):
            return False
        self._tokens.pop(0)
        return True


def read_predicate(text: str) -> Test:
    """Whether a message matches; raises ValueError if the text is no predicate."""
    if text == "none":
        return lambda _: False
    words = _Words(text)
    test = _either(words)
    if words.next[0] != "end":
        raise ValueError(text)
    return test


def _either(words: _Words) -> Test:
    parts = [_both(words)]
    while words.takes("word", "or"):
        parts.append(_both(words))
    return lambda message: any(part(message) for part in parts)


def _both(words: _Words) -> Test:
    parts = [_constraint(words)]
    while words.takes("word", "and"):
        parts.append(_constraint(words))
    return lambda message: all(part(message) for part in parts)


def _constraint(words: _Words) -> Test:
    if words.takes("sign", "("):
        inner = _either(words)
        if not words.takes("sign", ")"):
            raise ValueError("a ( without its )")
        return inner
    if words.takes("word", "all"):
        return lambda _: True
    name = _name(words)
    if words.takes("word", "any"):
        kind = TYPES[words.take()[1]]
        return lambda message: name in message and message[name][0] == kind
    sign = _SIGNS[words.take()[1]]
    wanted, operand = _value(words)

    def holds(message: Message) -> bool:
        kind, value = message.get(name, (0, 0))
        return kind == wanted and sign(value, operand)

    return holds


def read_message(text: str) -> dict[str, Value]:
    """The attributes; raises ValueError if the text is no message."""
    if text == "none":
        return {}
    words, found = _Words(text), dict[str, Value]()
    while True:
        name = _name(words)
        if not words.takes("sign", "="):
            raise ValueError(text)
        found[name] = _value(words)
        if not words.takes("sign", ","):
            return found


def _name(words: _Words) -> str:
    kind, text = words.take()
    return _unquoted(text) if kind == "quoted" else text


def _value(words: _Words) -> Value:
    kind, text = words.take()
    if kind == "quoted":
        return STRING, _unquoted(text)
    if kind == "time":
        return TIME, _time_ns(text[1:])
    if text in ("true", "false"):
        return BOOLEAN, text == "true"
    if text in ("inf", "-inf") or any(sign in text for sign in ".eE"):
        return FLOAT, float(text)
    return INTEGER, int(text)


def _unquoted(text: str) -> str:
    def meant(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return {"n": "\n", "t": "\t"}.get(found[2], found[2])

    return _ESCAPE.sub(meant, text[1:-1])


def _time_ns(text: str) -> int:
    if text.endswith("ns"):
        return int(text[:-2])
    whole, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0") or 0)
