"""Table `routers`: what each router received, sent, held and dropped, and how long messages stayed in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.catalog.course import ROUTERS
from analysis.columns import Numbers
from analysis.course.links import Ends, is_control, is_message
from analysis.messages.sketch import Sketch, joined
from analysis.network import HELD, SORTS, RouterState, drops_of, router_states
from analysis.rundir import Run

SHARES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


NO_WAITS = joined((), 0)


@dataclass(frozen=True, slots=True)
class Carried:
    """What was counted of packets and messages."""

    loads: pa.Table
    wasted: Mapping[int, int]
    """Copies from which no delivery descends, by the router to which they were sent."""
    waits: Mapping[int, Sketch]
    """How long messages were with each router."""


def routers_table(run: Run, counted: Carried) -> pa.Table:
    """The table, in the plan's order."""
    carried = _carried(run, counted.loads)
    states = {state.name: state for state in router_states(run)}
    rows: list[dict[str, Any]] = []
    for router in run.plan.routers:
        of = router.node_id
        rows.append(
            {
                "node_id": of,
                "name": router.name,
                **{name: int(numbers[of]) for name, numbers in carried.items()},
                "wasted": counted.wasted.get(of, 0),
                **_waited(counted.waits.get(of, NO_WAITS)),
                **_state(states.get(router.name)),
                "drops": _drops(run, router.name),
            }
        )
    return pa.Table.from_pylist(rows, ROUTERS.schema)


def _carried(run: Run, loads: pa.Table) -> dict[str, Numbers]:
    """By the id of the router."""
    ends, message, control = Ends.of(run, loads), is_message(loads), is_control(loads)
    count = max((node.node_id for node in run.plan.nodes), default=0) + 1

    def total(of: str, rows: NDArray[np.bool_]) -> Numbers:
        sums = np.bincount(ends.node, np.where(rows, loads[of].to_numpy(), 0), minlength=count)
        return sums.astype(np.int64)

    return {
        "entered": total("packets", message & ~ends.sent & ends.access),
        "received": total("packets", message & ~ends.sent & ~ends.access),
        "forwarded": total("packets", message & ends.sent & ~ends.access),
        "delivered": total("packets", message & ends.sent & ends.access),
        "control_sent": total("packets", control & ends.sent),
        "control_sent_bytes": total("bytes", control & ends.sent),
        "control_received": total("packets", control & ~ends.sent),
        "control_received_bytes": total("bytes", control & ~ends.sent),
    }


def _waited(times: Sketch) -> dict[str, float | None]:
    quantiles: list[float | None] = [*times.quantiles(SHARES.values())]
    known = quantiles or [None] * len(SHARES)
    return {"timed": times.count} | {
        f"waited_{name}_ns": time_ns for name, time_ns in zip(SHARES, known, strict=True)
    }


def _drops(run: Run, router: str) -> list[tuple[str, int]] | None:
    """By reason; None: it left no status that can be read."""
    with suppress(OSError, ValueError):
        return sorted((reason, count) for reason, count in drops_of(run, router).items() if count)
    return None


def _state(state: RouterState | None) -> dict[str, int | None]:
    """Of its FIB, and of descriptors; None: its last status is not known."""
    held, sorts = (state.held, state.descriptors) if state else (None, None)
    of_fib = {"fib_bytes" if key == "bytes" else key: held[key] if held else None for key in HELD}
    return of_fib | {f"{sort.lower()}s": sorts[sort] if sorts else None for sort in SORTS}
