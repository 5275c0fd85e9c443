"""What clients may do by a policy: what their router takes, what it refuses, and what they are told."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fastpath.fib import DropReason
from fastpath.wire import codec
from nodes.config import PolicyConfig
from nodes.model import parse_pattern, parse_predicate
from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import encode, encode_predicate
from nodes.wire.packets import Hello, Kind, Message, Refusal, Refused
from tests.draws import draws
from tests.routing.fabric import MS, SECOND, Conditions, Network
from tests.routing.impostor import Impostor
from tests.routing.policed import may_advertise, may_subscribe, policed

EVEN = PolicyConfig(subscribe="x < 5", publish='k = "a"', advertise='k = "a" and x any integer')
SCHEMES = sorted(CATALOG)


def subscribe(net: Network, client: str, text: str, number: int | None = None) -> int:
    made = net.client(client).core.subscribe(net.now_ns, parse_predicate(text), number)
    net.after(client)
    return made


def publish(net: Network, client: str, **attributes: object) -> None:
    net.client(client).core.publish(net.now_ns, attributes)  # type: ignore[arg-type]
    net.after(client)


def delivered(net: Network, client: str) -> list[int]:
    return [e["sequence"] for e in net.events if e["event"] == "deliver" and e["node"] == client]  # type: ignore[misc]


def told(net: Network, client: str) -> list[dict[str, object]]:
    return [dict(log.fields) for _, name, log in net.logs if name == client and log.event == "refused"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_permitted_is_taken_and_the_rest_refused_at_the_first_router(scheme: str) -> None:
    net = policed({"c1": EVEN, "c2": EVEN}, scheme=scheme)
    inside, outside = subscribe(net, "c2", "x < 3 or x = 4"), subscribe(net, "c2", "x < 9")
    net.converge()
    publish(net, "c1", k="a", x=1)
    publish(net, "c1", k="b", x=1)
    publish(net, "c1", k="a", x=7)
    net.run(SECOND)
    core = net.client("c2").core
    assert delivered(net, "c2") == [1]
    assert net.forward_drops == [("r1", DropReason.NOT_PERMITTED)]
    assert (core.why_refused(inside), core.why_refused(outside)) == (
        None,
        "r2 does not take the subscription: the policy does not permit it to c2 (policy.subscribe)",
    )
    assert net.router("r2").status()["drops"] == {"not_permitted": 1}
    assert net.client("c1").core.refused == {"message_not_permitted": 1}


def test_the_client_is_told_which_of_its_subscriptions_the_policy_does_not_permit() -> None:
    net = policed({"c1": EVEN})
    number = subscribe(net, "c1", "x < 9")
    net.converge()
    assert told(net, "c1") == [{"reason": "subscription_not_permitted", "count": 1, "subscription": number}]
    status = net.client("c1").core.status()
    assert status["not_permitted"] == {"subscription": 1}
    assert (status["subscriptions"], status["subscriptions_acknowledged"]) == (0, 0)
    logged = [log.fields for _, name, log in net.logs if (name, log.event) == ("r1", "not_permitted")]
    assert [(each["subscription"], each["setting"], each["peer"]) for each in logged] == [
        (number, "policy.subscribe", "c1")
    ]


def test_in_the_place_of_a_subscription_that_is_refused_the_one_before_does_not_count() -> None:
    net = policed({"c2": EVEN})
    subscribe(net, "c2", "x = 1", 7)
    net.converge()
    subscribe(net, "c2", "x < 9", 7)
    net.converge()
    publish(net, "c1", x=1)
    net.run(SECOND)
    assert delivered(net, "c2") == []
    subscribe(net, "c2", "x = 1", 7)
    net.converge()
    publish(net, "c1", x=1)
    net.run(SECOND)
    assert delivered(net, "c2") == [2]
    assert net.client("c2").core.why_refused(7) is None


def test_a_refusal_of_what_was_replaced_meanwhile_is_not_taken_for_one_of_what_replaced_it() -> None:
    net = policed({"c1": EVEN})
    subscribe(net, "c1", "x < 9", 1)
    subscribe(net, "c1", "x = 2", 1)  # before the router has answered
    net.converge()
    core = net.client("c1").core
    assert core.refused == {"subscription_not_permitted": 1}
    assert core.why_refused(1) is None
    assert core.status()["subscriptions"] == 1


def test_what_was_refused_is_withdrawn_without_a_word_and_its_number_is_free() -> None:
    net = policed({"c1": EVEN})
    number = subscribe(net, "c1", "x < 9")
    net.converge()
    net.client("c1").core.unsubscribe(net.now_ns, number)
    net.after("c1")
    net.converge()
    assert net.router("r1").status()["drops"] == {"not_permitted": 1}
    assert subscribe(net, "c1", "x = 1") == number
    net.converge()
    assert net.client("c1").core.status()["subscriptions"] == 1


def test_after_the_router_has_come_back_all_is_asked_for_again_and_refused_again() -> None:
    net = policed({"c1": EVEN})
    subscribe(net, "c1", "x < 9")
    net.converge()
    net.kill("r1")
    net.run(5 * SECOND)
    assert net.client("c1").core.refused == {"subscription_not_permitted": 1}
    net.start("r1")
    net.converge()
    assert net.client("c1").core.why_refused(1) is not None
    assert len(told(net, "c1")) == 2


def test_an_advertisement_that_is_not_permitted_is_refused_whole() -> None:
    net = policed({"c1": EVEN}, advertise=True)
    subscribe(net, "c2", "all")
    core = net.client("c1").core
    good = core.advertise(net.now_ns, parse_predicate('k = "a" and x any integer'))
    bad = core.advertise(net.now_ns, parse_predicate('k = "a" and x < 3 or k = "b"'))
    net.after("c1")
    net.converge()
    assert core.why_not_advertised(good) is None
    assert core.why_not_advertised(bad) == (
        "r1 does not take the advertisement: the policy does not permit it to c1 (policy.advertise)"
    )
    publish(net, "c1", k="a", x=1)
    publish(net, "c1", k="b")
    net.run(SECOND)
    assert delivered(net, "c2") == [1]
    assert core.refused == {"advertisement_not_permitted": 1, "message_not_permitted": 1}


def test_what_is_permitted_and_not_advertised_is_counted_for_the_latter() -> None:
    net = policed({"c1": EVEN}, advertise=True)
    publish(net, "c1", k="a", x=1)
    publish(net, "c1", k="b", x=1)
    net.run(SECOND)
    assert [reason for _, reason in net.forward_drops] == [DropReason.UNADVERTISED, DropReason.NOT_PERMITTED]
    assert net.client("c1").core.refused == {"unadvertised": 1, "message_not_permitted": 1}


def test_a_pattern_of_which_a_part_is_not_permitted_is_not_sought_and_the_network_converges() -> None:
    net = policed({"c1": EVEN}, advertise=True)
    factored = {"advertisements": True, "patterns": "factored"}
    configs = {name: replace(config, scheme_options=factored) for name, config in net.configs.items()}
    net = Network(configs, 1)
    net.converge()
    core = net.client("c1").core
    good = core.subscribe_pattern(net.now_ns, parse_pattern("[x = 1] then [x = 2] within 1s"))
    bad = core.subscribe_pattern(net.now_ns, parse_pattern("[x = 1] then [x = 8] within 1s"))
    net.after("c1")
    net.converge()
    assert core.why_refused(good) is None
    assert core.why_refused(bad) == (
        "r1 does not seek the pattern: the policy does not permit a part of it to c1 (policy.subscribe)"
    )
    for number in (good, bad):
        core.unsubscribe_pattern(net.now_ns, number)
    net.after("c1")
    net.converge()
    assert net.router("r1").status()["drops"] == {"not_permitted": 1}


def test_clients_of_whom_the_policy_says_nothing_may_do_anything() -> None:
    net = policed({"c1": PolicyConfig(publish="none", subscribe="none", advertise="none")})
    subscribe(net, "c2", "all")
    subscribe(net, "c1", "all")
    net.converge()
    publish(net, "c1", x=1)
    publish(net, "c2", x=1)
    net.run(SECOND)
    assert (delivered(net, "c1"), delivered(net, "c2")) == ([], [])
    assert net.client("c2").core.refused == {}


def test_a_client_cannot_take_the_rights_of_another_by_its_name_or_in_its_messages() -> None:
    """c1 may do nothing, c3 at the same router anything: c1's link says who c1 is."""
    net = policed({"c1": PolicyConfig("none", "none", "none")}, {"c1": 1, "c2": 2, "c3": 1})
    subscribe(net, "c2", "all")
    net.converge()
    other, own = net.configs["c3"].node_id, net.configs["c1"].node_id
    at = next(i.index for i in net.configs["r1"].interfaces if i.peer_name == "c1")
    forged = encode(Message(other, 99, net.now_ns, {"x": 1}))
    assert net.fibs["r1"].forward(forged, at) == (DropReason.SPOOFED_SOURCE, [])
    impostor = Impostor(net, at)
    hello = Hello(net.configs["c1"].role, other, impostor.ours, 2000)
    impostor.say(encode(hello))
    assert net.router("r1").status()["drops"] == {"wrong_peer": 1}
    everything = (1).to_bytes(4, "big") + encode_predicate(parse_predicate("all"))
    impostor.send(Kind.SUBSCRIBE, everything)
    assert net.router("r1").status()["drops"] == {"not_permitted": 1, "wrong_peer": 1}
    assert own != other


