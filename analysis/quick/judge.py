"""From a run directory to a verdict, without Spark: the order of the work.

The figures are those of the analysis, by the same code (`messages`), over all messages at once. There are no
tables, no trees and no report, and the checks of `UNCHECKED` are not made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis import AnalysisError, calm, logs
from analysis.checks import Found, to_checks
from analysis.clocks import Clocks, clocks_by_readings
from analysis.digest import delivered_digest
from analysis.dues import BulkOracle, deviations
from analysis.findings import CHECKS, Checks, Findings, PublicationCounts, SchemeFindings, TreeCounts
from analysis.known import Known, Read
from analysis.matching import TooMuchError
from analysis.messages import counting
from analysis.messages.counting import Timeline, outcomes_of, tally_of
from analysis.messages.numbering import UNKNOWN_NS, Numbered, numbered
from analysis.messages.pairs import Pairs, pairs_of
from analysis.messages.published import published_of
from analysis.messages.rows import Rows
from analysis.messages.sketch import by_key
from analysis.oracle import Oracle
from analysis.pieces import captured_bytes
from analysis.quick.sightings import Sightings, sightings_of
from analysis.rundir import Run, load_run
from analysis.scopes import parts_of
from analysis.verdict import to_judged
from testbed.plan.model import Plan
from testbed.plan.recorded import JUDGED

UNCHECKED = ("altered", "clock_offsets", "swapped_captures", "pathless")
"""The checks that the analysis alone makes."""
LARGEST_BYTES = 256 * 1024 * 1024
"""Of captures: more is not read into memory."""
MOST_CANDIDATES = 200_000_000
"""Pairs of a message and a filter that may match, some 10 s: more is left to the analysis."""


def judge(run_dir: Path, plan: Plan | None = None) -> dict[str, Any]:
    """The verdict over a run; it is written to `judged.json`, too.

    Args:
        run_dir: What `cbn run` has written.
        plan: Of this very run, where it is known: the recorded one is not read again.

    Raises:
        AnalysisError: It is no run, or too large, or cannot be written to.
    """
    run = load_run(Path(run_dir), plan)
    if captured_bytes(run) > LARGEST_BYTES:
        raise AnalysisError(
            f"{run.path}: more than 256 MiB of captures; `cbn analyze` judges runs of any size"
        )
    verdict = to_judged(_findings(run), UNCHECKED)
    text = json.dumps(verdict, indent=1, ensure_ascii=False) + "\n"
    try:
        (run.path / JUDGED).write_text(text, encoding="utf-8")
    except OSError as error:
        raise AnalysisError(f"{run.path / JUDGED}: cannot write the verdict: {error.strerror}") from error
    return verdict


NO_TABLES = SchemeFindings(TreeCounts(0, 0, 0, 0, 0, 0), None, (), None)
"""In the place of what only tables tell: `judged.json` has nothing of it."""


def _findings(run: Run) -> Findings:
    read, clocks = Read.of(run), clocks_by_readings(run)
    seen = sightings_of(run, [fixpoint.time_ns for fixpoint in read.fixpoints], clocks.to_correct)
    known = read.known(seen.ingested, clocks.to_correct)
    rows = seen.rows
    found = numbered(rows)
    messages, pairs = found.messages, _pairs(known, rows, found)
    outcomes = outcomes_of(pairs, known.excused)
    timeline = Timeline.of(parts_of(run, known.history))
    interval = timeline.interval(messages)
    latency_ns = pairs.latencies(messages)
    timed = np.flatnonzero(latency_ns != UNKNOWN_NS)
    hops, deliveries = np.unique(pairs.hop_count[pairs.copies > 0], return_counts=True)
    publishers = counting.count_publications(messages, pairs.expected, known.history, known.excused)
    checks, odd_logs = _checks(known, seen, clocks, publishers)
    odd = outcomes.is_counted(counting.UNREPORTED) | outcomes.is_counted(counting.UNSEEN)
    of_pair = interval[pairs.message]
    most = counting.MOST_LATENCIES
    return Findings(
        run,
        known.ingested,
        subscriptions=len(known.claims),
        publications=publishers,
        subscribers=counting.by_subscriber(tally_of(pairs.client, outcomes)),
        curves=counting.latency_curves(
            dict(zip(hops.tolist(), deliveries.tolist(), strict=True)),
            by_key(pairs.hop_count[timed], latency_ns[timed], most),
        ),
        crossings=(),
        traffic=seen.traffic,
        failures=(),
        disagreements=counting.first_pairs(pairs, messages, outcomes, odd, counting.DISAGREEMENTS),
        digest=delivered_digest(*counting.delivered_of(pairs, messages, outcomes), run.names),
        scheme=NO_TABLES,
        notes=[*known.notes, *odd_logs, *deviations(messages.named(pairs.deviating), run.names)],
        scopes=counting.count_by_scope(
            timeline,
            np.bincount(interval[messages.published], minlength=timeline.size),
            tally_of(of_pair, outcomes),
            by_key(of_pair[timed], latency_ns[timed], most),
        ),
        checks=checks,
        patterns=known.patterns.counts(lambda: published_of(messages)),
        attacked=known.attacked,
        refused=known.refused,
        sides=counting.by_side(counting.sides_of(known.attacked, messages, pairs, outcomes)),
    )


def _pairs(known: Known, rows: Rows, found: Numbered) -> Pairs:
    oracle = BulkOracle(
        Oracle(known.claims, known.history), MOST_CANDIDATES, known.advertising, known.policy.publishing
    )
    try:
        return pairs_of(oracle, rows, found)
    except TooMuchError:
        raise AnalysisError(
            "too many messages nearly match too many predicates here; `cbn analyze` judges any run"
        ) from None


def _checks(
    known: Known, seen: Sightings, clocks: Clocks, publishers: Sequence[PublicationCounts]
) -> tuple[Checks, list[str]]:
    """Those that are made, and what was odd about the logs."""
    run = known.run
    published = {client.source: client.total for client in publishers}
    undone, odd_logs = (
        logs.undone(run, known.changes, known.advertised, known.patterns.events, published)
        if run.carried_out
        else ([], [])
    )
    found = Found(
        known.evidence,
        publications=publishers,
        clocks=clocks.off,
        unlogged=known.unlogged,
        unlogged_advertised=known.unlogged_advertised,
        unlogged_sought=known.unlogged_sought,
        undone=undone,
        lacking_events=list(logs.lacking_events(run, known.network_events)),
        contradictions=_contradictions(known, seen) if clocks.trusted and not known.attacked else [],
    )
    return to_checks(found, calm.busiest(run, known.history, known.payloads)), odd_logs


def _contradictions(known: Known, sightings: Sightings) -> list[calm.Contradiction]:
    return calm.all_contradictions(known.seen(sightings.records), known.fixpoints, known.history)


assert set(UNCHECKED) <= set(CHECKS)
