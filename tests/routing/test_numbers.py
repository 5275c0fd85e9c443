"""Numbers that only their owner raises: no number from outside ends a router or takes its name away."""

from __future__ import annotations

import pytest

from fastpath.wire import codec
from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.numbers import FAR, LAST, LAST_CLASS, Numbering, Order, OwnNumber
from nodes.wire.packets import Kind
from tests.attacks.bench import R1, R2, TIMERS, Bench
from tests.routing.fabric import MS, SECOND
from tests.wire.payloads import CbcbEra, Interest, InterestChange, LinkState, encode_payload

HOLD_NS = TIMERS.renumber_ms * MS
ENDS = [1 << 32, FAR, LAST_CLASS - 1, LAST_CLASS, LAST - 1, LAST]
OTHER = parse_predicate("z = 1")


def converged(bench: Bench) -> None:
    """All is well, without anybody's help, when the last class has been held and left."""
    bench.converge(4 * HOLD_NS)
    assert bench.router("r1").settled


@pytest.mark.parametrize("origin", [R1, R2])
@pytest.mark.parametrize("number", ENDS)
def test_a_forged_link_state_of_any_number_is_outdone_by_its_owner(origin: int, number: int) -> None:
    bench = Bench(1)
    bench.forge(Kind.LINK_STATE, encode_payload(LinkState(origin, number, ())))
    converged(bench)
    bench.wait(4 * HOLD_NS)
    assert bench.reasons() == [], "and so it stays"


@pytest.mark.parametrize("origin", [R1, R2])
@pytest.mark.parametrize("number", ENDS)
def test_a_forged_interest_of_any_number_does_not_keep_its_owners_clients_from_messages(
    origin: int, number: int
) -> None:
    bench = Bench(2)
    bench.forge(Kind.INTEREST, encode_payload(Interest(origin, number, OTHER)))
    converged(bench)
    assert bench.unreached() == []
    core = bench.cores[f"c{origin}"]
    core.subscribe(bench.now_ns, parse_predicate("k = 1"), 5)  # type: ignore[union-attr]
    bench.deliver(f"c{origin}")
    bench.wait(3 * HOLD_NS)
    assert "k = 1" in bench.router("r2" if origin == R1 else "r1").tables(), "its next change is taken, too"


@pytest.mark.parametrize("number", ENDS)
def test_a_forged_change_of_interest_is_outdone(number: int) -> None:
    bench = Bench(3)
    change = InterestChange(R2, number, bytes(16), parse_predicate("none"), OTHER)
    bench.forge(Kind.INTEREST_CHANGE, encode_payload(change))
    converged(bench)


@pytest.mark.parametrize("origin", [R1, R2])
@pytest.mark.parametrize("number", ENDS)
def test_a_forged_era_of_any_number_ends_in_an_era_of_all(origin: int, number: int) -> None:
    bench = Bench(4, "cbcb")
    bench.forge(Kind.CBCB_ERA, encode_payload(CbcbEra(((origin, number, (1 << 64) - 1),))))
    bench.remove_forger()
    bench.converge(TIMERS.hold_ms * MS + 4 * HOLD_NS)


def test_a_forged_revision_hides_no_later_advertisement() -> None:
    bench = Bench(5, "cbcb")
    bench.remove_forger()
    bench.converge(5 * SECOND)
    router = bench.router("r2")
    router._scheme._revisions[R1] = (1 << 32) - 1  # type: ignore[attr-defined]
    core = bench.cores["c1"]
    core.subscribe(bench.now_ns, parse_predicate("k = 1"), 5)  # type: ignore[union-attr]
    bench.deliver("c1")
    bench.wait(SECOND)
    assert router._scheme._revisions[R1] < 10  # type: ignore[attr-defined]
    assert "k = 1" in router.tables()


GREATEST = [LinkState(R2, number, (((1 << 32) - 1, 1),)) for number in (FAR, LAST, LAST)]
"""An ordinary number that opens the last class, and then the one that nothing is above."""


def forge_greatest(bench: Bench) -> None:
    for forged in GREATEST:
        bench.forge(Kind.LINK_STATE, encode_payload(forged))


def test_a_number_of_the_last_class_alone_is_taken_by_nobody() -> None:
    bench = Bench(6)
    serial = bench.router("r1").installer.serial
    for origin in (R1, R2):
        bench.forge(Kind.LINK_STATE, encode_payload(LinkState(origin, LAST, (((1 << 32) - 1, 1),))))
    bench.wait(50 * MS)
    assert bench.reasons() == []
    assert bench.router("r1").installer.serial == serial


def test_interest_planted_of_a_router_that_had_announced_none_goes_when_the_class_was_held() -> None:
    bench = Bench(6)
    core = bench.cores["c2"]
    core.unsubscribe(bench.now_ns, 1)  # type: ignore[union-attr]
    bench.deliver("c2")
    bench.wait(SECOND)
    bench.start("r2")
    bench.start("r1")
    bench.wait(SECOND)
    assert bench.router("r1").interest.database.state(R2) is None, "it has no clients that want anything"
    bench.forge(Kind.INTEREST, encode_payload(Interest(R2, LAST, OTHER)))
    bench.wait(50 * MS)
    assert not bench.router("r1").settled, "it knows of another record, which it does not take yet"
    bench.wait(HOLD_NS)
    assert bench.reasons() == []
    assert "z = 1" not in bench.router("r1").tables()


