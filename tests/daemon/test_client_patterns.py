"""Applications that seek patterns, against a real router over loopback."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.client import sync
from nodes.client.aio import Client
from nodes.client.refused import PatternRefused
from nodes.config import LimitConfig
from nodes.model import PredicateSyntaxError, UsageError, parse_pattern
from nodes.wire.packets import Role
from tests.daemon.test_client_library import connect, router_with_two_clients, run, settled

PATTERN = "[a any integer] then [b = 1] within 20s wait 20ms"


def test_matches_come_with_their_deliveries(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as seeker:
            sought = await seeker.subscribe_pattern(PATTERN)
            await settled(loopback, 1)
            for message in ("a = 1", "b = 1", "a = 2", "b = 2", "b = 1"):
                await publisher.publish(message)
            first, second, third = [await anext(sought) for _ in range(3)]
            assert [each.attributes for each in first.components] == [{"a": 1}, {"b": 1}]
            assert [each.sequence for each in first.components] == [1, 2]
            assert [[each.sequence for each in m.components] for m in (second, third)] == [[1, 5], [3, 5]]
            assert first.sought is sought
            assert seeker.unrecognised == {}
            await sought.unsubscribe()
            with pytest.raises(StopAsyncIteration):
                await anext(sought)
            with pytest.raises(UsageError, match="no subscription 1"):
                await sought.unsubscribe()

    run(work())


def test_what_comes_for_a_pattern_alone_is_given_in_matches_alone(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3", queue_limit=1) as seeker:
            told: list[Any] = []
            await seeker.subscribe_pattern(parse_pattern(PATTERN), told.append)
            plain = await seeker.subscribe("b = 1 and c = 1")
            await settled(loopback, 2)
            for message in ("a = 1", "a = 2", "b = 1, c = 1"):
                await publisher.publish(message)
            assert (await anext(plain)).sequence == 3
            while len(told) < 2:
                await asyncio.sleep(0.005)
            assert [match.components[0].attributes for match in told] == [{"a": 1}, {"a": 2}]
            assert seeker.overflows == 0

    run(work())


def test_a_pattern_is_sought_for_as_long_as_somebody_iterates(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as seeker:

            async def first() -> list[int]:
                async with aclosing(seeker.patterns(PATTERN)) as matches:
                    async for match in matches:
                        return [each.sequence for each in match.components]
                return []

            found = asyncio.ensure_future(first())
            await settled(loopback, 1)
            await publisher.publish("a = 1")
            await publisher.publish("b = 1")
            assert await found == [1, 2]
            await settled(loopback, 0)
            with pytest.raises(PredicateSyntaxError, match="stand in brackets"):
                await anext(seeker.patterns("a = 1"))

    run(work())


def test_an_error_in_a_callback_for_matches_reaches_the_application(loopback: Any) -> None:
    router_with_two_clients(loopback)

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, connect(loopback, "c3") as seeker:
            await seeker.subscribe_pattern("[a any integer] wait 0s", lambda match: match.nothing)
            await settled(loopback, 1)
            await publisher.publish("a = 1")
            with pytest.raises(AttributeError, match="nothing"):
                await anext(seeker)

    run(work())


def test_without_asyncio_it_is_the_same(loopback: Any) -> None:
    router_with_two_clients(loopback)

    def client(name: str) -> Any:
        local, router = loopback.addresses[name, "r1"], loopback.addresses["r1", name]
        return sync.Client.connect(local=local, router=router, node_id=loopback.ids[name][0], router_id=1)

    with client("c2") as publisher, client("c3") as seeker:
        sought = seeker.subscribe_pattern(PATTERN)
        asyncio.run(settled(loopback, 1))
        publisher.publish("a = 1")
        publisher.publish("b = 1")
        assert [each.sequence for each in sought.get(10).components] == [1, 2]
        sought.unsubscribe()
        with pytest.raises(StopIteration):
            sought.get(10)


def test_a_run_can_read_what_was_sought_and_told(loopback: Any, tmp_path: Path) -> None:
    router_with_two_clients(loopback)
    events = tmp_path / "events.jsonl"
    config = replace(loopback.config("c3"), events_path=str(events))

    async def work() -> None:
        async with connect(loopback, "c2") as publisher, Client.from_config(config) as seeker:
            sought = await seeker.subscribe_pattern(PATTERN)
            await settled(loopback, 1)
            await publisher.publish("a = 1")
            await publisher.publish("b = 1")
            await anext(sought)

    run(work())
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    assert [row["event"] for row in rows] == [
        "subscribe", "subscribe_pattern", "deliver", "deliver", "deliver_match", "unsubscribe"
    ]  # fmt: skip
    assert rows[1]["pattern"] == PATTERN
    assert [component[:2] for component in rows[4]["components"]] == [[2, 1], [2, 2]]


FACTORED = {"scheme": "pif", "scheme_options": {"advertisements": True, "patterns": "factored"}}


ONE = {**FACTORED, "limits": LimitConfig(patterns_per_neighbour=1)}


def factoring_router(net: Any, **options: Any) -> None:
    for name, node_id, role in (("r1", 1, Role.ROUTER), ("c2", 2, Role.CLIENT), ("c3", 3, Role.CLIENT)):
        net.node(name, node_id, role)
    net.link("r1", "c2")
    net.link("r1", "c3")
    net.start("r1", **options)


def test_a_pattern_too_many_is_an_error_and_the_others_go_on(loopback: Any) -> None:
    factoring_router(loopback, **ONE)
    text = r"r1 does not seek the pattern: it seeks as many of c3 as it may \(limits.patterns_per_neighbour\)"

    async def work() -> None:
        async with AsyncExitStack() as open_:
            configs = (loopback.config(name, **FACTORED) for name in ("c2", "c3"))
            publisher, seeker = [
                await open_.enter_async_context(Client.from_config(each)) for each in configs
            ]
            await publisher.advertise("a any integer and b any integer")
            found = await seeker.subscribe_pattern(PATTERN)
            with pytest.raises(PatternRefused, match=text):
                await seeker.subscribe_pattern("[b = 1] wait 0s")
            with pytest.raises(PatternRefused, match=text):
                async with aclosing(seeker.patterns("[b = 1] wait 0s")) as matches:
                    await anext(matches)
            assert seeker.refused == {"too_many_patterns": 2}
            await settled(loopback, 0)
            await publisher.publish("a = 1")
            await publisher.publish("b = 1")
            assert [each.sequence for each in (await anext(found)).components] == [1, 2]
            await found.unsubscribe()
            other = await seeker.subscribe_pattern("[b = 1] wait 0s")
            assert other.refused is None
            assert loopback.admins["r1"].ask("status")["core"]["drops"] == {"too_many_patterns": 2}

    run(work())


def test_who_waits_for_a_match_is_told_if_a_router_that_came_back_does_not_seek_the_pattern(
    loopback: Any,
) -> None:
    factoring_router(loopback, **FACTORED)

    async def work() -> None:
        async with Client.from_config(loopback.config("c3", **FACTORED)) as seeker:
            sought = [await seeker.subscribe_pattern(f"[b = {n}]") for n in (1, 2)]
            waiting = asyncio.ensure_future(anext(sought[1]))
            loopback.stop()
            loopback.start("r1", **ONE)
            with pytest.raises(PatternRefused, match="r1 does not seek the pattern"):
                await waiting
            assert sought[0].refused is None
            assert sought[1].refused is not None
            await sought[0].unsubscribe()
            await sought[1].unsubscribe()

    run(work())


def test_without_asyncio_a_pattern_too_many_is_an_error_too(loopback: Any) -> None:
    factoring_router(loopback, **ONE)
    with sync.Client.from_config(loopback.config("c3", **FACTORED)) as seeker:
        seeker.subscribe_pattern(PATTERN)
        with pytest.raises(PatternRefused, match="it seeks as many of c3 as it may"):
            seeker.subscribe_pattern("[b = 1]")
        assert seeker.refused == {"too_many_patterns": 1}


def test_where_routers_recognise_patterns_programs_are_given_matches_alone(loopback: Any) -> None:
    factoring_router(loopback, **FACTORED)

    def sought() -> int:
        return int(loopback.admins["r1"].ask("status")["core"]["patterns"]["monitors"])

    async def work() -> None:
        configs = (loopback.config(name, **FACTORED) for name in ("c2", "c3"))
        async with AsyncExitStack() as open_:
            publisher, seeker = [
                await open_.enter_async_context(Client.from_config(config)) for config in configs
            ]
            await publisher.advertise("a any integer and b any integer")
            found = await seeker.subscribe_pattern(PATTERN)
            plain = await seeker.subscribe("b = 7")
            assert (found.number, plain.number) == (1, 2), "events know both by one number"
            while sought() != 1:
                await asyncio.sleep(0.005)
            await settled(loopback, 1)
            for message in ("a = 1", "b = 1", "b = 7"):
                await publisher.publish(message, b"payload")
            match = await anext(found)
            assert [each.attributes for each in match.components] == [{"a": 1}, {"b": 1}]
            assert [each.payload for each in match.components] == [b"payload"] * 2
            assert match.sought is found
            assert (await anext(plain)).attributes == {"b": 7}
            await found.unsubscribe()
            with pytest.raises(StopAsyncIteration):
                await anext(found)
            with pytest.raises(UsageError, match="no subscription 1"):
                await found.unsubscribe()
            assert sought() == 0

    run(work())
