"""The shell around a core in the simulator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastpath.fib import DropReason, Fib, forward_without_fib
from fastpath.wire.codec import encode_ack, encode_hello, encode_message, encode_pad
from nodes.config import NodeConfig
from nodes.routing.effects import Drop, Log, Output
from nodes.wire.packets import Role
from testbed.sim.node import SimulatedRouter
from testbed.sim.scheduler import Scheduler, SimulationStuckError

MESSAGE = encode_message(7, 1, 0, [(2, "price", 5)])
HELLO = encode_hello(1, 7, 99, 1000)
ACK = encode_ack(1, 2, 3, 4)
CONFIG = NodeConfig("r1", 1, Role.ROUTER, "run", 1, ())


class Clockwork:
    """A core that wants to be called at given times, and notes when it was."""

    def __init__(self, *deadlines: int) -> None:
        self.deadlines = list(deadlines)
        self.called: list[int] = []
        self.received: list[bytes] = []
        self.outputs: list[Output] = []

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        self.received.append(packet)

    def handle_timer(self, now_ns: int) -> None:
        self.called.append(now_ns)
        self.deadlines = [d for d in self.deadlines if d > now_ns]

    def next_deadline(self) -> int | None:
        return min(self.deadlines, default=None)

    def take_outputs(self) -> list[Output]:
        outputs, self.outputs = self.outputs, []
        return outputs

    def status(self) -> dict[str, object]:
        return {}


def shell(core: Clockwork, scheduler: Scheduler) -> SimulatedRouter:
    return SimulatedRouter(CONFIG, core, scheduler, lambda record: None)


@given(st.lists(st.integers(0, 50)))
def test_a_core_is_called_at_each_of_its_deadlines_and_at_no_other_time(deadlines: list[int]) -> None:
    core, scheduler = Clockwork(*deadlines), Scheduler(0)
    shell(core, scheduler).start()
    scheduler.run(100, 10_000)
    assert core.called == sorted(set(deadlines))


def test_a_deadline_that_moves_forward_is_kept_and_the_old_entry_is_stale() -> None:
    core, scheduler = Clockwork(50), Scheduler(0)
    node = SimulatedRouter(CONFIG, core, scheduler, lambda record: None)
    node.start()
    scheduler.at(10, lambda a, b: core.deadlines.append(20))
    scheduler.at(10, lambda a, b: node.receive(0, HELLO))
    scheduler.run(100, 10_000)
    assert core.called == [20, 50]


def test_a_deadline_that_moves_back_is_not_called_early() -> None:
    core, scheduler = Clockwork(20), Scheduler(0)
    shell(core, scheduler).start()
    scheduler.at(10, lambda a, b: core.deadlines.__setitem__(0, 70))
    scheduler.run(100, 10_000)
    assert core.called == [70]


def test_a_core_that_never_moves_its_deadline_is_found_out() -> None:
    class Stubborn(Clockwork):
        def handle_timer(self, now_ns: int) -> None:
            pass

    scheduler = Scheduler(0, instant_bound=100)
    shell(Stubborn(5), scheduler).start()
    with pytest.raises(SimulationStuckError):
        scheduler.run(100, 10_000)


def test_drops_and_logs_of_a_core_are_kept() -> None:
    core, scheduler = Clockwork(), Scheduler(42)
    core.outputs = [Drop(0, "STALE"), Drop(0, "STALE"), Log("up", {"peer": "r2", "node": "not this"})]
    logged: list[dict[str, object]] = []
    node = SimulatedRouter(CONFIG, core, scheduler, logged.append)
    node.start()
    assert node.final_status()["drops"] == {
        "control": {"STALE": 2},
        "forwarding": {reason.name: 0 for reason in DropReason},
    }
    assert logged == [{"time_ns": 42, "node": "r1", "event": "up", "peer": "r2"}]


datagrams = st.lists(st.sampled_from([MESSAGE, HELLO, ACK, encode_pad(9)]), min_size=1, max_size=6)


@given(datagrams, st.binary(max_size=3))
def test_without_a_fib_control_passes_and_messages_do_not(packets: list[bytes], tail: bytes) -> None:
    control, outputs, drops = forward_without_fib(b"".join(packets) + tail, 0)
    if tail:
        assert (control, outputs, drops) == ([], [], [DropReason.MALFORMED])
        return
    assert control == [p for p in packets if p in (HELLO, ACK)]
    assert outputs == []
    assert drops == [DropReason.NO_FIB] * packets.count(MESSAGE)


@given(datagrams, st.binary(max_size=3))
def test_without_a_fib_control_passes_as_it_does_with_one(packets: list[bytes], tail: bytes) -> None:
    """One rule for framing in both: only what happens to messages differs."""
    datagram = b"".join(packets) + tail
    with_fib = Fib(1, [0], [], []).forward_datagram(datagram, 0)
    without = forward_without_fib(datagram, 0)
    assert with_fib[0] == without[0]
    assert (DropReason.MALFORMED in with_fib[2]) == (DropReason.MALFORMED in without[2]) == bool(tail)
