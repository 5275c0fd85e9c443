"""What becomes of a frame on its way: lost, doubled, spoilt, late or early, by a link's own luck.

Nothing is drawn for what an impairment does not ask for, so that to add one
kind of impairment leaves links without it as they were.
"""

from __future__ import annotations

from random import Random

from testbed.plan.model import Impairment
from testbed.sim.frames import HEADER_BYTES
from testbed.sim.jitter import Jitter

BITS_NS = 8 * 1_000_000_000


class Fate:
    """The fate of the frames of one direction of a link."""

    __slots__ = (
        "_bad",
        "_delay_ns",
        "_impairment",
        "_jitter",
        "_open_delay_ns",
        "_rng",
        "_turns_bad",
        "_turns_good",
        "even",
    )

    def __init__(self, impairment: Impairment, open_delay_ns: int, rng: Random) -> None:
        self._impairment = impairment
        self._open_delay_ns = open_delay_ns
        self._delay_ns = open_delay_ns if impairment.delay_ns is None else impairment.delay_ns
        self._rng = rng
        self._jitter = Jitter(rng)
        self._bad = False
        burst, loss = impairment.loss_burst, impairment.loss
        self._turns_good = 1 / burst if burst and loss < 1 else 0.0
        self._turns_bad = loss * self._turns_good / (1 - loss) if loss < 1 else 1.0
        self.even: int | None = None
        """How long every frame takes, if luck has no part in it."""
        i = impairment
        if not (i.jitter_ns or i.loss or i.rate_bps or i.duplicate or i.reorder or i.corrupt):
            self.even = self._delay_ns

    def under(self, impairment: Impairment) -> Fate:
        """The same luck, going on where it is, under another impairment."""
        return Fate(impairment, self._open_delay_ns, self._rng)

    def copies(self) -> int:
        """How many copies of a frame arrive: 0, 1 or 2."""
        if self._is_lost():
            return 0
        twice = self._impairment.duplicate
        return 2 if twice and self._rng.random() < twice else 1

    def travel_ns(self, frame_bytes: int) -> int:
        """How long a copy is on its way."""
        impairment, rng = self._impairment, self._rng
        overtakes = impairment.reorder and rng.random() < impairment.reorder
        travel_ns = 0 if overtakes else self._delay_ns
        if impairment.jitter_ns and not overtakes:
            travel_ns = max(travel_ns + self._jitter.draw_ns(impairment), 0)
        if impairment.rate_bps is not None:
            travel_ns += frame_bytes * BITS_NS // impairment.rate_bps
        return travel_ns

    def spoils(self) -> bool:
        """Whether a copy arrives with a wrong bit."""
        share = self._impairment.corrupt
        return bool(share) and self._rng.random() < share

    def spoilt(self, frame: bytes) -> bytes:
        """The frame with a bit of its datagram turned, which the UDP checksum always tells."""
        at, bit = self._rng.randrange(HEADER_BYTES, len(frame)), self._rng.randrange(8)
        return frame[:at] + bytes((frame[at] ^ 1 << bit,)) + frame[at + 1 :]

    def _is_lost(self) -> bool:
        loss = self._impairment.loss
        if not loss:
            return False
        if self._impairment.loss_burst is None:
            return self._rng.random() < loss
        # Gilbert-Elliott: a good state that loses nothing, a bad one that loses all.
        turns = self._turns_good if self._bad else self._turns_bad
        if self._rng.random() < turns:
            self._bad = not self._bad
        return self._bad
