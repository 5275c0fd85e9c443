"""Origins that no router lists, who may be invented: bounded, soon gone, and in nobody's way."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.router import Router
from nodes.wire.codec import encode
from nodes.wire.packets import Hello, Kind, Role
from tests.attacks.bench import TIMERS, Bench
from tests.routing.fabric import MS, SECOND, Network, configure, line
from tests.wire.payloads import Interest, LinkState, encode_payload

CAP = LimitConfig().unlisted_origins


def invent(bench: Bench, count: int, first: int = 1_000) -> None:
    for origin in range(first, first + count):
        bench.forge(Kind.LINK_STATE, encode_payload(LinkState(origin, 1, ((origin + 1, 1),))))


def held(router: Router) -> int:
    return len(router.linkstate.database.records.payloads())


def test_invented_origins_are_capped_and_soon_forgotten_and_logged_once() -> None:
    bench = Bench(1)
    honest = held(bench.router("r2"))
    invent(bench, 3 * CAP)
    for name in ("r1", "r2"):
        assert held(bench.router(name)) <= CAP + honest
    assert len([log for name, log in bench.logs if log.event == Reason.UNLISTED_ORIGIN and name == "r1"]) == 1
    assert bench.router("r1").drops[Reason.UNLISTED_ORIGIN] >= 2 * CAP - honest
    assert bench.unreached() == []
    bench.wait(TIMERS.renumber_ms * MS + SECOND)
    assert held(bench.router("r1")) == held(bench.router("r2")) == honest
    assert bench.reasons() == []


def test_their_interest_is_capped_by_its_bytes() -> None:
    bench = Bench(2)
    large = parse_predicate(" or ".join(f'a = "{number:0>400}"' for number in range(150)))
    sizes = 0
    for origin in range(1_000, 1_400):
        payload = encode_payload(Interest(origin, 1, large))
        bench.forge(Kind.INTEREST, payload)
        sizes += len(payload)
    stored = sum(bench.router("r1").rules.holdings.stats().values())
    assert stored <= LimitConfig().unlisted_bytes + 100_000 < sizes
    bench.wait(2 * TIMERS.renumber_ms * MS)
    assert bench.reasons() == []


def test_twenty_thousand_invented_origins_cost_no_more_than_the_cap() -> None:
    bench = Bench(3)
    tracemalloc.start()
    invent(bench, 2 * CAP)
    before, _ = tracemalloc.get_traced_memory()
    invent(bench, 20_000, 100_000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 4_800_000, "ids to ask for if somebody lists them, on two routers; no records"


@pytest.mark.parametrize("scheme", ["pif", "siena"])
def test_a_network_larger_than_the_cap_still_comes_together(scheme: str) -> None:
    """What was refused is asked for when somebody lists it."""
    configs = configure(line(12), {"c1": 1, "c2": 12}, limits=LimitConfig(unlisted_origins=1))
    net = Network({name: replace(config, scheme=scheme) for name, config in configs.items()}, 1)
    net.cut("r6", "r7")
    net.run(5 * SECOND)
    net.cut("r6", "r7", down=False)
    net.converge()
    assert net.router("r1").status()["routers_known"] == 12


def test_routers_that_were_there_are_remembered_longer_than_inventions() -> None:
    timers = TimerConfig(renumber_ms=1_000, forget_ms=60_000)
    net = Network(configure(line(3), timers=timers), 1)
    net.converge()
    net.kill("r3")
    net.run(10 * SECOND)
    assert held(net.router("r1")) == 3
    net.run(60 * SECOND)
    assert held(net.router("r1")) == 2


def test_hellos_of_random_ids_write_one_line_a_session() -> None:
    bench = Bench(4)
    for node in range(100, 1_100):
        hello = encode(Hello(Role.ROUTER, node, 5, 2_000, 0, 0))
        bench.router("r1").receive(bench.now_ns, 1, hello)
    bench.deliver("r1")
    assert len([log for _, log in bench.logs if log.event == "wrong_peer"]) == 1
    assert bench.router("r1").drops[Reason.WRONG_PEER] == 1_000
