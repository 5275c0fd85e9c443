"""A comparison of groups in plain sentences, and numbers with their units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.figures import axes
from analysis.groups.differences import Difference
from analysis.groups.model import Group, Quantity
from analysis.spread import Spread

SHOWN = 6
"""Differences of a group that its sentence names; the table has all."""
TIMES = 1.5
"""What is so many times as much is said so, and not in per cent."""


def written(unit: str) -> Callable[[float], str]:
    """How values of a unit are written."""
    return {"ns": axes.duration, "bytes": _bytes, "share": _share}.get(unit, _number)


def with_spread(quantity: Quantity, found: Spread | None) -> str:
    """`1.2 ms ± 0.1 ms`."""
    if found is None:
        return axes.NONE
    write = written(quantity.unit)
    return write(found.mean) + (f" ± {write(found.half)}" if found.half is not None else "")


def sentences(found: Sequence[Difference]) -> list[str]:
    """What is different, one sentence a group, and how sure it is."""
    if not found:
        return ["There is nothing to compare: no two groups differ in that value alone."]
    by_group: dict[int, list[Difference]] = {}
    for each in found:
        by_group.setdefault(id(each.group), []).append(each)
    return [*map(_about, by_group.values()), *_how_sure(found)]


def _about(mine: Sequence[Difference]) -> str:
    about = f"{mine[0].group.name}, beside {beside(mine[0])}: "
    if all(d.certain is None for d in mine):
        return about + "; ".join(map(_named, mine[:SHOWN])) + "."
    certain = [d for d in mine if d.certain]
    more = f"; and {len(certain) - SHOWN} more" if len(certain) > SHOWN else ""
    first = "; ".join(map(_named, certain[:SHOWN])) + more + ". " if certain else ""
    alike = [d.quantity.title for d in mine if not d.certain]
    none = "no" if not certain else "No"
    return (about + first + (f"{none} difference is shown in {_listed(alike)}." if alike else "")).strip()


def beside(d: Difference) -> str:
    """The values in which the reference is not as the group."""
    return Group({k: v for k, v in d.reference.values.items() if v != d.group.values[k]}, ()).name


def _named(d: Difference) -> str:
    return f"{d.quantity.title} {size(d)}{interval(d, ' ({})')}"


def size(d: Difference) -> str:
    """`12 % less`, `3.1 times as much`, `2 points lower`."""
    if d.estimate == (1 if d.is_factor else 0):
        return "the same"
    more = d.estimate > (1 if d.is_factor else 0)
    word = d.quantity.more_is if more else d.quantity.less_is
    if d.quantity.unit == "share":
        return f"{abs(d.estimate) * 100:.2g} points {word}"
    if not d.is_factor:
        return f"{written(d.quantity.unit)(abs(d.estimate))} {word}"
    return f"{_factor(d.estimate)} as much" if d.estimate >= TIMES else f"{_percent(d.estimate)} {word}"


def interval(d: Difference, form: str = "{}") -> str:
    """`3 % to 5 %`, in the same words as the size; empty if there is none."""
    if d.low is None or d.high is None or d.low == d.high:
        return ""
    if d.quantity.unit == "share":
        ends = [f"{end * 100:+.2g}" for end in (d.low, d.high)]
    elif not d.is_factor:
        write = written(d.quantity.unit)
        ends = [("-" if end < 0 else "+") + write(abs(end)) for end in (d.low, d.high)]
    elif d.estimate >= TIMES:
        ends = [f"{end:.3g}" for end in (d.low, d.high)]
    else:
        ends = [f"{(end - 1) * 100:+.3g} %" for end in (d.low, d.high)]
    return form.format(f"{ends[0]} to {ends[1]}")


def _factor(value: float) -> str:
    return f"{value:.3g} times"


def _percent(value: float) -> str:
    return f"{abs(value - 1) * 100:.3g} %"


def _how_sure(found: Sequence[Difference]) -> Iterator[str]:
    if all(d.certain is None for d in found):
        yield (
            "Each group is one run, so how much of this is chance is not known: `repeat: 5` in the matrix of "
            "the scenario runs five seeds of each."
        )
        return
    how = (
        f"over {len(found[0].reference.members)} pairs of runs with the same seed (Student's t)"
        if any(d.pairs for d in found)
        else "between runs with different seeds (Welch's t)"
    )
    yield (
        f"Differences are {how}, with their 95 % intervals. Those that are named are certain at 95 % for all "
        f"{len(found)} comparisons together (Bonferroni)."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def _bytes(value: float) -> str:
    return axes.volume(round(value)) if abs(value) >= 100 else f"{value:.3g} B"


def _share(value: float) -> str:
    return f"{value * 100:.4g} %"


def _number(value: float) -> str:
    return f"{value:.3g}"
