"""What the report shows of the fidelity certificate: figures in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.figures import axes

SHOWN_LINKS = 40
"""The worst directions of links; the others stand in the manifest."""
_TIMES = {
    "lag_p50_ns": "Scheduling lag, median",
    "lag_p99_ns": "Scheduling lag, 99 %",
    "lag_max_ns": "Scheduling lag, most",
    "client_late_p99_ns": "Clients late, 99 %",
    "router_late_p99_ns": "Routers' timers late, 99 %",
    "processor_wait_ns": "Wait for a processor, worst node",
}
_SHARES = {"busy": "Processors busy", "busy_peak": "Busiest second", "stolen": "Taken by a hypervisor"}
_COUNTS = {"socket_overflows": "Sockets overflowed", "capture_drops": "Not captured"}


def figure_lines(certificate: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Name and value of every figure that was measured."""
    figures = (certificate or {}).get("figures") or {}

    def known(names: Mapping[str, str]) -> list[tuple[str, Any]]:
        return [(title, figures[name]) for name, title in names.items() if figures.get(name) is not None]

    return [
        *((title, axes.duration(value)) for title, value in known(_TIMES)),
        *((title, f"{value:.0%}") for title, value in known(_SHARES)),
        *((title, axes.count(value)) for title, value in known(_COUNTS)),
    ]


def bits(per_second: int) -> str:
    """A rate in the unit that suits it: `10 Mbit/s`."""
    for factor, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if per_second >= factor:
            return f"{per_second / factor:.3g} {unit}"
    return f"{per_second} bit/s"
