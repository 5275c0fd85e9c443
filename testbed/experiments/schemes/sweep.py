"""Which networks are built, and what is sent over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from nodes.scheme_catalog import CATALOG
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source


@dataclass(frozen=True, slots=True)
class Case:
    """One network and its load; every scheme named is run over it."""

    shape: str
    routers: int
    senders: int
    receivers: int
    messages: int
    schemes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.shape}, {self.routers} routers, {self.senders} senders, {self.receivers} receivers"


@dataclass(frozen=True, slots=True)
class Cases:
    """All of them, in order."""

    cases: tuple[Case, ...]


def read_sweep(data: Mapping[str, Any]) -> Cases:
    """The sweep as an experiment's file has it; it is in shape."""
    return Cases(tuple(case for group in data["networks"] for case in _cases(group)))


def check_sweep(source: Source, key: Key, data: Mapping[str, Any]) -> None:
    """Complain of what the schema cannot see."""
    for at, group in enumerate(data["networks"]):
        for which, (senders, receivers) in enumerate(group["loads"]):
            if max(senders, receivers) > min(group["routers"]):
                told = "more senders or receivers than routers", "at most one of each at a router"
                source.complain((*key, "networks", at, "loads", which), *told)
        for which, scheme in enumerate(group.get("schemes", ())):
            if scheme not in CATALOG:
                expected, hint = f"one of {', '.join(sorted(CATALOG))}", did_you_mean(scheme, CATALOG)
                where = (*key, "networks", at, "schemes", which)
                source.complain(where, f"unknown scheme {scheme!r}", expected, hint)


def _cases(group: Mapping[str, Any]) -> Iterator[Case]:
    """Lists multiply."""
    schemes = tuple(group.get("schemes", sorted(CATALOG)))
    for shape, routers, (senders, receivers) in product(group["shapes"], group["routers"], group["loads"]):
        yield Case(shape, routers, senders, receivers, group["messages"], schemes)
