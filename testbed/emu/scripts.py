"""How far the clients are with their scripts, by the clients' own accounts."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.emu.drain import Status
from testbed.plan.model import Plan


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
    return [f"{name} could not do {n} of its actions (see its log)" for name, n in failed.items() if n]
