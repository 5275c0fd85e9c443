"""A scheme runs when what it depends on changes, and not when a subscription does (decision 13)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from nodes.model import parse_predicate
from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import encode_predicate
from tests.routing.central import Network as Whole
from tests.routing.comparison import Tables, differences
from tests.routing.fabric import Network, configure, ring

CASES = [(scheme, {}) for scheme in sorted(CATALOG)] + [("siena", {"tree": "source"})]
CLIENTS = {"c1": 1, "c2": 2, "c4": 4}


class CountedScheme:
    """A scheme whose runs are counted; all else it is asked for it leaves to the scheme."""

    def __init__(self, scheme: Any, name: str, runs: Counter[str]) -> None:
        self._scheme, self._name, self._runs = scheme, name, runs

    def compile(self, view: Any) -> Any:
        self._runs[self._name] += 1
        return self._scheme.compile(view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheme, name)


class Counted:
    """A network that counts how often the scheme of each router runs."""

    def __init__(self, scheme: str, options: dict[str, str]) -> None:
        configs = configure([*ring(4), (1, 3, 1)], CLIENTS)
        self.scheme, self.options = scheme, options
        self.configs = {n: replace(c, scheme=scheme, scheme_options=options) for n, c in configs.items()}
        self.net = Network(self.configs, 1)
        self.net.converge()
        self.runs: Counter[str] = Counter()
        for name in ("r1", "r2", "r3", "r4"):
            router = self.net.router(name)
            router._scheme = CountedScheme(router._scheme, name, self.runs)

    def subscribe(self, client: str, text: str, number: int = 1) -> None:
        self.net.client(client).core.subscribe(self.net.now_ns, parse_predicate(text), number)
        self.net.after(client)
        self.net.converge()

    def unsubscribe(self, client: str, number: int = 1) -> None:
        self.net.client(client).core.unsubscribe(self.net.now_ns, number)
        self.net.after(client)
        self.net.converge()

    def check_tables(self, wants: dict[str, str], down: tuple[str, ...] = ()) -> None:
        """All tables are what a computation from the whole network gives."""
        ids = {self.configs[c].node_id: encode_predicate(parse_predicate(text)) for c, text in wants.items()}
        whole = Whole(self.configs.values(), ids, down)
        for router in whole.routers:
            expected = Tables.of_names(whole.expected(router, self.scheme, self.options), whole.store(router))
            installed = Tables.installed(self.net.router(f"r{router}").installer)
            assert list(differences(installed, expected)) == []


@pytest.mark.parametrize(("scheme", "options"), CASES)
def test_a_changed_subscription_reaches_the_tables_and_runs_no_scheme(
    scheme: str, options: dict[str, str]
) -> None:
    counted = Counted(scheme, options)
    for client in CLIENTS:
        counted.subscribe(client, f'at = "{client}"')
    counted.runs.clear()
    counted.subscribe("c1", 'at = "c1" or x > 1', 1)
    counted.subscribe("c2", "x = 7", 2)
    counted.unsubscribe("c2", 1)
    assert counted.runs == {}
    counted.check_tables({"c1": 'at = "c1" or x > 1', "c2": "x = 7", "c4": 'at = "c4"'})


@pytest.mark.parametrize("scheme", ["pif", "psf", "ipsf", "multicast", "drp", "unicast"])
def test_who_wants_anything_at_all_runs_the_scheme_at_every_router(scheme: str) -> None:
    counted = Counted(scheme, {})
    counted.subscribe("c1", "x > 1")
    assert all(counted.runs[f"r{number}"] == 1 for number in range(1, 5))
    counted.runs.clear()
    counted.unsubscribe("c1")
    assert all(counted.runs[f"r{number}"] == 1 for number in range(1, 5))
    counted.check_tables({})


@pytest.mark.parametrize(("scheme", "options"), CASES)
def test_a_changed_network_runs_the_scheme_and_moves_what_is_wanted(
    scheme: str, options: dict[str, str]
) -> None:
    counted = Counted(scheme, options)
    wants = {client: f'at = "{client}"' for client in CLIENTS}
    for client, text in wants.items():
        counted.subscribe(client, text)
    counted.runs.clear()
    counted.net.cut("r1", "r2")
    ends = tuple(
        interface.name
        for name, peer in (("r1", "r2"), ("r2", "r1"))
        for interface in counted.configs[name].interfaces
        if interface.peer_name == peer
    )
    counted.net.converge(down=ends)
    assert all(counted.runs[f"r{number}"] for number in range(1, 5))
    counted.check_tables(wants, ends)


def test_records_that_change_nothing_run_no_scheme() -> None:
    """A router sends its links anew with the same content: records differ, the network does not."""
    counted = Counted("pif", {})
    counted.subscribe("c1", "x > 1")
    counted.runs.clear()
    router = counted.net.router("r2")
    router.linkstate.database.records.own.go_above(0, 1_000)
    router.linkstate.database.records.withdraw()
    router.linkstate.announcement.want(counted.net.now_ns)
    counted.net.after("r2")
    counted.net.converge()
    sequences = {dict(counted.net.router(f"r{n}").linkstate.database.records.payloads())[2] for n in (1, 3)}
    assert len(sequences) == 1
    assert counted.runs == {}
