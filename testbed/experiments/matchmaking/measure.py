"""What a marking of each kind costs in many drawn problems (MM 4.4; K4, K5, E19, E20).

Each problem is marked in four ways: all links p-links, all s-links, top-down, and the exact
optimum. Their costs are by Lemma 1; in one problem of each twenty all four are also found by following every
descriptor, and must be the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nodes.matchmaker.marking import Marking, all_p, all_s, cost, cost_if_valid, is_valid
from nodes.matchmaker.optimum import optimum
from nodes.matchmaker.problem import Problem
from nodes.matchmaker.topdown import is_cyclic, top_down
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.experiments.matchmaking.samples import Members, Setting, draw
from testbed.runs.world import Progress

FOLLOWED = 20
"""One problem of so many is also measured by following descriptors."""


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """Problems over trees of one sort; the first setting is the paper's."""

    trees: str
    publishers: int
    subscribers: int
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The costs of one problem: how many descriptors cross links (MM eq. 2)."""

    setting: str
    sample: int
    links: int
    """Those within any tree."""
    cyclic: bool
    """Whether some are downstream of each other (E18)."""
    all_p: float
    all_s: float
    best: float
    top_down: float


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Draw and mark all problems.

    Raises:
        DisagreementError: A marking is invalid, or costs something else when descriptors are followed.
    """
    members = Members(sweep.publishers, sweep.subscribers)
    for setting in sweep.settings:
        shown.phase(setting.name, setting.samples)
        began = time.process_time()
        for sample in range(setting.samples):
            problem = draw(setting, sweep.trees, members, f"{seed}/{sample}")
            yield _row(setting, sample, problem)
            shown.advance(sample + 1)
        taken = time.process_time() - began
        shown.say(f"{setting.name}: {setting.samples} samples in {taken:.1f} s of the processor")


def _row(setting: Setting, sample: int, problem: Problem) -> Row:
    markings: Mapping[str, Marking] = {
        "all_p": all_p(problem),
        "all_s": all_s(problem),
        "best": optimum(problem),
        "top_down": top_down(problem),
    }
    for name, marking in markings.items():
        _check(problem, marking, f"{setting.name}, sample {sample}, {name}", sample % FOLLOWED == 0)
    costs = {name: round(cost_if_valid(problem, marking), 3) for name, marking in markings.items()}
    return Row(setting.name, sample, len(problem.links), is_cyclic(problem.below), **costs)


def _check(problem: Problem, marking: Marking, what: str, followed: bool) -> None:
    if not is_valid(problem, marking):
        raise DisagreementError(f"{what}: an invalid marking")
    if followed and abs(cost(problem, marking) - cost_if_valid(problem, marking)) > 1e-6:
        raise DisagreementError(f"{what}: by following descriptors it costs something else")
