"""Decides from the nodes' statuses whether a run's traffic has come to rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.plan.model import LinkPlan, Plan

Status = Mapping[str, Any]
Counts = Mapping[str, tuple[int, int]]
"""Interface -> (messages sent, messages received)."""


def message_counts(statuses: Mapping[str, Status]) -> dict[str, tuple[int, int]]:
    """What every interface of every node has sent and received."""
    return {
        row["name"]: (row["tx_messages"], row["rx_messages"])
        for status in statuses.values()
        for row in status["interfaces"]
    }


def open_links(links: Sequence[LinkPlan], counts: Counts) -> list[str]:
    """The links of which one end has sent what the other has not received."""
    return [
        f"{link.name} ({counts[link.a_interface]} / {counts[link.b_interface]})"
        for link in links
        if counts[link.a_interface] != counts[link.b_interface][::-1]
    ]


class Drain:
    """Watches the counters of successive polls.

    At rest is a network whose links have delivered all they were given and
    whose counters have not moved since the poll before: a message between
    receiving and sending inside a router shows in no link. Links that lose
    packets never agree; then `quiet_ns` without any movement is taken for rest.
    """

    def __init__(self, plan: Plan) -> None:
        self._links = plan.links
        self._quiet_ns = plan.timing.drain_quiet_ns
        self._counts: Counts = {}
        self._moved_ns = 0
        self.open: list[str] = []
        """Links whose ends disagreed at the last poll."""

    def at_rest(self, now_ns: int, statuses: Mapping[str, Status]) -> bool:
        """Take one poll; True if nothing is on its way any more."""
        counts = message_counts(statuses)
        moved, self._counts = counts != self._counts, counts
        self.open = open_links(self._links, counts)
        if moved:
            self._moved_ns = now_ns
            return False
        return not self.open or now_ns - self._moved_ns >= self._quiet_ns
