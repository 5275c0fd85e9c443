"""How exact the wire carries links, how much it carries, and what it says when that was too much.

    make bench-emu     (or: .venv/bin/python -m pytest -s tests/benchmarks/bench_wire.py, as root)

Prints figures and judges none of those that depend on the machine. The load is a
C++ program (`wire_load.cpp`) that sends over all links at an even rate and reads
the kernel's stamps at the far ends. Expect half a minute; an idle machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed.plan.model import Impairment
from tests.emu.links_lab import Lab

pytestmark = pytest.mark.emu
MS = 1_000_000
DELAY_MS = 10
SENDERS = 4


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    program = tmp_path_factory.mktemp("load") / "wire_load"
    source = Path(__file__).with_name("wire_load.cpp")
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
    return program


def started(load: Path, lab: Lab, links: Sequence[int], rate: int, seconds: int, payload: int):
    pairs = [lab.sockets(link) for link in links]
    descriptors = [sock.fileno() for pair in pairs for sock in pair]
    named = [f"{a.fileno()}:{b.fileno()}" for a, b in pairs]
    command = [str(load), str(rate), str(seconds), str(payload), *named]
    return subprocess.Popen(command, pass_fds=descriptors, stdout=subprocess.PIPE, text=True)


def reported(process):
    output, _ = process.communicate(timeout=60)
    return json.loads(output)


def lab(folder: Path, links: int) -> Lab:
    does = Impairment(delay_ns=DELAY_MS * MS)
    return Lab(folder, "wire", [(does, does)] * links)


def late_us(figures, name):
    return (figures[name] - DELAY_MS * MS) / 1000


@pytest.mark.parametrize(
    ("links", "rate", "payload"),
    [(20, 1000, 100), (1, 1000, 100), (1, 20_000, 100), (1, 100_000, 100), (1, 50_000, 1400), (1, 0, 100)],
)
def test_accuracy_and_throughput(load, tmp_path, links, rate, payload):
    with lab(tmp_path, links) as made:
        figures = reported(started(load, made, range(links), rate, 4, payload))
        measures = made.links.measures()
    overruns = sum(m.overruns for m in measures)
    pace, missing = figures["sent"] / 4, figures["sent"] - figures["received"]
    print(
        f"\n{links} links, {payload} bytes, {'as fast as it goes' if not rate else f'{rate}/s each'} "
        f"(load {os.getloadavg()[0]:.1f}): {pace:,.0f}/s; later than {DELAY_MS} ms by "
        f"min {late_us(figures, 'min_ns'):.0f}, median {late_us(figures, 'p50_ns'):.0f}, "
        f"p99 {late_us(figures, 'p99_ns'):.0f}, max {late_us(figures, 'max_ns'):.0f} us; "
        f"missing {missing}, overruns {overruns}, unread {figures['unread']}"
    )
    assert missing <= overruns + figures["unread"], "frames are missing that nobody accounts for"
    assert figures["min_ns"] >= DELAY_MS * MS, "a frame came before its delay was over"


def test_overload_is_counted(load, tmp_path):
    """Several senders at once, on two cores one of which carries."""
    with lab(tmp_path, SENDERS) as made:
        running = [started(load, made, [link], 0, 3, 1400) for link in range(SENDERS)]
        figures = [reported(process) for process in running]
        measures = made.links.measures()
    sent = sum(f["sent"] for f in figures)
    received = sum(f["received"] for f in figures)
    overruns = sum(m.overruns for m in measures)
    late = max(m.late_p99_ns or 0 for m in measures)
    print(
        f"\n{SENDERS} senders as fast as they go, 1400 bytes: {sent / 3:,.0f}/s, missing {sent - received}, "
        f"overruns {overruns}, late by up to {late / MS:.1f} ms (p99, by the wire's account); really "
        f"{max(late_us(f, 'p99_ns') for f in figures) / 1000:.1f} ms"
    )
    assert sum(m.frames for m in measures) == sent
    assert sum(m.delivered + m.overruns for m in measures) == sent
