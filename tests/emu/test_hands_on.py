"""A running network and those who work on it: attach, publish, subscribe, change, break, look, end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nodes.processes import started_ticks
from testbed.emu import echo
from tests.emu.terminals import Terminal, network, wait_for

pytestmark = [pytest.mark.emu, pytest.mark.timed]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One network for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("lab")
    with network(folder, f"lab-{os.getpid()}") as terminal:
        yield terminal


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Terminal]:
    """A network of the test's own."""
    with network(tmp_path, f"own-{os.getpid()}") as terminal:
        yield terminal


def round_trip_ms(lab: Terminal, node: str, neighbour: str) -> float:
    (address,) = (
        i["peer_address"] for i in lab.found().record["nodes"][node]["interfaces"] if i["peer"] == neighbour
    )
    output = lab.on("attach", node, "--", "sh", "-c", f"python3 {echo.__file__} {address}; true")
    found = re.fullmatch(r"([\d.]+) ms\n", output)
    return float(found[1]) if found else float("inf")


def test_the_supervisor_is_a_daemon_with_its_words_in_the_run_directory(lab: Terminal) -> None:
    supervisor = lab.supervisor()
    assert os.getsid(supervisor) not in (supervisor, os.getsid(0))
    assert Path(f"/proc/{supervisor}/fd/0").readlink() == Path("/dev/null")
    log = lab.out / "logs" / "supervisor.log"
    for descriptor in (1, 2):
        assert Path(f"/proc/{supervisor}/fd/{descriptor}").readlink() == log.resolve()
    run = lab.found()
    assert run.control.stat().st_mode & 0o777 == 0o600
    assert "ready after" in (lab.out / "logs" / "supervisor.log").read_text()


def test_ps_lists_it_with_what_it_takes(lab: Terminal) -> None:
    (row,) = [r for r in json.loads(lab.type("ps", "--json"))["runs"] if r["name"] == lab.name]
    assert (row["kind"], row["state"], row["scenario"], row["nodes"]) == ("network", "running", "handmade", 6)
    assert row["memory_bytes"] > 10e6
    assert row["directory"] == str(lab.out.resolve())
    assert lab.name in lab.type("ps")


def test_a_command_in_a_namespace_sees_that_node_and_its_exit_code_is_ours(lab: Terminal) -> None:
    output = lab.on("attach", "r1", "--", "ip", "-br", "address")
    assert {"r1-eth0", "r1-eth1", "r1-eth2"} <= set(output.split())
    assert "r2-eth0" not in output
    lab.on("attach", "r1", "sh", "-c", "exit 7", code=7)
    lab.on("attach", "r1", "no-such-program", code=127)
    lab.type("attach", "r1", "--run", lab.name, "--", "sh", "-c", "exit 9", code=9)
    assert lab.on("attach", "a", given="echo $CBN_NETWORK $CBN_NAME $CBN_NEIGHBOURS\n").startswith(
        f"{lab.name} a r1="
    )
    assert "did you mean r1" in lab.on("attach", "r11", "true", code=2)


def test_the_nodes_own_socket_can_be_asked_from_its_namespace(lab: Terminal) -> None:
    ask = 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ["CBN_ADMIN"]); '
    ask += 's.sendall(b"{\\"do\\":\\"status\\"}\\n"); print(s.recv(100000).decode()[:20])'
    assert lab.on("attach", "r1", "--", "python3", "-c", ask).startswith('{"ok":true')


def test_what_one_terminal_publishes_another_is_shown(lab: Terminal) -> None:
    subscriber = lab.start("sub", "--run", lab.name, "c", 'what = "round trip"', "--count", "3", "--json")
    wait_for(subscriber, "the whole network knows")
    lab.on("pub", "a", 'what = "something else"')
    lab.on("pub", "a", 'what = "round trip", n = 1', "--count", "3", "--every", "5ms")
    out, _ = subscriber.communicate(timeout=30)
    assert subscriber.returncode == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["publisher"] for row in rows] == ["a"] * 3
    first = rows[0]["sequence"]
    assert [row["sequence"] for row in rows] == [first, first + 1, first + 2]
    assert all(row["hop_count"] == 2 and 0 < row["latency_ns"] < 1e9 for row in rows)
    assert rows[0]["message"] == 'n = 1, what = "round trip"'


def test_a_pattern_that_one_terminal_seeks_is_shown_with_its_messages(lab: Terminal) -> None:
    pattern = '[what = "first"] then [what = "second"] within 1min'
    seeker = lab.start("sub", "--run", lab.name, "c", "--pattern", pattern, "--count", "1", "--json")
    wait_for(seeker, "the whole network knows")
    for message in ('what = "second"', 'what = "first", n = 1', 'what = "second", n = 2'):
        lab.on("pub", "a", message)
    out, _ = seeker.communicate(timeout=30)
    assert seeker.returncode == 0
    row = json.loads(out)
    assert [each["publisher"] for each in row["components"]] == ["a", "a"]
    assert [each["message"] for each in row["components"]] == [
        'n = 1, what = "first"',
        'n = 2, what = "second"',
    ]
    assert row["latency_ns"] > 0


