"""What a scenario expects of its run, held against what was measured.

Plain values: the plan's `expect`, the counts of the run and of its parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from analysis.attacked import SIDES
from analysis.figures import axes
from analysis.findings import Findings, ScopeCounts
from testbed.plan.model import Expectation

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_PLACES = {
    "latency": "latency_ns", "convergence": "convergence_ns",
    "trees": "scheme.trees", "stretch": "scheme.stretch",
    **{side: f"attacks.{side}" for side in SIDES},
}  # fmt: skip
"""Where the verdict has a family of quantities, if not under its name."""
_OCCASIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "missing": (("owed",), "nothing was owed, so nothing could be missing"),
    "unknown": (("owed",), "nothing was owed, so of nothing owed it is unknown whether it arrived"),
    "lost": (("wanted",), "nothing was wanted, so nothing could be lost"),
    "cut_off": (("wanted",), "nothing was wanted, so nothing could be cut off"),
    "allowed": (("delivered", "spurious"), "nothing was delivered, so nothing could be allowed"),
    "duplicate": (("delivered", "spurious"), "nothing was delivered, so nothing could be duplicate"),
    "duplicate_allowed": (("delivered",), "nothing was delivered, so nothing could be duplicate"),
    "spurious": (("delivered", "spurious"), "nothing was delivered, so nothing could be spurious"),
    "wasted_crossings": (("messages.packets",), "no message was captured, so none could be wasted"),
    "patterns.missing": (("patterns.owed",), "no match of a pattern was owed, so none could be missing"),
    "patterns.duplicate": (("patterns.delivered",), "no match was told, so none could be duplicate"),
    "patterns.spurious": (
        ("patterns.delivered", "patterns.spurious"),
        "no match was told, so none could be spurious",
    ),
    "patterns.lost": (("patterns.sought",), "nobody sought a pattern, so no match could be lost"),
    "captures.drops": (("captures.frames",), "no frame was captured, so none could be dropped"),
    **{
        f"{side}.{count}": (
            (f"{side}.owed", f"{side}.spurious"),
            f"nothing was owed to pairs of this side ({side})",
        )
        for side in SIDES
        for count in ("missing", "duplicate", "spurious")
    },
}
"""What there has to be some of, or a count of 0 shows nothing; and what is said if there is none."""
OF_TABLES = ("wasted_crossings", "trees", "stretch")
"""Families of quantities that the analysis alone measures: a run is judged without them."""
_DURATIONS = ("convergence.start", "convergence.p50", "convergence.max")
_RATIOS = ("delivery_ratio", "judged")
_TRUSTED = ("trusted", "exact")


def to_expectations(findings: Findings, verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each expectation with what was measured, and whether it holds."""
    parts = [*findings.phases, *([findings.recovery] if findings.recovery else [])]
    scopes = {part.scope.name: part for part in parts}
    return [_judged(expected, verdict, scopes) for expected in findings.run.plan.expect]


def needing_analysis(expected: Iterable[Expectation]) -> list[str]:
    """The expectations, as they were written, that only `cbn analyze` can judge."""
    return [each.text for each in expected if each.quantity.partition(".")[0] in OF_TABLES]


def passed(verdict: Mapping[str, Any]) -> bool:
    """Whether a run is as it should be: as it was expected to be, if anything was, else clean."""
    expectations = verdict.get("expectations")
    if expectations:
        return all(expectation["holds"] for expectation in expectations)
    return bool(verdict["ok"])


def measured_text(expectation: Mapping[str, Any]) -> str:
    """What was measured, for people."""
    measured, quantity = expectation["measured"], expectation["quantity"]
    if measured is None:
        return "nothing"
    if quantity == "fidelity":
        return "trusted" if measured else "degraded"
    if expectation["share"] or quantity in _RATIOS:
        return f"{100 * measured:.4g} %"
    if quantity.partition(".")[0] == "latency" or quantity in _DURATIONS:
        return axes.duration(measured)
    return f"{measured:,}"


def _judged(
    expected: Expectation, verdict: Mapping[str, Any], scopes: Mapping[str, ScopeCounts]
) -> dict[str, Any]:
    measured, why = _measured(expected, verdict, scopes)
    holds = measured is not None and _OPERATORS[expected.operator](measured, expected.value)
    return {
        "text": expected.text,
        "quantity": expected.quantity,
        "scope": expected.scope,
        "asked": expected.value,
        "share": expected.share,
        "measured": measured,
        "holds": holds,
        "why": why,
    }


def _measured(
    expected: Expectation, verdict: Mapping[str, Any], scopes: Mapping[str, ScopeCounts]
) -> tuple[float | None, str]:
    """The figure, or None and why there is none."""
    if "unchecked" in verdict and needing_analysis([expected]):
        return None, "`cbn analyze` measures this, and a run is judged without it"
    if expected.quantity == "fidelity":
        certificate = verdict.get("fidelity")
        if certificate is None:
            return None, "the run has no certificate"
        return float(certificate["verdict"] in _TRUSTED), "; ".join(certificate["reasons"])
    if expected.quantity == "problems":
        return len(verdict["problems"]), ""
    if not expected.scope:
        return _asked(verdict, expected)
    scope = scopes.get(expected.scope)
    if scope is None:
        return None, "the network did not converge after the last fault"
    return _asked(scope.as_verdict(), expected)


def _asked(counts: Mapping[str, Any], expected: Expectation) -> tuple[float | None, str]:
    """The figure of a run, or of a part of it; of what was wanted, where that is asked for."""
    occasions, why_not = _OCCASIONS.get(expected.quantity, ((), ""))
    if occasions and not any(_figure(counts, occasion)[0] for occasion in occasions):
        return None, why_not
    figure, why = _figure(counts, expected.quantity)
    if figure is None and expected.quantity in _RATIOS:
        return None, "nothing was wanted"
    if figure is None or not expected.share:
        return figure, why
    return (figure / counts["wanted"], "") if counts["wanted"] else (None, "nothing was wanted")


def _figure(verdict: Mapping[str, Any], quantity: str) -> tuple[float | None, str]:
    family, _, name = quantity.partition(".")
    at: Any = verdict
    for step in _steps(family, name):
        at = at.get(step) if isinstance(at, Mapping) else None
    if isinstance(at, int | float):
        return at, ""
    return None, f"the run has no {quantity} to measure"


def _steps(family: str, name: str) -> Iterator[str]:
    yield from _PLACES.get(family, family).split(".")
    if name:
        yield name
