"""Plants defects in a copy of a run directory, each of which the analysis has to name.

The run is that of `SCENARIO`: r1, r2 and r3 in a row, r4 beside r2, messages both ways.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.judge.editing import ETHERNET_IP_UDP, HOP_COUNT, Edited, Frame

SCENARIO: Mapping[str, Any] = {
    "name": "planted",
    "seed": 11,
    "scheme": "pif",
    "topology": {
        "routers": ["r1", "r2", "r3", "r4"],
        "links": ["r1 - r2", "r2 - r3", "r2 - r4"],
        "link_defaults": {"delay": "5ms"},
    },
    "clients": {
        "left": {
            "at": "r1",
            "subscribe": ["n >= 100"],
            "publish": [{"every": "20ms", "count": 40, "message": {"n": {"count": 0}, "pad": "x" * 120}}],
        },
        "right": {
            "at": "r3",
            "subscribe": ["n < 100"],
            "publish": [{"every": "20ms", "count": 40, "message": {"n": {"count": 100}, "pad": "y" * 120}}],
        },
        "far": {"at": "r4", "subscribe": [{"predicate": "n < 20"}, {"predicate": "n > 120"}]},
    },
    "faults": [{"at 900ms": "link_down r2 - r4 for 100ms"}],
    "timing": {"settle": "100ms"},
}
LEFT_MESSAGE = 10
"""Sequence of a message of `left` that is delivered to `right` and `far`."""
CLOCK_NS = 50_000_000


Id = tuple[int, int]
"""Of a message: source and sequence."""


@dataclass(frozen=True)
class Planted:
    """A defect, and what the analysis has to say of it."""

    plant: Callable[[Edited], None]
    key: str
    """Of `checks`."""
    named: tuple[str, ...]
    """What the problem names."""
    count: int | None = None
    """Of `checks`; None: one or more."""


def _message_of(edited: Edited, client: str, position: int) -> Id:
    """The id of a client's n-th message."""
    published = [e for e in edited.events() if e["event"] == "publish" and e["node"] == client]
    return published[position]["source"], published[position]["sequence"]


def _change(edited: Edited, interface: str, message: Id, change: Callable[[Frame], None]) -> None:
    """Change the one frame of a capture that holds a message, and make its checksum right."""
    capture = edited.capture(interface)
    [frame] = [frame for frame in capture.frames if message in frame.messages]
    assert frame.messages == [message], "the frame holds nothing else"
    change(frame)
    frame.seal()
    capture.write()


def altered_payload(edited: Edited) -> None:
    """A byte of a text in the copy that left r3 for `right`."""

    def change(frame: Frame) -> None:
        frame.data[frame.data.rindex(b"xx")] = ord("z")

    _change(edited, edited.interface("r3", "right"), _message_of(edited, "left", LEFT_MESSAGE), change)


def hop_count(edited: Edited) -> None:
    """A delivery that claims to have passed 40 routers."""

    def change(frame: Frame) -> None:
        frame.data[ETHERNET_IP_UDP + HOP_COUNT] = 40

    _change(edited, edited.interface("r3", "right"), _message_of(edited, "left", LEFT_MESSAGE), change)


def wrong_clock(edited: Edited) -> None:
    """The clock of r2 goes 50 ms ahead of the others."""
    for interface in edited.interfaces("r2"):
        capture = edited.capture(interface)
        for frame in capture.frames:
            frame.time_ns += CLOCK_NS
        capture.write()


def swapped_ends(edited: Edited) -> None:
    """The captures of the two ends of a link."""
    edited.exchange(edited.interface("r1", "r2"), edited.interface("r2", "r1"))


def swapped_access(edited: Edited) -> None:
    """The captures of two access links."""
    edited.exchange(edited.interface("r1", "left"), edited.interface("r3", "right"))


