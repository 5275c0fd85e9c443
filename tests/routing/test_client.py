"""The client's core and the scripted client."""

from __future__ import annotations

import random

import pytest

from nodes.client.core import ClientCore, NotAttached
from nodes.client.script import ACTIONS_PER_CALL, ScriptedClient
from nodes.config import Action
from nodes.model import UsageError, parse_message, parse_predicate
from nodes.routing.effects import Deliver, Log
from nodes.wire.codec import encode
from nodes.wire.packets import Message
from tests.routing.fabric import EPOCH_NS, MS, SECOND, Network, configure

CONFIGS = configure([], {"c1": 1, "c2": 1}, routers=1)


def core() -> ClientCore:
    return ClientCore(CONFIGS["c1"], random.Random(1))


def attached(**scripts: list[Action]) -> Network:
    network = Network(CONFIGS, 1, scripts=scripts)
    network.converge(within_ns=SECOND)
    return network


def test_publishing_before_attaching_is_an_error_that_names_the_router() -> None:
    with pytest.raises(NotAttached, match="c1 is not attached to r1"):
        core().publish(0, {"x": 1})


def test_messages_are_numbered_from_one_and_carry_the_clock() -> None:
    network = attached(c2=[Action(-1, "subscribe", 1, "all")])
    client = network.client("c1").core
    assert [client.publish(network.now_ns, {"x": i}) for i in range(3)] == [(2, 1), (2, 2), (2, 3)]
    network.after("c1")
    network.run(SECOND)
    got = [e for e in network.events if e["event"] == "deliver"]
    assert [(e["source"], e["sequence"], e["hop_count"], e["latency_ns"]) for e in got] == [
        (2, 1, 1, 2 * MS),
        (2, 2, 1, 2 * MS),
        (2, 3, 1, 2 * MS),
    ]


def test_a_message_that_fits_no_datagram_is_refused_with_the_limit() -> None:
    client = attached().client("c1").core
    fits = 1472 - 36 - len("TLtextLL")
    with pytest.raises(UsageError, match=r"has 1473 bytes; c1-eth0 takes 1472 \(its MTU of 1500"):
        client.publish(0, {"text": "x" * (fits + 1)})
    assert client.publish(0, {"text": "x" * fits}) == (2, 1), "a refused message uses no number"


def test_a_message_that_fits_no_packet_is_refused_like_one_that_fits_no_datagram() -> None:
    client = attached().client("c1").core
    with pytest.raises(UsageError, match="expected at most 65535"):
        client.publish(0, {"one": "x" * 40_000, "two": "x" * 40_000})
    assert client.publish(0, {"n": 1}) == (2, 1), "a refused message uses no number"


def test_a_value_the_network_cannot_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="attribute"):
        attached().client("c1").core.publish(0, {"x": 2**70})


def test_subscriptions_are_acknowledged_when_the_router_has_them() -> None:
    network = attached()
    client = network.client("c1")
    assert client.core.subscribe(network.now_ns, parse_predicate("x = 1")) == 1
    assert client.core.subscribe(network.now_ns, parse_predicate("x = 2")) == 2
    assert client.status()["subscriptions_acknowledged"] == 0
    network.after("c1")
    network.run(50 * MS)
    assert client.status()["subscriptions_acknowledged"] == 2
    assert network.reasons() == []


def test_subscriptions_made_before_attaching_are_sent_when_attached() -> None:
    network = Network(CONFIGS, 1)
    network.client("c1").core.subscribe(0, parse_predicate("x = 1"), 7)
    assert "c1 is not attached" in network.reasons()
    network.converge(within_ns=SECOND)
    assert network.client("c1").status()["subscriptions_acknowledged"] == 1


def test_subscriptions_are_sent_again_to_a_restarted_router() -> None:
    network = attached(c1=[Action(-1, "subscribe", 1, "x = 1")], c2=[Action(0, "publish", 0, "x = 1")])
    network.kill("r1")
    network.run(10 * MS)
    network.start("r1")
    network.converge(within_ns=SECOND)
    network.client("c2").start(network.now_ns)
    network.after("c2")
    network.run(SECOND)
    assert [e["event"] for e in network.events] == ["subscribe", "publish", "deliver"]


def test_what_router_and_client_hold_is_compared_not_only_counted() -> None:
    network = attached(c1=[Action(-1, "subscribe", 1, "x = 1")])
    held = network.router("r1").clients.by_interface[0]
    predicate = held._predicates[1]
    held.set(1, b"\0\0\0\0")
    assert network.reasons() == ["r1 does not hold what c1 subscribed to"]
    held.set(1, predicate)
    assert network.reasons() == []


def test_advertisements_are_held_as_subscriptions_are_and_apart_from_them() -> None:
    network = attached()
    core = network.client("c1").core
    assert core.subscribe(network.now_ns, parse_predicate("x = 1")) == 1
    assert core.advertise(network.now_ns, parse_predicate("y any integer or z any string")) == 1
    assert core.advertise(network.now_ns, parse_predicate("w = 1")) == 2
    assert core.status()["advertisements_acknowledged"] == 0
    network.after("c1")
    network.run(50 * MS)
    assert (core.status()["advertisements"], core.status()["advertisements_acknowledged"]) == (2, 2)
    assert len(network.router("r1").advertisements.by_interface[0]) == 2
    assert network.reasons() == []
    core.unadvertise(network.now_ns, 1)
    assert core.advertised == (2,)
    network.after("c1")
    network.run(50 * MS)
    assert len(network.router("r1").advertisements.by_interface[0]) == 1
    assert len(network.router("r1").clients.by_interface[0]) == 1
    assert network.reasons() == []


