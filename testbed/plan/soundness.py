"""What must hold within a plan, for worlds rely on it and a plan on disk may have been edited.

Plans that `load_plan` makes hold together by construction. Names become names
of files and interfaces, so theirs is the strictest rule. Not here: types and
keys (`nodes.records`), nor whether the experiment makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import AddressValueError, IPv4Address
from itertools import islice

from nodes.config import Action
from nodes.model import PredicateSyntaxError, UsageError, parse_message, parse_predicate
from nodes.scheme_catalog import CATALOG, option_problem
from nodes.wire.packets import Role
from testbed.plan.graph import NODES_MAX
from testbed.plan.model import (
    FAULT_AFTER,
    JITTER_SHAPES,
    Impairment,
    InterfacePlan,
    LinkPlan,
    NodePlan,
    Plan,
)
from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.fault_kinds import APPLIED, KINDS

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NODE_NAME = re.compile(r"[a-z][a-z0-9-]{0,8}")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_SHARES = ("loss", "duplicate", "reorder", "corrupt", "jitter_correlation")
_ACTIONS = ("subscribe", "unsubscribe", "publish")

Complaint = tuple[Key, str, str]
"""Where, what is wrong, what was expected."""


TOLD_MAX = 20
"""One wrong replacement in an editor is wrong a thousand times."""


def check_soundness(source: Source, plan: Plan) -> None:
    """Note what no world could carry out, the first of it if there is much."""
    parts = (_whole, _nodes, _interfaces, _links, _faults, _scripts)
    complaints = (complaint for part in parts for complaint in part(plan))
    for key, message, expected in islice(complaints, TOLD_MAX):
        source.complain(key, message, expected)


def _whole(plan: Plan) -> Iterator[Complaint]:
    if not _RUN_NAME.fullmatch(plan.name):
        yield ("name",), f"{plan.name!r} is no name of a run", "letters, digits, dots, dashes, underscores"
    if plan.seed < 0:
        yield ("seed",), "the seed is negative", "a whole number from 0 on"
    if not 1 <= plan.hop_limit <= 255:
        yield ("hop_limit",), f"{plan.hop_limit} is no hop limit", "1 to 255"
    if plan.scheme not in CATALOG:
        yield ("scheme",), f"there is no scheme {plan.scheme!r}", f"one of {', '.join(sorted(CATALOG))}"
        return
    known = {option.name for option in CATALOG[plan.scheme]}
    for name, value in plan.scheme_options.items():
        here = ("scheme_options", name)
        if name not in known:
            yield here, f"{plan.scheme} has no option {name}", f"one of {', '.join(sorted(known)) or 'none'}"
        elif expected := option_problem(plan.scheme, name, value):
            yield here, f"{value!r} is no {name} of {plan.scheme}", expected


def _nodes(plan: Plan) -> Iterator[Complaint]:
    if not plan.routers:
        yield ("nodes",), "there is no router", "at least one"
    if len(plan.nodes) > NODES_MAX:
        yield ("nodes",), f"there are {len(plan.nodes)} nodes", f"at most {NODES_MAX}"
    seen: set[str] = set()
    for at, node in enumerate(plan.nodes):
        if not _NODE_NAME.fullmatch(node.name):
            expected = "a lower-case letter, then at most 8 lower-case letters, digits and dashes"
            yield ("nodes", at, "name"), f"{node.name!r} is no name of a node", expected
        if node.name in seen:
            yield ("nodes", at, "name"), f"the name {node.name} stands twice", "names that are unique"
        seen.add(node.name)
        if node.node_id != at + 1:
            yield ("nodes", at, "node_id"), f"the id is {node.node_id}", f"{at + 1}: ids count from 1"
        if node.role is Role.ROUTER and at >= len(plan.routers):
            yield ("nodes", at, "role"), "a router after a client", "routers first"


def _interfaces(plan: Plan) -> Iterator[Complaint]:
    ends = {
        end: (link, number)
        for number, link in enumerate(plan.links)
        for end in (link.a_interface, link.b_interface)
    }
    for at, node in enumerate(plan.nodes):
        for index, interface in enumerate(node.interfaces):
            key: Key = ("nodes", at, "interfaces", index)
            for more, message, expected in _interface(node, index, interface, ends):
                yield (*key, *more), message, expected


def _interface(
    node: NodePlan, index: int, made: InterfacePlan, ends: Mapping[str, tuple[LinkPlan, int]]
) -> Iterator[Complaint]:
    if (made.index, made.name) != (index, f"{node.name}-eth{index}"):
        yield (), f"this is interface {made.index}, {made.name}", f"{index}, {node.name}-eth{index}"
        return
    link, number = ends.get(made.name, (None, -1))
    if link is None or made.link != number or {link.a, link.b} != {node.name, made.peer}:
        yield ("link",), f"no link {made.link} joins {made.name} with {made.peer}", "the position of one"
    for name in ("address", "peer_address"):
        try:
            IPv4Address(getattr(made, name))
        except AddressValueError as error:
            yield (name,), f"not an address: {error}", "an IPv4 address"
    for name in ("mac", "peer_mac"):
        if not _MAC.fullmatch(getattr(made, name)):
            yield (name,), f"{getattr(made, name)!r} is no MAC", "six bytes as in 02:00:00:00:00:01"


def _links(plan: Plan) -> Iterator[Complaint]:
    interfaces = {i.name: (n.name, i.peer) for n in plan.nodes for i in n.interfaces}
    names: set[str] = set()
    for at, link in enumerate(plan.links):
        if link.name in names or not link.name:
            yield ("links", at, "name"), f"the name {link.name!r} stands twice, or is none", "unique names"
        names.add(link.name)
        for end, name in ((0, "a_interface"), (1, "b_interface")):
            wanted = (link.a, link.b) if end == 0 else (link.b, link.a)
            if interfaces.get(getattr(link, name)) != wanted:
                told = f"{wanted[0]} has no interface {getattr(link, name)} towards {wanted[1]}"
                yield ("links", at, name), told, "one of the node's own"
        if not 256 <= link.mtu <= 65535 or link.cost < 1:
            yield ("links", at), "the MTU or the cost is out of bounds", "256 to 65535; at least 1"
        yield from _impairment(link.impairment, ("links", at, "impairment"))
        yield from _impairment(link.back, ("links", at, "back"))


def _impairment(way: Impairment | None, key: Key) -> Iterator[Complaint]:
    if way is None:
        return
    for name in _SHARES:
        if not 0 <= getattr(way, name) <= 1:
            yield (*key, name), f"{getattr(way, name)} is no share", "0 to 1"
    for name in ("delay_ns", "jitter_ns", "queue_packets", "queue_bytes"):
        if (getattr(way, name) or 0) < 0:
            yield (*key, name), f"{getattr(way, name)} is negative", "a whole number from 0 on"
    if way.jitter_shape not in JITTER_SHAPES:
        yield (*key, "jitter_shape"), f"no shape {way.jitter_shape!r}", f"one of {', '.join(JITTER_SHAPES)}"
    if way.rate_bps is not None and way.rate_bps < 1:
        yield (*key, "rate_bps"), f"{way.rate_bps} is no rate", "at least 1 bit a second, or null"


def _faults(plan: Plan) -> Iterator[Complaint]:
    links, nodes = {link.name for link in plan.links}, {node.name for node in plan.nodes}
    for at, fault in enumerate(plan.faults):
        key: Key = ("faults", at)
        if fault.do not in APPLIED:
            yield (*key, "do"), f"there is no fault {fault.do!r}", f"one of {', '.join(APPLIED)}"
            continue
        on_link = KINDS[fault.do].target == "link"
        if fault.target not in (links if on_link else nodes):
            kind = "link" if on_link else "node"
            yield (*key, "target"), f"there is no {kind} {fault.target!r}", f"the name of a {kind}"
        if fault.at_ns < 0 or fault.after not in FAULT_AFTER:
            yield key, "it is at no time", f"at_ns from 0 on, after: one of {', '.join(FAULT_AFTER)}"
        yield from _impairment(fault.impairment, (*key, "impairment"))
        yield from _impairment(fault.back, (*key, "back"))


def _scripts(plan: Plan) -> Iterator[Complaint]:
    for at, node in enumerate(plan.nodes):
        for number, action in enumerate(node.script):
            if wrong := _wrong_action(action):
                yield ("nodes", at, "script", number), *wrong
        if node.script and node.role is not Role.CLIENT:
            yield ("nodes", at, "script"), f"{node.name} is a router", "scripts of clients alone"
        times = [action.at_ns for action in node.script]
        if times != sorted(times):
            yield ("nodes", at, "script"), "the actions are not in order of time", "ascending at_ns"


def _wrong_action(action: Action) -> tuple[str, str] | None:
    if action.do not in _ACTIONS:
        return f"nobody can {action.do!r}", f"one of {', '.join(_ACTIONS)}"
    try:
        if action.do == "subscribe":
            parse_predicate(action.text)
        elif action.do == "publish":
            parse_message(action.text)
    except (PredicateSyntaxError, UsageError) as error:
        return str(error), "a predicate" if action.do == "subscribe" else "a message"
    return None
