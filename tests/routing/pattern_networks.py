"""Networks whose routers recognise patterns, and what their clients are told in them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from nodes.client.core import ClientCore
from nodes.config import Action, LimitConfig
from nodes.model import (
    Components,
    Occurrence,
    Pattern,
    matches_of,
    parse_message,
    parse_pattern,
)
from nodes.routing.effects import DeliverMatch, Output
from nodes.scheme_catalog import OptionValue
from tests.routing.fabric import LIMITS, MS, SECOND, Conditions, Network, configure

SCHEMES: dict[str, tuple[str, dict[str, OptionValue]]] = {
    "pif": ("pif", {}),
    "psf": ("psf", {}),
    "cbcb": ("cbcb", {}),
    "siena, shared tree": ("siena", {}),
    "siena, source trees": ("siena", {"tree": "source"}),
}


@dataclass(frozen=True)
class Told:
    """A match, as a client was told it."""

    client: str
    pattern: int
    components: Components
    contents: tuple[Mapping[str, object], ...]


class PatternNetwork(Network):
    """A network that keeps account of matches and of what was published."""

    def __post_init__(self) -> None:
        self.told: list[Told] = []
        self.published: list[tuple[Occurrence, Mapping[str, object]]] = []
        super().__post_init__()

    def see(self, name: str, output: Output) -> None:
        if isinstance(output, DeliverMatch):
            occurrences = [Occurrence(m.publish_time_ns, m.source, m.sequence) for m in output.messages]
            contents = tuple(m.attributes for m in output.messages)
            self.told.append(Told(name, output.pattern, tuple(occurrences), contents))

    def core(self, name: str) -> ClientCore:
        return self.client(name).core

    def seek(self, name: str, *patterns: str) -> list[int]:
        """The client seeks these; returns their numbers, once all routers know."""
        core = self.core(name)
        numbers = [core.subscribe_pattern(self.now_ns, parse_pattern(text)) for text in patterns]
        self.after(name)
        self.converge()
        return numbers

    def publish(self, name: str, *messages: str, apart_ns: int = 50 * MS) -> None:
        for text in messages:
            content = parse_message(text)
            identity = self.core(name).publish(self.now_ns, content)
            self.published.append((Occurrence(self.now_ns, *identity), content))
            self.after(name)
            self.run(apart_ns)

    def matches(self, name: str, number: int = 1) -> list[Components]:
        """What a client was told of a pattern."""
        return [each.components for each in self.told if (each.client, each.pattern) == (name, number)]

    def reference(self, name: str, pattern: Pattern | str) -> list[Components]:
        """What it is to be told of all that was published by others."""
        meant = parse_pattern(pattern) if isinstance(pattern, str) else pattern
        own = self.configs[name].node_id
        return matches_of(meant, [each for each in self.published if each[0].source != own])

    def asked(self, name: str) -> list[str]:
        """What a router asks of whom, as its tables say it."""
        return [line for line in self.router(name).tables().splitlines() if line.startswith("pattern ")]


def pattern_network(
    edges: Iterable[tuple[int, int, int]],
    clients: Mapping[str, int],
    advertise: Mapping[str, str],
    scheme: str = "pif",
    *,
    seed: int = 1,
    conditions: Conditions | None = None,
    limits: LimitConfig = LIMITS,
) -> PatternNetwork:
    """A converged network; nothing is sought yet."""
    name, options = SCHEMES[scheme]
    chosen = {"advertisements": True, "patterns": "factored", **options}
    configs = configure(edges, clients, routers=max(clients.values()), limits=limits)
    configs = {n: replace(config, scheme=name, scheme_options=chosen) for n, config in configs.items()}
    scripts = {client: [Action(-1, "advertise", 1, text)] for client, text in advertise.items()}
    made = PatternNetwork(configs, seed, conditions or Conditions(), scripts)
    made.converge(within_ns=60 * SECOND)
    return made


def drawn_pattern(rng: random.Random, values: range) -> str:
    """A pattern of two to four parts about `x`."""
    parts = [f"[x = {rng.choice(values)}]" for _ in range(rng.randint(2, 4))]
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        joint = rng.choice(["then", "then", "and", "and another", "or"])
        window = rng.choice(["", " within 300ms"])
        parts[at : at + 2] = [f"({parts[at]} {joint} {parts[at + 1]}{window})"]
    pairing = rng.choice(["every", "every", "first", "once"])
    return f"{parts[0][1:-1].removesuffix(' within 300ms')} within 1s pairing {pairing} wait 200ms"


CHAIN = [(1, 2, 1), (2, 3, 1)]
TREE = [*CHAIN, (2, 4, 1)]
ALARM = "[x = 1] then [x = 2] within 5s"
HALF = f"{ALARM} wait 50ms"
X, Y = "x any integer", "y any integer"


def chain(scheme: str = "pif", **options: LimitConfig) -> PatternNetwork:
    return pattern_network(CHAIN, {"s": 1, "a": 3, "b": 2}, {"a": X, "b": Y}, scheme, **options)


def tree(scheme: str = "pif", a: str = X, b: str = Y) -> PatternNetwork:
    return pattern_network(TREE, {"s": 1, "a": 3, "b": 4}, {"a": a, "b": b}, scheme)


def counts(net: PatternNetwork, router: str) -> dict[str, object]:
    status = net.router(router).status()["patterns"]
    assert isinstance(status, dict)
    return status