def test_a_client_that_asks_for_what_it_may_not_have_and_never_listens_costs_no_more_than_a_bound() -> None:
    from nodes.routing import policy

    net = policed({"c1": EVEN})
    impostor = Impostor(net, next(i.index for i in net.configs["r1"].interfaces if i.peer_name == "c1"))
    wide = encode_predicate(parse_predicate("all"))
    link = net.router("r1").links[impostor.interface]
    asked = policy.WAITING_MAX + 500
    for number in range(asked):
        impostor.send(Kind.SUBSCRIBE, number.to_bytes(4, "big") + wide)
    assert net.router("r1").status()["drops"] == {"not_permitted": asked}
    assert link.waiting <= policy.WAITING_MAX


def test_what_a_refusal_names_is_read_as_it_was_written() -> None:
    named = Refused.of(0xFFFF_FFFF, b"predicate")
    payload = codec.encode_refused(Refusal.SUBSCRIPTION_NOT_PERMITTED, 1, named.sequence)
    assert Refused.read(codec.decode_refused(payload)[2]) == named
    assert Refused.of(1, b"one") != Refused.of(1, b"another")


def test_a_refusal_of_what_nobody_holds_changes_nothing() -> None:
    net = policed({"c1": EVEN})
    subscribe(net, "c1", "x = 1", 1)
    net.converge()
    link = net.router("r1").links[0 if net.configs["r1"].interfaces[0].peer_name == "c1" else 1]
    for what in Refusal:
        for sequence in (0, Refused.of(1, b"something else").sequence, 2**63 - 1):
            payload = codec.encode_refused(what, 1, sequence)
            link.send(net.now_ns, Kind.REFUSED, payload, (Kind.REFUSED, what, sequence))
    net.after("r1")
    net.converge()
    assert net.client("c1").core.status()["subscriptions"] == 1
    assert net.client("c1").core.status()["not_permitted"] == {}