def test_a_restarted_router_is_told_again_what_is_advertised() -> None:
    network = attached()
    network.client("c1").core.advertise(network.now_ns, parse_predicate("x any integer"))
    network.after("c1")
    network.run(50 * MS)
    network.kill("r1")
    network.run(10 * MS)
    network.start("r1")
    network.converge(within_ns=SECOND)
    assert len(network.router("r1").advertisements.by_interface[0]) == 1
    held = network.router("r1").advertisements.by_interface[0]
    held.set(1, b"\0\0\0\0")
    assert network.reasons() == ["r1 does not hold what c1 advertised"]


def test_withdrawing_what_is_not_advertised_is_an_error() -> None:
    with pytest.raises(UsageError, match="c1 has no advertisement 4"):
        core().unadvertise(0, 4)


def test_unsubscribing_what_is_not_subscribed_is_an_error() -> None:
    with pytest.raises(UsageError, match="c1 has no subscription 4"):
        core().unsubscribe(0, 4)


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_subscription_id_has_32_bits(number: int) -> None:
    with pytest.raises(UsageError, match="0 to 4294967295"):
        core().subscribe(0, parse_predicate("all"), number)
    with pytest.raises(UsageError, match="an advertisement's id is 0 to 4294967295"):
        core().advertise(0, parse_predicate("x = 1"), number)


@pytest.mark.parametrize("text", ["all", "none", "x = 1 or all"])
def test_an_advertisement_that_declares_nothing_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="declares no attribute, so no message but the empty one is within"):
        core().advertise(0, parse_predicate(text))


def test_a_router_is_no_client() -> None:
    with pytest.raises(UsageError, match="r1: a client has role client"):
        ClientCore(CONFIGS["r1"], random.Random(1))


# --- scripts ----------------------------------------------------------------------------------------------


def test_actions_before_zero_are_done_when_attached_and_the_others_at_their_time() -> None:
    script = [
        Action(5 * MS, "publish", 0, "x = 2"),
        Action(-1, "subscribe", 1, "x > 1"),
        Action(3 * MS, "unsubscribe", 1),
        Action(5 * MS, "publish", 0, "x = 3"),
    ]
    network = attached(c1=script)
    client = network.client("c1")
    assert (client.status()["started"], client.status()["script_remaining"]) == (False, 3)
    zero = network.now_ns + 10 * MS
    client.start(zero)
    network.after("c1")
    network.run(SECOND)
    common = {"node": "c1", "source": 2}
    first = {"event": "subscribe", "subscription": 1, "predicate": "x > 1"}
    assert [{**common, **event} for event in network.events] == [
        {**common, "time_ns": EPOCH_NS + 2 * MS, "n": 0, **first},
        {**common, "time_ns": zero + 3 * MS, "n": 1, "event": "unsubscribe", "subscription": 1},
        {**common, "time_ns": zero + 5 * MS, "n": 2, "event": "publish", "sequence": 1, "message": "x = 2"},
        {**common, "time_ns": zero + 5 * MS, "n": 3, "event": "publish", "sequence": 2, "message": "x = 3"},
    ]
    assert (client.status()["started"], client.status()["script_remaining"]) == (True, 0)


def test_the_keys_of_events_stand_in_the_documented_order() -> None:
    network = attached(c1=[Action(-1, "subscribe", 1, "all")], c2=[Action(0, "publish", 0, "x = 1")])
    network.client("c2").start(network.now_ns)
    network.after("c2")
    network.run(SECOND)
    assert {str(e["event"]): " ".join(e) for e in network.events} == {
        "subscribe": "time_ns node n event subscription predicate",
        "publish": "time_ns node n event source sequence message",
        "deliver": "time_ns node n event source sequence hop_count latency_ns",
    }


def test_a_burst_is_done_in_parts_so_that_the_shell_gets_its_turn() -> None:
    burst = [Action(0, "publish", 0, "x = 1") for _ in range(ACTIONS_PER_CALL + 1)]
    client = attached(c1=burst).client("c1")
    now_ns = EPOCH_NS + 10 * SECOND
    client.start(now_ns)
    client.handle_timer(now_ns)
    assert client.status()["script_remaining"] == 1
    assert client.next_deadline() == now_ns
    client.handle_timer(now_ns)
    assert client.status()["script_remaining"] == 0


def test_an_action_that_fails_is_logged_and_counted_and_the_script_goes_on() -> None:
    client = ScriptedClient(core(), [Action(0, "publish", 0, "x = 1"), Action(1, "unsubscribe", 5)])
    client.start(0)
    client.handle_timer(1)
    output = [o for o in client.take_outputs() if isinstance(o, Log)]
    assert [log.fields["why"] for log in output] == ["c1 is not attached to r1", "c1 has no subscription 5"]
    assert client.status()["script_failed"] == 2
    assert client.take_events() == []


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Action(0, "subscribe", 1, "x >"), r"c1, action 2 of the script: .*"),
        (Action(0, "publish", 0, "x"), r"c1, action 2 of the script: .*"),
        (Action(0, "dance"), r"c1, action 2 of the script: cannot 'dance'; expected one of subscribe"),
    ],
)
def test_a_script_that_makes_no_sense_is_refused_at_once(action: Action, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ScriptedClient(core(), [Action(-1, "subscribe", 1, "all"), action])


def test_deliveries_are_handed_on_as_well_as_noted() -> None:
    client = ScriptedClient(core(), [])
    client.receive(10, 0, encode(Message(9, 4, 3, parse_message("x = 1"), hop_count=2)))
    outputs = client.take_outputs()
    assert [o.message.sequence for o in outputs if isinstance(o, Deliver)] == [4]
    (event,) = client.take_events()
    assert (event["latency_ns"], event["hop_count"]) == (7, 2)
