"""The asyncio client library against a real router over loopback."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.client import sync
from nodes.client.aio import Client
from nodes.client.core import NotAttached
from nodes.client.refused import LimitReached, NotPermitted, PatternRefused
from nodes.config import LimitConfig, PolicyConfig
from nodes.config_file import ConfigError, dump_config, load_config
from nodes.daemon.sockets import open_interface
from nodes.model import PredicateSyntaxError, Time, UsageError, parse_predicate
from nodes.wire.packets import Role

ROOT = Path(__file__).resolve().parents[2]


def router_with_two_clients(
    net: Any, policy: PolicyConfig | None = None, limits: LimitConfig | None = None
) -> None:
    """r1, which permits c2 so much, and c3 anything."""
    for name, node_id, role in (("r1", 1, Role.ROUTER), ("c2", 2, Role.CLIENT), ("c3", 3, Role.CLIENT)):
        net.node(name, node_id, role)
    net.link("r1", "c2")
    net.link("r1", "c3")
    start_router(net, policy, limits)


def start_router(net: Any, policy: PolicyConfig | None, limits: LimitConfig | None = None) -> None:
    """r1, which permits c2 so much, and holds so much."""
    interfaces = net.config("r1").interfaces
    limited = (replace(i, policy=policy if i.peer_name == "c2" else None) for i in interfaces)
    net.start("r1", interfaces=tuple(limited), limits=limits or LimitConfig())


def connect(net: Any, name: str, **more: Any) -> Any:
    node_id = net.ids[name][0]
    local, router = net.addresses[name, "r1"], net.addresses["r1", name]
    return Client.connect(local=local, router=router, node_id=node_id, router_id=1, **more)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


async def settled(net: Any, subscriptions: int) -> None:
    """Wait until the router forwards by what its clients have said."""

    def printed() -> bool:
        status = net.admins["r1"].ask("status")["core"]
        held = sum(a["subscriptions"] for a in status["adjacencies"])
        return bool(status["settled"]) and held == subscriptions

    while not printed():
        await asyncio.sleep(0.005)


def test_what_the_policy_does_not_permit_raises_and_is_not_held(loopback: Any) -> None:
    net = loopback
    router_with_two_clients(net, PolicyConfig(subscribe="x < 5", publish="x = 1", advertise="x any integer"))

    async def work() -> None:
        async with connect(net, "c2") as limited, connect(net, "c3") as other:
            with pytest.raises(NotPermitted, match=r"take the subscription: .*\(policy.subscribe\)"):
                await limited.subscribe("x < 9")
            with pytest.raises(NotPermitted, match=r"take the advertisement: .*\(policy.advertise\)"):
                await limited.advertise("y any integer")
            with pytest.raises(PatternRefused, match=r"\(policy.subscribe\)"):
                await limited.subscribe_pattern("[x = 1] then [x = 7] within 1s")
            few, everything = await limited.subscribe("x < 3"), await other.subscribe("x any integer")
            assert few.refused is None
            await settled(net, 2)
            for number in (7, 1):
                await limited.publish({"x": number})
            assert (await anext(aiter(everything))).attributes == {"x": 1}
            await other.publish({"x": 2})
            assert (await anext(aiter(few))).attributes == {"x": 2}
            while limited.refused.get("message_not_permitted") != 1:
                await asyncio.sleep(0.005)  # told with the next HELLO at the latest

    run(work())


def test_what_is_more_than_the_router_holds_raises_until_something_is_withdrawn(
    loopback: Any,
) -> None:
    net = loopback
    router_with_two_clients(net, limits=LimitConfig(filters_per_neighbour=2))

    async def work() -> None:
        async with connect(net, "c2") as limited, connect(net, "c3") as other:
            first = await limited.subscribe("x = 1")
            await limited.subscribe("x = 2")
            with pytest.raises(LimitReached, match=r"take the subscription: .*limits.filters_per_neighbour"):
                await limited.subscribe("x = 3")
            await limited.unsubscribe(first)
            third = await limited.subscribe("x = 3")
            await settled(net, 2)
            await other.publish({"x": 3})
            assert (await anext(aiter(third))).attributes == {"x": 3}
            await limited.advertise("x any integer or y any integer")
            with pytest.raises(LimitReached, match="take the advertisement"):
                await limited.advertise("z any integer")

    run(work())


def test_who_waits_for_deliveries_is_told_when_its_router_comes_back_and_permits_less(loopback: Any) -> None:
    net = loopback
    router_with_two_clients(net)

    async def work() -> None:
        async with connect(net, "c2") as client:
            wanted = await client.subscribe("x < 9")
            net.stop()
            start_router(net, PolicyConfig(subscribe="x < 5"))
            with pytest.raises(NotPermitted, match="does not take the subscription"):
                await anext(aiter(wanted))
            assert wanted.refused is not None

    run(work())


def test_a_client_advertises_and_withdraws_what_it_will_publish(loopback: Any) -> None:
    router_with_two_clients(loopback)

    def held() -> int:
        status = loopback.admins["r1"].ask("status")["core"]
        return sum(a["advertisements"] for a in status["adjacencies"])

    async def work() -> None:
        async with connect(loopback, "c2") as publisher:
            first = await publisher.advertise("x any integer or y any string")
            assert (first.number, held()) == (1, 1)
            await publisher.advertise(parse_predicate("z = 1"))
            assert held() == 2
            await publisher.unadvertise(first)
            assert (held(), publisher.refused) == (1, {})
            with pytest.raises(UsageError, match="no advertisement 1"):
                await publisher.unadvertise(first)
            with pytest.raises(PredicateSyntaxError, match="column 2"):
                await publisher.advertise("x")
        while held():
            await asyncio.sleep(0.005)

    run(work())


def test_a_subscriber_gets_what_matches_in_order_with_all_five_types(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            await subscriber.subscribe('dest = "ORD" and price < 400.0')
            await settled(loopback, 1)
            sent = {"dest": "ORD", "price": 210.5, "stops": 1, "refund": True, "at": Time(7)}
            assert await publisher.publish(sent) == (2, 1)
            await publisher.publish('dest = "JFK", price = 1.0')
            await publisher.publish('dest = "ORD", price = 399.0')
            first = await anext(subscriber)
            second = await anext(subscriber)
            assert first.attributes == sent
            assert (first.source, first.sequence, first.hop_count) == (2, 1, 1)
            assert (second.source, second.sequence) == (2, 3)
            assert 0 < first.latency_ns < 30_000_000_000

    run(work())


def test_after_unsubscribing_nothing_comes(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> list[int]:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            odd = await subscriber.subscribe("odd = true")
            await subscriber.subscribe("odd = false")
            await settled(loopback, 2)
            await publisher.publish("odd = true")
            await subscriber.unsubscribe(odd)
            await settled(loopback, 1)
            await publisher.publish("odd = true")
            await publisher.publish("odd = false")
            return [(await anext(subscriber)).sequence for _ in range(2)]

    assert run(work()) == [1, 3]


def test_deliveries_beyond_the_queue_are_counted_and_the_earlier_ones_kept(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3", queue_limit=5) as slow:
            await slow.subscribe("n any integer")
            await settled(loopback, 1)
            for n in range(20):
                await publisher.publish({"n": n})
            while slow.overflows < 15:
                await asyncio.sleep(0.005)
            assert [(await anext(slow)).attributes["n"] for _ in range(5)] == [0, 1, 2, 3, 4]

    run(work())


def test_iteration_ends_when_the_client_is_closed_and_what_waited_is_still_given(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> list[object]:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            await subscriber.subscribe("n any integer")
            await settled(loopback, 1)
            await publisher.publish("n = 1")
            await publisher.publish("n = 2")
            got = []
            async for delivery in subscriber:
                got.append(delivery.attributes["n"])
                if len(got) == 2:
                    subscriber.close()
            return got

    assert run(work()) == [1, 2]


def test_a_router_that_does_not_answer_is_a_time_out_that_says_where(loopback: Any) -> None:
    router_with_two_clients(loopback)
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    loopback.stop()

    async def work() -> None:
        async with connect(loopback, "c2", attach_timeout_s=0.2):
            raise AssertionError("attached to nobody")

    with pytest.raises(
        TimeoutError, match=r"the router at 127\.\d+\.\d+\.1:61803 did not answer within 0.2 s"
    ):
        run(work())


def test_misuse_is_an_error_that_explains_itself(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as client:
            with pytest.raises(PredicateSyntaxError):
                await client.subscribe("dest = ")
            with pytest.raises(UsageError):
                await client.publish({"n": 2**64})
            with pytest.raises(UsageError, match="bytes"):
                await client.publish({"s": "x" * 5000})
            once = await client.subscribe("a = 1")
            await client.unsubscribe(once)
            with pytest.raises(UsageError, match="no subscription"):
                await client.unsubscribe(once)
        with pytest.raises(NotAttached):
            await client.subscribe("a = 1")

    run(work())


def test_garbage_from_the_routers_address_is_counted_and_the_client_goes_on(loopback: Any) -> None:
    router_with_two_clients(loopback)
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    loopback.stop()
    loopback.admins.clear()
    loopback.processes.clear()
    garbage = [b"\xff" * 40, b"\x01", b"\x01\x09\x00\x04", b"\x02\x01\x00\x24" + bytes(32)]

    async def work() -> None:
        client = Client(loopback.config("c2"))
        with open_interface(loopback.config("r1").interfaces[0]) as liar:
            for datagram in garbage:
                liar.send(datagram)
            while client.malformed < len(garbage):
                await asyncio.sleep(0.005)
        loopback.start("r1")
        await client.attach()
        client.close()

    run(work())


def test_a_client_comes_back_after_its_router_was_restarted_and_is_still_subscribed(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            await subscriber.subscribe("n any integer")
            await settled(loopback, 1)
            loopback.admins.pop("r1").close()
            loopback.processes["r1"].kill()
            loopback.processes.pop("r1").communicate()
            loopback.start("r1")
            while not loopback.admins["r1"].connect():
                await asyncio.sleep(0.01)
            await settled(loopback, 1)
            await publisher.attach()
            await publisher.publish("n = 5")
            assert (await anext(subscriber)).attributes == {"n": 5}

    run(work())


def test_a_client_can_be_made_from_a_nodes_file(loopback: Any) -> None:
    router_with_two_clients(loopback)
    path = loopback.folder / "c2.toml"
    path.write_text(dump_config(loopback.config("c2")))

    async def work() -> None:
        async with Client.from_config(load_config(path)) as client:
            assert client.attached
            assert client.status()["core"]["node"] == "c2"  # type: ignore[index]

    run(work())


def test_the_example_in_the_documentation_runs(loopback: Any, sole: None) -> None:
    """The page's program, with the page's router, on the page's addresses."""
    page = (ROOT / "docs" / "writing-applications.md").read_text(encoding="utf-8")
    router = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    page = page.partition("## Without the testbed")[2]
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    output = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert router
    assert program
    assert output
    (loopback.folder / "r1.toml").write_text(router[1])
    (loopback.folder / "example.py").write_text(program[1])
    loopback.start_with("r1", loopback.folder / "r1.toml")
    command = [sys.executable, str(loopback.folder / "example.py")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output[1]


def test_a_payload_arrives_beside_the_attributes_and_no_predicate_sees_it(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            await subscriber.subscribe("n < 3")
            await settled(loopback, 1)
            for n, payload in enumerate((b"", bytes(range(256)), b"n = 1")):
                await publisher.publish({"n": n}, payload)
            await publisher.publish({"m": 1}, b"n = 1")
            got = [await anext(subscriber) for _ in range(3)]
            assert [each.payload for each in got] == [b"", bytes(range(256)), b"n = 1"]

    run(work())


def test_each_subscription_iterates_over_its_own_and_the_client_over_the_rest(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            low = await subscriber.subscribe("n < 5")
            even = await subscriber.subscribe("even = true")
            high = await subscriber.subscribe("n > 7")
            await settled(loopback, 3)
            await publisher.publish_many([{"n": n, "even": n % 2 == 0} for n in range(10)])
            assert [(await anext(low)).attributes["n"] for _ in range(5)] == [0, 1, 2, 3, 4]
            fourth = [await anext(subscriber) for _ in range(6)]
            assert [each.attributes["n"] for each in fourth] == [0, 2, 4, 6, 8, 9], (
                "no other is for low alone"
            )
            assert fourth[0].subscriptions == (low, even)
            assert fourth[4].subscriptions == (even, high)
            await low.unsubscribe()
            assert [each async for each in low] == [], "what is withdrawn ends"

    run(work())


def test_a_callback_is_given_each_delivery_and_may_be_asynchronous(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            plain: list[object] = []
            last = asyncio.get_running_loop().create_future()

            async def later(delivery: Any) -> None:
                await asyncio.sleep(0)
                if delivery.attributes["n"] == 2:
                    last.set_result(delivery.subscriptions[0].number)

            await subscriber.subscribe("n any integer", plain.append)
            second = await subscriber.subscribe("n = 2", later)
            await settled(loopback, 2)
            await publisher.publish_many([{"n": 1}, "n = 2", ({"n": 3}, b"x"), ("n = 4", b"y")])
            assert await last in (second.number, second.number - 1)
            while len(plain) < 4:
                await asyncio.sleep(0.005)
            assert [each.payload for each in plain] == [b"", b"", b"x", b"y"]  # type: ignore[attr-defined]

    run(work())


def test_an_error_in_a_callback_ends_the_client_and_is_raised_by_the_next_call(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:

            def fail(_: object) -> None:
                raise ZeroDivisionError("by the application")

            await subscriber.subscribe("n any integer", fail)
            await settled(loopback, 1)
            await publisher.publish("n = 1")
            with pytest.raises(ZeroDivisionError, match="by the application"):
                await anext(subscriber)

    run(work())


def test_a_batch_is_sent_whole_or_not_at_all_in_few_datagrams(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as subscriber:
            wanted = await subscriber.subscribe("n any integer")
            await settled(loopback, 1)
            with pytest.raises(
                UsageError, match=r"message 2 of the batch has \d+ bytes; expected at most 1472"
            ):
                await publisher.publish_many([{"n": 1}, {"n": 2, "s": "x" * 2000}])
            ids = await publisher.publish_many([{"b": 1.5, "a": True, "n": n} for n in range(100)])
            assert ids == [(2, n) for n in range(1, 101)], "the batch that was refused has used no numbers"
            got: list[Any] = []
            while len(got) < 100:
                got += await wanted.batch()
            assert [each.attributes for each in got] == [{"a": True, "b": 1.5, "n": n} for n in range(100)]
            [counters] = publisher.status()["interfaces"]
            assert counters["tx_messages"] == 100
            assert counters["tx_datagrams"] < 30

    run(work())


def test_a_subscription_is_settled_once_the_settling_time_is_over(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> float:
        loop = asyncio.get_running_loop()
        async with Client.from_config(loopback.config("c3", events_path="", settle_ms=300)) as client:
            began = loop.time()
            subscription = await client.subscribe("n any integer")
            await subscription.settled()
            took_s = loop.time() - began
            await subscription.settled()
            return took_s

    assert run(work()) >= 0.299


def test_a_program_without_a_configuration_is_told_what_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CBN_NODE", raising=False)

    async def work() -> None:
        async with Client.from_environment():
            raise AssertionError("attached to nobody")

    with pytest.raises(ConfigError, match="CBN_NODE is not set: it names the file"):
        run(work())


def test_the_synchronous_face_does_the_same_without_asyncio(loopback: Any) -> None:
    router_with_two_clients(loopback)

    def connected(name: str) -> Any:
        node_id = loopback.ids[name][0]
        local, router = loopback.addresses[name, "r1"], loopback.addresses["r1", name]
        return sync.Client.connect(local=local, router=router, node_id=node_id, router_id=1)

    with connected("c2") as publisher, connected("c3") as subscriber:
        wanted = subscriber.subscribe("n any integer")
        asyncio.run(settled(loopback, 1))
        with pytest.raises(TimeoutError):
            wanted.get(timeout_s=0.05)
        assert publisher.publish({"n": 1}, b"one") == (2, 1)
        publisher.publish_many([{"n": 2}, {"n": 3}])
        assert [wanted.get(10).attributes["n"], next(iter(wanted)).attributes["n"]] == [1, 2]
        assert wanted.get(10).payload == b""
        wanted.unsubscribe()
        assert list(wanted) == []
