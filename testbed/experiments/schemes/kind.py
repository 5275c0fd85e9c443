"""How the schemes are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.experiments.kind import Kind, checks
from testbed.experiments.schemes import findings
from testbed.experiments.schemes.drawings import figures
from testbed.experiments.schemes.listing import table
from testbed.experiments.schemes.rows import Measured, Row
from testbed.experiments.schemes.sweep import check_sweep, read_sweep

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def _measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    from testbed.experiments.schemes.measure import measure

    return measure(experiment, seed, shown)


SCHEMES = Kind(
    publication='"Understanding Content-Based Routing Schemes" (Lugano 2006/05)',
    row=Row,
    read_sweep=read_sweep,
    check_sweep=check_sweep,
    measure=_measure,
    checks=checks(
        findings.all_are_correct,
        findings.ideal_on_trees,
        findings.near_ideal_elsewhere,
        findings.pif_wastes,
        findings.ipsf_sends_as_psf,
        findings.ipsf_holds_less,
        findings.psf_as_formula,
        findings.ipsf_as_formula,
        findings.pif_as_formula,
        findings.drp_as_formula,
        findings.reduction_earns,
        findings.latency_minimal,
        findings.unicast_costs,
        findings.control_of_talkers,
    ),
    figures=figures,
    table=table,
    scale=lambda results: f"{len(results.rows)} runs, each once",
    comparable="The paper proves and computes; it has no measurements. Here its statements are held against "
    "runs of all schemes.",
)
