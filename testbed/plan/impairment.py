"""What a link does to packets, as the scenario says it: read, and checked for sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from testbed.plan.model import Impairment
from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.quantities import duration_ns, rate_bps

KEYS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "delay": ("delay_ns", duration_ns),
    "jitter": ("jitter_ns", duration_ns),
    "jitter_shape": ("jitter_shape", str),
    "jitter_correlation": ("jitter_correlation", float),
    "loss": ("loss", float),
    "loss_burst": ("loss_burst", float),
    "duplicate": ("duplicate", float),
    "reorder": ("reorder", float),
    "corrupt": ("corrupt", float),
    "rate": ("rate_bps", rate_bps),
    "queue_packets": ("queue_packets", int),
    "queue_bytes": ("queue_bytes", int),
}


def read_impairment(source: Source, told: Mapping[str, Any], key: Key, was: Impairment) -> Impairment:
    """An impairment with what is told over what it was; what makes no sense is noted in the source."""
    given = {field: read(told[name]) for name, (field, read) in KEYS.items() if name in told}
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
        for name, told in (
            ("jitter_shape", impairment.jitter_shape != "uniform"),
            ("jitter_correlation", impairment.jitter_correlation),
        ):
            if told:
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
