"""`cbn show`: what is in a scenario, and what will happen, before anything is started."""

from __future__ import annotations

import argparse
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json, add_scenario
from testbed.cli.output import print_json
from topologies.quantities import counted, how_many, listed

if TYPE_CHECKING:
    from rich.table import Table

    from testbed.plan.matrix import Cell
    from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Phase, Plan

_S = 1_000_000_000
_MS = 1_000_000
ROWS_SHOWN = 16
"""How many rows of a table are shown, unless all are asked for."""
NAMES_SHOWN = 6
"""How many links or nodes that fail at one moment are named."""
SHOWN_ALWAYS = 4
"""Columns of clients; the others where one has something."""
_SAME = ""

Entry = tuple[str, str]
"""When, and what."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument("--all", action="store_true", help="leave no row of a table out")
    add_json(parser)


def _show(args: argparse.Namespace) -> int:
    from testbed.cli.scenario import complaints, read, tell_notes

    scenario = read(args)
    with complaints():
        plan = scenario.plan()
        cells = [cell for cell, _ in scenario.plans()]
    tell_notes(scenario)
    if args.json:
        print_json(summary(plan, cells))
        return exits.OK
    print(f"{plan.name}: {counts(plan)}; scheme {plan.scheme}, seed {plan.seed}")
    if plan.description:
        print(plan.description.strip())
    _print_tables(_tables(plan, None if args.all else ROWS_SHOWN))
    _print_matrix(cells, None if args.all else ROWS_SHOWN)
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
    print(f"\n{how_many(len(cells), 'run')}")
    print("".join(f"  {cell.name}\n" for cell in cells[:shown]), end="")
    if shown is not None and len(cells) > shown:
        print(f"  and {len(cells) - shown} more (--all)")


def counts(plan: Plan) -> str:
    """A plan in numbers."""
    held, changed = _held(plan, "subscribe")
    changes = f" (changed {changed:,} times)" if changed else ""
    numbers = {"router": len(plan.routers), "client": len(plan.clients), "link": len(plan.links)}
    parts = [how_many(n, what) for what, n in numbers.items()]
    parts += [how_many(held, "subscription") + changes, how_many(_actions(plan)["publish"], "message")]
    return ", ".join([*parts, f"{_length_s(plan):g} s"])


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
                "messages": _published_during(plan, phase),
            }
            for phase in plan.phases
        ],
        "faults": [
            {"after": fault.after, "at_s": fault.at_ns / _S, "do": fault.do, "target": fault.target}
            for fault in plan.faults
        ],
        "traces": [
            {"link": link, "changes": len(times), "from_s": times[0] / _S, "to_s": times[-1] / _S}
            for link, times in _traced(plan).items()
        ],
        "expect": [expectation.text for expectation in plan.expect],
        "matrix": [{"cell": cell.name, **cell.values} for cell in cells],
    }


def _traced(plan: Plan) -> dict[str, list[int]]:
    """When each link is changed by a trace."""
    times: dict[str, list[int]] = {}
    for change in plan.traces:
        times.setdefault(change.target, []).append(change.at_ns)
    return times


def _tags(plan: Plan) -> dict[str, list[str]]:
    """The nodes and links that have each tag."""
    pairs = [(tag, node.name) for node in plan.nodes for tag in node.tags]
    pairs += [(tag, link.name) for link in plan.links for tag in link.tags]
    return {tag: [name for of, name in pairs if of == tag] for tag in sorted({tag for tag, _ in pairs})}


def _actions(plan: Plan) -> Counter[str]:
    return Counter(action.do for client in plan.clients for action in client.script)


def _held(plan: Plan, do: str) -> tuple[int, int]:
    """How many ids something is held under, and how often one is given something else."""
    ids = {(c.name, action.subscription) for c in plan.clients for action in c.script if action.do == do}
    return len(ids), _actions(plan)[do] - len(ids)


def _length_s(plan: Plan) -> float:
    last_ns = [client.script[-1].at_ns for client in plan.clients if client.script]
    return max(0, *last_ns, *(phase.end_ns for phase in plan.phases), 0) / _S


def _tables(plan: Plan, shown: int | None) -> list[Table]:
    happening = _timeline(plan)
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
    rows = [(k.name, k.a, k.b, str(k.cost), _properties(plan, k)) for k in plan.links]
    return _table(("link", "from", "to", "cost", "impairment"), rows, shown)


def _properties(plan: Plan, link: LinkPlan) -> str:
    """What a link does to packets, at first."""
    at_first = _both_ways(link.impairment, link.impairment_back)
    changes = len(_traced(plan).get(link.name, ()))
    return "; ".join(filter(None, [at_first, f"a trace: {counted(changes, 'change')}" if changes else ""]))


def _clients(plan: Plan, shown: int | None) -> Table:
    rows = [(client.name, client.interfaces[0].peer, *_workload(client)) for client in plan.clients]
    titles = ("client", "at", "publishes", "subscribes to", "seeks", "advertises")
    columns = [n for n in range(len(titles)) if n < SHOWN_ALWAYS or any(row[n] for row in rows)]
    return _table([titles[n] for n in columns], [[row[n] for n in columns] for row in rows], shown)


def _workload(client: NodePlan) -> tuple[str, str, str, str]:
    published = sum(action.do == "publish" for action in client.script)
    sought = {action.subscription for action in client.script if action.do == "subscribe_pattern"}
    return (
        str(published),
        _first_texts(client, "subscribe", sought),
        _first_texts(client, "subscribe_pattern"),
        _first_texts(client, "advertise"),
    )


def _first_texts(client: NodePlan, do: str, without: Collection[int] = ()) -> str:
    """What the first ids are given first, and how much more there is."""
    given = [each for each in client.script if each.do == do and each.subscription not in without]
    texts: dict[int, str] = {}
    for action in given:
        texts.setdefault(action.subscription, action.text)
    shown, changed = list(texts.values())[:3], len(given) - len(texts)
    shown += [f"and {len(texts) - 3} more"] if len(texts) > 3 else []
    return "\n".join([*shown, *([f"changed {counted(changed, 'time')}"] if changed else [])])


def _timeline(plan: Plan) -> list[Entry]:
    """All that happens to the network, in order; faults that wait for it stand below those they wait for."""
    starts = list(plan.phases)
    rows: list[Entry] = []
    for fault_when, faults in groupby(plan.faults, key=lambda f: (f.after, f.at_ns, f.do)):
        after, at_ns, do = fault_when
        while after == "start" and starts and starts[0].start_ns <= at_ns:
            rows.append(_phase(plan, starts.pop(0)))
        rows.append((_moment(after, at_ns), _happening(do, list(faults))))
    rows += [_phase(plan, phase) for phase in starts]
    return _together(rows)


def _published_during(plan: Plan, phase: Phase) -> int:
    """How many messages are published in a phase."""
    count = 0
    for client in plan.clients:
        times = [action.at_ns for action in client.script if action.do == "publish"]
        count += bisect_left(times, phase.end_ns) - bisect_left(times, phase.start_ns)
    return count


def _impairment(impairment: Impairment) -> str:
    """What one direction of a link does to packets; empty for nothing."""
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


def _both_ways(there: Impairment, back: Impairment) -> str:
    """What a link does to packets."""
    to, fro = _impairment(there), _impairment(back)
    return to if to == fro else f"{to or 'none'}; back: {fro or 'none'}"


def _phase(plan: Plan, phase: Phase) -> Entry:
    lasts = (phase.end_ns - phase.start_ns) / _S
    messages = _published_during(plan, phase)
    return f"{phase.start_ns / _S:g} s", f"phase {phase.name}, {lasts:g} s, {how_many(messages, 'message')}"


def _moment(after: str, at_ns: int) -> str:
    if after == "start":
        return f"{at_ns / _S:g} s"
    later = f" + {at_ns / _S:g} s" if at_ns else ""
    return f"converged{later}" if after == "converged" else (later.strip() or _SAME)


def _happening(do: str, faults: list[Fault]) -> str:
    names = [fault.target for fault in faults]
    impairment = faults[0].impairment
    to = ""
    if impairment is not None:
        back = faults[0].back if faults[0].back is not None else impairment
        to = f" to: {_both_ways(impairment, back) or 'nothing'}"
    return f"{do} {listed(names, NAMES_SHOWN)}{to}"


def _together(rows: list[Entry]) -> list[Entry]:
    """What happens in the same moment as the row before it, in the same row."""
    joined: list[Entry] = []
    for when, what in rows:
        if when == _SAME and joined:
            before = joined.pop()
            verb, _, rest = what.partition(" ")
            joint = f", {rest}" if before[1].startswith(f"{verb} ") else f"; {what}"
            joined.append((before[0], before[1] + joint))
        else:
            joined.append((when, what))
    return joined


COMMAND = Command("show what is in a scenario, and what will happen", _arguments, _show, SCENARIOS)
