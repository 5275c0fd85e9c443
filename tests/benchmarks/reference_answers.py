"""Answers to a workload by the reference model, in the form `cbn bench match --answers` writes them.

    python tests/benchmarks/reference_answers.py FILTERS MESSAGES [--central] > expected

It reads the text by itself and shares no code with what it checks. Slow:
every filter is tried on every message.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from nodes.model import Constraint, Filter, Op, Type, Value, matches  # noqa: E402

OPERATORS = {
    "i=": Op.EQ,
    "i<": Op.LT,
    "i>": Op.GT,
    "i!=": Op.NE,
    "i<=": Op.LE,
    "i>=": Op.GE,
    "s=": Op.EQ,
    "s^": Op.PREFIX,
    "s$": Op.SUFFIX,
    "s*": Op.SUBSTRING,
    "s<": Op.LT,
    "s>": Op.GT,
    "s!=": Op.NE,
}
FNV_START, FNV_FACTOR = 1469598103934665603, 1099511628211


def triples(fields: list[str]) -> Iterator[tuple[str, str, str]]:
    """The fields after a count that has been checked against them."""
    count, rest = int(fields[0]), fields[1:]
    assert len(rest) == 3 * count, f"{count} triples are promised, {len(rest)} fields are there"
    return zip(rest[::3], rest[1::3], rest[2::3], strict=True)


def value_of(kind: str, text: str) -> tuple[Type, Value]:
    """A value as written."""
    return (Type.INTEGER, int(text)) if kind[0] == "i" else (Type.STRING, text)


def read_filter(line: str) -> tuple[int, Filter]:
    """(interface, filter) of one line."""
    letter, interface, *fields = line.split()
    assert letter == "f"
    written = [(name, OPERATORS[op], *value_of(op, text)) for name, op, text in triples(fields)]
    return int(interface), Filter([Constraint(name, kind, op, value) for name, op, kind, value in written])


def read_message(line: str) -> dict[str, Value]:
    """A message of one line."""
    letter, *fields = line.split()
    assert letter == "m"
    return {name: value_of(kind, text)[1] for name, kind, text in triples(fields)}


def digest(interfaces: Iterable[int]) -> int:
    """FNV over the interfaces."""
    found = FNV_START
    for each in interfaces:
        found = (found ^ each) * FNV_FACTOR % 2**64
    return found


def answers(filters: str, messages: str, central: bool = False) -> str:
    """The lines of the answers to two texts."""
    table = [read_filter(line) for line in filters.splitlines()]
    if central:
        table = [(number, filter_) for number, (_, filter_) in enumerate(table)]
    lines = []
    for line in messages.splitlines():
        message = read_message(line)
        found = sorted({interface for interface, filter_ in table if matches(filter_, message)})
        lines.append(f"{len(found)} {digest(found):016x}\n")
    return "".join(lines)


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument != "--central"]
    texts = [Path(name).read_text(encoding="utf-8") for name in names]
    sys.stdout.write(answers(texts[0], texts[1], "--central" in sys.argv))
