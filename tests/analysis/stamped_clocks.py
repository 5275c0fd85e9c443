"""A run whose nodes had other clocks: how its captures and events would have been stamped.

left - r1 --- r2 --- r3 - right     All clients publish and subscribe; far's subscription begins and ends
              |                     in the middle.
              r4 - far
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.judge.editing import ETHERNET_IP_UDP, Edited

MS = 1_000_000
SECOND = 1_000 * MS
PUBLISH_AT = ETHERNET_IP_UDP + 24
"""Where the time of publication is in a frame."""
PUBLISH = {"every": "100ms", "count": 200, "message": {"n": {"count": 0}}}
SCENARIO: dict[str, Any] = {
    "name": "clocks",
    "seed": 3,
    "scheme": "pif",
    "topology": {
        "routers": ["r1", "r2", "r3", "r4"],
        "links": ["r1 - r2", "r2 - r3", "r2 - r4"],
        "link_defaults": {"delay": "5ms"},
    },
    "clients": {
        "left": {"at": "r1", "subscribe": ["n any integer"], "publish": [PUBLISH]},
        "right": {"at": "r3", "subscribe": ["n any integer"], "publish": [PUBLISH]},
        "far": {
            "at": "r4",
            "subscribe": [{"predicate": "n any integer", "at": "5s", "until": "15s"}],
            "publish": [PUBLISH],
        },
    },
    "timing": {"settle": "100ms"},
}
Clock = Callable[[int], int]


def shows(offset_ns: int, ppm: int = 0, step_ns: int = 0) -> Callable[[int], Clock]:
    """A clock of a run that starts at a moment: what it shows at a time."""

    def of(start_ns: int) -> Clock:
        def shown(time_ns: int) -> int:
            since = time_ns - start_ns
            return time_ns + offset_ns + since * ppm // 1_000_000 + (step_ns if since > 10 * SECOND else 0)

        return shown

    return of


def stamped(simulated: Path, folder: Path, **clocks: Callable[[int], Clock]) -> Edited:
    """A copy of the run, as nodes with these clocks would have written it."""
    edited = Edited(Path(shutil.copytree(simulated, folder / "run")))
    start_ns = edited.events()[0]["time_ns"]
    of = {node: clock(start_ns) for node, clock in clocks.items()}
    by_id = {edited.ids[node]: clock for node, clock in of.items()}
    for name, row in edited.rows.items():
        capture = edited.capture(name)
        for frame in capture.frames:
            if row["node"] in of:
                frame.time_ns = of[row["node"]](frame.time_ns)
            for source, _ in frame.messages:
                if source in by_id:
                    assert len(frame.messages) == 1
                    (before,) = struct.unpack_from(">Q", frame.data, PUBLISH_AT)
                    struct.pack_into(">Q", frame.data, PUBLISH_AT, by_id[source](before))
                    frame.seal()
        capture.write()
    events = edited.events()
    for event in events:
        if event["node"] in of:
            event["time_ns"] = of[event["node"]](event["time_ns"])
    edited.write_events(events)
    return edited
