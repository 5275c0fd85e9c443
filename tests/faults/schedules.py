"""A fault schedule: a small network, what its clients do, and what breaks, as plain data that can be shrunk.

Not here: drawing one at random (`drawing`), running it (`trial`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.faults.variants import VARIANTS

MS = 1_000_000
TIMERS = {
    "hello_ms": 100,
    "hold_ms": 350,
    "retransmit_ms": 20,
    "retransmit_max_ms": 200,
    "install_delay_ms": 2,
}
SETTLE_MS = 200
"""Longer than any message of these networks is on its way, or a subscription until all know it."""


@dataclass(frozen=True)
class Subscription:
    """A client wants, advertises or seeks something; before the start, for ever, unless it says otherwise."""

    client: str
    predicate: str
    """Or a pattern."""
    at_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True)
class Publication:
    """A client publishes the same message several times at once."""

    client: str
    at_ms: int
    message: str
    count: int


@dataclass(frozen=True)
class Break:
    """One thing that breaks or is repaired."""

    at_ms: int
    do: str
    target: str


@dataclass(frozen=True)
class Schedule:
    """All of it."""

    name: str
    seed: int
    variant: str
    """Of `VARIANTS`: a scheme, perhaps with options."""
    routers: tuple[str, ...]
    links: tuple[tuple[str, str, tuple[tuple[str, Any], ...]], ...]
    """The two ends, and the link's other keys."""
    clients: tuple[tuple[str, str], ...]
    """Name and router."""
    subscriptions: tuple[Subscription, ...]
    publications: tuple[Publication, ...]
    faults: tuple[tuple[Break, ...], ...]
    """Those that belong together (something breaks and is repaired) are one entry."""
    advertisements: tuple[Subscription, ...] = ()
    patterns: tuple[Subscription, ...] = ()
    sealed: bool = False
    """Whether neighbours prove who they are."""
    messages_sealed: bool = False
    """And datagrams of messages, besides."""
    signed: bool = False
    """Whether routers sign what others pass on of them."""

    @property
    def breaks(self) -> list[Break]:
        """All faults in order of time."""
        return sorted((b for unit in self.faults for b in unit), key=lambda b: b.at_ms)

    def scenario(self) -> dict[str, Any]:
        """As a scenario file has it."""
        scheme, options = VARIANTS[self.variant]
        return {
            "name": self.name,
            "seed": self.seed,
            "scheme": {"name": scheme, **options} if options else scheme,
            "topology": {
                "routers": list(self.routers),
                "links": [{"between": [a, b], **dict(more)} for a, b, more in self.links],
            },
            "clients": {name: self._client(name, router) for name, router in self.clients},
            "faults": [{"at": f"{b.at_ms}ms", b.do: b.target} for b in self.breaks],
            "security": {
                "neighbours": "required" if self.sealed else "off",
                "messages": "required" if self.messages_sealed else "off",
                "records": "signed" if self.signed else "off",
            },
            "timers": TIMERS,
            "timing": {"settle": f"{SETTLE_MS}ms", "ready_timeout": "30s", "drain_timeout": "5s"},
        }

    def _client(self, name: str, router: str) -> dict[str, Any]:
        wants = [_subscription(s) for s in self.subscriptions if s.client == name]
        says = [_publication(p) for p in self.publications if p.client == name]
        offers = [_subscription(a) for a in self.advertisements if a.client == name]
        seeks = [_subscription(p, "pattern") for p in self.patterns if p.client == name]
        return {
            "at": router,
            **({"advertise": offers} if offers else {}),
            **({"subscribe": wants} if wants else {}),
            **({"patterns": seeks} if seeks else {}),
            **({"publish": says} if says else {}),
        }

    def without_routers(self, gone: Iterable[str]) -> Schedule:
        """What is left without some routers, their links and clients."""
        gone = set(gone)
        kept = replace(
            self,
            routers=tuple(r for r in self.routers if r not in gone),
            links=tuple(link for link in self.links if not gone & {link[0], link[1]}),
        )
        return kept.with_clients(c for c, router in self.clients if router not in gone)

    def contracted(self, kept: str, gone: str) -> Schedule:
        """With two routers made one: what hung on the one hangs on the other."""

        def now(router: str) -> str:
            return kept if router == gone else router

        links: dict[tuple[str, str], tuple[tuple[str, Any], ...]] = {}
        for a, b, more in self.links:
            ends = now(a), now(b)
            if ends[0] != ends[1] and ends[::-1] not in links:
                links.setdefault(ends, more)
        units = (tuple(replace(b, target=_renamed(b.target, now)) for b in unit) for unit in self.faults)
        return replace(
            self,
            routers=tuple(r for r in self.routers if r != gone),
            links=tuple((a, b, more) for (a, b), more in links.items()),
            clients=tuple((name, now(router)) for name, router in self.clients),
            faults=tuple(units),
        ).with_sensible_faults()

    def with_clients(self, names: Iterable[str]) -> Schedule:
        """What is left with these clients alone."""
        there = set(names)
        kept = replace(
            self,
            clients=tuple(c for c in self.clients if c[0] in there),
            subscriptions=tuple(s for s in self.subscriptions if s.client in there),
            publications=tuple(p for p in self.publications if p.client in there),
            advertisements=tuple(a for a in self.advertisements if a.client in there),
            patterns=tuple(p for p in self.patterns if p.client in there),
        )
        return kept.with_sensible_faults()

    def with_sensible_faults(self) -> Schedule:
        """Without the faults of what is not there any more."""
        known = {*self.routers, *(c for c, _ in self.clients)}
        known |= {f"{a} - {b}" for a, b, _ in self.links} | {f"{r} - {c}" for c, r in self.clients}
        units = (tuple(b for b in unit if b.target in known) for unit in self.faults)
        return replace(self, faults=tuple(unit for unit in units if unit))


def _renamed(target: str, now: Callable[[str], str]) -> str:
    return " - ".join(now(end) for end in target.split(" - "))


def _subscription(given: Subscription, what: str = "predicate") -> dict[str, Any]:
    times = {"at": given.at_ms, "until": given.until_ms}
    return {what: given.predicate} | {k: f"{ms}ms" for k, ms in times.items() if ms is not None}


def _publication(given: Publication) -> dict[str, Any]:
    if given.count == 1:
        return {"at": f"{given.at_ms}ms", "message": given.message}
    times = {"from": f"{given.at_ms}ms", "every": "0s", "count": given.count}
    return {**times, "message": given.message}
