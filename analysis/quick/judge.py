"""From a run directory to a verdict, without Spark: the order of the work.

The figures are those of the analysis, by the same rules (`oracle`, `history`, `counts`, `verdict`); what
is joined there in Spark is joined here in memory. There are no tables, no trees and no report, and the
checks of `UNCHECKED` are not made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis import AnalysisError, calm, logs, network
from analysis.checks import Found, to_checks
from analysis.dues import deviations
from analysis.evidence import Evidence, evidence_of
from analysis.findings import CHECKS, Checks, Findings, PublicationCounts, SchemeFindings, TreeCounts
from analysis.history import History, NetworkChange, history_of
from analysis.oracle import Claim, Oracle, SubscriptionChange, claims_of, readable_claims
from analysis.payloads import Payload, payloads_of
from analysis.pieces import captured_bytes
from analysis.quick import counting
from analysis.quick.counting import Excused, Kind, Timeline
from analysis.quick.pairs import UNKNOWN_NS, Messages, Pairs, numbered, pairs_of
from analysis.quick.sightings import Column, Sightings, sightings_of
from analysis.rundir import Run, load_run, network_changes, subscription_changes
from analysis.scopes import parts_of
from analysis.verdict import to_judged
from testbed.plan.model import Plan
from testbed.plan.recorded import JUDGED

UNCHECKED = ("altered", "clock_offsets", "swapped_captures", "pathless")
"""The checks that the analysis alone makes."""
LARGEST_BYTES = 256 * 1024 * 1024
"""Of captures: more is not read into memory."""


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


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known before pairs are judged."""

    run: Run
    seen: Sightings
    payloads: Sequence[Payload]
    evidence: Evidence
    changes: Sequence[SubscriptionChange]
    unlogged: Sequence[SubscriptionChange]
    network_events: Sequence[NetworkChange]
    claims: Sequence[Claim]
    history: History
    notes: Sequence[str]


def _known(run: Run) -> _Known:
    logged, odd_lines = subscription_changes(run)
    network_events, odd_changes = network_changes(run)
    seen = sightings_of(run)
    payloads = list(payloads_of(seen.ingested.control))
    unlogged = logs.unlogged(run, payloads, logged)
    changes = sorted([*logged, *unlogged], key=lambda change: change.time_ns) if unlogged else logged
    claims, odd_claims = claims_of(changes, run.client_ids, run.clock)
    claims, unreadable = readable_claims(claims)
    return _Known(
        run,
        seen,
        payloads,
        evidence_of(run, seen.ingested),
        changes,
        unlogged,
        network_events,
        claims,
        history_of(run.plan, network_events, run.start_ns),
        [*odd_lines, *odd_changes, *odd_claims, *unreadable],
    )


NO_TABLES = SchemeFindings(TreeCounts(0, 0, 0, 0, 0, 0), None, (), None)
"""In the place of what only tables tell: `judged.json` has nothing of it."""


def _findings(run: Run) -> Findings:
    known = _known(run)
    found = numbered(known.seen)
    messages, pairs = found.messages, pairs_of(Oracle(known.claims, known.history), known.seen, found)
    excused = Excused(frozenset(known.evidence.unseen_clients), frozenset(network.lossy_clients(run)))
    timeline = Timeline.of(parts_of(run, known.history))
    interval = timeline.interval(messages)
    kinds, of = counting.kinds_of(pairs, interval[pairs.message])
    latency_ns = _latencies(pairs, messages)
    publishers = counting.count_publications(messages, known.history, excused.unseen | excused.lossy)
    checks, odd_logs = _checks(known, publishers)
    published = np.bincount(interval[messages.published], minlength=len(timeline.edges) + 1)
    latencies = counting.by_interval(interval[pairs.message], latency_ns)
    odd = partial(_is_odd, excused)
    return Findings(
        run,
        known.seen.ingested,
        subscriptions=len(known.claims),
        publications=publishers,
        subscribers=counting.count_by_subscriber(kinds, excused),
        curves=counting.latency_curves(pairs, latency_ns),
        crossings=(),
        traffic=known.seen.traffic,
        failures=(),
        disagreements=counting.first_of_kind(pairs, messages, kinds, of, odd),
        digest=counting.delivered_digest(pairs, messages, kinds, of, run.names),
        scheme=NO_TABLES,
        notes=[*known.notes, *odd_logs, *_deviations(pairs, messages, run)],
        scopes=list(counting.count_by_scope(timeline, kinds, published, latencies, excused)),
        checks=checks,
    )


def _deviations(pairs: Pairs, messages: Messages, run: Run) -> list[str]:
    found = ((messages.source[at], messages.sequence[at], client) for at, client in pairs.deviating)
    return deviations([(int(source), int(sequence), client) for source, sequence, client in found], run.names)


def _is_odd(excused: Excused, kind: Kind) -> bool:
    """Whether captures and clients contradict each other."""
    return counting.unreported(kind, excused) or counting.unseen(kind)


def _latencies(pairs: Pairs, messages: Messages) -> Column:
    """By pair, from the first capture coming in to the first going out; UNKNOWN_NS where one is lacking."""
    entered_ns = messages.entered_ns[pairs.message]
    known = (entered_ns != UNKNOWN_NS) & (pairs.left_ns != UNKNOWN_NS)
    return np.where(known, pairs.left_ns - np.where(known, entered_ns, 0), UNKNOWN_NS)


def _checks(known: _Known, publishers: Sequence[PublicationCounts]) -> tuple[Checks, list[str]]:
    """Those that are made, and what was odd about the logs."""
    run = known.run
    published = {client.source: client.total for client in publishers}
    undone, odd_logs = logs.undone(run, known.changes, published) if run.carried_out else ([], [])
    found = Found(
        known.evidence,
        publications=publishers,
        unlogged=known.unlogged,
        undone=undone,
        lacking_events=list(logs.lacking_events(run, known.network_events)),
        contradictions=_contradictions(known),
    )
    return to_checks(found, calm.busiest(run, known.history, known.payloads)), odd_logs


def _contradictions(known: _Known) -> list[calm.Contradiction]:
    fixpoints = calm.fixpoints_of(known.run, known.network_events)
    records = _staged(known.seen.records, [fixpoint.time_ns for fixpoint in fixpoints])
    partial_routers = known.evidence.partial_routers
    seen = calm.Seen(known.run, records, known.payloads, known.changes, partial_routers)
    return calm.all_contradictions(seen, fixpoints, known.history)


def _staged(records: Mapping[str, Column], fixpoints_ns: Sequence[int]) -> dict[str, Column]:
    """With the number of the first fixpoint at or after each."""
    ends = np.array(fixpoints_ns, dtype=np.int64)
    return {**records, "stage": np.searchsorted(ends, records["time_ns"], "left")}


assert set(UNCHECKED) <= set(CHECKS)
