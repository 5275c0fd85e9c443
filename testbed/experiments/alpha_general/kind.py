"""How Fig. 5 of RTE is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.experiments.alpha_general import findings
from testbed.experiments.alpha_general.drawings import figures
from testbed.experiments.alpha_general.listing import table
from testbed.experiments.alpha_general.rows import Measured, Row
from testbed.experiments.alpha_general.sweep import read_sweep
from testbed.experiments.kind import Kind, checks

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def _measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    from testbed.experiments.alpha_general.measure import measure

    return measure(experiment, seed, shown)


ALPHA_GENERAL = Kind(
    publication='"Understanding Content-Based Routing Schemes" (Lugano 2006/05)',
    row=Row,
    read_sweep=read_sweep,
    measure=_measure,
    checks=checks(
        findings.uniform_as_predicted,
        findings.zipf_is_better,
        findings.five_as_draws,
        findings.five_as_sets,
    ),
    figures=figures,
    table=table,
    scale=lambda results: f"{results.repeat} unions of each number",
    comparable="What is drawn depends on the seed alone and on no machine; all of it can be compared. "
    "The paper's curves are not in its text, only what it says of them.",
)
