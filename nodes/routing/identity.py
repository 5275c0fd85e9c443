"""Notices that something else announces records in our name, and keeps it from going on for ever.

A record in our name that is newer than ours comes from before our restart, was forged,
or comes from another router with our id. We announce what is true above it (`numbers`),
the first time at once and then ever less often, up to the slowest pace of a storm. For
records from before a restart and for forged ones that is all.

Another router with our id would answer each of ours. It is known by its neighbours: a
router that we are not joined to lists our id, for as long as the other is there. When
it does and we were superseded several times in close succession, we withdraw from the
network: we announce no links and forward nothing. We come back by ourselves when nothing
in our name has arrived for 2 s. If the other is there, it answers our first record, and
we withdraw again, for twice as long each time, up to 8 s. So it goes on, at a few records
each 8 s. Someone who forges records can make us withdraw, but no longer than 8 s beyond
the last of them.
"""

from __future__ import annotations

from collections.abc import Callable

from nodes.routing.effects import Log
from nodes.routing.pending import Pending
from nodes.wire.packets import Kind

ROUNDS = 8
"""So often we are superseded in close succession before we withdraw, if somebody lists our id."""
CLOSE_NS = 10_000_000_000
"""After so long without, the rounds count from the beginning."""
BACK_NS = 2_000_000_000
LONGEST_NS = 8_000_000_000
"""So long nothing in our name must have arrived before we come back, at first and at most."""


class Identity:
    """How often records in our name superseded ours of late, and whether we have withdrawn.

    Args:
        node: Our id.
        log: Takes what a person should know.
        changed: Called with the time when we withdraw and when we come back.
    """

    def __init__(self, node: int, log: Callable[[Log], None], changed: Callable[[int], None]) -> None:
        self.refused = False
        """Whether we have withdrawn."""
        self.superseded_count = 0
        """How often a record in our name was newer than ours."""
        self._listed_by: tuple[int, ...] = ()
        self._node = node
        self._log = log
        self._changed = changed
        self._rounds = 0
        self._last_ns = -CLOSE_NS
        self._wait_ns = BACK_NS
        self._logged = False

    def see(self, listed_by: tuple[int, ...]) -> None:
        """These routers list our id, and we are not joined to them."""
        self._listed_by = listed_by

    def superseded(self, now_ns: int, kind: Kind, sequence: int, announcement: Pending) -> None:
        """A record in our name is newer than ours: announce ours above it, unless we have withdrawn."""
        self.superseded_count += 1
        if self.refused:
            self._last_ns = now_ns
            return
        if announcement.at is None:
            self._count(now_ns, kind, sequence)
        announcement.want_soon(now_ns)

    def handle_timer(self, now_ns: int) -> None:
        """Come back if nothing has arrived in our name for a while."""
        due = self.next_deadline()
        if due is None or now_ns < due:
            return
        self.refused, self._rounds, self._last_ns = False, ROUNDS - 1, now_ns
        why = f"nothing has arrived in our name for {self._wait_ns / 1e9:.0f} s"
        self._log(Log("node_id_regained", {"node_id": self._node, "why": why}))
        self._wait_ns = min(2 * self._wait_ns, LONGEST_NS)
        self._changed(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        return self._last_ns + self._wait_ns if self.refused else None

    def _count(self, now_ns: int, kind: Kind, sequence: int) -> None:
        close = now_ns - self._last_ns <= CLOSE_NS
        self._rounds = self._rounds + 1 if close else 1
        self._wait_ns = self._wait_ns if close else BACK_NS
        self._logged = self._logged and close
        self._last_ns = now_ns
        self.refused = self._rounds >= ROUNDS and bool(self._listed_by)
        fields = {"kind": kind.name, "sequence": sequence}
        if self.refused:
            why = f"router {self._listed_by[0]} lists our id, and is no neighbour of ours; we withdraw"
            self._log(Log("node_id_collision", fields | {"node_id": self._node, "why": why}))
            self._changed(now_ns)
        elif not self._logged:
            self._logged = True
            why = "from before our restart, forged, or another router has our id"
            self._log(Log("own_record_received", fields | {"why": why}))
