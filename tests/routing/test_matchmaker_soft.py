"""Soft state of `bp`, `bs` and `amsp`: descriptors and matches live as long as they are told again (K9)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from nodes.model import UsageError, parse_predicate
from nodes.model.meeting import Key
from nodes.routing.effects import Reason
from nodes.routing.schemes import make_scheme
from nodes.routing.schemes.base import learned
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import encode_filter
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from nodes.wire.packets import Kind
from tests.routing.fabric import MS, SECOND, Network, configure, line, random_graph
from tests.routing.impostor import Impostor
from tests.routing.matchmaker_cases import adaptive, faults, network, of_scheme, said

SCHEMES = ["amsp", "bp", "bs"]
BOTH = pytest.mark.parametrize("scheme", SCHEMES)
REFRESH_MS, LIFETIME_MS = 200, 700
SOFT: Mapping[str, OptionValue] = {
    "advertisements": True,
    "state": "soft",
    "refresh_ms": REFRESH_MS,
    "lifetime_ms": LIFETIME_MS,
}
REFRESHES = 10
ALL = encode_filter(parse_predicate("x > 0").filters[0])


def meeting(scheme: str, options: Mapping[str, OptionValue] = SOFT) -> Network:
    """Three routers in a line; a client of the first advertises what one of the third wants."""
    net = Network(of_scheme(configure(line(3), {"c1": 1, "c3": 3}), scheme, options), 1)
    net.converge(within_ns=2 * SECOND)
    net.client("c1").core.advertise(net.now_ns, parse_predicate("x > 5"), 1)
    net.client("c3").core.subscribe(net.now_ns, parse_predicate("x > 7"), 1)
    for client in ("c1", "c3"):
        net.after(client)
    net.converge(within_ns=2 * SECOND)
    return net


def wanted(net: Network, router: str, subscriber: int) -> frozenset[bytes]:
    return net.router(router).store.filters(learned(subscriber))


@BOTH
def test_K9_what_is_there_is_told_again_in_every_interval_and_nothing_expires(scheme: str) -> None:
    net = meeting(scheme)
    mark = len(net.sent)
    net.run(REFRESHES * REFRESH_MS * MS)
    told = said(net, mark)
    descriptor = {"bp": "PCD", "bs": "SCD"}.get(scheme)
    if descriptor is not None:
        assert told.keys() == {f"{descriptor} again", "MCD again"}
    assert not any("withdrawn" in each for each in told)
    # Two links each time, and an interval is shorter by a tenth at most.
    assert 2 * (REFRESHES - 2) <= told["MCD again"] <= 2 * (REFRESHES * 10 // 9 + 1)
    assert net.reasons() == []
    assert wanted(net, "r2", 3) != frozenset()
    assert all(not net.router(name).drops for name in ("r1", "r2", "r3"))


@BOTH
def test_K9_with_hard_state_nothing_is_told_again(scheme: str) -> None:
    net = meeting(scheme, {"advertisements": True})
    net.run(5 * SECOND)
    assert not any("again" in each for each in said(net))


def forged(**fields: object) -> bytes:
    ids = {"publisher": 0, "pcd": 0, "subscriber": 0, "scd": 0, "filter": None}
    return DescriptorUpdate(**{**ids, **fields}).encode()  # type: ignore[arg-type]


@BOTH
def test_K9_a_match_that_nobody_tells_again_expires_and_is_counted(scheme: str) -> None:
    net = meeting(scheme)
    Impostor(net, 0, "r2").send(Kind.CD_UPDATE, forged(publisher=1, pcd=9, subscriber=3, scd=9, filter=ALL))
    assert ALL in wanted(net, "r2", 3)
    net.run(LIFETIME_MS * MS + MS)
    assert ALL not in wanted(net, "r2", 3)
    assert net.router("r2").drops[Reason.EXPIRED_DESCRIPTOR] == 1
    assert wanted(net, "r2", 3) != frozenset(), "what is told again stays"


def held_from(net: Network, router: str, of: int) -> DescriptorUpdate:
    """What a router holds of another's descriptors, as its withdrawal."""
    meeting = net.router(router)._scheme._meeting  # type: ignore[attr-defined]
    [key] = [key for key in map(Key._make, meeting.held()) if not key.is_match and key.owner == of]
    return DescriptorUpdate(*key, None, withdrawn=True)


def test_K9_what_somebody_has_withdrawn_in_anothers_name_comes_back_when_it_is_told_again() -> None:
    net = meeting("bp")
    before = wanted(net, "r2", 3)
    Impostor(net, 0, "r2").send(Kind.CD_UPDATE, held_from(net, "r2", 1).encode())
    net.run(MS * 10)
    assert wanted(net, "r2", 3) == frozenset()
    net.run(2 * REFRESH_MS * MS)
    assert wanted(net, "r2", 3) == before


@pytest.mark.parametrize("seed", range(2))
def test_K9_matches_of_a_router_that_meets_descriptors_no_more_fade_and_others_hold(seed: int) -> None:
    """Demand turns twice, so marks do, and matches are found elsewhere; then lifetimes pass."""
    rng = random.Random(f"{seed}/soft")
    # So that marks stay when demand is at rest: there are as many of both sorts, told again now and then.
    options = {**SOFT, "interval_ms": 300, "alpha": 0.9, "hysteresis": 30.0}
    net = network("amsp", random_graph(rng, 7, 3), options, seed)
    for what in ("advertise", "subscribe"):
        for number in range(100):
            getattr(net.client("c1").core, what)(net.now_ns, parse_predicate(f"x = {number}"), 50)
            net.after("c1")
            net.run(10 * MS)
        net.run(3 * LIFETIME_MS * MS)
        net.converge(within_ns=10 * SECOND)
        assert faults(net, "amsp", options) == [], f"seed {seed}"
    routers = [net.router(name) for name in net.configs if name[0] == "r"]
    for scheme in map(adaptive, routers):
        for match in [key for key in map(Key._make, scheme._meeting.ours()) if key.is_match]:
            assert scheme._meeting.still_makes(match), f"seed {seed}"
    assert not any(router.drops[Reason.EXPIRED_DESCRIPTOR] for router in routers), f"seed {seed}"


def test_K9_telling_again_counts_as_an_update() -> None:
    net = meeting("amsp", {**SOFT, "interval_ms": 1000, "alpha": 1.0, "announce_deviations": 0.0})
    net.run(5 * SECOND)
    record = adaptive(net.router("r2"))._costs.of(1)
    assert record is not None
    assert record.publication_rate / 1e6 == pytest.approx(1000 / REFRESH_MS, rel=0.25)


@pytest.mark.parametrize(
    "given", [{"lifetime_ms": 300, "refresh_ms": 200}, {"lifetime_ms": 9_000}, {"refresh_ms": 20_000}]
)
def test_a_lifetime_in_which_nothing_might_be_told_again_is_refused(given: Mapping[str, OptionValue]) -> None:
    with pytest.raises(UsageError, match=r"lifetime_ms .* at least twice refresh_ms"):
        make_scheme("bp", {"state": "soft", **given})
