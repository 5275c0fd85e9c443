"""The statements an experiment's file may name, and the functions that compare them with ours."""

from __future__ import annotations

from collections.abc import Callable

from testbed.experiments import findings, findings_claims
from testbed.experiments.findings import Finding
from testbed.experiments.rows import Results

Check = Callable[[Results], Finding]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
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
    )
}
