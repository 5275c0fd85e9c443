"""When a router under `cbcb` does what: delays with jitter, periods, patience.

Not here: what is then done (`cbcb`).
"""

from __future__ import annotations

import random

from nodes.config import MILLISECOND_NS
from nodes.routing.pending import Pending
from nodes.routing.schemes.base import Options

DELAY_MS = 10
"""How long causes are gathered before a router asks, or announces that its links changed."""
ASK_STORM_FACTOR = 16
RENEW_STORM_FACTOR = 128
"""How much longer it waits at most while causes keep coming."""
PATIENCE_FACTOR = 16


class Jittered(Pending):
    """Pending work that also waits a random time, lest all routers send at once."""

    def __init__(self, delay_ms: int, longest_factor: int, rng: random.Random) -> None:
        super().__init__(delay_ms, longest_factor)
        self._jitter_ns = delay_ms * MILLISECOND_NS
        self._rng = rng

    def want(self, now_ns: int) -> None:
        """There is cause to do the work."""
        if self.at is None:
            super().want(now_ns)
            assert self.at is not None
            self.at += self._rng.randrange(self._jitter_ns + 1)


class Alarm:
    """A time that comes once."""

    def __init__(self) -> None:
        self.at: int | None = None

    def take(self, now_ns: int) -> bool:
        """Whether it has come; it is then over."""
        if self.at is None or now_ns < self.at:
            return False
        self.at = None
        return True


class Period:
    """A time that comes again and again, each time up to a quarter early at random; never if 0."""

    def __init__(self, period_ms: int, rng: random.Random) -> None:
        self.at: int | None = None
        self._period_ns = period_ms * MILLISECOND_NS
        self._rng = rng

    def begin(self, now_ns: int) -> None:
        """Let it first come a period from now."""
        if self._period_ns:
            self.at = now_ns + self._period_ns - self._rng.randrange(self._period_ns // 4 + 1)

    def take(self, now_ns: int) -> bool:
        """Whether it has come; the next is then set."""
        if self.at is None or now_ns < self.at:
            return False
        self.begin(now_ns)
        return True


class Timers:
    """All timers of one router."""

    def __init__(self, options: Options, rng: random.Random) -> None:
        self.renew = Jittered(DELAY_MS, RENEW_STORM_FACTOR, rng)
        """Say that our links changed."""
        self.ask = Jittered(DELAY_MS, ASK_STORM_FACTOR, rng)
        """Send the requests there is cause for."""
        self.patience = Alarm()
        """Send again the requests that are not answered."""
        self.refresh = Period(int(options["sr_period_ms"]), rng)
        """Ask for no cause but time."""
        self.repeat = Period(int(options["ra_period_ms"]), rng)
        """Advertise for no cause but time."""
        self._timeout_ns = int(options["sr_timeout_ms"]) * MILLISECOND_NS
        self._patience_ns = self._timeout_ns

    def begin(self, now_ns: int) -> None:
        """A new era: ask soon; periods and patience begin anew."""
        self.ask.want(now_ns)
        self.patience.at, self._patience_ns = None, self._timeout_ns
        self.refresh.begin(now_ns)
        self.repeat.begin(now_ns)

    def await_replies(self, now_ns: int) -> None:
        """Replies are awaited, or keep coming."""
        if self._patience_ns:
            self.patience.at = now_ns + self._patience_ns

    def be_more_patient(self, now_ns: int) -> None:
        """There was no reply: wait twice as long for the next."""
        self._patience_ns = min(2 * self._patience_ns, PATIENCE_FACTOR * self._timeout_ns)
        self.await_replies(now_ns)

    def next_deadline(self) -> int | None:
        """The earliest."""
        all_ = (self.renew, self.ask, self.patience, self.refresh, self.repeat)
        return min((timer.at for timer in all_ if timer.at is not None), default=None)