TEXTS = (
    "x < 5", "x = 2", "x any integer", 'k = "a"', 'k >* "a" and x < 3', "x < 2 or x = 4", 'x < 5 or k = "a"',
    "x > 1 and x < 4", "all", "none", 'k = "a" and x any integer', 'k = "a" and k = "b"', "u = true",
    "y < 0.5 and x = 2",
)  # fmt: skip
NUMBERS = st.integers(1, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("subscribe"), NUMBERS, st.sampled_from(TEXTS)),
        st.tuples(st.just("unsubscribe"), NUMBERS, st.just("")),
        st.tuples(
            st.just("advertise"), NUMBERS, st.sampled_from([t for t in TEXTS if t not in ("all", "none")])
        ),
        st.tuples(st.just("unadvertise"), NUMBERS, st.just("")),
        st.tuples(st.just("wait"), st.just(0), st.just("")),
        st.tuples(st.just("lose"), st.just(0), st.just("")),
    ),
    max_size=12,
)


@settings(max_examples=draws(400), deadline=None)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), STEPS, st.integers(0, 2**20))
def test_a_router_holds_just_what_the_model_permits_whatever_a_client_asks_for_on_a_bad_link(
    wanted: str, offered: str, steps: list[tuple[str, int, str]], seed: int
) -> None:
    policy = PolicyConfig(subscribe=wanted, advertise=offered)
    bad = Conditions(jitter_ns=20 * MS, loss=0.2, duplicate=0.1)
    net = policed({"c1": policy}, seed=seed, conditions=bad)
    core, held = net.client("c1").core, {"subscribe": dict[int, str](), "advertise": dict[int, str]()}
    rng = random.Random(seed)
    for do, number, text in steps:
        if do in held:
            (core.subscribe if do == "subscribe" else core.advertise)(
                net.now_ns, parse_predicate(text), number
            )
            held[do][number] = text
        elif do == "lose":
            net.cut("r1", "c1")
            net.run(3 * SECOND)
            net.cut("r1", "c1", down=False)
        elif do == "wait":
            net.run(rng.randrange(200) * MS)
        elif number in held[do.removeprefix("un") if do == "unsubscribe" else "advertise"]:
            (core.unsubscribe if do == "unsubscribe" else core.unadvertise)(net.now_ns, number)
            del held["subscribe" if do == "unsubscribe" else "advertise"][number]
        net.after("c1")
    net.converge(within_ns=60 * SECOND)
    router, at = net.router("r1"), next(i for i in net.configs["r1"].interfaces if i.peer_name == "c1").index
    left = {
        "subscribe": {n for n, text in held["subscribe"].items() if may_subscribe(policy, text)},
        "advertise": {n for n, text in held["advertise"].items() if may_advertise(policy, text)},
    }
    event(f"{sum(map(len, held.values())) - sum(map(len, left.values()))} refused")
    assert len(router.clients.by_interface[at]) == len(left["subscribe"])
    assert len(router.advertisements.by_interface[at]) == len(left["advertise"])
    for number in held["subscribe"]:
        assert (core.why_refused(number) is None) == (number in left["subscribe"])
    for number in held["advertise"]:
        assert (core.why_not_advertised(number) is None) == (number in left["advertise"])
