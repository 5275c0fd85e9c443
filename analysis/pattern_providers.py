"""Patterns that no match could be of, as nobody ever advertised what a part of them matches.

By advertisements alone. Not here: what was published, and which matches were owed (`patterns`).
"""

from __future__ import annotations

from analysis.advertising import Advertising
from nodes.model import Part, Pattern
from nodes.model.patterns import Expression, Joint


def lacking(pattern: Pattern, client: int, advertising: Advertising | None) -> tuple[Part, ...]:
    """The parts that nobody but the client itself ever advertised, if the pattern cannot do without them."""
    if advertising is None:
        return ()
    parts = dict.fromkeys(pattern.parts)
    absent = {part for part in parts if not advertising.provided(part.predicate, client)}
    return () if _can_match(pattern.expression, absent) else tuple(part for part in parts if part in absent)


def _can_match(expression: Expression, absent: set[Part]) -> bool:
    if isinstance(expression, Part):
        return expression not in absent
    found = [_can_match(each, absent) for each in expression.operands]
    return any(found) if expression.joint is Joint.OR else all(found)
