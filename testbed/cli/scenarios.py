"""`cbn scenarios` and `cbn show`: what there is to run, and what is in it."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.plans import load, shipped
from testbed.plan.model import Impairment, LinkPlan, NodePlan, Plan

if TYPE_CHECKING:
    from rich.table import Table

_MS = 1_000_000
_S = 1_000_000_000


def scenarios(args: argparse.Namespace) -> int:
    """List the shipped scenarios."""
    plans = {name: load(str(path), None, ()) for name, path in shipped().items()}
    if args.json:
        print(json.dumps([_summary(plan) for plan in plans.values()], indent=1, ensure_ascii=False))
        return exits.OK
    for name, plan in plans.items():
        print(f"{name}: {_counts(plan)}")
        print("".join(f"    {line}\n" for line in plan.description.strip().splitlines()), end="")
    return exits.OK


def show(args: argparse.Namespace) -> int:
    """Show nodes, links and workload of a scenario."""
    plan = load(args.scenario, args.seed, args.overrides)
    if args.json:
        print(json.dumps(_summary(plan), indent=1, ensure_ascii=False))
        return exits.OK
    print(f"{plan.name}: {_counts(plan)}; scheme {plan.scheme}, seed {plan.seed}")
    if plan.description:
        print(plan.description.strip())
    from rich.console import Console

    console = Console()
    for table in (_links(plan), _clients(plan)):
        console.print()
        console.print(table, highlight=False)
    return exits.OK


def _counts(plan: Plan) -> str:
    actions = _actions(plan)
    return (
        f"{len(plan.routers)} routers, {len(plan.clients)} clients, {len(plan.links)} links, "
        f"{actions['subscribe']} subscriptions, {actions['publish']} messages, {_length_s(plan):g} s"
    )


def _actions(plan: Plan) -> Counter[str]:
    return Counter(action.do for client in plan.clients for action in client.script)


def _length_s(plan: Plan) -> float:
    return max((action.at_ns for client in plan.clients for action in client.script), default=0) / _S


def _summary(plan: Plan) -> dict[str, object]:
    return {
        "name": plan.name,
        "description": plan.description,
        "path": plan.scenario_path,
        "seed": plan.seed,
        "scheme": plan.scheme,
        "routers": [node.name for node in plan.routers],
        "clients": [node.name for node in plan.clients],
        "links": [{"name": link.name, "a": link.a, "b": link.b, "cost": link.cost} for link in plan.links],
        "actions": dict(sorted(_actions(plan).items())),
        "length_s": _length_s(plan),
    }


def _links(plan: Plan) -> Table:
    from rich.table import Table

    table = Table("link", "from", "to", "cost", "impairment", box=None, padding=(0, 2, 0, 0))
    for link in plan.links:
        table.add_row(link.name, link.a, link.b, str(link.cost), _impairment(link))
    return table


def _impairment(link: LinkPlan) -> str:
    there, back = _one_way(link.impairment), _one_way(link.impairment_back)
    return there if there == back else f"{there or 'none'}; back: {back or 'none'}"


def _one_way(impairment: Impairment) -> str:
    parts = []
    if impairment.delay_ns is not None:
        jitter = f" ± {impairment.jitter_ns / _MS:g}" if impairment.jitter_ns else ""
        parts.append(f"{impairment.delay_ns / _MS:g}{jitter} ms")
    if impairment.loss:
        burst = f" in bursts of {impairment.loss_burst:g}" if impairment.loss_burst else ""
        parts.append(f"loses {impairment.loss:.3%}{burst}")
    shares = {"doubles": impairment.duplicate, "reorders": impairment.reorder, "corrupts": impairment.corrupt}
    parts += [f"{does} {share:.3%}" for does, share in shares.items() if share]
    if impairment.rate_bps is not None:
        parts.append(f"{impairment.rate_bps:,} bit/s")
    return ", ".join(parts)


def _clients(plan: Plan) -> Table:
    from rich.table import Table

    table = Table("client", "at", "publishes", "subscribes to", box=None, padding=(0, 2, 0, 0))
    for client in plan.clients:
        table.add_row(client.name, client.interfaces[0].peer, *_workload(client))
    return table


def _workload(client: NodePlan) -> tuple[str, str]:
    published = sum(action.do == "publish" for action in client.script)
    wanted = [action.text for action in client.script if action.do == "subscribe"]
    shown = wanted[:3] + ([f"and {len(wanted) - 3} more"] if len(wanted) > 3 else [])
    return str(published), "\n".join(shown)
