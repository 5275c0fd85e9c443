"""What is refused for its seal, its signature or a limit ends no adjacency of an honest neighbour."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

import pytest

from nodes.config import LimitConfig, Neighbours
from nodes.model import parse_predicate
from nodes.routing.channel import Reassembly, Segment
from nodes.wire.codec import encode
from nodes.wire.packets import Ack, Hello, Kind, Role
from nodes.wire.seal import KEY_BYTES, seal
from tests.routing.fabric import SECOND, Network, configure, line
from tests.routing.sealed import sealed

TIGHT = {
    "filters_per_neighbour": LimitConfig(filters_per_neighbour=1),
    "constraints_per_neighbour": LimitConfig(constraints_per_neighbour=1),
    "records_per_neighbour": LimitConfig(records_per_neighbour=1),
    "bytes_per_neighbour": LimitConfig(bytes_per_neighbour=1_024),
    "payload_bytes": LimitConfig(payload_bytes=64),
    "window_packets": LimitConfig(window_packets=1),
    "unlisted_origins": LimitConfig(unlisted_origins=1, unlisted_bytes=1_024),
    "control_packets_per_second": LimitConfig(control_packets_per_second=1),
    "changes_per_second": LimitConfig(changes_per_second=1),
}
HELD_S = 20
FORGED = 500
Forge = Callable[[random.Random, int], bytes]


def down(net: Network) -> list[tuple[str, object]]:
    return [(name, log.fields["peer"]) for _, name, log in net.logs if log.event == "adjacency_down"]


def all_up(net: Network) -> bool:
    routers = [name for name in net.configs if name.startswith("r")]
    return all(each["state"] == "up" for name in routers for each in net.router(name).status()["adjacencies"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("seals", [Neighbours.OFF, Neighbours.REQUIRED], ids=str)
@pytest.mark.parametrize("setting", TIGHT)
def test_no_limit_ends_an_adjacency_however_small_it_is(setting: str, seals: Neighbours) -> None:
    """r1 - r2 - r3 - r4, with clients that ask for more than the limits have room for."""
    configs = configure(line(4), {"c1": 1, "c2": 2, "c4": 4}, limits=TIGHT[setting])
    net = Network(sealed(configs, seals) if seals else configs, 1)
    net.run(2 * SECOND)
    for client in ("c1", "c2", "c4"):
        for number in range(1, 30):
            wanted = parse_predicate(f'x = {number} and name = "{client * 20}" or y = {number}')
            net.client(client).core.subscribe(net.now_ns, wanted, number)
        net.after(client)
    net.run(HELD_S * SECOND)
    assert down(net) == []
    assert all_up(net)


def without_seal(rng: random.Random, incarnation: int) -> bytes:
    return encode(Ack(rng.getrandbits(64), incarnation, rng.getrandbits(32), 16))


def with_another_key(rng: random.Random, incarnation: int) -> bytes:
    return seal(without_seal(rng, incarnation), rng.randbytes(KEY_BYTES), 1, rng.getrandbits(63))


def with_an_unknown_key(rng: random.Random, incarnation: int) -> bytes:
    return seal(without_seal(rng, incarnation), bytes(KEY_BYTES), rng.randrange(2, 1 << 16), 1)


def hello_of_another_session(rng: random.Random, _: int) -> bytes:
    return encode(Hello(Role.ROUTER, 1, rng.getrandbits(64), 1, 0, 0))


@pytest.mark.parametrize(
    "forge", [without_seal, with_another_key, with_an_unknown_key, hello_of_another_session]
)
@pytest.mark.parametrize("limits", [LimitConfig(), LimitConfig(control_packets_per_second=20)], ids=str)
def test_no_forged_packet_ends_an_adjacency_where_links_are_sealed(forge: Forge, limits: LimitConfig) -> None:
    rng = random.Random(1)
    net = Network(sealed(configure(line(3), {"c1": 1}, limits=limits)), 1)
    net.converge()
    at = next(i.index for i in net.configs["r2"].interfaces if i.peer_name == "r1")
    before = sum(net.router("r2").status()["drops"].values())  # type: ignore[attr-defined]
    for _ in range(10):
        for _ in range(FORGED):
            packet = forge(rng, net.router("r2").links[at].incarnation)
            net.router("r2").receive(net.now_ns, at, packet)
        net.after("r2")
        net.run(SECOND)
    assert sum(net.router("r2").status()["drops"].values()) - before == 10 * FORGED  # type: ignore[attr-defined]
    assert down(net) == []
    assert all_up(net)


def fragment(number: int, *, first: bool, last: bool) -> Segment:
    return Segment(Kind.SUBSCRIBE, number, 0, 16, first=first, last=last, fragment=b"x")


def test_fragments_that_wait_cost_their_bytes_however_small_they_are() -> None:
    count = 50_000
    reassembly = Reassembly(1 << 20)
    tracemalloc.start()
    try:
        for number in range(count):
            reassembly.add(fragment(number, first=not number, last=False))
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 4 * count
    whole, reason = reassembly.add(fragment(count, first=False, last=True))
    assert (whole, reason) == ((Kind.SUBSCRIBE, b"x" * (count + 1)), None)