def test_what_is_advertised_by_hand_is_taken_until_it_is_withdrawn_and_one_pattern_too_many_is_not_sought(
    tmp_path: Path,
) -> None:
    def refused() -> dict[str, int]:
        return dict(json.loads(lab.on("node", "a", "status"))["core"]["refused"])

    chosen = {"name": "siena", "advertisements": "true", "patterns": "factored"}
    more = [word for name, value in chosen.items() for word in ("--set", f"scheme.{name}={value}")]
    one = ("--set", "limits.patterns_per_neighbour=1")
    with network(tmp_path, f"advertising-{os.getpid()}", *more, *one) as lab:
        assert "advertises what = 1 (advertisement 1)" in lab.on("advertise", "a", "what = 1")
        subscriber = lab.start("sub", "--run", lab.name, "c", "what any integer", "--count", "1", "--json")
        wait_for(subscriber, "the whole network knows")
        outside = lab.start("pub", "--run", lab.name, "a", "what = 2")
        assert (
            "a does not advertise this, so its router takes it no further"
            in outside.communicate(timeout=30)[1]
        )
        lab.on("pub", "a", "what = 1")
        out, _ = subscriber.communicate(timeout=30)
        assert json.loads(out)["message"] == "what = 1"
        assert "has withdrawn advertisement 1" in lab.on("advertise", "a", "--withdraw", "1")
        assert "no advertisement 1" in lab.on("advertise", "a", "--withdraw", "1", code=2)
        lab.on("pub", "a", "what = 1")
        while refused() != {"unadvertised": 2}:
            pass  # told with the next HELLO at the latest; pytest's own timeout bounds this
        seeker = lab.start("sub", "--run", lab.name, "c", "--pattern", "[what = 1]")
        wait_for(seeker, "nobody advertises [what = 1] yet: the pattern waits for that")
        said = lab.on("sub", "c", "--pattern", "[what = 2]", code=4)
        assert "r3 does not seek the pattern: it seeks as many of c as it may" in said
        seeker.send_signal(signal.SIGINT)
        seeker.communicate(timeout=30)


def test_what_the_policy_does_not_permit_is_refused_with_a_sentence_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    """a may publish and advertise `what = 1` alone, and c subscribe to it alone."""
    policy = {"a.publish": "what = 1", "a.advertise": "what = 1", "c.subscribe": "what = 1"}
    more = [word for key, text in policy.items() for word in ("--set", f"policy.{key}={text}")]
    with network(tmp_path, f"policy-{os.getpid()}", *more) as lab:
        said = lab.on("sub", "c", "what any integer", code=4)
        assert (
            "r3 does not take the subscription: the policy does not permit it to c (policy.subscribe)" in said
        )
        said = lab.on("advertise", "a", "what any integer", code=4)
        assert "the policy does not permit it to a (policy.advertise)" in said
        subscriber = lab.start("sub", "--run", lab.name, "c", "what = 1", "--count", "1", "--json")
        wait_for(subscriber, "the whole network knows")
        outside = lab.start("pub", "--run", lab.name, "a", "what = 2")
        assert "the policy does not permit this to a" in outside.communicate(timeout=30)[1]
        lab.on("pub", "a", "what = 1")
        out, _ = subscriber.communicate(timeout=30)
        assert json.loads(out)["message"] == "what = 1"
        drops = json.loads(lab.on("node", "r1", "status"))["drops"]
        assert (drops["forwarding"]["NOT_PERMITTED"], drops["control"]["not_permitted"]) == (1, 1)


def test_advertising_where_nobody_has_to_says_so(lab: Terminal) -> None:
    told = lab.start("advertise", "--run", lab.name, "a", "n any integer")
    _, said = told.communicate(timeout=30)
    assert "nobody has to advertise in this network" in said
    lab.on("advertise", "a", "--withdraw", "1")
    assert "PREDICATE" in lab.on("advertise", "a", code=2)


def test_two_subscribers_of_one_client_are_each_shown_their_own(lab: Terminal) -> None:
    words = [("one", "1"), ("two", "2")]
    both = [lab.start("sub", "--run", lab.name, "c", f'pair = "{w}"', "--count", n) for w, n in words]
    for subscriber in both:
        wait_for(subscriber, "the whole network knows")
    for word in ("two", "one", "two"):
        lab.on("pub", "a", f'pair = "{word}"')
    output = [subscriber.communicate(timeout=30)[0].splitlines() for subscriber in both]
    assert [len(lines) for lines in output] == [1, 2]
    assert all('pair = "one"' in line for line in output[0])
    assert all("2 routers" in line and " ms " in line for line in output[1])


