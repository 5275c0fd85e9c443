"""When is a network ready? A pure function over the statuses of all its nodes.

Simulator and emulator use it alike; `docs/protocols.md` says why it is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

Statuses = Mapping[str, Mapping[str, Any]]
DIGESTS = ("link_state_digest", "interest_digest")


def unconverged(statuses: Statuses, down: Collection[str] = ()) -> list[str]:
    """Why the network is not ready, one reason a line; empty: it is.

    Args:
        statuses: What `status()` of every node's core said, by the node's name.
        down: Names of nodes that are meant to be down, and of interfaces whose
            link is: nothing is asked of them.
    """
    routers = {n: s for n, s in statuses.items() if s["role"] == "router" and n not in down}
    clients = {n: s for n, s in statuses.items() if s["role"] == "client" and n not in down}
    return [
        *_adjacency_reasons(routers, down),
        *(f"{name} is not settled" for name, status in routers.items() if not status["settled"]),
        *_digest_reasons(routers),
        *_conversation_reasons(routers, down),
        *_client_reasons(clients),
        *_subscription_reasons(routers, clients),
    ]


def _adjacency_reasons(routers: Statuses, down: Collection[str]) -> Iterator[str]:
    for name, status in routers.items():
        for adjacency in status["adjacencies"]:
            excused = adjacency["peer"] in down or adjacency["interface"] in down
            if adjacency["state"] != "up" and not excused:
                yield f"{name} is not joined to {adjacency['peer']}: the link is {adjacency['state']}"


def _digest_reasons(routers: Statuses) -> Iterator[str]:
    names = list(routers)
    for what in DIGESTS:
        for name in names[1:]:
            if routers[name][what] != routers[names[0]][what]:
                yield f"{name} and {names[0]} differ in {what}"


def _conversation_reasons(routers: Statuses, down: Collection[str]) -> Iterator[str]:
    """What a scheme's routers have told each other must be what they have heard, link by link."""
    for name, status in routers.items():
        for peer in sorted({a["peer"] for a in status["adjacencies"]} & {*routers}):
            if _digests(status, "told", peer, down) != _digests(routers[peer], "heard", name, down):
                yield f"{peer} has not heard all that {name} has told it"


def _digests(status: Mapping[str, Any], which: str, peer: str, down: Collection[str]) -> list[str]:
    adjacencies = [a for a in status["adjacencies"] if a["peer"] == peer and a["interface"] not in down]
    return sorted(a[f"{which}_digest"] for a in adjacencies if f"{which}_digest" in a)


def _client_reasons(clients: Statuses) -> Iterator[str]:
    for name, status in clients.items():
        if not status["attached"]:
            yield f"{name} is not attached"
        elif status["subscriptions_acknowledged"] != status["subscriptions"]:
            done, all_ = status["subscriptions_acknowledged"], status["subscriptions"]
            yield f"{name} has {done} of {all_} subscriptions acknowledged"
        elif not status["settled"]:
            yield f"{name} is not settled"


def _subscription_reasons(routers: Statuses, clients: Statuses) -> Iterator[str]:
    for router, status in routers.items():
        for adjacency in status["adjacencies"]:
            client = clients.get(adjacency["peer"])
            if client and adjacency["subscriptions_digest"] != client["subscriptions_digest"]:
                yield f"{router} does not hold what {adjacency['peer']} subscribed to"
