"""How whole runs are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.experiments.emulated import findings
from testbed.experiments.emulated.drawings import figures
from testbed.experiments.emulated.listing import table
from testbed.experiments.emulated.rows import Measured, Row, runs_of
from testbed.experiments.emulated.sweep import check_sweep, read_sweep
from testbed.experiments.kind import Kind, checks

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def _measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    from testbed.experiments.emulated.measure import measure

    return measure(experiment, seed, shown)


EMULATED = Kind(
    publication='"Forwarding in a Content-Based Network" (SIGCOMM 2003)',
    row=Row,
    read_sweep=read_sweep,
    check_sweep=check_sweep,
    measure=_measure,
    checks=checks(
        findings.same_deliveries,
        findings.near_network_is_faster,
        findings.far_network_is_faster,
        findings.busiest_does_less,
        findings.all_do_more,
        findings.load_does_not_slow,
    ),
    figures=figures,
    table=table,
    scale=lambda results: f"{len(runs_of(results))} runs",
    comparable="The paper computes its network from matching times of one router, links for nothing. Here "
    "whole networks run, as processes that share this machine's processors, and everything takes its time.",
)
