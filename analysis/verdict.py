"""`verdict.json` and `judged.json`: the counts, and the reasons to doubt them.

Put together from what `analysis.messages` counted and what the run directory
says; nothing here touches Spark or files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from analysis import attacked, matchmaking, pattern_counts, refusals
from analysis.expectations import to_expectations
from analysis.findings import (
    CHECKS,
    NO_CONTROL,
    SHARES,
    Checks,
    Failure,
    Findings,
    LatencyCurve,
    PublicationCounts,
    SchemeFindings,
    Traffic,
)
from analysis.headline import OK, headline, notes, word_of
from analysis.network import HELD, RouterState
from analysis.rundir import Run
from analysis.traffic import control_by_kind
from nodes.scheme_formulas import formula
from nodes.wire.packets import PacketType

FORMAT = 2
HARMLESS = ("not_cbn", "bad_checksum", "unknown_block")
"""Counts of skipped records that say nothing against a capture: a host's own ARP and the like,
what was damaged on its way, which its receiver drops, and parts of pcapng that hold no packets."""


def to_verdict(findings: Findings) -> dict[str, Any]:
    """The document `verdict.json`."""
    shared = _shared(findings)
    latency, clocks = shared["latency_ns"], _clocks(findings.checks)
    of_tables = {
        "latency_ns": latency
        and {**latency, "trusted": len(clocks["corrected"]) == len(clocks["offsets_ns"])},
        "wasted_crossings": sum(c.wasted for c in findings.crossings),
        "scheme": to_scheme(findings),
        "clocks": clocks,
        "checks": {name: findings.checks.counts.get(name, 0) for name in CHECKS},
    }
    verdict = {**shared, **of_tables}
    return {**verdict, "expectations": to_expectations(findings, verdict)}


def _clocks(checks: Checks) -> dict[str, Any]:
    """By node, of those whose clocks are off."""
    of = checks.clocks
    return {
        "offsets_ns": {name: clock.offset_ns if clock.even else None for name, clock in of.items()},
        "drift_ppm": {name: round(clock.drift_ppm, 3) if clock.even else None for name, clock in of.items()},
        "uncertainty_ns": {name: clock.uncertainty_ns for name, clock in of.items()},
        "residual_ns": {name: clock.residual_ns for name, clock in of.items()},
        "corrected": [name for name, clock in of.items() if checks.corrected and clock.correctable],
    }


def to_judged(findings: Findings, unchecked: Collection[str]) -> dict[str, Any]:
    """The document `judged.json`: what a verdict has that needs no tables.

    Args:
        findings: What was found.
        unchecked: The checks that were not made.
    """
    checks = {name: findings.checks.counts.get(name, 0) for name in CHECKS if name not in unchecked}
    judged = {**_shared(findings), "checks": checks, "unchecked": list(unchecked)}
    return {**judged, "expectations": to_expectations(findings, judged)}


def _shared(findings: Findings) -> dict[str, Any]:
    """What both documents have."""
    problems = problems_of(findings)
    word = word_of(findings.blamed, problems, wrong=pattern_counts.are_wrong(findings.patterns))
    return {
        "format": FORMAT,
        "verdict": word,
        "ok": word in OK,
        "headline": headline(findings),
        "notes": notes(findings),
        **findings.counts.as_verdict(),
        "attacks": attacked.as_verdict(findings.attacked, findings.sides),
        "publications": findings.published,
        "unadvertised": findings.unadvertised,
        "policy": refusals.as_verdict(findings),
        "subscriptions": findings.subscriptions,
        "patterns": pattern_counts.as_verdict(findings.patterns),
        "delivered_digest": findings.digest,
        "latency_ns": _latency(findings.curves),
        "latency_curve_ns": list(findings.curves[0].quantiles_ns) if findings.curves else [],
        "hops": _hops(findings.curves),
        "control": _load(t for t in findings.traffic if t.type not in NO_CONTROL),
        "messages": _load(t for t in findings.traffic if t.type == PacketType.MESSAGE),
        "convergence_ns": _convergence(findings.run),
        "captures": {
            "frames": findings.ingested.records,
            "packets": findings.ingested.packets,
            "drops": findings.drops,
            "skipped": findings.ingested.skipped,
            "splits": findings.ingested.splits,
        },
        "fidelity": certificate_summary(findings.run),
        "phases": [s.as_verdict() for s in findings.phases],
        "recovery": findings.recovery.as_verdict() if findings.recovery else None,
        "faults": [s.as_verdict() for s in findings.unrest],
        "problems": problems,
    }


def _latency(curves: Sequence[LatencyCurve]) -> dict[str, int | bool] | None:
    if not curves or not curves[0].quantiles_ns:
        return None
    quantiles = {name: curves[0].at(share) for name, share in SHARES.items()}
    return {**quantiles, "mean": round(curves[0].mean_ns)}


def _hops(curves: Sequence[LatencyCurve]) -> dict[str, float] | None:
    counted = [(c.hop_count, c.deliveries) for c in curves if c.hop_count is not None]
    if not counted:
        return None
    mean = sum(h * n for h, n in counted) / sum(n for _, n in counted)
    return {"min": counted[0][0], "mean": round(mean, 3), "max": counted[-1][0]}


def _convergence(run: Run) -> dict[str, int | None] | None:
    """How long the network took to converge after its start and after what happened to it later."""
    times = [entry["took_ns"] for entry in run.manifest.get("convergence", ())]
    if not times:
        return None
    after = sorted(took for took in times[1:] if took is not None)
    return {
        "start": times[0],
        "disturbances": len(times) - 1,
        "interrupted": len(times) - 1 - len(after),
        "p50": after[len(after) // 2] if after else None,
        "max": after[-1] if after else None,
    }


def certificate_summary(run: Run) -> dict[str, Any] | None:
    """The certificate, without the links."""
    certificate = run.certificate
    return None if certificate is None else {key: certificate[key] for key in _REPEATED}


_REPEATED = ("verdict", "reasons", "affected", "dilate", "figures")


def _load(traffic: Iterable[Traffic]) -> dict[str, int]:
    rows = list(traffic)
    return {"packets": sum(t.packets for t in rows), "bytes": sum(t.bytes for t in rows)}


def problems_of(findings: Findings) -> list[str]:
    """What a reader must know before believing the counts; empty if nothing."""
    return [
        *_outcome(findings.run),
        *findings.notes,
        *pattern_counts.unjudged(findings.patterns),
        *findings.ingested.problems,
        *_captures(findings),
        *_publications([c for c in findings.publications if c.source not in _attackers(findings)]),
        *_disagreements(findings),
        *findings.checks.problems,
        *_clocks_in_doubt(findings),
    ]


def _clocks_in_doubt(findings: Findings) -> list[str]:
    """Corrections that leave more unsure than they may."""
    if findings.well_corrected:
        return []
    return [
        f"{text} Beside the times that are judged by it that is much." for text in findings.checks.corrections
    ]


def _outcome(run: Run) -> list[str]:
    if run.complete:
        return []
    why = f": {run.manifest['message']}" if run.manifest.get("message") else ""
    never = "" if run.started else " The network never became ready, so nothing was owed."
    return [f"The run is not complete, it {_ENDS.get(run.manifest['outcome'], 'ended oddly')}{why}.{never}"]


_ENDS = {"failed": "failed", "interrupted": "was interrupted"}


def _captures(findings: Findings) -> list[str]:
    """What could not be read; which captures are incomplete is said by `checks`."""
    harmless = (*HARMLESS, "malformed") if findings.attacked else HARMLESS
    damage = [(k, n) for k, n in findings.ingested.skipped.items() if k not in harmless]
    return [f"Skipped in the captures: {n:,} {_SKIPPED.get(k, k)}." for k, n in damage]


_SKIPPED = {
    "truncated_file": "records cut off at a file's end",
    "truncated": "frames captured in part",
    "ip_fragments": "fragments of datagrams that are not complete",
    "bad_frame": "frames whose headers contradict themselves",
    "malformed": "malformed CBN datagrams or packets",
    "damaged_file": "captures that end in blocks that contradict each other",
    "bad_block": "packet blocks that contradict themselves",
    "untimed": "packets without a time",
    "unknown_link": "packets of interfaces that are no network's",
    "foreign": "frames with the addresses of another link",
}


def _attackers(findings: Findings) -> frozenset[int]:
    """Clients that need not report what they do."""
    return findings.attacked.own if findings.attacked else frozenset()


def _publications(clients: Sequence[PublicationCounts]) -> list[str]:
    problems = []
    not_captured = sum(client.not_captured for client in clients)
    not_announced = sum(client.not_announced for client in clients)
    if not_captured:
        problems.append(
            f"{_messages(not_captured)} that a client reports as published never reached a router."
        )
    if not_announced:
        problems.append(f"{_messages(not_announced)} reached a router that no client reports as published.")
    return problems


def _disagreements(findings: Findings) -> list[str]:
    """Where captures and clients contradict each other."""
    unreported = sum(s.unreported for s in findings.subscribers)
    unseen = sum(s.unseen for s in findings.subscribers)
    captures_alone = [_shown(findings.run, d) for d in findings.disagreements if d.copies]
    events_alone = [_shown(findings.run, d) for d in findings.disagreements if not d.copies]
    problems = []
    if unreported:
        left = f"{_messages(unreported)} left a router for a client that does not report it"
        problems.append(f"{left}{_first(captures_alone)}.")
    if unseen:
        reported = f"{_messages(unseen)} reported as delivered left no router in the captures"
        problems.append(f"{reported}{_first(events_alone)}.")
    return problems


def _shown(run: Run, pair: Failure) -> str:
    source, subscriber = (run.names.get(i, i) for i in (pair.source, pair.subscriber))
    return f"{source} {pair.sequence} for {subscriber}"


def _messages(count: int) -> str:
    return "One message" if count == 1 else f"{count:,} messages"


def _first(shown: list[str]) -> str:
    return f" (first: {', '.join(shown)})" if shown else ""


def to_scheme(findings: Findings) -> dict[str, Any]:
    """The value of the key `scheme`."""
    name, found = str(findings.run.manifest.get("scheme", "")), findings.scheme
    trees = found.trees
    return {
        "name": name,
        "trees": asdict(trees) | {"ratio": round(trees.crossings / trees.ideal, 4) if trees.ideal else None},
        "stretch": asdict(found.stretch) if found.stretch else None,
        "control": control_by_kind(findings.traffic),
        "state": _state(name, found),
        "matchmaker": matchmaking.as_verdict(findings),
    }


def _state(name: str, found: SchemeFindings) -> dict[str, Any] | None:
    """Sums over the routers, and the paper's formula with alpha = 1 where there is one."""
    if not found.states:
        return None
    bits = formula(name, found.figures) if found.figures else None
    return {
        "routers": len(found.states),
        **totals(found.states),
        "formula_bytes": None if bits is None else round(bits / 8),
    }


def totals(states: Sequence[RouterState]) -> dict[str, int]:
    """The sum of each count over all routers."""
    return {key: sum(state.held[key] for state in states) for key in HELD}
