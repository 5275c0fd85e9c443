"""What the policy of a plan permits, by docs/scenario-reference.md ("policy") and docs/covering.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tests.judge.judging.packets import BOOLEAN, FLOAT, STRING
from tests.judge.judging.run import Run
from tests.judge.judging.texts import Constraint, Message, Predicate, holds, matches, read_predicate

Filter = frozenset[Constraint]
Operand = str | int | float | bool
LEAST, MOST = -(2**63), 2**63 - 1
PATTERNS = ("*<", "*")


class Policy:
    """What the clients of a run may do."""

    def __init__(self, run: Run) -> None:
        nodes = [node for node in run.plan["nodes"] if node.get("policy")]
        self._of = {
            node["node_id"]: {verb: read_predicate(text) for verb, text in node["policy"].items()}
            for node in nodes
        }

    @property
    def there_is(self) -> bool:
        """Whether there is one."""
        return bool(self._of)

    def may_publish(self, client: int, message: Message | None) -> bool:
        """Whether a client may publish a message; None: it is not known."""
        return client not in self._of or message is None or matches(self._of[client]["publish"], message)

    def may_subscribe(self, client: int, wanted: Predicate) -> bool:
        """Whether a client may subscribe to a predicate."""
        return client not in self._of or all(
            any(covers(wide, each) for wide in self._of[client]["subscribe"]) for each in wanted
        )

    def may_advertise(self, client: int, offered: Predicate) -> bool:
        """Whether a client may advertise a predicate."""
        if client not in self._of or frozenset() in self._of[client]["advertise"]:
            return True
        return all(any(declares(wide, each) for wide in self._of[client]["advertise"]) for each in offered)


def covers(wide: Filter, narrow: Filter) -> bool:
    """Whether each message that matches the second matches the first, as far as docs/covering.md finds."""
    groups: dict[str, list[Constraint]] = {}
    for each in narrow:
        groups.setdefault(each[0], []).append(each)
    if not all(_possible(group) for group in groups.values()):
        return True
    return all(_implied(each, groups.get(each[0], [])) for each in wide)


def declares(wide: Filter, narrow: Filter) -> bool:
    """Whether each alternative of the second is within one of the first."""
    return all(not _possible([each]) or any(_implied(one, [each]) for one in wide) for each in narrow)


def _possible(group: list[Constraint]) -> bool:
    return len({kind for _, kind, *_ in group}) == 1 and any(True for _ in _values(group, []))


def _implied(wanted: Constraint, group: list[Constraint]) -> bool:
    """Whether what satisfies all of the group, which are on its attribute, satisfies one constraint more."""
    same = [each for each in group if each[:2] == wanted[:2]]
    if not same or len(same) < len(group):
        return False
    _, _, sign, operand = wanted
    if sign == "!=":
        return not all(holds(each, {each[0]: (each[1], operand)}) for each in same)  # type: ignore[dict-item]
    if sign in PATTERNS and not any(each[2] == "=" for each in same):
        return any(_contains(each, sign, str(operand)) for each in same)
    return all(holds(wanted, {wanted[0]: (wanted[1], value)}) for value in _values(same, [wanted]))


def _contains(each: Constraint, sign: str, text: str) -> bool:
    _, _, theirs, operand = each
    if sign == "*<":
        return not text or (theirs == "*<" and str(operand).endswith(text))
    return not text or (theirs in (">*", *PATTERNS) and text in str(operand))


def _values(group: list[Constraint], others: Iterable[Constraint]) -> Iterator[Operand]:
    """Values that satisfy a group: one of each region in which the group and the others stay true or false.

    Suffixes and substrings of strings count only where they leave nothing but one value.
    """
    name, kind = group[0][:2]
    ordered = [c for c in group if c[2] not in PATTERNS]
    equal = any(c[2] == "=" for c in group)
    for value in sorted({v for c in (*group, *others) for v in _near(kind, c)} | _ends(kind)):
        if all(holds(c, {name: (kind, value)}) for c in (group if equal else ordered)):
            yield value


def _ends(kind: int) -> set[Operand]:
    if kind == BOOLEAN:
        return {False, True}
    if kind == STRING:
        return {""}
    return {-math.inf, math.inf} if kind == FLOAT else {LEAST, MOST}


def _near(kind: int, constraint: Constraint) -> Iterator[Operand]:
    """Where a constraint may begin or cease to hold."""
    _, _, sign, operand = constraint
    if operand is None or kind == BOOLEAN:
        return
    if kind == STRING:
        text = str(operand)
        yield from (text, f"{text}\0")
        if sign == ">*" and text:
            yield text[:-1] + chr(ord(text[-1]) + 1)
    elif kind == FLOAT:
        yield from (operand, math.nextafter(operand, math.inf), math.nextafter(operand, -math.inf))  # type: ignore[arg-type, misc]
    else:
        assert isinstance(operand, int)
        yield from (each for each in (operand - 1, operand, operand + 1) if LEAST <= each <= MOST)
