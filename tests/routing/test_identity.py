"""Records in a router's name that it did not send: it keeps its name, or gets it back by itself."""

from __future__ import annotations

from nodes.model import parse_predicate
from nodes.routing.identity import LONGEST_NS, ROUNDS
from nodes.wire.packets import Kind
from tests.attacks.bench import FORGER, R1, R2, Bench
from tests.routing.fabric import MS, SECOND
from tests.wire.payloads import Interest, LinkState, encode_payload


def forge(bench: Bench, origin: int, *listed: int) -> None:
    """A link state above whatever there is."""
    records = bench.router("r1").linkstate.database.records
    held = records.payload(origin) or bytes(12)
    number = int.from_bytes(held[4:12], "big") + 100
    links = tuple((each, 1) for each in sorted(listed))
    bench.forge(Kind.LINK_STATE, encode_payload(LinkState(origin, number, links)))


def test_two_forged_link_states_a_second_silence_nobody() -> None:
    for origin in (R1, R2):
        bench = Bench(1)
        for _ in range(20):
            forge(bench, origin)
            bench.wait(30 * MS)
            assert bench.unreached() == [], "while it goes on"
            bench.wait(470 * MS)
        assert bench.reasons() == []
        status = bench.router(f"r{origin}").status()
        assert not status["id_refused"]
        assert status["superseded"] == 20
        assert len([log for _, log in bench.logs if log.event == "own_record_received"]) <= 2


def test_forged_interest_silences_nobody_either() -> None:
    bench = Bench(2)
    for number in range(20):
        forged = Interest(R2, 1_000 * (number + 1), parse_predicate("z = 1"))
        bench.forge(Kind.INTEREST, encode_payload(forged))
        bench.wait(500 * MS)
        assert bench.unreached() == []
    assert bench.reasons() == []


def test_a_router_that_is_made_to_withdraw_comes_back_by_itself_within_seconds() -> None:
    """The forger lists r2 among its links, and answers each of r2's records as a router with its id would."""
    bench = Bench(3)
    for _ in range(3 * ROUNDS):
        forge(bench, FORGER, R1, R2)
        forge(bench, R2, R1, FORGER)
        bench.wait(200 * MS)
    refused = bench.router("r2")
    assert refused.status()["id_refused"]
    assert any("r2 has the id 2" in reason for reason in bench.reasons())
    bench.converge(LONGEST_NS + SECOND)
    events = [log.event for name, log in bench.logs if name == "r2"]
    assert "node_id_collision" in events
    assert "node_id_regained" in events


def test_a_record_in_our_name_is_answered_at_once_the_first_time() -> None:
    """Before anybody has installed what it says."""
    bench = Bench(4)
    serial = bench.router("r1").installer.serial
    forge(bench, R2)
    bench.wait(0)
    assert bench.reasons() != [], "to be installed"
    bench.wait(50 * MS)
    assert bench.reasons() == []
    assert bench.router("r1").installer.serial == serial, "the tables never changed"
