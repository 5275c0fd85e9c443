"""Predicates and messages as text, and what matches, by docs/predicate-syntax.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from tests.judge.judging.packets import BOOLEAN, FLOAT, INTEGER, STRING, TIME, Value

Message = Mapping[str, Value]
Constraint = tuple[str, int, str, str | int | float | bool | None]
"""Name, type, operator, operand."""
Predicate = frozenset[frozenset[Constraint]]
"""Filters."""
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


def matches(predicate: Predicate, message: Message) -> bool:
    """Whether a message matches: one of the filters holds, each of its constraints."""
    return any(all(holds(constraint, message) for constraint in each) for each in predicate)


def admits(advertisement: frozenset[Constraint], message: Message) -> bool:
    """Whether each attribute of a message satisfies a constraint of an advertisement."""
    return all(any(c[0] == name and holds(c, message) for c in advertisement) for name in message)


def holds(constraint: Constraint, message: Message) -> bool:
    """Whether a message satisfies a constraint."""
    name, kind, sign, operand = constraint
    found, value = message.get(name, (0, 0))
    return found == kind and (sign == "any" or _SIGNS[sign](value, operand))


def read_predicate(text: str) -> Predicate:
    """The filters of a predicate; raises ValueError if the text is none."""
    if text == "none":
        return frozenset()
    words = _Words(text)
    found = _either(words)
    if words.next[0] != "end":
        raise ValueError(text)
    return found


def _either(words: _Words) -> Predicate:
    found = _both(words)
    while words.takes("word", "or"):
        found |= _both(words)
    return found


def _both(words: _Words) -> Predicate:
    found = _primary(words)
    while words.takes("word", "and"):
        other = _primary(words)
        found = frozenset(one | two for one in found for two in other)
    return found


def _primary(words: _Words) -> Predicate:
    if words.takes("sign", "("):
        inner = _either(words)
        if not words.takes("sign", ")"):
            raise ValueError("a ( without its )")
        return inner
    if words.takes("word", "all"):
        return frozenset([frozenset()])
    return frozenset([frozenset([_constraint(words)])])


def _constraint(words: _Words) -> Constraint:
    name = _name(words)
    if words.takes("word", "any"):
        return name, TYPES[words.take()[1]], "any", None
    sign = words.take()[1]
    if sign not in _SIGNS:
        raise ValueError(f"{sign} compares nothing")
    kind, operand = _value(words)
    return name, kind, sign, operand


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
