"""How likely a count is by chance: the tails of the binomial distribution, exact, without any library."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

TERM_LIMIT = 1e-18
"""Terms of a tail below this share of its first one are left out."""


def tail(count: int, trials: int, share: float) -> float:
    """How likely it is that chance alone is as far out as `count` of `trials`, on the side it is on.

    Args:
        count: how often it happened.
        trials: how often it could.
        share: how likely it is each time.
    """
    if not 0 < share < 1:
        return 1.0 if count == round(trials * share) else 0.0
    if count > trials * share:
        return min(1.0, _sum(count, trials, share, step=1))
    return min(1.0, _sum(count, trials, share, step=-1))


def clumped_tail(count: int, trials: int, share: float, clump: float) -> float:
    """The same for what happens in runs of `clump` on average (Gilbert-Elliott): a normal approximation.

    Runs make the count vary more: by (1 + r) / (1 - r) for a correlation r of neighbours.
    """
    if not 0 < share < 1:
        return tail(count, trials, share)
    leave = 1 / clump
    correlation = max(0.0, 1 - leave - leave * share / (1 - share))
    variance = trials * share * (1 - share) * (1 + correlation) / (1 - correlation)
    away = max(0.0, abs(count - trials * share) - clump / 2)
    return exp(-(away**2) / (2 * variance)) / 2 if variance else 1.0


def _sum(count: int, trials: int, share: float, step: int) -> float:
    """From `count` outwards; each term follows from the one before."""
    term = first = _term(count, trials, share)
    total, odds, k = 0.0, share / (1 - share), count
    while 0 <= k <= trials and term > first * TERM_LIMIT:
        total += term
        term *= (trials - k) / (k + 1) * odds if step > 0 else k / ((trials - k + 1) * odds)
        k += step
    return total


def _term(count: int, trials: int, share: float) -> float:
    ways = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
    return exp(ways + count * log(share) + (trials - count) * log1p(-share))