def test_ctrl_c_withdraws_the_subscription_and_so_does_a_killed_terminal(lab: Terminal) -> None:
    def subscriptions() -> int:
        return int(json.loads(lab.on("node", "b", "status"))["core"]["subscriptions"])

    before = subscriptions()
    for end in (signal.SIGINT, signal.SIGKILL):
        subscriber = lab.start("sub", "--run", lab.name, "b", "n any integer")
        wait_for(subscriber, "the whole network knows")
        assert subscriptions() == before + 1
        subscriber.send_signal(end)
        subscriber.communicate(timeout=30)
        assert subscriber.returncode == (130 if end is signal.SIGINT else -signal.SIGKILL)
        while subscriptions() != before:
            pass  # the supervisor notices that the connection is closed; pytest's own timeout bounds this


def test_a_subscription_ends_by_itself_after_its_time(lab: Terminal) -> None:
    lab.on("sub", "b", "n = 123456", "--for", "300ms")
    assert "such as 10ms" in lab.on("sub", "b", "n = 1", "--for", "soon", code=2)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("pub", "r1", "n = 1"), "r1 is a router; clients publish and subscribe; clients attached to it: a"),
        (("sub", "r3", "n = 1"), "clients attached to it: c"),
        (("pub", "aa", "n = 1"), "did you mean a"),
        (("pub", "a", "n ="), "expected a value"),
        (("sub", "a", "and"), "refused 'subscribe'"),
        (("sub", "a", "--pattern", "[n = 1] then [n = 2]"), "nothing bounds the time"),
        (("link", "r1-r9", "down"), "there is no link r1-r9; did you mean"),
        (("link", "r1-r2", "up"), "it is not down"),
        (("link", "r1-r2", "delai", "3ms"), "did you mean delay"),
        (("link", "r1-r2", "delay"), "expected pairs"),
        (("link", "r1-r2", "delay", "3"), "5ms, 100us"),
        (("link", "r1-r2", "loss", "2"), "more than the greatest"),
        (("link", "r1-r2", "down", "now"), "nothing may follow"),
        (("node", "a", "crash"), "only routers and programs crash"),
        (("node", "r1", "resume"), "it is running"),
        (("node", "r1", "start"), "it is running"),
        (("node", "r7", "status"), "there is no node r7"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_can(
    lab: Terminal, words: tuple[str, ...], why: str
) -> None:
    assert why in lab.on(*words, code=2)


def test_a_changed_link_is_measured_as_changed(lab: Terminal) -> None:
    assert round_trip_ms(lab, "r1", "r2") < 20
    shown = lab.on("link", "r1-r2", "delay", "30ms")
    assert "delay 30ms" in shown
    assert 60 <= round_trip_ms(lab, "r1", "r2") < 90
    row = json.loads(lab.on("link", "r2-r1", "back", "delay", "none", "--json"))
    assert (row["a"], row["there"], row["back"]) == ("r1", {}, {"delay": "30ms"})
    assert 30 <= round_trip_ms(lab, "r1", "r2") < 55
    lab.on("link", "r1-r2", "down")
    assert round_trip_ms(lab, "r1", "r2") == float("inf")
    assert "DOWN" in lab.on("link")
    lab.on("link", "r1-r2", "up")
    lab.on("link", "r1-r2", "clear")
    assert round_trip_ms(lab, "r1", "r2") < 20
    lab.on("link", "r2-r3", "clear")
    assert "delay 5ms" in lab.on("link", "r2-r3", "reset")


def test_nodes_are_crashed_restarted_and_inspected(lab: Terminal) -> None:
    assert "r2 is crashed" in lab.on("node", "r2", "crash")
    assert "r2 is crashed" in lab.on("node", "r2", "status", code=2)
    lab.on("node", "r2", "start")
    lab.on("node", "b", "pause")
    assert "b is paused" in lab.on("pub", "b", "n = 1", code=2)
    lab.on("node", "b", "resume")
    assert "scheme" in lab.on("node", "r1", "tables")
    assert json.loads(lab.on("node", "r1", "status"))["core"]["role"] == "router"
    assert '"event":"started"' in lab.on("node", "r2", "log")


def test_top_once_prints_the_rates_of_routers_and_clients(lab: Terminal) -> None:
    publisher = lab.start("pub", "--run", lab.name, "a", 'k = "y", n = 1', "--count", "200", "--every", "5ms")
    output = json.loads(lab.on("top", "--once", "--json", "--interval", "400ms", "--sort", "in"))
    publisher.communicate(timeout=30)
    assert publisher.returncode == 0
    nodes = {row["name"]: row for row in output["nodes"]}
    assert set(nodes) == {"r1", "r2", "r3", "a", "b", "c"}
    assert output["interval_s"] >= 0.4
    assert nodes["r1"]["in_s"] > 20
    assert nodes["r3"]["deliveries_s"] > 20
    assert nodes["r1"]["neighbours_up"] == 3
    assert nodes["c"]["latency_p99_ns"] >= nodes["c"]["latency_p50_ns"] > 0
    assert nodes["r1"]["resident_bytes"] > 1e6
    text = lab.on("top", "--once", "--interval", "100ms")
    assert "ROUTER" in text
    assert "CLIENT" in text
    assert "expected 100ms to 1h" in lab.on("top", "--once", "--interval", "1ms", code=2)


def test_mininets_command_line_works_on_it_and_leaves_it_running(lab: Terminal) -> None:
    typed = [
        "net",
        "r1 ip -br address",
        "link r1 r3 down",
        "pingall",
        "link r1 r3 up",
        "r1 echo r2 a",
        "exit",
    ]
    mininet = lab.start("mininet", "--run", lab.name, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = mininet.communicate("\n".join(typed) + "\n", timeout=60)
    assert mininet.returncode == 0
    assert "r1 r1-eth0:r2-eth0" in output
    assert "r1-eth2          UNKNOWN        10." in output
    assert re.search(r"^r1 -> r2 X a *$", output, re.MULTILINE)
    assert "17% dropped (10/12 received)" in output
    addresses = [i["peer_address"] for i in lab.found().record["nodes"]["r1"]["interfaces"]]
    assert f"{addresses[0]} {addresses[2]}" in output
    assert lab.found().state == "running"


def test_several_networks_are_distinguished(lab: Terminal, own: Terminal) -> None:
    output = lab.type("pub", "a", "n = 1", code=2)
    assert lab.name in output
    assert own.name in output
    assert "--run" in output
    own.on("pub", "a", "n = 1")
    assert "no network nobody" in lab.type("pub", "--run", "nobody", "a", "n = 1", code=2)
    assert "has that name already" in lab.up(code=2)


PROGRAM = """
import asyncio, sys
import cbn

async def main():
    async with cbn.Client.from_environment() as client:
        await client.subscribe("answer any integer")
        print("attached", flush=True)
        for n in range(3):
            await client.publish({"k": "x", "n": n})
        async for delivery in client:
            print("got", delivery.attributes["answer"], flush=True)
            sys.exit(5)

asyncio.run(main())
"""


def until(condition: Callable[[], object], what: str) -> None:
    """Look again and again; each look is a process and takes its time."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what


def is_back(terminal: Terminal) -> bool:
    """Whether the client c runs, and its router knows of its subscription."""
    asked = terminal.start("node", "--run", terminal.name, "c", "status")
    answer, _ = asked.communicate()
    return asked.returncode == 0 and json.loads(answer)["core"]["subscriptions_acknowledged"] == 1


def test_a_program_takes_the_place_of_a_client_and_gives_it_back(own: Terminal, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    running = own.start("exec", "--run", own.name, "c", "--", "python", str(program))
    assert running.stdout is not None
    assert running.stdout.readline() == "attached\n"
    assert "c is lent to a program" in own.on("exec", "c", "--", "true", code=2)
    assert "it is lent to a program (`cbn exec`), which has to end first" in own.on(
        "node", "c", "pause", code=2
    )
    until(lambda: own.on("pub", "b", "answer = 42") and running.poll() is not None, "the program's end")
    assert (running.stdout.read(), running.wait()) == ("got 42\n", 5)
    until(lambda: is_back(own), "c is back")
    own.type("down", "-q", own.found().run_id)
    mine = [event for event in own.events() if event["node"] == "c"]
    assert [event["n"] for event in mine] == list(range(len(mine)))
    kinds = [event["event"] for event in mine]
    begin, end = kinds.index("program_started"), kinds.index("program_ended")
    assert kinds[:begin] == ["subscribe", "unsubscribe"], "the client steps aside"
    assert kinds[begin + 1 : begin + 5] == ["subscribe", "publish", "publish", "publish"]
    assert kinds[end - 1 : end + 2] == ["unsubscribe", "program_ended", "subscribe"], "and comes back"
    assert {*kinds[end + 2 :]} <= {"deliver"}, "of what was published again and again for the program"
    assert mine[end]["status"] == 5


def test_a_client_comes_back_when_the_terminal_of_its_program_is_killed(
    own: Terminal, tmp_path: Path
) -> None:
    running = own.start("exec", "--run", own.name, "c", "--", "sh", "-c", "echo $$; exec sleep 1000")
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    running.kill()
    running.wait()
    until(lambda: started_ticks(pid) is None, "the program's end")
    until(lambda: is_back(own), "c is back")
