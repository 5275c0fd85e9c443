"""The verdict in a word and in sentences: what became of what was owed, of what was wanted, and why.

Plain values in, text out. Not here: the counts, and the problems that make a verdict doubtful.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from analysis import pattern_counts, refusals
from analysis.counts import Counts
from analysis.figures import axes
from analysis.findings import Findings
from analysis.network import lossy_links, makes_lossy
from testbed.plan.model import Fault, LinkPlan, Plan
from topologies.fault_kinds import in_words

CLEAN, PARTLY_JUDGED, DOUBTFUL, NOT_JUDGED, WRONG = (
    "clean",
    "partly judged",
    "doubtful",
    "not judged",
    "wrong",
)
OK = (CLEAN, PARTLY_JUDGED)
"""The words of runs in which nothing was found wrong, though it was looked for."""
JUDGED_LEAST = 0.1
"""Of what was wanted: if less was owed, the run is not judged."""
JUDGED_WELL = 0.5
"""Of what was wanted: if less was owed, the run is judged in part."""

_REASONS = {
    "network": "while the network was not settled",
    "subscription": "around a change of the client's subscriptions",
    "advertisement": "around a change of what the publisher had advertised",
    "start": "before the start",
    "end": "just before the run was cut short",
    "cut_off": "where no path led to the client",
}


def word_of(counts: Counts, problems: Collection[str], *, wrong: bool = False) -> str:
    """The verdict in a word (docs/analysis.md, "The verdict in a word").

    Args:
        counts: Of messages.
        problems: What makes the counts doubtful.
        wrong: Whether matches of patterns are wrong.
    """
    judged = 1.0 if counts.judged is None else counts.judged
    if counts.wrong or wrong:
        return WRONG
    if judged < JUDGED_LEAST:
        return NOT_JUDGED
    if problems:
        return DOUBTFUL
    return PARTLY_JUDGED if judged < JUDGED_WELL else CLEAN


def headline(findings: Findings) -> str:
    """What became of what was owed, and of what was wanted."""
    counts = findings.counts
    return f"{_owed(counts)} {_wanted(counts, findings.run.plan)}"


def notes(findings: Findings) -> list[str]:
    """Why what was wanted was not owed, what disturbed the network, and which clocks were put right."""
    return [
        *_judged(findings),
        *_not_owed(findings.counts),
        *_unadvertised(findings),
        *refusals.notes(findings),
        *_patterns(findings),
        *_not_wanted(findings.counts),
        *_more_than_once(findings.counts),
        *_disturbed(findings),
        *_attacked(findings),
        *_lossy(findings.counts, findings.run.plan),
        *(findings.checks.corrections if findings.well_corrected else ()),
    ]


def _patterns(findings: Findings) -> Iterator[str]:
    counts = pattern_counts.as_verdict(findings.patterns)
    if counts is None:
        return
    kinds = [f"{counts[kind]:,} {kind}" for kind in ("missing", "duplicate", "spurious") if counts[kind]]
    sought = "One pattern was" if counts["sought"] == 1 else f"{counts['sought']:,} patterns were"
    if kinds:
        yield f"{sought} sought: {_and(kinds)} matches; {counts['owed']:,} were owed."
    elif counts["owed"]:
        yield f"{sought} sought, and all {counts['owed']:,} matches that were owed were told, each once."
    else:
        yield f"{sought} sought, and no match was owed."
    yield from pattern_counts.refused(findings.patterns)
    yield from pattern_counts.waited(findings.patterns)
    if counts["lost"]:
        matches = "One more match was" if counts["lost"] == 1 else f"{counts['lost']:,} more matches were"
        yield f"{matches} lost: the network changed while routers put them together."


def _owed(counts: Counts) -> str:
    kinds = (("missing", counts.missing), ("duplicate", counts.duplicate), ("spurious", counts.spurious))
    wrong = [f"{number:,} {kind}" for kind, number in kinds if number]
    if wrong:
        return f"Not all is well: {_and(wrong)}; {counts.owed:,} deliveries were owed."
    if not counts.owed:
        return "Nothing was owed."
    if counts.unknown:
        arrived = f"{counts.owed - counts.unknown:,} arrived"
        return f"Of {counts.owed:,} owed deliveries {arrived}; of {counts.unknown:,} nothing is known."
    return f"All {counts.owed:,} owed deliveries arrived, each once."


def _wanted(counts: Counts, plan: Plan) -> str:
    if not counts.wanted:
        return "Nothing was wanted."
    if counts.arrived == counts.wanted:
        return f"All {counts.wanted:,} wanted deliveries arrived."
    share = axes.share(counts.arrived, counts.wanted)
    text = f"Of {counts.wanted:,} wanted deliveries {counts.arrived:,} arrived ({share})"
    were = "was" if counts.lost == 1 else "were"
    return f"{text}; {counts.lost:,} {were} lost {_causes(counts, plan)}." if counts.lost else f"{text}."


def _causes(counts: Counts, plan: Plan) -> str:
    """Why wanted deliveries were lost, the most frequent reason first."""
    losing: tuple[LinkPlan | Fault, ...] = (*plan.links, *plan.traces)
    if "network" in counts.lost_by and any(map(makes_lossy, losing)):
        return "because links lose packets, or while the network was not settled"
    reasons = sorted(counts.lost_by, key=lambda reason: -counts.lost_by[reason])
    return _and([_REASONS[reason] for reason in reasons])


def _judged(findings: Findings) -> Iterator[str]:
    counts, settle_ns = findings.counts, findings.run.plan.timing.settle_ns
    if counts.judged is not None and counts.judged < JUDGED_WELL:
        share = axes.share(counts.owed, counts.wanted)
        yield (
            f"Only {counts.owed:,} of {counts.wanted:,} wanted deliveries were owed ({share}): "
            "the others may be lost without anything being wrong."
        )
        if findings.unrest and 2 * counts.not_owed.get("network", 0) > counts.wanted - counts.owed:
            settle = axes.duration(settle_ns)
            yield (
                f"What is published less than timing.settle ({settle}) before a fault is not owed: where the "
                "network is faster than that, a shorter one judges more."
            )


def _not_owed(counts: Counts) -> Iterator[str]:
    if not counts.not_owed:
        return
    parts = []
    for reason, number in sorted(counts.not_owed.items(), key=lambda item: -item[1]):
        lost = counts.lost_by.get(reason, 0)
        parts.append(f"{number:,} {_REASONS[reason]} ({f'{lost:,}' if lost else 'none'} lost)")
    yield f"Wanted and not owed, by the time of publication: {_and(parts)}."


def _unadvertised(findings: Findings) -> Iterator[str]:
    if findings.unadvertised:
        yield (
            f"{findings.unadvertised:,} of {findings.published:,} messages were outside of all that their "
            "publishers had advertised: the first router takes them no further, and nobody is owed them."
        )


def _not_wanted(counts: Counts) -> Iterator[str]:
    """Deliveries just before a subscription began or just after it ended."""
    rightly = counts.arrived - (counts.delivered - counts.allowed)
    unwanted = counts.allowed - rightly
    if unwanted > 0 and not counts.spurious:
        yield (
            f"{unwanted:,} deliveries arrived and were allowed, though not wanted at the time of "
            "publication: a subscription began just afterwards, or had just ended."
        )


def _more_than_once(counts: Counts) -> Iterator[str]:
    if number := counts.duplicate_allowed:
        came = "1 copy too many came" if number == 1 else f"{number:,} copies too many came"
        yield (
            f"{came} of deliveries that were not owed: routers that do not know of a change yet go by "
            "different trees, and a message may come by two of them."
        )


def _disturbed(findings: Findings) -> Iterator[str]:
    unrest = [part.scope for part in findings.unrest]
    if not unrest:
        return
    faults = Counter(
        in_words(c.do, c.target) for scope in unrest if scope.disturbance for c in scope.disturbance.causes
    )
    named = [f"{name} ({number:,} times)" if number > 1 else name for name, number in faults.most_common()]
    times = "once" if len(unrest) == 1 else f"{len(unrest):,} times"
    never = "" if findings.recovery else " It had not settled again when the run ended."
    kept_busy = f" {findings.checks.busiest}" if findings.checks.busiest else ""
    yield f"The network was disturbed {times}: {listed(named)}.{never}{kept_busy}"


def _attacked(findings: Findings) -> Iterator[str]:
    """Who attacked, what it did to honest pairs, and what captures do not prove therefore."""
    found = findings.attacked
    if found is None:
        return
    names = [
        in_words(each.do, each.target) + ("" if each.acts is None else f" ({each.acts:,} times)")
        for each in found.attacks
    ]
    yield f"Attacked: {listed(names)}."
    for side, what in _SIDES.items():
        counts = findings.sides.get(side)
        if counts is not None and (counts.wanted or counts.wrong):
            kinds = [f"{getattr(counts, kind):,} {kind}" for kind in ("missing", "duplicate", "spurious")]
            yield f"{what}: {counts.owed:,} deliveries were owed; {_and(kinds)}."
    yield (
        "Captures hold what attackers put on links. So they do not prove what routers believed, and were "
        "not held against each other."
    )


_SIDES = {
    "honest": "Pairs that no attacker has to do with",
    "through": "Pairs whose path leads through an attacker",
    "attackers": "Pairs of the attackers themselves",
}


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _lossy(counts: Counts, plan: Plan) -> Iterator[str]:
    if counts.missing and lossy_links(plan):
        yield "Links lose packets by plan; what they lose is missing if it was owed."


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