def cut_between_records(edited: Edited) -> None:
    """The second half of a capture is not there, and the index says that this is all."""
    interface = edited.interface("r2", "r1")
    frames = iter(range(len(edited.capture(interface).frames) // 2))
    edited.keep(interface, lambda _: next(frames, None) is not None)


def no_crossings(edited: Edited) -> None:
    """All crossings of a delivered message."""
    message = _message_of(edited, "left", LEFT_MESSAGE)
    between = [name for name, row in edited.rows.items() if row["peer_role"] == "router"]
    assert sum(edited.keep(name, lambda frame: message not in frame.messages) for name in between)


def unlogged_subscription(edited: Edited) -> None:
    """The subscription of `right` is not in the events; SUBSCRIBE is in the capture."""
    edited.write_events(
        e for e in edited.events() if not (e["event"] == "subscribe" and e["node"] == "right")
    )


def undone_publication(edited: Edited) -> None:
    """A publication that was planned and never happened."""
    action = {"at_ns": 500_000_000, "do": "publish", "subscription": 0, "text": "n = 77"}
    edited.plan_more("right", action)


def undone_subscription(edited: Edited) -> None:
    """A subscription that was planned and never happened."""
    action = {"at_ns": 500_000_000, "do": "subscribe", "subscription": 7, "text": "n = 77"}
    edited.plan_more("far", action)


def no_fixpoints(edited: Edited) -> None:
    """No `converged` is in the events; the manifest lists them."""
    edited.write_events(e for e in edited.events() if e["event"] != "converged")


def early_fixpoint(edited: Edited) -> None:
    """The network claims to have converged as soon as a link is down, before any router can know."""
    events = edited.events()
    at = next(i for i, event in enumerate(events) if event["event"] == "fault")
    fault = events[at]
    claim = {
        "time_ns": fault["time_ns"] + 1,
        "node": "",
        "n": fault["n"],
        "event": "converged",
        "after_ns": 1,
    }
    edited.write_events([*events[: at + 1], claim, *events[at + 1 :]])


def other_interest(edited: Edited) -> None:
    """What r3 announced is not what `right` subscribed to: n < 50, not n < 100."""
    capture = edited.capture(edited.interface("r3", "r2"))
    front = struct.pack(">IQ", edited.ids["r3"], 1)  # an announcement: its origin, and its number
    told = [frame for frame in capture.frames if front in frame.data]
    for frame in told:
        at = frame.data.find(struct.pack(">q", 100), frame.data.index(front))
        if at >= 0:
            frame.data[at : at + 8] = struct.pack(">q", 50)
            frame.seal()
    capture.write()


def deleted_captures(edited: Edited) -> None:
    """All captures of r4, at which `far` is."""
    for interface in edited.interfaces("r4"):
        (edited.path / "captures" / edited.rows[interface]["file"]).unlink()


def truncated_captures(edited: Edited) -> None:
    """All captures of r4 end in the middle of a record."""
    for interface in edited.interfaces("r4"):
        path = edited.path / "captures" / edited.rows[interface]["file"]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 1])


def snapped(edited: Edited) -> None:
    """All frames were captured up to 128 bytes."""
    for interface in edited.rows:
        capture = edited.capture(interface)
        for frame in capture.frames:
            del frame.data[128:]
        capture.write()


DEFECTS: Mapping[str, Planted] = {
    "altered payload": Planted(altered_payload, "altered", ("left", "r3", "right"), 1),
    "hop count 40": Planted(hop_count, "pathless", ("left", "right"), 1),
    "a router's clock off by 50 ms": Planted(wrong_clock, "clock_offsets", ("r2", "50"), 1),
    "two ends of a link swapped": Planted(swapped_ends, "swapped_captures", ("r1-eth", "r2-eth"), 1),
    "two access captures swapped": Planted(swapped_access, "swapped_captures", ("r1-eth", "r3-eth"), 1),
    "capture cut between records": Planted(cut_between_records, "pathless", ("r2",)),
    "all crossings of a message gone": Planted(no_crossings, "pathless", ("left",)),
    "a subscription not in the events": Planted(unlogged_subscription, "unlogged", ("right",), 1),
    "a publication without a trace": Planted(undone_publication, "undone", ("right",), 1),
    "a subscription without a trace": Planted(undone_subscription, "undone", ("far",), 1),
    "no converged events": Planted(no_fixpoints, "convergence_events", ("converged",)),
    "a fixpoint that was none": Planted(early_fixpoint, "calm", ("r2",)),
    "interest that nobody has": Planted(other_interest, "calm", ("r3", "interest")),
    "a router's captures deleted": Planted(deleted_captures, "incomplete_captures", ("r4-eth",), 2),
    "a router's captures truncated": Planted(truncated_captures, "incomplete_captures", ("r4-eth",), 2),
    "frames captured up to 128 bytes": Planted(snapped, "incomplete_captures", ("r1-eth",)),
}
UNKNOWN = (
    "a router's captures deleted",
    "a router's captures truncated",
    "frames captured up to 128 bytes",
)
"""After these, deliveries are unknown and none is missing."""
