"""When the messages of a publication are due: at a time, at a rate, by an arrival process.

Here: the keys `at every rate arrivals count from until during`. Not here: what
is published then (`workload`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, takewhile
from random import Random
from typing import Any

from testbed.plan.moments import Times
from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.quantities import duration_ns, per_second

COUNT_MAX = 1_000_000
"""Messages of one publication."""
_FOREVER_NS = 2**62
_KEYS = ("at", "every", "rate", "arrivals", "count", "from", "until", "during")


def due_times(source: Source, spec: Mapping[str, Any], key: Key, times: Times, rng: Random) -> list[int]:
    """The times in ascending order; what is wrong is noted in the source.

    Where nothing says when, there is one time all the same, so that the message
    is looked at for what may be wrong with it.
    """
    written = source.written(key)
    if problem := _problem(written):
        source.complain(key, *problem)
        return [0]
    if "at" in spec:
        return [times.moment(spec["at"], (*key, "at"))]
    if any(name not in spec for name in written if name in _KEYS):
        return [0]
    begin_ns, end_ns = _span(source, spec, key, times)
    count = spec.get("count", COUNT_MAX + 1)
    pace = _pace(source, spec, key, begin_ns, rng)
    due = list(islice(takewhile(lambda at: at < end_ns, pace), count))
    if len(due) > COUNT_MAX:
        source.complain(key, "this is more than a million messages", "a lower rate, or a shorter time")
        return due[:1]
    return due


def likely_count(source: Source, spec: Mapping[str, Any], key: Key, times: Times) -> float:
    """About how many messages that makes, without making their times; nothing is complained of."""
    known = len(source.problems)
    try:
        if "at" in spec:
            return 1
        begin_ns, end_ns = _span(source, spec, key, times)
        return float(min(spec.get("count", COUNT_MAX), (end_ns - begin_ns) * _per_ns(spec)))
    finally:
        del source.problems[known:]


def _per_ns(spec: Mapping[str, Any]) -> float:
    """Messages a nanosecond."""
    arrivals = spec.get("arrivals")
    if isinstance(arrivals, dict):
        burst = arrivals.get("burst") or {}
        return float(burst.get("size", 0) / max(duration_ns(burst.get("every", "0s")), 1))
    if "rate" in spec:
        return float(per_second(spec["rate"])) / 1e9
    return 1 / max(duration_ns(spec.get("every", "0s")), 1)


def _problem(written: Mapping[str, Any]) -> tuple[str, str] | None:
    """What of this does not go together, and what was expected."""
    if "at" in written:
        if "every" in written:
            return "both at and every say when to publish", "at for one message, every for several"
        if "count" in written or "from" in written:
            return "count and from go with every, not with at", "every"
        more = [n for n in ("rate", "arrivals", "until", "during") if n in written]
        return (f"{more[0]} does not go with at", "at alone, for one message") if more else None
    burst = isinstance(written.get("arrivals"), dict)
    if "every" in written and ("rate" in written or burst):
        return "every and rate both say how often to publish", "one of them"
    if burst and "rate" in written:
        return (
            "rate and burst both say how often to publish",
            "arrivals alone: a burst has a size and a period",
        )
    if not burst and "every" not in written and "rate" not in written:
        return "nothing says when to publish", "at, or every and count, or rate and during"
    if not any(name in written for name in ("count", "during", "until")):
        return "the key count is missing", "count: how many messages to publish, or during: a phase, or until"
    if "during" in written and ("from" in written or "until" in written):
        return "during, and from or until, both say when to publish", "one of them"
    return None


def _span(source: Source, spec: Mapping[str, Any], key: Key, times: Times) -> tuple[int, int]:
    """From when until when (not included)."""
    if "during" in spec:
        phase = times.phase(spec["during"], (*key, "during"))
        return (phase.start_ns, phase.end_ns) if phase else (0, 1)
    begin_ns = times.moment(spec["from"], (*key, "from")) if "from" in spec else 0
    if "until" not in spec:
        return begin_ns, _FOREVER_NS
    end_ns = times.moment(spec["until"], (*key, "until"))
    if end_ns <= begin_ns:
        source.complain((*key, "until"), "it would end before it begins", "a time after from")
    return begin_ns, end_ns


def _pace(source: Source, spec: Mapping[str, Any], key: Key, begin_ns: int, rng: Random) -> Iterator[int]:
    """Times without end, ascending."""
    arrivals = spec.get("arrivals", "constant")
    if isinstance(arrivals, dict):
        burst = arrivals.get("burst") or {}
        if "size" not in burst or "every" not in burst:
            return iter([begin_ns])
        return _bursts(begin_ns, burst["size"], duration_ns(burst["every"]))
    if "rate" in spec:
        period_ns = Fraction(10**9) / (per_second(spec["rate"]) or 1)
        if not per_second(spec["rate"]):
            source.complain((*key, "rate"), "the rate is zero", "a rate above zero")
    else:
        period_ns = Fraction(duration_ns(spec.get("every", "0s")))
    if arrivals == "poisson":
        return _poisson(begin_ns, float(period_ns), rng)
    if arrivals == "staggered":
        begin_ns += int(rng.random() * period_ns)
    return _constant(begin_ns, period_ns)


def _constant(begin_ns: int, period_ns: Fraction) -> Iterator[int]:
    whole, n = period_ns.denominator == 1, 0
    step = int(period_ns)
    while True:
        yield begin_ns + (n * step if whole else int(n * period_ns))
        n += 1


def _poisson(begin_ns: int, mean_ns: float, rng: Random) -> Iterator[int]:
    at = float(0)
    while True:
        at += rng.expovariate(1.0) * mean_ns
        yield begin_ns + int(at)


def _bursts(begin_ns: int, size: int, every_ns: int) -> Iterator[int]:
    n = 0
    while True:
        for _ in range(size):
            yield begin_ns + n * every_ns
        n += 1
