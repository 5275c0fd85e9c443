"""What every router should forward by at a moment of a soak, and what it says that it does.

Not here: the computation over the whole network (`tests.routing.central`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from nodes.config import NodeConfig
from nodes.model import parse_predicate
from nodes.routing.install import MATCHES_EVERYTHING
from nodes.routing.predicates import filters_of, reduced_union
from nodes.routing.schemes.base import ClassSpec, FibSpec
from nodes.wire.codec import encode_predicate
from testbed.plan.model import Plan
from testbed.plan.rendering import node_config
from testbed.runs.faults import FaultState
from tests.routing.central import Network as Whole
from tests.routing.comparison import Tables, differences

_HEAD = re.compile(r"\S+: scheme \S+, origin class (\d+)")
_CLASS = re.compile(r"class (\d+): from (.*) to (.*), table (\d+)")
_ROW = re.compile(r"table (\d+) (\S+): (.*)")


def at_moment(plan: Plan, at_ms: int) -> Whole:
    """The whole network, with what clients want and what is down, so long after time zero."""
    state = FaultState(plan)
    for fault in plan.faults:
        assert fault.after == "start", "it is not known before when this fault happens"
        if fault.at_ns <= at_ms * 1_000_000:
            state.note(fault, fault.at_ns)
    held: dict[int, dict[int, bytes]] = {node.node_id: {} for node in plan.clients}
    for node in plan.clients:
        for action in node.script:
            if action.at_ns > at_ms * 1_000_000:
                continue
            if action.do == "subscribe":
                held[node.node_id][action.subscription] = encode_predicate(parse_predicate(action.text))
            elif action.do == "unsubscribe":
                held[node.node_id].pop(action.subscription)
    wants = {client: reduced_union(each.values()) for client, each in held.items() if each}
    return Whole([node_config(plan, node, "run") for node in plan.nodes], wants, state.down)


def drifted(plan: Plan, whole: Whole, texts: Mapping[str, str]) -> list[str]:
    """How the tables that routers print differ from what they should be, a line for each router."""
    found = []
    for router, config in whole.configs.items():
        scheme = plan.scheme, plan.scheme_options
        expected = Tables.of_names(whole.expected(router, *scheme), whole.store(router, *scheme))
        if what := next(differences(printed(config, texts[config.name]), expected), None):
            found.append(f"tables of {config.name}: {what}")
    return found


def printed(config: NodeConfig, text: str) -> Tables:
    """The tables of a router that prints them like this (`nodes.routing.report`)."""
    names = {interface.name: interface.index for interface in config.interfaces}
    head, *lines = text.splitlines()
    origin = _HEAD.fullmatch(head)
    assert origin is not None, f"this router has no tables: {head}"
    classes, contents = [], dict[int, dict[int, set[bytes]]]()
    for line in lines:
        if row := _ROW.fullmatch(line):
            table = contents.setdefault(int(row[1]), {})
            table.setdefault(names[row[2]], set()).update(_filters(row[3]))
        elif entry := _CLASS.fullmatch(line):
            number, table = int(entry[1]), int(entry[4])
            classes.append(ClassSpec(number, _mask(entry[2], names), _mask(entry[3], names), table, number))
        else:
            raise ValueError(f"{config.name}: its tables have a line that is not understood: {line}")
    size = max([*contents, *(each.table for each in classes)], default=-1) + 1
    rows = tuple({i: frozenset(f) for i, f in contents.get(n, {}).items()} for n in range(size))
    return Tables(FibSpec(int(origin[1]), tuple(classes), ()), rows)


def _filters(text: str) -> Iterable[bytes]:
    wanted = MATCHES_EVERYTHING if text == "everything" else encode_predicate(parse_predicate(text))
    return filters_of(wanted)


def _mask(text: str, names: Mapping[str, int]) -> int:
    return sum(1 << names[name] for name in text.split() if name != "nowhere")
