"""Groups of runs, the quantities in which they are compared, and what a run's verdict has of these."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis import AnalysisError
from analysis.costs import cost_of, within
from analysis.spread import Spread, spread
from testbed.plan.recorded import VERDICTS

SEED = "seed"
"""Among a run's values, the one that does not tell groups apart."""
NOT_SET = "not set"
"""The value of what only others of the runs had changed."""
Document = Mapping[str, Any]
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a group."""

    path: Path
    values: Values
    """What tells it from the other runs, by name."""
    verdict: Document

    @property
    def seed(self) -> object:
        """By which it is paired with runs of other groups."""
        return self.values.get(SEED)


@dataclass(frozen=True, slots=True)
class Group:
    """Runs whose values are the same but for the seed."""

    values: Values
    members: Sequence[Member]

    @property
    def name(self) -> str:
        """Its values, as people write them."""
        return ", ".join(f"{name} {value}" for name, value in self.values.items()) or "all runs"

    def by_seed(self, quantity: Quantity) -> dict[object, float]:
        """The values of those runs that have one."""
        found = ((m.seed, quantity.value(m.verdict)) for m in self.members)
        return {seed: value for seed, value in found if value is not None}

    def spread(self, quantity: Quantity) -> Spread | None:
        """Mean and interval over its runs."""
        return spread(list(self.by_seed(quantity).values()))


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that every run has one value of."""

    key: str
    title: str
    unit: str
    """`ns`, `bytes`, `share` or `number`."""
    value: Callable[[Document], float | None]
    more_is: str = "more"
    """The word for a greater value: `higher`, `more`."""
    less_is: str = "less"


def member(path: Path, values: Values) -> Member:
    """A run with its verdict: that of the analysis, or else the one that `cbn run` made.

    Raises:
        AnalysisError: It has none.
    """
    for name in VERDICTS:
        try:
            return Member(path, values, json.loads((path / name).read_text(encoding="utf-8")))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise AnalysisError(f"{path / name}: cannot be read: {error}") from error
    raise AnalysisError(f"{path}: it has no verdict yet; `cbn analyze {path}` makes one")


def told_apart(members: Sequence[Member]) -> list[Member]:
    """The same with those values alone in which they differ, all of them in each; else with all."""
    names = [name for name in dict.fromkeys(n for m in members for n in m.values) if name != SEED]
    differing = [n for n in names if len({str(m.values.get(n, NOT_SET)) for m in members}) > 1]
    return [
        replace(m, values={n: m.values.get(n, NOT_SET) for n in differing or names} | {SEED: m.seed})
        for m in members
    ]


def grouped(members: Iterable[Member]) -> list[Group]:
    """In the order in which they come."""
    found: dict[tuple[tuple[str, str], ...], list[Member]] = {}
    for each in members:
        key = tuple((name, str(value)) for name, value in each.values.items() if name != SEED)
        found.setdefault(key, []).append(each)
    return [
        Group({name: v for name, v in runs[0].values.items() if name != SEED}, runs)
        for runs in found.values()
    ]


def _latency(name: str) -> Quantity:
    titles = {
        "min": "least latency",
        "p50": "median latency",
        "max": "greatest latency",
        "mean": "mean latency",
    }
    title = titles.get(name) or f"{name.removeprefix('p')} % latency"
    return Quantity(
        f"latency.{name}", title, "ns", lambda v: within(v, "latency_ns", name), "higher", "lower"
    )


def _each(cost: str, title: str, unit: str, *, of: str = "delivered") -> Quantity:
    """A cost for each delivery, or for each published message."""

    def value(verdict: Document) -> float | None:
        whole, number = within(verdict, of), cost_of(verdict, cost)
        return number / whole if whole and number is not None else None

    return Quantity(cost, title, unit, value)


_DELIVERY_RATIO = Quantity(
    "delivery_ratio",
    "delivery ratio",
    "share",
    lambda v: within(v, "delivery_ratio"),
    "higher",
    "lower",
)
QUANTITIES = (
    _latency("p50"),
    _latency("p99"),
    _DELIVERY_RATIO,
    Quantity("hops", "mean hop count", "number", lambda v: within(v, "hops", "mean")),
    _each("crossings", "crossings of links for each delivery", "number"),
    _each("wasted", "crossings for nothing for each delivery", "number"),
    _each("message_bytes", "message bytes for each delivery", "bytes"),
    _each("control_bytes", "control bytes for each message", "bytes", of="publications"),
    Quantity("state_bytes", "state of all routers", "bytes", lambda v: cost_of(v, "state_bytes")),
    Quantity(
        "convergence",
        "convergence after a fault",
        "ns",
        lambda v: within(v, "convergence_ns", "p50"),
        "higher",
        "lower",
    ),
)
"""In the order of the page. Those of `scheme` take an analysis: runs that are only judged have none."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What was published in one phase, as a quantity's document: a row of `phases` in the verdict."""

    name: str
    group: Group

    def spread(self, quantity: Quantity) -> Spread | None:
        """Mean and interval over the group's runs."""
        rows = (_phase_of(m.verdict, self.name) for m in self.group.members)
        return spread([v for row in rows if row is not None and (v := quantity.value(row)) is not None])


PHASE_QUANTITIES = (_latency("p50"), _latency("p99"), _DELIVERY_RATIO)
"""Those that the verdict has of each phase, too."""


def phases_of(groups: Sequence[Group]) -> list[str]:
    """The names of the phases that all runs have, in their order."""
    lists = [[row["name"] for row in m.verdict.get("phases") or ()] for g in groups for m in g.members]
    return [name for name in lists[0] if all(name in names for names in lists)] if lists else []


def _phase_of(verdict: Document, name: str) -> Document | None:
    return next((row for row in verdict.get("phases") or () if row["name"] == name), None)
