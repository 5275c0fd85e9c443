"""When is a network ready? A pure function over the statuses of all its nodes.

Simulator and emulator use it alike; `docs/protocols.md` says why it is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

Status = Mapping[str, Any]
Statuses = Mapping[str, Status]
DIGESTS = ("link_state_digest", "interest_digest", "offer_digest")
HELD = {"subscriptions": "subscribed to", "advertisements": "advertised", "routed_patterns": "seeks"}
"""What clients hold and tell their routers, and the verb for it; patterns where routers
recognise them."""


def unconverged(
    statuses: Statuses,
    down: Collection[str] = (),
    repaired: Mapping[str, int] = MappingProxyType({}),
    absent: Collection[str] = (),
) -> list[str]:
    """Why the network is not ready, one reason a line; empty: it is.

    A network that is in several parts is ready when each of them is, and
    everybody has noticed where it ends.

    Args:
        statuses: What `status()` of every node's core returned, by the node's name.
        down: Names of nodes that are meant to be down, and of interfaces whose
            link is (both ends): their neighbours must have noticed, and nothing
            else is asked of them. Nodes that are down need no status.
        repaired: Names of interfaces (both ends) over which something must have been received
            since then: a link that was silent for a while may yet be taken for dead.
        absent: Names of clients that may be attached or not, and have no status.
    """
    routers = {n: s for n, s in statuses.items() if s["role"] == "router" and n not in down}
    clients = {n: s for n, s in statuses.items() if s["role"] == "client" and n not in down}
    return [
        *_identity_reasons(routers),
        *_adjacency_reasons(routers, down, absent),
        *_silence_reasons(routers, clients, down, repaired, absent),
        *(f"{name} is not settled" for name, status in routers.items() if not status["settled"]),
        *_digest_reasons(routers, down),
        *_exchange_reasons(routers, down),
        *_client_reasons(clients, _attachable(routers, down)),
        *_held_reasons(routers, clients, down),
    ]


def _identity_reasons(routers: Statuses) -> Iterator[str]:
    for name, status in routers.items():
        if status.get("id_refused"):
            who = f"{name} has the id {status['node_id']}"
            yield f"{who}, and so has another router, or records in its name are forged: it has withdrawn"
        elif status.get("contradicted"):
            yield f"{name} is contradicted: records stand in its name that it did not announce"


def _is_down(adjacency: Status, down: Collection[str]) -> bool:
    return adjacency["peer"] in down or adjacency["interface"] in down


def _adjacency_reasons(routers: Statuses, down: Collection[str], absent: Collection[str]) -> Iterator[str]:
    for name, status in routers.items():
        for adjacency in status["adjacencies"]:
            if _is_down(adjacency, down):
                if adjacency["state"] == "up":
                    yield f"{name} has not noticed that the link to {adjacency['peer']} is down"
            elif adjacency["state"] != "up" and adjacency["peer"] not in absent:
                yield f"{name} is not joined to {adjacency['peer']}: the link is {adjacency['state']}"


def _silence_reasons(
    routers: Statuses,
    clients: Statuses,
    down: Collection[str],
    repaired: Mapping[str, int],
    absent: Collection[str],
) -> Iterator[str]:
    asked = ((n, a) for n, s in routers.items() for a in s["adjacencies"] if a["peer"] not in absent)
    ends = [(name, adjacency) for name, adjacency in asked if not _is_down(adjacency, down)]
    ends += [(name, clients[name]) for name in sorted(_attachable(routers, down) & {*clients})]
    for name, end in ends:
        if repaired and end["received_ns"] < repaired.get(end["interface"], 0):
            yield f"{name} has received nothing over {end['interface']} since it came back"


def _digest_reasons(routers: Statuses, down: Collection[str]) -> Iterator[str]:
    for first, *others in _parts(routers, down):
        for what in DIGESTS:
            for name in others:
                if routers[name][what] != routers[first][what]:
                    yield f"{name} and {first} differ in {what}"


def _parts(routers: Statuses, down: Collection[str]) -> Iterator[list[str]]:
    """The routers that are meant to be connected with each other, part by part."""
    left = dict.fromkeys(routers)
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for name in part:  # grows while it is walked
            for adjacency in routers[name]["adjacencies"]:
                if not _is_down(adjacency, down) and adjacency["peer"] in left:
                    del left[adjacency["peer"]]
                    part.append(adjacency["peer"])
        yield part


def _exchange_reasons(routers: Statuses, down: Collection[str]) -> Iterator[str]:
    """What a scheme's routers have sent each other must be what they have received, link by link."""
    for name, status in routers.items():
        for peer in sorted({a["peer"] for a in status["adjacencies"]} & {*routers}):
            if _digests(status, "sent", peer, down) != _digests(routers[peer], "received", name, down):
                yield f"{peer} has not received all that {name} has sent it"
            if _digests(status, "requests", peer, down) != _digests(
                routers[peer], "routed_patterns", name, down
            ):
                yield f"{peer} does not hold what {name} seeks there"


def _digests(status: Status, which: str, peer: str, down: Collection[str]) -> list[str]:
    adjacencies = [a for a in status["adjacencies"] if a["peer"] == peer and a["interface"] not in down]
    return sorted(a[f"{which}_digest"] for a in adjacencies if f"{which}_digest" in a)


def _attachable(routers: Statuses, down: Collection[str]) -> set[str]:
    """Whose router is there, and the link to it."""
    return {a["peer"] for s in routers.values() for a in s["adjacencies"] if a["interface"] not in down}


def _client_reasons(clients: Statuses, attachable: Collection[str]) -> Iterator[str]:
    for name, status in clients.items():
        if name not in attachable:
            if status["attached"]:
                yield f"{name} has not noticed that its router is out of reach"
        elif not status["attached"]:
            yield f"{name} is not attached"
        elif late := [w for w in HELD if status.get(f"{w}_acknowledged") != status.get(w)]:
            for what in late:
                yield f"{name} has {status[f'{what}_acknowledged']} of {status[what]} {what} acknowledged"
        elif not status["settled"]:
            yield f"{name} is not settled"


def _held_reasons(routers: Statuses, clients: Statuses, down: Collection[str]) -> Iterator[str]:
    for router, status in routers.items():
        for adjacency in status["adjacencies"]:
            client = None if _is_down(adjacency, down) else clients.get(adjacency["peer"])
            if client is None:
                continue
            for what, verb in HELD.items():
                if adjacency.get(f"{what}_digest") != client.get(f"{what}_digest"):
                    yield f"{router} does not hold what {adjacency['peer']} {verb}{_refused(what, client)}"


def _refused(what: str, client: Status) -> str:
    """Why a client's router holds less than it, as far as it has told the client."""
    refused = client.get("refused_patterns", {}) if what == "routed_patterns" else {}
    counts = ", ".join(f"{count:,} of them ({reason})" for reason, count in refused.items())
    return f": it has refused {counts}" if counts else ""
