"""What RTE 4.1 says of the disjunction advantage, beside what was drawn."""

from __future__ import annotations

from testbed.experiments.alpha_general.rows import DRAWS, SETS, UNIFORM, ZIPF, Measured, Row, curve
from testbed.experiments.finding import Finding

FIVE = 5
"""Predicates, of one message in a hundred each."""
NEAR = 0.02


def universe(size: int) -> str:
    """`10^5 messages`."""
    return f"10^{len(str(size)) - 1} messages"


def uniform_as_predicted(results: Measured) -> Finding:
    """The largest distance from E(alpha), where predicates are sets as in the formula."""
    worst = max(_of(results, UNIFORM, SETS), key=_apart)
    said = f"at most {_apart(worst):.4f} beside it, at nk/|M| = {worst.ratio:g} of {universe(worst.universe)}"
    return Finding(said, _apart(worst) < NEAR)


def zipf_is_better(results: Measured) -> Finding:
    """Zipf below uniform at every number of predicates above one, in both readings."""
    said, holds = [], True
    for reading in (SETS, DRAWS):
        flat = {(r.universe, r.number): r for r in _of(results, UNIFORM, reading)}
        pairs = [(flat[r.universe, r.number], r) for r in _of(results, ZIPF, reading) if r.number > 1]
        below = sum(z.alpha_mean < u.alpha_mean for u, z in pairs)
        first = min(pairs, key=lambda pair: (pair[1].ratio, pair[1].universe))
        at = f"{first[1].alpha_mean:.2f} against {first[0].alpha_mean:.2f} at nk/|M| = {first[1].ratio:g}"
        said.append(f"as {reading}: in {below} of {len(pairs)} cases, {at}")
        holds = holds and below == len(pairs)
    return Finding("; ".join(said), holds)


def five_as_draws(results: Measured) -> Finding:
    """Five predicates of one in a hundred, k draws each, over the nominal nk (E13)."""
    return _five(results, DRAWS)


def five_as_sets(results: Measured) -> Finding:
    """The same of k different messages each, as RTE 4.1 defines predicates (E13)."""
    return _five(results, SETS)


def _five(results: Measured, reading: str) -> Finding:
    rows = [r for r in _of(results, ZIPF, reading) if r.number == FIVE]
    said = "; ".join(f"alpha {r.alpha_mean:.2f} of {universe(r.universe)}" for r in rows)
    return Finding(said, any(0.4 <= r.alpha_mean <= 0.6 for r in rows))


def _of(results: Measured, distribution: str, reading: str) -> list[Row]:
    return [row for rows in curve(results, distribution, reading).values() for row in rows]


def _apart(row: Row) -> float:
    return abs(row.alpha_mean - row.expected)
