"""Draws scenarios: schemes, faults, bad links, populations, phases; a pure function of the seed."""

from __future__ import annotations

from itertools import count, product
from random import Random
from typing import Any

from nodes.scheme_catalog import CATALOG
from testbed.plan.load import plan_of
from testbed.plan.problems import ScenarioError

SCHEMES = tuple(sorted(CATALOG))
LASTS_MS = 3000
PREDICATES = (
    'k = "a"', "x < 4", 'k = "b" and x >= 5', 'x != 7 and k * "c" or x = 2', "all", "x > 2 and x < 8",
    'k >* "c" or y any float', "t >= @2026-01-01T00:00:00Z", "u = true", 'k *< "b" and y < 0.5',
)  # fmt: skip
"""Of all operators and types."""
OTHERS = "y any float and u any boolean and t any time"
ADVERTISED = (
    f"k any string and x any integer and {OTHERS}",
    f"k any string and x any integer and {OTHERS}",
    "k any string and x any integer",
    f"k any string and x < 5 and x = 7 and {OTHERS}",
    f'k >* "b" and k = "a" and x any integer and {OTHERS} or k = "" and x any integer',
)
POLICIES = {
    "subscribe": ("x any integer", "x < 8 or k any string", 'x != 7 or k >* "c"', "x >= 2", "all", "none"),
    "publish": ("x < 8", 'k != "" and x > 0', 'k *< "b" or x any integer', "all", "none"),
    "advertise": (*ADVERTISED[:2], f"k any string and x <= 7 and {OTHERS}", "all", "none"),
}
PATTERNS = (
    "[x = 1] then [x = 2] within 200ms",
    '[k = "a"] and another [k = "b" and x < 5] within 100ms pairing once',
    "([x = 1] or [x = 7]) then [x = 2 or x = 3] then [x = 4] within 100ms pairing first wait 20ms",
    '[k >* "c" and x > 5] and [k any string and x = 9] within 50ms keep 2000',
    '([x = 3] then [x = 3] within 80ms) or [k = "" and x = 0] wait 1s',
    "[u = true and x = 1] then ([x = 8] and [x = 9]) within 100ms",
)
ROUTING = tuple(name for name in SCHEMES if any(each.name == "patterns" for each in CATALOG[name].options))
"""Under these routers can recognise patterns."""
LOSING = ("loss", "corrupt", "rate")
TEXTS = ("a", "b", "bc", "cab", "")


def draw(seed: int, scheme: str | None = None) -> dict[str, Any]:
    """The scenario of a seed, under that scheme or one in turn; drawn again while its faults contradict."""
    for attempt in count():
        scenario = _drawn(seed, Random(f"judge/{seed}/{attempt}"), scheme)
        routed = routes_patterns(seed, scenario["scheme"])
        _let_advertise(scenario, Random(f"judge/{seed}/advertisements"), always=routed)
        _let_seek(scenario, Random(f"judge/{seed}/patterns"), always=routed)
        _let_prove(scenario, Random(f"judge/{seed}/security"))
        _let_obey(scenario, Random(f"judge/{seed}/policy"))
        if routed:
            _let_matches_be_owed(scenario)
        try:
            plan_of(scenario)
        except ScenarioError:
            continue
        return scenario
    raise AssertionError("a count has no end")


def _let_prove(scenario: dict[str, Any], rng: Random) -> None:
    """In some, neighbours prove who they are, perhaps messages too, and keys change; some sign records."""
    if rng.random() < 0.25:
        scenario["security"] = {"neighbours": rng.choice(["permissive", "required"])}
        scenario["faults"].append({f"at {rng.randint(100, LASTS_MS)}ms": "rekey links, access"})
        strict = scenario["security"]["neighbours"] == "required"
        scenario["security"]["messages"] = rng.choice(
            ["off", "permissive", "required" if strict else "permissive"]
        )
    if rng.random() < 0.25:
        scenario.setdefault("security", {})["records"] = "signed"


def _let_obey(scenario: dict[str, Any], rng: Random) -> None:
    """In some, a policy says what clients may do, which is less than some of them try."""
    if rng.random() < 0.4:
        whom = ["clients", "c1", "one of clients", "40% of clients"]
        scenario["policy"] = {
            each: {
                verb: rng.choice(POLICIES[verb])
                for verb in rng.sample(sorted(POLICIES), rng.choice([1, 2, 3]))
            }
            for each in rng.sample(whom, rng.choice([1, 1, 2]))
        }


