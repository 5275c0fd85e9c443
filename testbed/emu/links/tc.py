"""The commands for tc so that netem does what an impairment says, and how what it reads back is judged.

A frame meets two netem disciplines: the outer one keeps it until the link's
rate has sent what was before it, the inner one delays, loses and changes it.
Kernels from 6.17 on refuse netem that duplicates beside another netem: a link
that duplicates has one discipline, and no rate (`cannot`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from fastpath.cable import LONGEST_QUEUE_NS
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment

LIMIT_PACKETS = 100_000
LONGEST_QUEUE_S = LONGEST_QUEUE_NS / 1_000_000_000
"""As everywhere; but here full-sized frames are counted."""
ETHERNET_BYTES = 14
TOLERANCE = 0.01
ROUNDING = 1e-6
"""tc counts time in ticks of 64 ns and shares in parts of 2**32."""
PROBE_TIMEOUT_S = 10.0
PROBES = {"netem": "netem delay 1ms"}
DOWN = "qdisc replace dev {} root handle 2: netem loss 100%"
"""A discipline of its own: what waits in the one before goes with it."""


def kernel_lacks(discipline: str) -> str | None:
    """Why this kernel cannot do a discipline, in tc's words; None if it can.

    Tried for real, on the loopback interface of a namespace that ends with the trial.
    """
    command = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", *PROBES[discipline].split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    return (done.stderr.strip() or f"tc: exit status {done.returncode}") if done.returncode else None


def cannot(asked: Sequence[Impairment]) -> list[str]:
    """What netem cannot do of all that a link is asked for at one time or another, for people."""
    found = []
    if any(i.queue_bytes is not None for i in asked):
        found.append("a limit of the queue in bytes")
    doubles = [bool(i.duplicate) for i in asked]
    if any(doubles) and any(i.rate_bps for i in asked):
        found.append("duplication on a link with a rate")
    elif any(doubles) and not all(doubles):
        found.append("duplication at one time, or one way, and not at the other")
    shapes = {i.jitter_shape for i in asked if i.jitter_ns}
    if len(shapes) > 1:
        found.append(f"jitter of several shapes ({', '.join(sorted(shapes))})")
    return found


def commands(interface: str, impairment: Impairment, mtu: int, dilate: int = 1) -> list[str]:
    """The tc commands that impair what leaves an interface; disciplines that are there are changed."""
    outer = f"qdisc replace dev {interface} root handle 1: netem"
    if impairment.duplicate:
        return [f"{outer} limit {LIMIT_PACKETS}{_options(impairment, dilate)}"]
    inner = f"qdisc replace dev {interface} parent 1:1 handle 10: netem limit {LIMIT_PACKETS}"
    return [outer + _rate(impairment, mtu, dilate), inner + _options(impairment, dilate)]


def queue_packets(impairment: Impairment, mtu: int) -> int:
    """How many frames may be in the outer discipline, the one being sent among them."""
    assert impairment.rate_bps is not None
    if impairment.queue_packets is not None:
        return impairment.queue_packets + 1
    return max(int(impairment.rate_bps * LONGEST_QUEUE_S / (8 * (mtu + ETHERNET_BYTES))), 1) + 1


def verify(
    what: str, impairment: Impairment, found: Sequence[Mapping[str, Any]], mtu: int, dilate: int = 1
) -> None:
    """Hold what tc reads back, as JSON, against what was asked for.

    Raises:
        NetworkError: a discipline is missing or differs.
    """
    there = {str(row.get("handle")): row.get("options", {}) for row in found if row["kind"] == "netem"}
    for handle in ("1:",) if impairment.duplicate else ("1:", "10:"):
        if handle not in there:
            raise NetworkError(f"{what}: netem {handle} was asked for and is not there after tc set it")
    found_options = there["1:" if impairment.duplicate else "10:"]
    rows = _compared(impairment, found_options, dilate)
    rate = float(there["1:"].get("rate", {}).get("rate", 0))
    rows.append(("a rate in bytes/s of", (impairment.rate_bps or 0) / 8 / dilate, rate))
    if impairment.rate_bps:
        limit = float(there["1:"].get("limit", 0))
        rows.append(("a limit in packets of", queue_packets(impairment, mtu), limit))
    for name, asked, got in rows:
        if abs(asked - got) > TOLERANCE * asked + ROUNDING:
            raise NetworkError(f"{what}: asked tc for {name} {asked:g} and read back {got:g}")


def _rate(impairment: Impairment, mtu: int, dilate: int) -> str:
    if not impairment.rate_bps:
        return f" limit {LIMIT_PACKETS} rate 0bit"
    return f" limit {queue_packets(impairment, mtu)} rate {impairment.rate_bps // dilate}bit"


def _options(impairment: Impairment, dilate: int) -> str:
    """Delay, loss and the rest, as netem reads them.

    What netem would keep as it was is named, also where it is nothing.
    """
    i = impairment
    text = f" delay {_time((i.delay_ns or 0) * dilate)}"
    if i.jitter_ns:
        shape = "" if i.jitter_shape == "uniform" else f" distribution {i.jitter_shape}"
        text += f" {_time(i.jitter_ns * dilate)} {_share(i.jitter_correlation)}{shape}"
    if i.loss:
        text += _loss(i)
    if i.duplicate:
        text += f" duplicate {_share(i.duplicate)}"
    return f"{text} reorder {_share(i.reorder)} corrupt {_share(i.corrupt)}"


def _loss(impairment: Impairment) -> str:
    if impairment.loss_burst is None or impairment.loss >= 1:
        return f" loss random {_share(impairment.loss)}"
    turns_bad, turns_good = gilbert_elliott(impairment)
    return f" loss gemodel {_share(turns_bad)} {_share(turns_good)}"


def gilbert_elliott(impairment: Impairment) -> tuple[float, float]:
    """The chances to turn bad and good again of a link that loses in bursts."""
    assert impairment.loss_burst is not None
    turns_good = 1 / impairment.loss_burst
    return impairment.loss * turns_good / (1 - impairment.loss), turns_good


def _time(time_ns: int) -> str:
    """A time as tc reads it; it knows no `ns`."""
    return f"{time_ns / 1000:.3f}us"


def _share(share: float) -> str:
    return f"{share * 100:.7f}%"


def _compared(i: Impairment, options: Mapping[str, Any], dilate: int) -> list[tuple[str, float, float]]:
    """(name, asked, found) in tc's units: seconds, fractions."""

    def found(group: str, field: str) -> float:
        return float(options.get(group, {}).get(field, 0))

    rows = [
        ("a delay in seconds of", (i.delay_ns or 0) * dilate / 1e9, found("delay", "delay")),
        ("a jitter in seconds of", i.jitter_ns * dilate / 1e9, found("delay", "jitter")),
        ("a duplication of", i.duplicate, found("duplicate", "duplicate")),
        ("a reordering of", i.reorder, found("reorder", "reorder")),
        ("a corruption of", i.corrupt, found("corrupt", "corrupt")),
    ]
    if i.loss_burst is None or i.loss >= 1:
        return [*rows, ("a loss of", i.loss, found("loss-random", "loss"))]
    turns_bad, turns_good = gilbert_elliott(i)
    return [
        *rows,
        ("a chance to turn bad of", turns_bad, found("loss-gemodel", "p")),
        ("a chance to turn good of", turns_good, found("loss-gemodel", "r")),
    ]
