"""Links carried over socket pairs, whose ends a test holds in its hands."""

from __future__ import annotations

import itertools
import select
import socket
import threading
import time
from collections import Counter
from types import SimpleNamespace

from fastpath.cable import Cables

MS = 1_000_000
HEADER = bytes(range(42))
NOTHING = {
    "delay_ns": None,
    "jitter_ns": 0,
    "jitter_shape": "uniform",
    "jitter_correlation": 0.0,
    "loss": 0.0,
    "loss_burst": None,
    "duplicate": 0.0,
    "reorder": 0.0,
    "corrupt": 0.0,
    "rate_bps": None,
    "queue_packets": None,
    "queue_bytes": None,
}
PATIENCE_S = 30


def does(**asked):
    assert asked.keys() <= NOTHING.keys(), asked
    return SimpleNamespace(**NOTHING | asked)


def frame(number, size=100):
    """Its number stands in the header, where corruption does not reach."""
    return (number.to_bytes(4, "big") + HEADER[4:]).ljust(size, b".")


def number_of(data):
    return int.from_bytes(data[:4], "big")


class Rig:
    """One link per impairment given, its ends in our hands, and the loop running."""

    def __init__(self, *impairments, seeds=None, memory_bytes=1 << 24, frame_bytes=1514, dilate=1):
        self.cables = Cables(frame_bytes, memory_bytes, 1000, dilate)
        self.ends, self.inner, self.sent = [], [], Counter()
        for at, impairment in enumerate(impairments):
            pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in "ab"]
            for pair in pairs:
                for each in pair:
                    each.setblocking(False)
            self.ends.append((pairs[0][0], pairs[1][0]))
            self.inner += [pairs[0][1], pairs[1][1]]
            seed = seeds[at] if seeds else (at, 1000 + at)
            assert self.cables.join(pairs[0][1].fileno(), pairs[1][1].fileno(), seed) == at
            self.cables.impair(at, impairment, impairment)
        self.loop = threading.Thread(target=self.cables.run)
        self.arrived = {at: [] for at in range(len(impairments))}
        """(time, frame) from `b`'s end of each link."""

    def __enter__(self):
        self.loop.start()
        return self

    def __exit__(self, *_):
        self.cables.stop()
        self.loop.join(PATIENCE_S)
        assert not self.loop.is_alive()
        for each in itertools.chain(self.inner, *self.ends):
            each.close()

    def send(self, data, link=0):
        end = self.ends[link][0]
        while True:
            try:
                end.send(data)
                break
            except BlockingIOError:
                self.gather(1)
        self.sent[link] += 1

    def send_all(self, count, link=0, size=100):
        for number in range(count):
            self.send(frame(number, size), link)
            if number % 50 == 49:
                self._be_taken(link)

    def _be_taken(self, link):
        """Wait until the loop has taken all frames.

        What it is late for comes all at once, and may be more than our ends hold.
        """
        deadline = time.monotonic() + PATIENCE_S
        self.gather(0)
        while (told := self.cables.measures(link)[0])["frames"] < self.sent[link]:
            assert time.monotonic() < deadline, told
            self.gather(1)

    def gather(self, wait_ms):
        poll, by_descriptor = select.poll(), {}
        for link, (_, end) in enumerate(self.ends):
            if end.fileno() >= 0:
                poll.register(end, select.POLLIN)
                by_descriptor[end.fileno()] = link
        for descriptor, _ in poll.poll(wait_ms):
            link = by_descriptor[descriptor]
            while True:
                try:
                    data = self.ends[link][1].recv(1 << 17)
                except (BlockingIOError, ConnectionResetError):
                    break
                if not data:
                    break
                self.arrived[link].append((time.monotonic_ns(), data))

    def settle(self, link=0):
        """Wait until all that was sent has met its fate; the account of the way from `a`."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.gather(5)
            told = self.cables.measures(link)[0]
            if told["frames"] == self.sent[link] and told["underway"] == 0:
                self.gather(0)
                return told
            assert time.monotonic() < deadline, told

    def numbers(self, link=0):
        return [number_of(data) for _, data in self.arrived[link]]


def assert_conserved(told):
    lost = sum(told[name] for name in ("lost", "lost_queue", "lost_down", "overruns"))
    assert told["frames"] + told["duplicated"] == told["delivered"] + lost + told["underway"], told
