"""Clients that subscribe and publish at random over a network of cores, and what they are owed."""

from __future__ import annotations

import random
from collections import Counter

from nodes.config import Action
from nodes.model import Predicate, advertised, matches, parse_message, parse_predicate
from tests.routing.fabric import SECOND, Conditions, Network, configure

Edges = list[tuple[int, int, int]]


def scripts(rng: random.Random, clients: int, messages: int = 15) -> dict[str, list[Action]]:
    """Clients that subscribe to one to three predicates and publish."""
    found = {}
    for number in range(1, clients + 1):
        wants = [
            rng.choice(
                [f"x > {rng.randrange(10)}", f"x = {rng.randrange(10)}", f'k >* "{rng.choice("abc")}"']
            )
            for _ in range(rng.randrange(1, 4))
        ]
        actions = [Action(-1, "subscribe", i, text) for i, text in enumerate(wants)]
        for _ in range(messages):
            text = f'x = {rng.randrange(10)}, k = "{rng.choice("abcd")}z"'
            actions.append(Action(rng.randrange(SECOND), "publish", 0, text))
        found[f"c{number}"] = actions
    return found


def populated(edges: Edges, seed: int, conditions: Conditions = Conditions(), clients: int = 6) -> Network:  # noqa: B008
    rng = random.Random(seed)
    routers = max(max(a, b) for a, b, _ in edges)
    places = {f"c{i}": rng.randrange(1, routers + 1) for i in range(1, clients + 1)}
    return Network(configure(edges, places), seed, conditions, scripts(rng, clients))


def start(network: Network) -> None:
    for name in network.scripts:
        network.client(name).start(network.now_ns)
        network.after(name)


def advertisements(rng: random.Random) -> list[Action]:
    """One to three advertisements of a client, to be told before it begins."""
    texts = [
        rng.choice(
            [
                f"x < {rng.randrange(10)} and k any string",
                f"x = {rng.randrange(10)} and x = {rng.randrange(10)} and k any string",
                f'x any integer and k >* "{rng.choice("abc")}"',
            ]
        )
        for _ in range(rng.randrange(1, 4))
    ]
    return [Action(-1, "advertise", i, text) for i, text in enumerate(texts)]


def within(events: list[dict[str, object]]) -> list[dict[str, object]]:
    """The events without publications of what their publishers have not advertised, by the model (M5)."""
    held: dict[object, list[Predicate]] = {}
    for e in events:
        if e["event"] == "advertise":
            held.setdefault(e["node"], []).append(parse_predicate(str(e["predicate"])))
    return [
        e
        for e in events
        if e["event"] != "publish"
        or any(advertised(each, parse_message(str(e["message"]))) for each in held.get(e["node"], ()))
    ]


def owed(events: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    """(source, sequence, client) of every subscription x publication that matches, by the model (M4, M6).

    A client is not sent what it published itself.
    """
    ids: dict[object, object] = {e["node"]: e["source"] for e in events if e["event"] == "publish"}
    found: Counter[tuple[object, ...]] = Counter()
    wants = [(e["node"], parse_predicate(str(e["predicate"]))) for e in events if e["event"] == "subscribe"]
    for e in events:
        if e["event"] == "publish":
            message = parse_message(str(e["message"]))
            for client in {c for c, predicate in wants if matches(predicate, message)} - {e["node"]}:
                found[e["source"], e["sequence"], client] = 1
    assert ids
    return found


def delivered(events: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    return Counter((e["source"], e["sequence"], e["node"]) for e in events if e["event"] == "deliver")
