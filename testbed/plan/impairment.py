"""What a link does to packets, in the words of scenarios: read, checked, changed while in use, written.

Not here: which values the words take (the scenario's schema).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from testbed.plan.model import Impairment
from testbed.plan.problems import Key, Problem, ScenarioError, did_you_mean
from testbed.plan.shape import check_part
from testbed.plan.source import Source
from topologies.quantities import duration_ns, rate_bps, rate_text

KEYS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "delay": ("delay_ns", duration_ns),
    "jitter": ("jitter_ns", duration_ns),
    "jitter_shape": ("jitter_shape", str),
    "jitter_correlation": ("jitter_correlation", float),
    "loss": ("loss", float),
    "rate": ("rate_bps", rate_bps),
    "loss_burst": ("loss_burst", float),
    "duplicate": ("duplicate", float),
    "reorder": ("reorder", float),
    "corrupt": ("corrupt", float),
    "queue_packets": ("queue_packets", int),
    "queue_bytes": ("queue_bytes", int),
}
NOTHING = Impairment()
_NANOSECONDS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


def read_impairment(source: Source, spec: Mapping[str, Any], key: Key, was: Impairment) -> Impairment:
    """An impairment with what is given over what it was; what makes no sense is noted in the source."""
    given = {field: read(spec[name]) for name, (field, read) in KEYS.items() if name in spec}
    impairment = replace(was, **given)
    if given:
        for name, message, expected in _problems(impairment):
            source.complain((*key, name), message, expected)
    return impairment


def _problems(impairment: Impairment) -> list[tuple[str, str, str]]:
    """(key, what is wrong, what was expected)."""
    found = []
    if impairment.jitter_ns > (impairment.delay_ns or 0):
        found.append(("jitter", "the jitter is greater than the delay", "a delay that is no smaller"))
    if not impairment.jitter_ns:
        for name, spec in (
            ("jitter_shape", impairment.jitter_shape != "uniform"),
            ("jitter_correlation", impairment.jitter_correlation),
        ):
            if spec:
                found.append((name, "the delay does not vary", "a jitter above zero"))
    if impairment.reorder and not impairment.delay_ns:
        found.append(("reorder", "without a delay nothing can overtake", "a delay above zero"))
    if impairment.rate_bps == 0:
        found.append(("rate", "the rate is zero", "a rate above zero, or no rate for an unlimited link"))
    for name, limit in (("queue_packets", impairment.queue_packets), ("queue_bytes", impairment.queue_bytes)):
        if limit is not None and impairment.rate_bps is None:
            found.append((name, "nothing waits on a link without a rate", "a rate"))
    return found + _burst_problems(impairment.loss, impairment.loss_burst)


def _burst_problems(loss: float, burst: float | None) -> list[tuple[str, str, str]]:
    if burst is None:
        return []
    if not loss:
        return [("loss_burst", "nothing is lost on this link", "a loss above zero")]
    if loss < 1 and burst * (1 - loss) < loss:
        least = loss / (1 - loss)
        why = f"losses of {burst:g} packets cannot make up {loss:.3g} of all"
        return [("loss_burst", why, f"at least {least:.4g}, so that one packet gets through between two")]
    return []


@dataclass(frozen=True, slots=True)
class Ways:
    """What a link does to packets, there and back."""

    there: Impairment = NOTHING
    back: Impairment = NOTHING

    def turned(self) -> Ways:
        """The same link, looked at from its other end."""
        return Ways(self.back, self.there)


def changed(was: Ways, spec: Mapping[str, Any], what: str = "the link") -> Ways:
    """What the link is to do from now on.

    Args:
        was: what it does now.
        spec: as in a scenario: `{"delay": "30ms", "back": {"loss": 0.1}}`. What is given holds
            both ways, what `back` says for the way back alone; a value None takes that away.
        what: what to call the link in complaints.

    Raises:
        ScenarioError: a word or a value is none; the problems say all that is wrong.
    """
    both = {word: value for word, value in spec.items() if word != "back"}
    back = spec.get("back") or {}
    problems: list[Problem] = []
    there = _read(was.there, both, what, problems)
    if not problems:  # else it would be said twice
        ways = Ways(there, _read(was.back, {**both, **back}, f"{what}, on its way back", problems))
    if problems:
        raise ScenarioError(problems)
    return ways


def words(impairment: Impairment) -> dict[str, object]:
    """What a link does to packets, as a scenario would say it; empty if nothing."""
    found = ((word, name, getattr(impairment, name)) for word, (name, _) in KEYS.items())
    return {word: _said(name, value) for word, name, value in found if value != getattr(NOTHING, name)}


def _read(was: Impairment, spec: Mapping[str, Any], what: str, problems: list[Problem]) -> Impairment:
    source = Source(what, "", "", {word: value for word, value in spec.items() if value is not None})
    shaped = check_part(source, "back")
    away = [word for word, value in spec.items() if value is None]
    for word in away:
        if word not in KEYS:
            source.complain((word,), "unknown key", f"one of {', '.join(KEYS)}", did_you_mean(word, KEYS))
    taken = [KEYS[word][0] for word in away if word in KEYS]
    bare = replace(was, **{name: getattr(NOTHING, name) for name in taken})
    made = read_impairment(source, shaped, (), bare)
    problems += [replace(problem, line=0, column=0) for problem in source.problems]
    return made


def _said(name: str, value: Any) -> object:
    if name.endswith("_bps"):
        return rate_text(value)
    if not name.endswith("_ns"):
        return value
    unit, size = next((unit, size) for unit, size in _NANOSECONDS if value % size == 0)
    return f"{value // size}{unit}"
