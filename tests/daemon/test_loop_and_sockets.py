"""The node's loop and its UDP sockets."""

from __future__ import annotations

import os
import signal
import socket
import threading
from dataclasses import replace

import pytest

from nodes.config import InterfaceConfig
from nodes.daemon.clock import Clock
from nodes.daemon.loop import Loop
from nodes.daemon.sockets import BindError, buffer_overflows, open_interface, open_interfaces
from nodes.wire.packets import Role

INTERFACE = InterfaceConfig(0, "a-eth0", "127.0.9.1", "127.0.9.2", "b", 2, Role.ROUTER)


def test_the_clock_never_goes_backwards() -> None:
    clock = Clock()
    times = [clock.now_ns() for _ in range(1000)]
    assert times == sorted(times)


def test_a_deadline_is_met_no_earlier_than_asked_and_a_stop_ends_the_loop() -> None:
    clock = Clock()
    loop, due, met = Loop(clock), clock.now_ns() + 3_000_000, []

    def tick() -> int | None:
        if clock.now_ns() < due:
            return due
        met.append(clock.now_ns())
        loop.stop()
        return None

    loop.run(tick)
    loop.close()
    assert len(met) == 1
    assert met[0] >= due


def test_another_thread_can_end_a_loop_that_waits_for_nothing() -> None:
    loop, ticking = Loop(Clock()), threading.Event()

    def tick() -> int | None:
        ticking.set()
        return None

    thread = threading.Thread(target=loop.run, args=(tick,))
    thread.start()
    assert ticking.wait(10)
    loop.stop()
    thread.join(10)
    assert not thread.is_alive()
    loop.close()


def test_a_signal_ends_the_loop() -> None:
    before, wakeup = signal.getsignal(signal.SIGUSR1), signal.set_wakeup_fd(-1)
    loop = Loop(Clock())
    try:
        loop.stop_on(signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGUSR1)
        loop.run(lambda: None)
        assert loop.stopping
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGUSR1, before)
        loop.close()


def test_an_interface_receives_from_its_neighbour_only() -> None:
    with (
        open_interface(INTERFACE) as here,
        open_interface(replace(INTERFACE, address="127.0.9.2", peer_address="127.0.9.1")) as peer,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        stranger.sendto(b"stranger", here.getsockname())
        peer.send(b"peer")
        assert here.recv(100) == b"peer"
        with pytest.raises(BlockingIOError):
            here.recv(100)


def test_a_foreign_address_is_a_located_error() -> None:
    with pytest.raises(
        BindError, match=r"interface a-eth0: cannot use 192\.0\.2\.1:61803 towards 127\.0\.9\.2"
    ):
        open_interface(replace(INTERFACE, address="192.0.2.1"))


def test_if_one_of_two_interfaces_cannot_be_had_the_other_is_given_back() -> None:
    with pytest.raises(BindError):
        open_interfaces((INTERFACE, replace(INTERFACE, index=1, address="192.0.2.1")))
    open_interface(INTERFACE).close()


def test_the_kernels_drops_at_a_full_receive_buffer_are_counted() -> None:
    with (
        open_interface(INTERFACE) as here,
        open_interface(replace(INTERFACE, address="127.0.9.2", peer_address="127.0.9.1")) as peer,
    ):
        here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(50):
            peer.send(bytes(1000))
        held = 0
        while True:
            try:
                here.recv(2000)
            except BlockingIOError:
                break
            held += 1
        assert buffer_overflows(here) == 50 - held > 0
