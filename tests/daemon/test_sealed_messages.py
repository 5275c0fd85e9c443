"""Programs whose messages are sealed, against a real router over loopback."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from nodes.client.aio import Client
from nodes.config import LinkKey, Messages, Neighbours, NodeConfig, SecurityConfig
from nodes.config_file import write_keys
from nodes.wire.packets import Role
from tests.daemon.test_client_library import run, settled

SEALED = SecurityConfig(neighbours=Neighbours.REQUIRED, messages=Messages.REQUIRED)
MESSAGES = 500


def keyed(config: NodeConfig, security: SecurityConfig) -> NodeConfig:
    """The same node with the key of each of its links."""
    keys = {i.name: LinkKey(1, bytes([config.node_id * i.peer_id]) * 32) for i in config.interfaces}
    interfaces = tuple(replace(i, keys=(keys[i.name],)) for i in config.interfaces)
    return replace(config, interfaces=interfaces, security=security, events_path="")


def start_router(net: Any) -> None:
    for name, node_id in (("r1", 1), ("c2", 2), ("c3", 3)):
        net.node(name, node_id, Role.ROUTER if name == "r1" else Role.CLIENT)
    net.link("r1", "c2")
    net.link("r1", "c3")
    path = net.folder / "r1.keys.toml"
    write_keys(keyed(net.config("r1"), SEALED), path)
    net.start("r1", security=SEALED, keys_path=str(path))


def client(net: Any, name: str, security: SecurityConfig = SEALED) -> Any:
    return Client.from_config(keyed(net.config(name), security))


def dropped(net: Any) -> dict[str, int]:
    drops = net.admins["r1"].ask("status")["drops"]["forwarding"]
    return {reason: count for reason, count in drops.items() if count}


def test_programs_exchange_sealed_messages(loopback: Any) -> None:
    start_router(loopback)

    async def work() -> None:
        async with client(loopback, "c2") as publisher, client(loopback, "c3") as reader:
            await reader.subscribe("n any integer")
            await settled(loopback, 1)
            await publisher.publish_many([({"n": n}, b"payload") for n in range(MESSAGES)])
            found: list[Any] = []
            while len(found) < MESSAGES:
                found += await reader.batch()
            assert [(each.attributes["n"], each.payload) for each in found] == [
                (n, b"payload") for n in range(MESSAGES)
            ]
            assert reader.status()["drops"] == {"forwarding": {}}

    run(work())
    assert dropped(loopback) == {}


def test_what_a_program_does_not_seal_is_not_forwarded_and_counted(loopback: Any) -> None:
    start_router(loopback)
    open_one = replace(SEALED, messages=Messages.OFF)

    async def work() -> None:
        async with client(loopback, "c2", open_one) as silent, client(loopback, "c3") as other:
            await other.subscribe("n < 5")
            heard = await silent.subscribe("n > 5")
            await settled(loopback, 2)
            await silent.publish({"n": 1})
            while dropped(loopback) != {"NO_SEAL": 1}:
                await asyncio.sleep(0.005)
            await other.publish({"n": 9})
            assert (await anext(aiter(heard))).attributes == {"n": 9}
            assert other.status()["core"]["delivered"] == 0

    run(work())
