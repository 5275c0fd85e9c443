"""`expect`: what a run has to show, read and checked: `missing == 0 after recovery`.

Here: the words. Not here: what was measured (`analysis.expectations`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from testbed.plan.model import Expectation
from testbed.plan.moments import Times
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.quantities import duration_ns

_LATENCIES = ("min", "p50", "p90", "p99", "max", "mean")
_PAIRS = (
    "wanted", "owed", "delivered", "allowed", "missing", "duplicate", "duplicate_allowed", "spurious",
    "lost", "cut_off", "unknown",
)  # fmt: skip
"""Counts that can be asked for as a share of what was wanted."""
_RATIOS = ("delivery_ratio", "judged")
SCOPED = ("publications", *_PAIRS, *_RATIOS, *(f"latency.{q}" for q in _LATENCIES))
"""Quantities that can be asked for of a part of the run."""
WHOLE = (
    "unadvertised", "policy.publications", "policy.subscriptions", "policy.advertisements",
    "policy.patterns", "patterns.owed", "patterns.delivered", "patterns.missing", "patterns.duplicate",
    "patterns.spurious", "patterns.lost", "wasted_crossings", "problems", "fidelity", "captures.drops",
    "convergence.start", "convergence.p50",
    "convergence.max", "convergence.disturbances", "convergence.interrupted", "control.packets",
    "control.bytes", "messages.packets", "messages.bytes", "hops.min", "hops.mean", "hops.max",
    "trees.ratio", "stretch.mean", "stretch.p50", "stretch.p99", "stretch.max",
    *(f"{side}.{count}" for side in ("honest", "through", "attackers")
      for count in ("owed", "delivered", "missing", "duplicate", "spurious")),
)  # fmt: skip
"""Quantities of the whole run alone."""
_TIMES = {
    *(f"latency.{q}" for q in _LATENCIES), "convergence.start", "convergence.p50", "convergence.max",
}  # fmt: skip
_OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
_FORM = re.compile(
    r"(?P<quantity>[a-z_][A-Za-z0-9_.]*) *(?P<operator>[=!<>~]+) *(?P<value>[^ ]+(?: +%)?)"
    r"(?: +(?P<scope>.*))?"
)
_SCOPE = re.compile(r"(after|during) +recovery|during +(?P<phase>[a-z][a-z0-9_-]*)")
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?(ns|us|ms|s|min|h)")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SHARE = re.compile(r"([0-9]+(\.[0-9]+)?) *%")
_EXAMPLE = "a quantity, a comparison and a value, as missing == 0, or latency.p99 < 50ms during steady"


def read_expectations(source: Source, data: Mapping[str, Any], times: Times) -> tuple[Expectation, ...]:
    """What the scenario expects; what makes no sense is noted in the source."""
    spec = data.get("expect") or []
    read = (_read(source, text, ("expect", i), times) for i, text in enumerate(spec) if text is not None)
    return tuple(expectation for expectation in read if expectation is not None)


def _read(source: Source, text: str, key: Key, times: Times) -> Expectation | None:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        source.complain(key, f"{text.strip()} is no expectation", _EXAMPLE)
        return None
    quantity, operator = found["quantity"], found["operator"]
    if quantity not in (*SCOPED, *WHOLE):
        known = (*SCOPED, *WHOLE)
        hint = did_you_mean(quantity, known)
        source.complain(key, f"nothing measures {quantity}", f"one of {', '.join(known)}", hint)
        return None
    if operator not in _OPERATORS:
        hint = "did you mean ==?" if operator == "=" else ""
        source.complain(key, f"{operator} compares nothing", f"one of {' '.join(_OPERATORS)}", hint)
        return None
    value = _value(source, quantity, operator, found["value"], key)
    scope = _scope(source, quantity, found["scope"] or "", key, times)
    if value is None or scope is None:
        return None
    share = quantity in _PAIRS and found["value"].endswith("%")
    return Expectation(text.strip(), quantity, operator, value, share, scope)


def _value(source: Source, quantity: str, operator: str, text: str, key: Key) -> float | None:
    if quantity == "fidelity":
        if text == "trusted" and operator == "==":
            return 1.0
        source.complain(key, "fidelity is trusted or it is not", "fidelity == trusted")
    elif quantity in _TIMES:
        if _DURATION.fullmatch(text):
            return float(duration_ns(text))
        source.complain(key, f"{quantity} is a time, and {text} is none", "a duration with a unit, as 50ms")
    elif share := _SHARE.fullmatch(text):
        if quantity in (*_PAIRS, *_RATIOS):
            return float(share[1]) / 100
        source.complain(key, f"{quantity} is no share of anything", "a number, as 0")
    elif _NUMBER.fullmatch(text):
        return float(text)
    else:
        source.complain(key, f"{quantity} is a number, and {text} is none", "a number, as 0")
    return None


def _scope(source: Source, quantity: str, text: str, key: Key, times: Times) -> str | None:
    if not text.strip():
        return ""
    found = _SCOPE.fullmatch(text.strip())
    if found is None:
        source.complain(
            key, f"{text.strip()} is no part of a run", "after recovery, or during and a phase's name"
        )
        return None
    if quantity in WHOLE:
        expected = f"{quantity} of the whole run, or one of {', '.join(SCOPED)}"
        source.complain(key, f"{quantity} is not told apart by time", expected)
        return None
    if found["phase"] is None:
        return "recovery"
    phase = times.phase(found["phase"], key)
    return phase.name if phase else None
