"""How forwarding experiments are carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.experiments.forwarding import findings, findings_claims
from testbed.experiments.forwarding.drawings import figures
from testbed.experiments.forwarding.listing import table
from testbed.experiments.forwarding.rows import Measured, Row
from testbed.experiments.forwarding.tables import check_sweep, read_sweep
from testbed.experiments.kind import Kind, checks

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def _measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    from testbed.experiments.forwarding.measure import measure

    return measure(experiment, seed, shown)


def _scale(results: Measured) -> str:
    return f"{results.rows[0].messages} messages, the least of {results.repeat} repeats"


FORWARDING = Kind(
    publication='"Forwarding in a Content-Based Network" (SIGCOMM 2003)',
    row=Row,
    read_sweep=read_sweep,
    check_sweep=check_sweep,
    measure=_measure,
    checks=checks(
        findings.largest_time,
        findings.largest_gain,
        findings.growth,
        findings.sublinear,
        findings.rounds_make_no_difference,
        findings.best_with_large_disjunctions,
        findings.gain_with_few_filters,
        findings.turns_to_cost,
        findings.gain_rises_and_fades,
        findings.more_constraints_more_gain,
        findings_claims.time_at_twenty,
        findings_claims.matched_of_twenty,
        findings_claims.fewer_matches_less_time,
        findings_claims.bytes_per_constraint,
        findings_claims.eliminated_by_ten,
        findings_claims.single_router,
        findings_claims.hops_at_twenty,
        findings_claims.network_beats_router,
        findings_claims.break_even,
    ),
    figures=figures,
    table=table,
    scale=_scale,
    comparable="Absolute times are not comparable: the paper's machine had 950 MHz and 512 MB. "
    "Shapes, ratios and counts are.",
)
