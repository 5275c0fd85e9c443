"""From where on a run is not trusted. Why each limit is what it is: docs/fidelity.md."""

from __future__ import annotations

from dataclasses import dataclass

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Of the fidelity certificate. Times are in nanoseconds of the run's time."""

    delay_ns: int = MS
    """How late 1 of 100 frames may be handed over, or a sleeper be woken: this much ..."""
    delay_share: float = 0.1
    """... or this share of the delay asked for, whichever is more."""
    median_ns: int = MS // 2
    """The same for every second frame: a link that is always late by so much is another link."""
    median_share: float = 0.05
    early_ns: int = 50_000
    """How much too early a frame may arrive: two clocks are read one after the other. This, or ..."""
    early_share: float = 0.02
    """... this share of the delay."""
    chance: float = 0.001
    """How unlikely a count of lost or doubled frames may be, if all links did what they were asked;
    shared out among all counts that are looked at."""
    rate_share: float = 0.02
    """How much more than the rate asked for a link may carry."""
    stall_ns: int = 100 * MS
    """How long the machine may stand still at once."""
    busy: float = 0.97
    """The share of the processors' time that may be in use over the whole workload ..."""
    speed: float = 0.5
    """... unless nodes had one so much of the time they wanted one, slowed time making up for less."""
    throttled: float = 0.01
    """The share of the time in which a quota may hold the processes back."""
    client_late_ns: int = 5 * MS
    """How late 1 of 100 deadlines of clients may be met; 1 of 10 of any single one."""
    router_late_ns: int = 20 * MS
    """The same of routers, whose timers are a hundred milliseconds and more."""
    processor_wait_ns: int = MS
    """How long a node may wait on average each time it is to run."""
    least_frames: int = 100
    """With fewer frames nothing is said of 1 in 100."""
    least_deadlines: int = 20
    """With fewer deadlines nothing is said of a single node."""
    least_turns: int = 100
    least_probes: int = 10
    """With fewer probes nothing is said of jitter, ..."""
    most_correlation: float = 0.5
    """... nor where jitter follows that of the frame before more than this."""

    def allowed_ns(self, delay_ns: int) -> int:
        """How late 1 of 100 may be where this delay is asked for."""
        return max(self.delay_ns, round(self.delay_share * delay_ns))

    def allowed_median_ns(self, delay_ns: int) -> int:
        """How late every second may be."""
        return max(self.median_ns, round(self.median_share * delay_ns))

    def allowed_early_ns(self, delay_ns: int) -> int:
        """How early any may be."""
        return max(self.early_ns, round(self.early_share * delay_ns))


LIMITS = Limits()
