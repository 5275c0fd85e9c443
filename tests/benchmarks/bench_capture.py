"""How many frames a second one capture takes from all interfaces of a run, and when it begins to lose some.

    make bench-emu     (or: .venv/bin/python -m pytest -s -m emu tests/benchmarks/bench_capture.py, as root)

Prints figures, judges nothing. Frames of 200 bytes go over bare veth pairs, both
ends captured, so each is taken twice. The source is a C++ program beside it on
the machine (`capture_load.cpp`). Expect a minute; an idle machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from fastpath.capture import Capture
from testbed.emu.capture import close_all

pytestmark = pytest.mark.emu
ETH_P_ALL = 0x0003
CLONE_NEWNET = 0x40000000
FRAME_BYTES = 200
SECONDS = 2
RATES = (50_000, 100_000, 200_000, 400_000)
HEAD = "  asked /s  captured /s     lost  capture CPU  us a frame  source CPU"


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    program = tmp_path_factory.mktemp("load") / "capture_load"
    source = Path(__file__).with_name("capture_load.cpp")
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program)],
        check=True,
    )
    return program


class Field:
    """Pairs of interfaces in a namespace of their own."""

    def __init__(self, pairs: int) -> None:
        self.name = f"cbn-bench-{os.getpid()}"
        self.pairs = pairs
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        lines = [f"link add a{n} type veth peer name b{n}" for n in range(pairs)]
        lines += [f"link set {end}{n} addrgenmode none up" for n in range(pairs) for end in "ab"]
        subprocess.run(["ip", "-n", self.name, "-batch", "-"], input="\n".join(lines), text=True, check=True)

    def close(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], check=True)

    def sockets(self, ends: str, protocol: int) -> list[socket.socket]:
        """One bound packet socket an interface."""
        made: list[socket.socket] = []

        def work() -> None:
            with Path("/run/netns", self.name).open() as namespace:
                assert ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) == 0
            for interface in (f"{end}{n}" for n in range(self.pairs) for end in ends):
                made.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
                made[-1].bind((interface, protocol))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return made


@pytest.fixture(params=[20, 300])
def field(request):
    made = Field(request.param)
    yield made
    made.close()


def captured(load: Path, field: Field, folder: Path, rate: int, **options: object) -> str:
    """A row of the table: what was asked, what came, what was lost, and what it took."""
    taps, sources = field.sockets("ab", ETH_P_ALL), field.sockets("a", 0)
    capture = Capture([(tap.fileno(), str(folder / f"{n}.pcap")) for n, tap in enumerate(taps)], **options)
    cpu: list[float] = []

    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)
        capture.run()
        cpu.append(time.thread_time())

    thread = threading.Thread(target=work)
    thread.start()
    descriptors = [each.fileno() for each in sources]
    command = [str(load), str(rate // 2), str(SECONDS), str(FRAME_BYTES), *map(str, descriptors)]
    reported = json.loads(
        subprocess.run(command, pass_fds=descriptors, capture_output=True, check=True).stdout
    )
    capture.stop()
    thread.join()
    rows = capture.counters()
    got, lost = sum(r["packets"] for r in rows), sum(r["kernel_drops"] + r["write_errors"] for r in rows)
    close_all([*taps, *sources])
    for file in folder.iterdir():
        file.unlink()
    assert got + lost >= 2 * reported["sent"], "frames went by that nobody counted"
    return (
        f"{rate:10,} {got / reported['took_s']:12,.0f} {lost:8,} {cpu[0] / reported['took_s']:12.0%}"
        f" {1e6 * cpu[0] / max(got, 1):11.2f} {reported['cpu_s'] / reported['took_s']:11.0%}"
    )


@pytest.mark.parametrize("rings", [True, False], ids=["rings", "recvmmsg"])
def test_frames_captured_a_second(load, field, tmp_path, rings):
    print(f"\n{2 * field.pairs} interfaces, {'rings' if rings else 'recvmmsg'}\n{HEAD}")
    for rate in RATES if field.pairs < 100 else RATES[:1]:
        print(captured(load, field, tmp_path, rate, rings=rings))


def test_frames_captured_a_second_as_pcapng_in_many_files(load, tmp_path):
    field = Field(20)
    try:
        print(f"\n{2 * field.pairs} interfaces, pcapng, rotated at 1 MiB\n{HEAD}")
        for rate in RATES[:3]:
            print(captured(load, field, tmp_path, rate, format="pcapng", rotate_bytes=1 << 20))
    finally:
        field.close()
