"""A publisher or a subscriber of `bench_applications.py`, for one of several systems.

    application_load.py SYSTEM publish|subscribe|route ARGUMENT ...

It does one round for each line on its standard input, and prints when it began or ended by the monotonic
clock, which all processes of a machine share. Nothing of the project is imported but `cbn`, and that for the
system `cbn` alone, so that any Python can run it.
"""

import asyncio
import json
import sys
import time

MESSAGES = 10_000
BATCH = 500
WAIT_S = 20


def flight(n):
    return {"dest": "ORD", "n": n, "price": 210.5}


def say(**about):
    print(json.dumps(about), flush=True)


async def rounds():
    """A line of standard input, again and again."""
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        yield


async def count(arrived):
    """Each round, when all have arrived; `arrived` waits for some and returns how many."""
    say(ready=True)
    async for _ in rounds():
        got = 0
        try:
            async with asyncio.timeout(WAIT_S):
                while got < MESSAGES:
                    got += await arrived()
        except TimeoutError:
            pass
        say(at_ns=time.monotonic_ns(), got=got)


# --- cbn ------------------------------------------------------------------------------------------


def cbn_client(config, recorded):
    import dataclasses

    import cbn

    about = cbn.load_config(config)
    return cbn.Client.from_config(
        about if recorded == "recorded" else dataclasses.replace(about, events_path="")
    )


async def cbn_publish(config, recorded, way):
    async with cbn_client(config, recorded) as client:
        say(ready=True)
        async for _ in rounds():
            began_ns = time.monotonic_ns()
            if way == "batches":
                for first in range(0, MESSAGES, BATCH):
                    await client.publish_many([flight(n) for n in range(first, first + BATCH)])
            else:
                for n in range(MESSAGES):
                    await client.publish(flight(n))
            say(at_ns=began_ns, took_ns=time.monotonic_ns() - began_ns)


async def cbn_subscribe(config, recorded, way):
    async with cbn_client(config, recorded) as client:
        flights = await client.subscribe('dest = "ORD" and price < 400.0')
        await flights.settled()

        async def batch():
            return len(await flights.batch())

        async def one():
            await anext(flights)
            return 1

        await count(batch if way == "batches" else one)


# --- nats -----------------------------------------------------------------------------------------


async def nats_publish(server):
    import nats

    client = await nats.connect(server)
    say(ready=True)
    async for _ in rounds():
        began_ns = time.monotonic_ns()
        for n in range(MESSAGES):
            await client.publish("flights.ORD", json.dumps(flight(n)).encode())
        await client.flush()
        say(at_ns=began_ns, took_ns=time.monotonic_ns() - began_ns)


async def nats_subscribe(server):
    import nats

    client = await nats.connect(server)
    found = asyncio.Queue()

    async def take(message):
        found.put_nowait(json.loads(message.data))

    await client.subscribe("flights.ORD", cb=take, pending_msgs_limit=10 * MESSAGES)
    await client.flush()
    await asyncio.sleep(2)  # the servers tell each other

    async def one():
        await found.get()
        return 1

    await count(one)


# --- zenoh ----------------------------------------------------------------------------------------


def zenoh_session(mode, connect, listen=""):
    import zenoh

    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    if connect:
        config.insert_json5("connect/endpoints", json.dumps([connect]))
    if listen:
        config.insert_json5("listen/endpoints", json.dumps([listen]))
    return zenoh.open(config)


async def zenoh_route(listen, connect=""):
    session = zenoh_session("router", connect, listen)
    say(ready=True)
    async for _ in rounds():
        pass
    session.close()


async def zenoh_publish(server):
    import zenoh

    session = zenoh_session("client", server)
    publisher = session.declare_publisher(
        "flights/ORD",
        congestion_control=zenoh.CongestionControl.BLOCK,
        reliability=zenoh.Reliability.RELIABLE,
    )
    say(ready=True)
    async for _ in rounds():
        began_ns = time.monotonic_ns()
        for n in range(MESSAGES):
            publisher.put(json.dumps(flight(n)).encode())
        say(at_ns=began_ns, took_ns=time.monotonic_ns() - began_ns)
    session.close()


async def zenoh_subscribe(server):
    import threading

    session = zenoh_session("client", server)
    found, more = [], threading.Semaphore(0)

    def take(sample):
        found.append(json.loads(bytes(sample.payload)))
        more.release()

    subscriber = session.declare_subscriber("flights/ORD", take)
    await asyncio.sleep(2)  # the routers tell each other

    def wait():
        if not more.acquire(timeout=0.5):
            return 0
        got = 1
        while more.acquire(blocking=False):
            got += 1
        return got

    await count(lambda: asyncio.get_running_loop().run_in_executor(None, wait))
    subscriber.undeclare()
    session.close()


if __name__ == "__main__":
    system, role, *arguments = sys.argv[1:]
    asyncio.run(globals()[f"{system}_{role}"](*arguments))