def test_at_the_highest_number_the_greater_bytes_stand_until_the_class_is_left_and_nobody_says_settled() -> (
    None
):
    bench = Bench(6)
    forge_greatest(bench)
    bench.wait(HOLD_NS)
    owner = bench.router("r2")
    assert not owner.settled
    assert any("r2 is contradicted" in reason for reason in bench.reasons())
    bench.wait(2 * HOLD_NS + SECOND)
    assert bench.reasons() == []
    assert owner.linkstate.database.records.own.value < FAR, "it is back at ordinary numbers"
    bench.forge(Kind.LINK_STATE, encode_payload(GREATEST[-1]))
    bench.wait(10 * MS)
    assert bench.reasons() == [], "what was left is not taken again"


def test_a_router_that_restarts_in_the_midst_of_it_comes_to_the_same() -> None:
    for name in ("r1", "r2"):
        for after_ns in (0, HOLD_NS // 2, HOLD_NS, 2 * HOLD_NS - 5 * MS, 2 * HOLD_NS + 5 * MS):
            bench = Bench(7)
            forge_greatest(bench)
            bench.wait(after_ns)
            bench.start(name)
            bench.converge(TIMERS.hold_ms * MS + 6 * HOLD_NS)


def test_a_partition_in_the_midst_of_it_comes_to_the_same() -> None:
    for before_ns in (0, HOLD_NS, 2 * HOLD_NS):
        for lasting_ns in (HOLD_NS // 2, 3 * HOLD_NS, 12 * HOLD_NS):
            bench = Bench(8)
            forge_greatest(bench)
            bench.wait(before_ns)
            bench.cut = True
            bench.wait(lasting_ns)
            bench.cut = False
            bench.converge(TIMERS.hold_ms * MS + 6 * HOLD_NS)


def test_of_two_numbers_each_router_of_the_same_state_chooses_the_same() -> None:
    numbering = Numbering(1_000)
    held: tuple[int, bytes] = (5, b"b")
    assert [numbering.compare(0, 9, held, (n, b"b")) for n in (4, 5, 6, LAST_CLASS)] == [
        Order.OLDER,
        Order.SAME,
        Order.NEWER,
        Order.STALE,
    ]
    assert numbering.compare(0, 9, held, (5, b"a")) is Order.OLDER
    assert numbering.compare(0, 9, held, (5, b"c")) is Order.NEWER
    assert numbering.compare(0, 9, None, (0, b"")) is Order.NEWER


def test_the_last_class_is_open_when_numbers_have_come_far_and_left_after_it_was_held() -> None:
    numbering = Numbering(1_000)
    assert numbering.compare(0, 9, (FAR - 1, b""), (LAST, b"")) is Order.STALE
    assert numbering.compare(0, 9, (FAR, b""), (LAST, b"")) is Order.NEWER, "the owner may need it"
    assert not numbering.store(0, 9, FAR, LAST)
    assert numbering.compare(999 * MS, 9, (LAST, b""), (1, b"")) is Order.EARLY
    assert not numbering.settled
    assert numbering.take_due(999 * MS) == []
    assert numbering.take_due(SECOND) == [9], "it is asked for again"
    assert numbering.compare(SECOND, 9, (LAST, b""), (1, b"")) is Order.NEWER
    assert numbering.store(SECOND, 9, LAST, 1)
    assert numbering.compare(SECOND, 9, (1, b""), (LAST, b"")) is Order.STALE, "and is closed"


def test_an_owner_goes_back_above_the_ordinary_numbers_that_it_knows() -> None:
    own = OwnNumber(1_000)
    own.go_above(0, 40)
    assert own.receive(0, (40, b""), (LAST - 1, b"")) is Order.STALE
    assert own.receive(0, (40, b""), (FAR, b"")) is Order.NEWER
    assert own.receive(0, (FAR + 1, b""), (LAST - 1, b"")) is Order.NEWER
    assert own.take_next(0) == LAST
    assert own.returns_at == 2 * SECOND
    assert own.receive(SECOND // 2, (LAST, b""), (70, b"")) is Order.OLDER, "on its way since before"
    assert not own.go_back(2 * SECOND - 1)
    assert own.go_back(2 * SECOND)
    assert own.take_next(2 * SECOND) == 71


def test_numbers_of_origins_that_are_forgotten_take_no_memory() -> None:
    numbering = Numbering(1_000)
    for origin in range(100):
        numbering.store(0, origin, None, LAST)
        numbering.compare(0, origin, (LAST, b""), (1, b""))
        numbering.store(SECOND, origin, LAST, 1)
        numbering.forget(origin)
    assert (numbering._since, numbering._returned, numbering._early) == ({}, set(), {})


def test_the_greatest_number_of_the_wire_format_is_taken_and_encoded() -> None:
    """What a router may announce, its neighbours read."""
    payload = codec.encode_link_state(1, LAST, [(2, 1)])
    assert codec.decode_link_state(payload)[1] == LAST
    assert LAST == 2**63 - 1
    assert TimerConfig().renumber_ms > TimerConfig().retransmit_max_ms
    assert LimitConfig().unlisted_origins < 65_536
