"""Draws interleavings: two to four routers, a few clients, and a dozen things that happen in half a second.

Clients subscribe, advertise and withdraw, lose their router and find it again; links flap, routers crash and
start again, and keys change, all in any order and at almost the same time. Then all comes to rest, and what
is published is owed. A schedule of `drawing` has more of everything, and takes many times as long.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.faults.drawing import OFFERED, WANTED, message
from tests.faults.families import tree
from tests.faults.schedules import Break, Publication, Schedule, Subscription
from tests.faults.variants import VARIANTS
from topologies.fault_kinds import KINDS

FAMILY = "brief"
ACTS_MS = 400
"""Within this time everything happens."""
REST_MS = 900
"""So long after that all is at rest: longer than a neighbour is missed and links are told of."""
LONGEST_BREAK_MS = 300
BURST_EACH = 3
BREAKS = ("crash", "link_down", "link_down", "pause")
PREDICATES = [text for text in WANTED if text != "all"]


def draw_interleaving(variant: str, seed: int) -> Schedule:
    """The interleaving of a seed."""
    rng = Random(f"{FAMILY}/{variant}/{seed}")
    routers = tuple(f"r{i}" for i in range(1, rng.randint(2, 4) + 1))
    edges = dict.fromkeys(tree(rng, len(routers)))
    if len(routers) > 2 and rng.random() < 0.5:
        edges[0, len(routers) - 1] = None
    delays = ((("delay", f"{rng.randint(100, 3000)}us"),) for _ in edges)
    clients = tuple((f"c{i}", rng.choice(routers)) for i in range(1, rng.randint(2, 4) + 1))
    names = [name for name, _ in clients]
    return _proved(
        rng,
        Schedule(
            name=f"{variant.replace('/', '-')}-{FAMILY}-{seed}",
            seed=seed,
            variant=variant,
            routers=routers,
            links=tuple((routers[a], routers[b], more) for (a, b), more in zip(edges, delays, strict=True)),
            clients=clients,
            subscriptions=tuple(each for name in names for each in _held(rng, name, PREDICATES)),
            publications=tuple(_published(rng, name) for name in names for _ in range(4)),
            faults=tuple(_broken(rng, routers, [(routers[a], routers[b]) for a, b in edges], clients)),
            advertisements=tuple(
                each
                for name in names
                for each in (Subscription(name, OFFERED[0]), *_held(rng, name, OFFERED))
            )
            if VARIANTS[variant][1].get("advertisements")
            else (),
        ),
    )


def _proved(rng: Random, drawn: Schedule) -> Schedule:
    """In half of them neighbours prove who they are, and keys change; in half of these messages, too."""
    if rng.random() < 0.5:
        return drawn
    links = [*(f"{a} - {b}" for a, b, _ in drawn.links), *(f"{at} - {name}" for name, at in drawn.clients)]
    changes = ((Break(rng.randrange(ACTS_MS), "rekey", rng.choice(links)),) for _ in range(rng.randint(1, 4)))
    return replace(
        drawn,
        sealed=True,
        messages_sealed=rng.random() < 0.5,
        signed=rng.random() < 0.3,
        faults=(*drawn.faults, *changes),
    )


def _held(rng: Random, client: str, texts: list[str]) -> list[Subscription]:
    """What a client holds at the end, and what it has held in between."""
    found = []
    for text in rng.sample(texts, rng.randint(1, 3)):
        at_ms = rng.choice([None, rng.randrange(ACTS_MS)])
        until_ms = rng.choice([None, (at_ms or 0) + 1 + rng.randrange(ACTS_MS)])
        found.append(Subscription(client, text, at_ms, until_ms))
    return found


def _offered(rng: Random, client: str, variant: str) -> list[Subscription]:
    """All that it publishes, and something that comes or goes."""
    if not VARIANTS[variant][1].get("advertisements"):
        return []
    return [Subscription(client, OFFERED[0]), *_held(rng, client, OFFERED[1:])]


def _published(rng: Random, client: str) -> Publication:
    return Publication(client, ACTS_MS + REST_MS + rng.randrange(20), message(rng), BURST_EACH)


def _broken(
    rng: Random, routers: tuple[str, ...], links: list[tuple[str, str]], clients: tuple[tuple[str, str], ...]
) -> list[tuple[Break, ...]]:
    """What breaks and is repaired; of each target one thing at a time."""
    found: dict[str, tuple[Break, ...]] = {}
    for _ in range(rng.randint(1, 4)):
        do = rng.choice(BREAKS)
        between = [*links, *((router, name) for name, router in clients)]
        target = rng.choice(routers) if do != "link_down" else " - ".join(rng.choice(between))
        at_ms = rng.randrange(ACTS_MS)
        again_ms = at_ms + rng.randint(1, LONGEST_BREAK_MS)
        found[target] = (Break(at_ms, do, target), Break(again_ms, KINDS[do].repaired_by, target))
    return [*found.values()]
