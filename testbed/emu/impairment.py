"""Delay, jitter, loss and rate of links, by the kernel's netem and tbf, verified by reading them back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from testbed.emu.network import NetworkError, run_batch
from testbed.plan.model import Impairment, LinkPlan, Plan

NETEM_LIMIT_PACKETS = 100_000
TBF_BURST_BYTES = 32 * 1024
TBF_LATENCY_MS = 500
TOLERANCE = 0.01
ROUNDING = 1e-6
"""tc counts time in ticks of 64 ns and loss in parts of 2**32."""
PROBE_TIMEOUT_S = 10.0
PROBES = {"netem": "netem delay 1ms", "tbf": "tbf rate 10mbit burst 32kb latency 100ms"}


def needs(impairment: Impairment) -> tuple[str, ...]:
    """The queueing disciplines an impairment takes; none for an unimpaired link."""
    netem = bool(impairment.delay_ns or impairment.jitter_ns or impairment.loss)
    return (*(("netem",) if netem else ()), *(("tbf",) if impairment.rate_bps else ()))


BEYOND = {
    "loss_burst": "losses in bursts",
    "duplicate": "duplication",
    "reorder": "reordering",
    "corrupt": "corruption",
    "queue_packets": "a limit of its queue in packets",
    "queue_bytes": "a limit of its queue in bytes",
}
"""What only the simulator does, by the field of `Impairment`."""


def beyond(link: LinkPlan) -> list[str]:
    """What a link asks for that is not applied here."""
    asked = [what for field, what in BEYOND.items() if getattr(link.impairment, field)]
    return asked + (["another impairment on the way back"] if link.back is not None else [])


def kernel_lacks(discipline: str) -> str | None:
    """Why this kernel cannot do a discipline, in tc's words; None if it can.

    Tried for real, on the loopback interface of a namespace that ends with the trial.
    """
    command = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", *PROBES[discipline].split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    return (done.stderr.strip() or f"tc: exit status {done.returncode}") if done.returncode else None


def apply(plan: Plan, inside: Callable[[str], Sequence[str]]) -> int:
    """Impair both ends of every link that asks for it; returns how many links.

    Raises:
        NetworkError: tc failed, or what it read back is not what was asked for.
    """
    impaired = [link for link in plan.links if needs(link.impairment)]
    for link in impaired:
        for node, interface in ((link.a, link.a_interface), (link.b, link.b_interface)):
            what = f"link {link.name}, {interface}"
            lines = commands(interface, link.impairment)
            run_batch(what, [*inside(node), "tc", "-batch", "-"], lines)
            verify(what, link.impairment, _read_back(what, [*inside(node), "tc"], interface))
    return len(impaired)


def commands(interface: str, impairment: Impairment) -> list[str]:
    """The tc commands that impair one end: what leaves it is shaped first, then delayed or lost."""
    lines, parent = [], "root handle 1:"
    if impairment.rate_bps:
        lines.append(
            f"qdisc add dev {interface} {parent} tbf rate {impairment.rate_bps}bit "
            f"burst {TBF_BURST_BYTES} latency {TBF_LATENCY_MS}ms"
        )
        parent = "parent 1:1 handle 10:"
    if "netem" in needs(impairment):
        jitter = f" {_time(impairment.jitter_ns)}" if impairment.jitter_ns else ""
        loss = f" loss {impairment.loss * 100:.7f}%" if impairment.loss else ""
        lines.append(
            f"qdisc add dev {interface} {parent} netem limit {NETEM_LIMIT_PACKETS} "
            f"delay {_time(impairment.delay_ns or 0)}{jitter}{loss}"
        )
    return lines


def verify(what: str, impairment: Impairment, found: Sequence[Mapping[str, Any]]) -> None:
    """Hold what tc reads back, as JSON, against what was asked for.

    Raises:
        NetworkError: a discipline is missing or differs.
    """
    options = {str(row["kind"]): row.get("options", {}) for row in found}
    for discipline in needs(impairment):
        if discipline not in options:
            raise NetworkError(f"{what}: {discipline} was asked for and is not there after tc set it")
    for name, asked, got in _compared(impairment, options):
        if abs(asked - got) > TOLERANCE * asked + ROUNDING:
            raise NetworkError(f"{what}: asked tc for {name} {asked:g} and read back {got:g}")


def _time(time_ns: int) -> str:
    """A time as tc reads it; it knows no `ns`."""
    return f"{time_ns / 1000:.3f}us"


def _compared(impairment: Impairment, options: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """(name, asked, found) in tc's units: seconds, fractions, bytes a second."""
    rows = []
    if "netem" in options:
        delay, loss = options["netem"].get("delay", {}), options["netem"].get("loss-random", {})
        rows += [
            ("a delay in seconds of", (impairment.delay_ns or 0) / 1e9, float(delay.get("delay", 0))),
            ("a jitter in seconds of", impairment.jitter_ns / 1e9, float(delay.get("jitter", 0))),
            ("a loss of", impairment.loss, float(loss.get("loss", 0))),
        ]
    if "tbf" in options and impairment.rate_bps:
        rows.append(("a rate in bytes/s of", impairment.rate_bps / 8, float(options["tbf"].get("rate", 0))))
    return rows


def _read_back(what: str, tc: Sequence[str], interface: str) -> list[dict[str, Any]]:
    command = [*tc, "-json", "qdisc", "show", "dev", interface]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    if done.returncode:
        raise NetworkError(f"{what}: tc cannot read back what it set: {done.stderr.strip()}")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows
