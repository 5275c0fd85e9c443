"""How far clients are with their scripts, and whether all messages have arrived, by nodes' statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.live.fabric import Status
from testbed.plan.model import Impairment, LinkPlan, Plan
from testbed.runs.world import not_carried_out

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
    """The links of which one end has sent what the other has not received; who is silent says nothing."""
    return [
        f"{link.name} ({counts[link.a_interface]} / {counts[link.b_interface]})"
        for link in links
        if link.a_interface in counts
        and link.b_interface in counts
        and counts[link.a_interface] != counts[link.b_interface][::-1]
    ]


def asked(plan: Plan, link: LinkPlan) -> list[Impairment]:
    """All that a link is to do to packets, one way or the other, at one time or another."""
    found = [link.impairment, link.impairment_back]
    for change in plan.changes_of_links:
        if change.target == link.name and change.impairment is not None:
            found += [change.impairment, change.back or change.impairment]
    return found


def lossy_links(plan: Plan) -> set[str]:
    """The links on which the plan lets messages go: by what it does to packets, or by faults.

    Nodes that crash forget their counters, and those that pause leave what
    comes lying until the kernel holds no more.
    """
    disturbed = {fault.target for fault in plan.faults}
    return {
        link.name
        for link in plan.links
        if disturbed & {link.name, link.a, link.b} or any(map(_loses, asked(plan, link)))
    }


def _loses(i: Impairment) -> bool:
    return bool(i.loss or i.duplicate or i.corrupt or i.rate_bps)


class Drain:
    """Watches the counters of successive polls.

    At rest is a network whose links have delivered all they were given, whose routers
    hold back nothing to recognise patterns in, and whose counters have not moved since
    the poll before: a message between
    receiving and sending inside a router shows in no link. Links that lose
    packets never agree; then `quiet_ns` without any movement is taken for rest.
    """

    def __init__(self, plan: Plan) -> None:
        lossy = lossy_links(plan)
        self._lossy = [link for link in plan.links if link.name in lossy]
        self._links = [link for link in plan.links if link.name not in lossy]
        self._quiet_ns = plan.timing.drain_quiet_ns
        self._counts: Counts = {}
        self._moved_ns = 0
        self.open: list[str] = []
        """Links whose ends disagreed at the last poll, and were to lose nothing."""

    def at_rest(self, now_ns: int, statuses: Mapping[str, Status]) -> bool:
        """Take one poll; True if nothing is on its way any more."""
        counts = message_counts(statuses)
        moved, self._counts = counts != self._counts, counts
        self.open = open_links(self._links, counts)
        recognising = any(status["core"].get("recognising") for status in statuses.values())
        if moved or recognising:
            self._moved_ns = now_ns
            return False
        agreed = not self.open and not open_links(self._lossy, counts)
        return agreed or now_ns - self._moved_ns >= self._quiet_ns


def scripted_actions(plan: Plan) -> int:
    """How many actions the scripts hold."""
    return sum(len(client.script) for client in plan.clients)


def script_length_ns(plan: Plan) -> int:
    """When the last action of all scripts is due, counted from the start."""
    return max((action.at_ns for client in plan.clients for action in client.script), default=0)


def done_actions(plan: Plan, statuses: Mapping[str, Status]) -> int:
    """How many of them the clients have done; those that do not answer count with none."""
    whole = {client.name: len(client.script) for client in plan.clients}
    return sum(whole[name] - int(status["core"]["script_remaining"]) for name, status in statuses.items())


def failed_actions(statuses: Mapping[str, Status]) -> list[str]:
    """What there is to say about actions that clients could not do."""
    failed = {name: int(status["core"]["script_failed"]) for name, status in statuses.items()}
    return not_carried_out(failed)
