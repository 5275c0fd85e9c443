"""How Figs. 6 and 7 of RTE are carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.experiments.alpha_model import findings
from testbed.experiments.alpha_model.drawings import figures
from testbed.experiments.alpha_model.listing import table
from testbed.experiments.alpha_model.rows import Measured, Row
from testbed.experiments.alpha_model.sweep import read_sweep
from testbed.experiments.kind import Kind, checks

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def _measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    from testbed.experiments.alpha_model.measure import measure

    return measure(experiment, seed, shown)


ALPHA_MODEL = Kind(
    publication='"Understanding Content-Based Routing Schemes" (Lugano 2006/05)',
    row=Row,
    read_sweep=read_sweep,
    measure=_measure,
    checks=checks(
        findings.falls_with_number,
        findings.not_half_below_hundred,
        findings.worst_needs_thousands,
        findings.worst_is_worst,
        findings.skewed_names_reduce_better,
        findings.varies_then_settles,
        findings.kernel_drops_more,
    ),
    figures=figures,
    table=table,
    scale=lambda results: f"{results.repeat} sets of each number of predicates",
    comparable="What is drawn depends on the seed alone and on no machine; all of it can be compared. "
    "The paper's curves are not in its text, only what it says of them.",
)
