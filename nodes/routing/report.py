"""What a router reports: its status as data, its tables as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nodes.model import format_expression, format_filter
from nodes.routing.patterns import Patterns, Request
from nodes.routing.schemes.base import EVERYTHING, holds_descriptors
from nodes.wire.codec import decode_filter
from nodes.wire.packets import Role

if TYPE_CHECKING:
    from nodes.routing.client_predicates import Predicates
    from nodes.routing.link import Link
    from nodes.routing.router import Router


def status(router: Router) -> dict[str, object]:
    """A JSON-ready account; `nodes.convergence` and people read it."""
    topology = router.linkstate.database.topology()
    return {
        "node": router.config.name,
        "node_id": router.config.node_id,
        "role": "router",
        "incarnation": router.incarnation,
        "scheme": router.config.scheme,
        "settled": router.settled,
        "adjacencies": [_adjacency(router, link) for link in router.links],
        "link_state_digest": topology.digest,
        "interest_digest": router.interest.database.digest(topology.nodes),
        "offer_digest": router.offer_exchange.database.digest(topology.nodes)
        if router.offer_exchange
        else "",
        "routers_known": len(topology.nodes),
        "id_refused": router.rules.identity.refused,
        "contradicted": router.contradicted,
        "superseded": router.rules.identity.superseded_count,
        "predicates": router.store.stats(),
        "held_bytes": {router.links[i].interface.name: n for i, n in router.rules.holdings.stats().items()},
        "fib_serial": router.installer.serial,
        "fib": router.installer.stats(),
        "drops": dict(sorted(router.drops.items())),
        **_patterns(router),
        **_descriptors(router),
    }


def tables(router: Router) -> str:
    """Trees and predicates by interface, one fact a line."""
    spec = router.installer.spec
    if spec is None:
        return f"{router.config.name}: no FIB yet\n"
    names = [i.name for i in router.config.interfaces] + ["monitors"] * len(router.inner)
    lines = [f"{router.config.name}: scheme {router.config.scheme}, origin class {spec.origin_class}"]
    for entry in spec.classes:
        accept, out = _named(entry.accept, names), _named(entry.out, names)
        routed = ", routers by the message's destinations" if entry.routed else ""
        lines.append(f"class {entry.header_class}: from {accept} to {out}, table {entry.table}{routed}")
    ways = spec.route.destinations if spec.route else ()
    lines += [f"router {destination}: towards {names[interface]}" for destination, interface in ways]
    for number, table in enumerate(spec.tables):
        found_by_route = spec.route is not None and spec.route.table == number
        rows = [f"router {destination}" for destination, _ in ways] if found_by_route else names
        for row, sources in table.items():
            texts = sorted(format_filter(decode_filter(f)) for s in sources for f in router.store.filters(s))
            lines += [f"table {number} {rows[row]}: {text}" for text in dict.fromkeys(texts)]
            lines += [f"table {number} {rows[row]}: everything"] if EVERYTHING in sources else []
    lines += [] if router.patterns is None else _sought(router.patterns, names)
    return "\n".join(lines) + "\n"


def _patterns(router: Router) -> dict[str, object]:
    if router.patterns is None:
        return {}
    return {"recognising": router.recognising, "patterns": router.patterns.status()}


def _descriptors(router: Router) -> dict[str, object]:
    scheme = router.scheme
    return {"descriptors": dict(scheme.descriptors)} if holds_descriptors(scheme) else {}


def _sought(patterns: Patterns, names: list[str]) -> Iterator[str]:
    """What of each pattern is asked of whom."""
    for goal in patterns.goals.values():
        who = f"pattern {goal.number} of {names[goal.link.interface.index]}: {goal.text.decode()}"
        if not goal.needs:
            lacking = () if goal.factored is None else goal.factored.lacking
            yield f"{who}: waits for {', '.join(map(format_expression, lacking))}"
        for need in goal.needs:
            if isinstance(need, Request):
                yield f"{who}: asks {names[need.interface]} for {need.text}"
            else:
                yield f"{who}: subscribes to {format_expression(need)}"


def _adjacency(router: Router, link: Link) -> dict[str, object]:
    interface = link.interface
    found: dict[str, object] = {
        "interface": interface.name,
        "peer": interface.peer_name,
        "peer_id": interface.peer_id,
        "peer_role": interface.peer_role.name.lower(),
        "state": link.state.value,
        "received_ns": link.received_ns,
        "incarnation": link.incarnation,
        "retransmissions": link.retransmissions,
    }
    found |= router.scheme_exchange.account(interface.index)
    for what, each in (("subscriptions", router.clients), ("advertisements", router.advertisements)):
        held: Predicates | None = each.by_interface.get(interface.index)
        if held is not None:
            found |= {what: len(held), f"{what}_digest": held.digest()}
    if router.patterns is not None:
        sought = router.patterns
        found |= {
            "routed_patterns": sought.count(interface.index),
            "routed_patterns_digest": sought.digest(interface.index),
        }
        if interface.peer_role is Role.ROUTER:
            found["requests_digest"] = sought.asked_digest(interface.index)
    return found


def _named(mask: int, names: list[str]) -> str:
    return " ".join(name for index, name in enumerate(names) if mask >> index & 1) or "nowhere"
