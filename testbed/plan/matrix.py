"""`matrix`: one scenario, many runs: every combination of its axes' values.

Here: the axes, what is left out of their product, and the cells that remain.
Not here: running them.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.plan.problems import Key, did_you_mean
from testbed.plan.shape import known_keys
from testbed.plan.source import Source

CELLS_MAX = 10_000
_RESERVED = ("exclude", "repeat")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a matrix."""

    name: str
    """Fit for a folder: `scheme=pif,size=10`."""
    values: Mapping[str, Scalar]
    """By axis."""
    overrides: tuple[tuple[str, str], ...]
    """What makes the scenario this run's, as `--set` takes it."""


def read_cells(source: Source, fixed: Sequence[str] = ()) -> list[Cell]:
    """The cells of a scenario's matrix; none if it has no matrix.

    Args:
        source: The scenario, in shape as far as its matrix goes.
        fixed: Keys that are set from outside: such an axis has that one value.
    """
    spec = source.value.get("matrix") if isinstance(source.value, dict) else None
    if not isinstance(spec, dict) or not _in_shape(source, spec):
        return []
    parameters = source.value.get("parameters") or {}
    axes = {name: values for name, values in spec.items() if name not in _RESERVED}
    keys = {name: f"parameters.{name}" if name in parameters else name for name in axes}
    _check_axes(source, keys)
    axes = {name: values for name, values in axes.items() if keys[name] not in fixed}
    if "repeat" in spec and "seed" not in axes and "seed" not in fixed:
        first = source.value.get("seed", 1)
        axes["seed"], keys["seed"] = list(range(first, first + spec["repeat"])), "seed"
    elif "repeat" in spec and "seed" in axes:
        source.complain(("matrix", "repeat"), "there is an axis seed already", "one of them")
    return _cells(source, spec, axes, keys)


def _in_shape(source: Source, spec: Mapping[str, Any]) -> bool:
    """Whether axes are lists of scalars; what is not has been complained of by the check of the shape."""
    axes = [values for name, values in spec.items() if name not in _RESERVED]
    excluded = spec.get("exclude", [])
    return (
        all(
            isinstance(values, list) and values and all(isinstance(v, Scalar) for v in values)
            for values in axes
        )
        and type(spec.get("repeat", 1)) is int
        and spec.get("repeat", 1) > 0
        and isinstance(excluded, list)
        and all(isinstance(one, dict) and one for one in excluded)
        and type(source.value.get("seed", 1)) is int
    )


def _check_axes(source: Source, keys: Mapping[str, str]) -> None:
    known = [*(source.value.get("parameters") or {}), *known_keys()]
    for name, key in keys.items():
        first = key.partition(".")[0]
        if first not in known:
            expected = "a parameter, or the key of a scalar of the scenario, as timing.settle"
            source.complain(
                ("matrix", name), f"nothing is called {name}", expected, did_you_mean(name, known), True
            )


def _cells(
    source: Source, spec: Mapping[str, Any], axes: Mapping[str, list[Scalar]], keys: Mapping[str, str]
) -> list[Cell]:
    left_out = list(_exclusions(source, spec.get("exclude", []), axes, keys))
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > CELLS_MAX:
        source.complain(("matrix",), f"this comes to {size} runs", f"at most {CELLS_MAX}")
        return []
    cells = []
    for combination in itertools.product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        if axes and not any(all(chosen[n] == v for n, v in one.items()) for one in left_out):
            overrides = tuple((keys[name], json.dumps(value)) for name, value in chosen.items())
            cells.append(Cell(_name(chosen), chosen, overrides))
    if axes and not cells:
        source.complain(("matrix", "exclude"), "nothing is left to run", "fewer exclusions")
    return _told_apart(cells)


def _exclusions(
    source: Source,
    spec: Sequence[Mapping[str, Any]],
    axes: Mapping[str, list[Scalar]],
    known: Mapping[str, str],
) -> Iterator[Mapping[str, Any]]:
    """Those that can apply: an axis that is known, but set from outside, excludes nothing."""
    for position, one in enumerate(spec):
        key: Key = ("matrix", "exclude", position)
        for name, value in one.items():
            if name not in known:
                expected = f"one of {', '.join(known)}"
                source.complain(
                    (*key, name), f"there is no axis {name}", expected, did_you_mean(name, known), True
                )
            elif name in axes and value not in axes[name]:
                shown = ", ".join(str(v) for v in axes[name])
                source.complain((*key, name), f"{value} is no value of {name}", f"one of {shown}")
        if all(name in axes for name in one):
            yield one


def _name(values: Mapping[str, Scalar]) -> str:
    return ",".join(f"{name}={_UNSAFE.sub('_', str(value))}" for name, value in values.items())[:150]


def _told_apart(cells: list[Cell]) -> list[Cell]:
    """The cells, where two would have one name with a number to it."""
    seen: dict[str, int] = {}
    apart = []
    for cell in cells:
        folded = cell.name.casefold()
        seen[folded] = seen.get(folded, 0) + 1
        name = cell.name if seen[folded] == 1 else f"{cell.name}~{seen[folded]}"
        apart.append(Cell(name, cell.values, cell.overrides))
    return apart
