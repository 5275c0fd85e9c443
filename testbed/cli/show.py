"""`cbn show`: what is in a scenario, and what will happen, before anything is started."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.plans import load, load_all
from testbed.cli.timeline import both_ways, fault_rows, published_during, timeline
from testbed.plan.matrix import Cell
from testbed.plan.model import NodePlan, Plan

if TYPE_CHECKING:
    from rich.table import Table

_S = 1_000_000_000
SHOWN = 16
"""How many rows of a table are shown, unless all are asked for."""


def show(args: argparse.Namespace) -> int:
    """Show nodes, links, workload, time line, runs and expectations of a scenario."""
    cells = [cell for cell, _ in load_all(args.scenario, args.seed, args.overrides)]
    plan = load(args.scenario, args.seed, args.overrides)
    if args.json:
        print(json.dumps(summary(plan, cells), indent=1, ensure_ascii=False))
        return exits.OK
    print(f"{plan.name}: {counts(plan)}; scheme {plan.scheme}, seed {plan.seed}")
    if plan.description:
        print(plan.description.strip())
    _print_tables(_tables(plan, None if args.all else SHOWN))
    _print_matrix(cells, None if args.all else SHOWN)
    if plan.expect:
        print("\nexpected")
        print("".join(f"  {expectation.text}\n" for expectation in plan.expect), end="")
    return exits.OK


def _print_tables(tables: Iterable[Table]) -> None:
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print()
        console.print(table, highlight=False)


def _print_matrix(cells: Sequence[Cell], shown: int | None) -> None:
    if not cells:
        return
    print(f"\n{len(cells)} runs")
    print("".join(f"  {cell.name}\n" for cell in cells[:shown]), end="")
    if shown is not None and len(cells) > shown:
        print(f"  and {len(cells) - shown} more (--all)")


def counts(plan: Plan) -> str:
    """A plan in numbers."""
    actions = _actions(plan)
    return (
        f"{len(plan.routers)} routers, {len(plan.clients)} clients, {len(plan.links)} links, "
        f"{actions['subscribe']} subscriptions, {actions['publish']} messages, {_length_s(plan):g} s"
    )


def summary(plan: Plan, cells: Sequence[Cell] = ()) -> dict[str, object]:
    """A plan as plain values."""
    return {
        "name": plan.name,
        "description": plan.description,
        "path": plan.scenario_path,
        "seed": plan.seed,
        "scheme": plan.scheme,
        "routers": [node.name for node in plan.routers],
        "clients": [node.name for node in plan.clients],
        "links": [{"name": link.name, "a": link.a, "b": link.b, "cost": link.cost} for link in plan.links],
        "tags": _tags(plan),
        "actions": dict(sorted(_actions(plan).items())),
        "length_s": _length_s(plan),
        "phases": [
            {
                "name": phase.name,
                "start_s": phase.start_ns / _S,
                "end_s": phase.end_ns / _S,
                "messages": published_during(plan, phase),
            }
            for phase in plan.phases
        ],
        "faults": list(fault_rows(plan)),
        "expect": [expectation.text for expectation in plan.expect],
        "matrix": [{"cell": cell.name, **cell.values} for cell in cells],
    }


def _tags(plan: Plan) -> dict[str, list[str]]:
    """Who and what has each tag."""
    pairs = [(tag, node.name) for node in plan.nodes for tag in node.tags]
    pairs += [(tag, link.name) for link in plan.links for tag in link.tags]
    return {tag: [name for of, name in pairs if of == tag] for tag in sorted({tag for tag, _ in pairs})}


def _actions(plan: Plan) -> Counter[str]:
    return Counter(action.do for client in plan.clients for action in client.script)


def _length_s(plan: Plan) -> float:
    last_ns = [client.script[-1].at_ns for client in plan.clients if client.script]
    return max(0, *last_ns, *(phase.end_ns for phase in plan.phases), 0) / _S


def _tables(plan: Plan, shown: int | None) -> list[Table]:
    happening = timeline(plan)
    tables = [_links(plan, shown), _clients(plan, shown)]
    return [*tables, _table(("when", "what happens"), happening, None)] if happening else tables


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], shown: int | None) -> Table:
    from rich.table import Table

    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for row in rows[:shown]:
        table.add_row(*row)
    if shown is not None and len(rows) > shown:
        table.add_row(f"and {len(rows) - shown} more (--all)")
    return table


def _links(plan: Plan, shown: int | None) -> Table:
    rows = [(k.name, k.a, k.b, str(k.cost), both_ways(k.impairment, k.impairment_back)) for k in plan.links]
    return _table(("link", "from", "to", "cost", "impairment"), rows, shown)


def _clients(plan: Plan, shown: int | None) -> Table:
    rows = [(client.name, client.interfaces[0].peer, *_workload(client)) for client in plan.clients]
    return _table(("client", "at", "publishes", "subscribes to"), rows, shown)


def _workload(client: NodePlan) -> tuple[str, str]:
    published = sum(action.do == "publish" for action in client.script)
    wanted = [action.text for action in client.script if action.do == "subscribe"]
    shown = wanted[:3] + ([f"and {len(wanted) - 3} more"] if len(wanted) > 3 else [])
    return str(published), "\n".join(shown)