def routes_patterns(seed: int, scheme: str) -> bool:
    """Whether routers recognise patterns in it, and links lose nothing: only then are matches owed."""
    return scheme in ROUTING and Random(f"judge/{seed}/routed").random() < 0.6


def scheme_of(scenario: dict[str, Any]) -> str:
    """The name of its scheme."""
    scheme = scenario["scheme"]
    return str(scheme["name"] if isinstance(scheme, dict) else scheme)


def _drawn(seed: int, rng: Random, scheme: str | None) -> dict[str, Any]:
    routers = [f"r{n}" for n in range(1, rng.randint(2, 8) + 1)]
    return {
        "name": f"judged-{seed}",
        "seed": seed,
        "scheme": scheme or SCHEMES[seed % len(SCHEMES)],
        "topology": {"routers": routers, "links": _links(rng, routers)},
        "clients": {
            f"c{n}": _client(rng, routers, publishes=n == 1) for n in range(1, rng.randint(2, 5) + 1)
        },
        "populations": {"p": _population(rng)} if rng.random() < 0.6 else {},
        "phases": _phases(rng),
        "faults": _faults(rng, routers),
        "timing": {"settle": rng.choice(["100ms", "300ms", "600ms"])},
        "record": _record(rng),
    }


def _links(rng: Random, routers: list[str]) -> list[dict[str, Any]]:
    """A tree, and some links more."""
    pairs = [(rng.choice(routers[:n]), name) for n, name in enumerate(routers) if n]
    for _ in range(rng.randint(0, len(routers))):
        a, b = rng.sample(routers, 2)
        if (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    return [{"between": [a, b], "cost": rng.randint(1, 3), **_does(rng)} for a, b in pairs]


def _does(rng: Random) -> dict[str, Any]:
    """What a link does to packets; nothing bad as a rule."""
    delay_us = rng.randint(100, 5000)
    found: dict[str, Any] = {"delay": f"{delay_us}us"}
    if rng.random() < 0.3:
        found["jitter"] = f"{delay_us // 2}us"
    if rng.random() < 0.15:
        found["loss"] = rng.choice([0.02, 0.1, 0.4])
    if rng.random() < 0.15:
        found["duplicate"] = 0.1
    if rng.random() < 0.15:
        found["reorder"] = 0.1
    if rng.random() < 0.1:
        found["corrupt"] = 0.05
    if rng.random() < 0.1:
        found["rate"] = "2mbit"
    if rng.random() < 0.15:
        found["back"] = {"delay": f"{delay_us + 1000}us"}
    return found


def _client(rng: Random, routers: list[str], publishes: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"at": rng.choice(routers)}
    if rng.random() < 0.15:
        found["access"] = _does(rng)
    found["subscribe"] = [_subscription(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    found["publish"] = [_publication(rng) for _ in range(rng.choice([1, 2] if publishes else [0, 1, 2]))]
    return found


def _subscription(rng: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"predicate": rng.choice(PREDICATES)}
    if rng.random() < 0.3:
        at_ms = rng.randrange(LASTS_MS)
        found["at"] = f"{at_ms}ms"
        if rng.random() < 0.5:
            found["until"] = f"{at_ms + rng.randint(1, LASTS_MS)}ms"
    elif rng.random() < 0.2:
        found["until"] = f"{rng.randint(1, LASTS_MS)}ms"
    return found


def _publication(rng: Random) -> dict[str, Any]:
    message: dict[str, Any] = {"k": {"choice": list(TEXTS)}, "x": {"uniform": [0, 9]}}
    if rng.random() < 0.4:
        message |= {"y": {"uniform": [0.0, 1.0]}, "u": {"choice": [True, False]}}
    if rng.random() < 0.3:
        message["t"] = {"time": ["2025-12-31T23:59:59Z", "2026-01-01T00:00:01.5Z"]}
    every_ms = rng.choice([15, 30, 60])
    arrivals = rng.choice(["constant", "poisson", "staggered"])
    times = {"every": f"{every_ms}ms", "count": LASTS_MS // every_ms, "arrivals": arrivals}
    return {**times, "message": message, "payload": {"size": rng.choice([0, 0, 1, 200])}}


def _let_matches_be_owed(scenario: dict[str, Any]) -> None:
    """No link loses by plan, less fails, advertisements stay, and some single client seeks."""
    clients = [*scenario["clients"].values(), *scenario["populations"].values()]
    links = [*scenario["topology"]["links"], *(client.get("access", {}) for client in clients)]
    for link, what in product(links, LOSING):
        link.pop(what, None)
    for client in clients:
        client["advertise"] = [each["predicate"] for each in client.get("advertise", ())]
    for population in scenario["populations"].values():
        population.pop("patterns", None)
    list(scenario["clients"].values())[-1].setdefault("patterns", [PATTERNS[0]])
    kept = [fault for fault in scenario["faults"] if not next(iter(fault.values())).startswith("impair")]
    scenario["faults"] = kept[: len(kept) // 2]
    scenario["timing"] = {"settle": "600ms"}


def _let_advertise(scenario: dict[str, Any], rng: Random, *, always: bool) -> None:
    """Where the scheme can have it: publishers have to advertise, and some do not advertise enough."""
    name = scenario["scheme"]
    can = any(option.name == "advertisements" for option in CATALOG[name].options)
    if not can or (rng.random() < 0.6 and not always):
        return
    scenario["scheme"] = {"name": name, "advertisements": True}
    for client in (*scenario["clients"].values(), *scenario["populations"].values()):
        if client["publish"] and rng.random() < 0.9:
            client["advertise"] = [_advertisement(rng) for _ in range(rng.choice([1, 1, 2]))]


def _advertisement(rng: Random) -> dict[str, Any]:
    found = _subscription(rng)
    return {**found, "predicate": rng.choice(ADVERTISED)}


def _let_seek(scenario: dict[str, Any], rng: Random, *, always: bool) -> None:
    """Some clients seek patterns; where they have to advertise, routers may recognise them."""
    if rng.random() < 0.5 and not always:
        return
    routed = isinstance(scenario["scheme"], dict) and scheme_of(scenario) in ROUTING
    if routed and (rng.random() < 0.6 or always):
        scenario["scheme"] |= {"patterns": "factored"}
    for client in (*scenario["clients"].values(), *scenario["populations"].values()):
        if rng.random() < 0.6:
            client["patterns"] = [_sought(rng) for _ in range(rng.choice([1, 1, 2]))]


def _sought(rng: Random) -> dict[str, Any]:
    found = _subscription(rng)
    del found["predicate"]
    return {**found, "pattern": rng.choice(PATTERNS)}


def _population(rng: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"count": rng.randint(2, 6), "place": rng.choice(["evenly", "uniform"])}
    return found | {"subscribe": [_subscription(rng)], "publish": [_publication(rng)] * rng.randint(0, 1)}


def _phases(rng: Random) -> list[dict[str, str]]:
    if rng.random() < 0.4:
        return []
    first_ms = rng.randint(200, LASTS_MS - 200)
    return [
        {"name": "early", "lasts": f"{first_ms}ms"},
        {"name": "late", "lasts": f"{LASTS_MS - first_ms}ms"},
    ]


def _faults(rng: Random, routers: list[str]) -> list[dict[str, str]]:
    """Each with its end, most of the time."""
    if rng.random() < 0.3:
        return []
    faults: list[dict[str, str]] = []
    at_ms = 200
    for _ in range(rng.randint(1, 4)):
        at_ms += rng.randint(50, 900)
        lasts = f" for {rng.choice([30, 200, 600])}ms"
        kinds = [f"crash {rng.choice(routers)}{lasts}", f"pause one of nodes{lasts}",
                 f"link_down one of links{lasts}", f"leave one of clients{lasts}",
                 f"impair one of links loss 0.3{lasts}"]  # fmt: skip
        faults.append({f"at {at_ms}ms": rng.choice(kinds)})
        at_ms += 700 if rng.random() < 0.6 else 10
    return faults


def _record(rng: Random) -> dict[str, Any]:
    return {"format": rng.choice(["pcap", "pcapng"]), "rotate": rng.choice(["never", "never", "16KiB"])}
