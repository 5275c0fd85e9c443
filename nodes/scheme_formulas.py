"""What the paper says a scheme's routers hold, in bits (RTE 2.4, 3; T6, E9). Numbers alone.

A predicate has M_p bits, a router's id log n. What routers do hold is measured
in `nodes.routing.schemes.state`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log2


@dataclass(frozen=True, slots=True)
class Figures:
    """What the formulas ask for."""

    n: int
    """Routers."""
    s: int
    """Senders."""
    r: int
    """Receivers: routers whose clients want anything."""
    predicate_bits: float
    """M_p: the mean size of a receiver's predicate."""
    d: float
    """The mean distance from a sender to a receiver, in links."""
    delta: int
    """The greatest degree."""
    alpha: float = 1.0
    """The disjunction advantage of the predicates that meet at an interface."""
    is_tree: bool = False

    @property
    def id_bits(self) -> float:
        """What a router's id takes: log n."""
        return log2(self.n)


def formula(scheme: str, figures: Figures) -> float | None:
    """M(S) in bits for the whole network, as the paper has it; None if it has none."""
    if scheme == "ipsf" and not figures.is_tree:
        return None
    return _FORMULAS[scheme](figures) if scheme in _FORMULAS else None


_FORMULAS: Mapping[str, Callable[[Figures], float]] = {
    "psf": lambda f: f.s * f.id_bits + f.s * f.r * f.predicate_bits * f.d,
    "ipsf": lambda f: f.n * f.r * f.predicate_bits * f.alpha,
    # E9: the paper has another n before r.
    "pif": lambda f: f.n * (f.s * f.delta * f.id_bits + f.r * f.predicate_bits * f.alpha),
    "drp": lambda f: f.n * f.r * f.id_bits + f.s * f.r * f.predicate_bits,
}
