"""Whether a message may be within an advertisement and match a filter, by docs/advertisements.md."""

from __future__ import annotations

from tests.judge.judging.packets import STRING
from tests.judge.judging.texts import Constraint, holds

Filter = frozenset[Constraint]


def overlap(advertisement: Filter, filter_: Filter) -> bool:
    """Whether, of each attribute that the filter asks for, some value satisfies it and is declared.

    Of strings that are ordered, or begin or end with something, it says yes if it does not know better.
    """
    names = {name for name, *_ in filter_}
    return all(
        any(
            _possible([declared, *(c for c in filter_ if c[0] == name)])
            for declared in advertisement
            if declared[0] == name
        )
        for name in names
    )


def _possible(constraints: list[Constraint]) -> bool:
    """Whether one value satisfies all."""
    if len({kind for _, kind, _, _ in constraints}) > 1:
        return False
    name, kind = constraints[0][:2]
    for _, _, sign, operand in constraints:
        if sign == "=":
            assert operand is not None
            return all(holds(each, {name: (kind, operand)}) for each in constraints)
    if kind == STRING:
        return _possible_string(constraints)
    numbers = sorted({c[3] for c in constraints if c[3] is not None})  # type: ignore[type-var]
    if not numbers:
        return True
    # At each number, and between and beyond them: floats are dense, and others have whole steps.
    tried = {value for n in numbers for value in _near(n)}
    return any(all(holds(c, {name: (kind, value)}) for c in constraints) for value in tried)


def _near(number: str | int | float | bool | None) -> list[int | float | bool]:
    if isinstance(number, bool):
        return [True, False]
    if isinstance(number, float):
        return [number - 1e-9, number, number + 1e-9]
    assert isinstance(number, int)
    return [number - 1, number, number + 1]


def _possible_string(constraints: list[Constraint]) -> bool:
    begins = [str(operand) for _, _, sign, operand in constraints if sign == ">*"]
    ends = [str(operand) for _, _, sign, operand in constraints if sign == "*<"]
    return all(a.startswith(b) or b.startswith(a) for a in begins for b in begins) and all(
        a.endswith(b) or b.endswith(a) for a in ends for b in ends
    )
