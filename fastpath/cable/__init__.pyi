"""What links do to frames, for the simulator and for the wires; and the loop that carries these."""

from typing import Protocol

__all__ = ["LONGEST_QUEUE_NS", "Cables", "LinkModel"]

LONGEST_QUEUE_NS: int
"""What would wait longer than this for a link's rate finds no room."""

class Impairment(Protocol):
    """What one direction of a link does, as a plan has it; None: no limit, or as fast as the world is."""

    @property
    def delay_ns(self) -> int | None: ...
    @property
    def jitter_ns(self) -> int: ...
    @property
    def jitter_shape(self) -> str: ...
    @property
    def jitter_correlation(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def rate_bps(self) -> int | None: ...
    @property
    def loss_burst(self) -> float | None: ...
    @property
    def duplicate(self) -> float: ...
    @property
    def reorder(self) -> float: ...
    @property
    def corrupt(self) -> float: ...
    @property
    def queue_packets(self) -> int | None: ...
    @property
    def queue_bytes(self) -> int | None: ...

class LinkModel:
    """Decides about the frames of one direction of a link. Draws nothing for what is not asked for."""

    def __init__(self, seed: int, open_delay_ns: int = 0) -> None:
        """`seed` has 64 bits; `open_delay_ns` is the delay where an impairment names none, and before any."""

    @property
    def constant_ns(self) -> int | None:
        """The delay, if every frame arrives after it, once and whole: then there is nothing to ask."""

    def impair(self, does: Impairment) -> None:
        """Do this to frames that are sent from now on. ValueError, and nothing done, if it makes no sense."""

    def send(self, now_ns: int, frame_bytes: int) -> tuple[int, tuple[tuple[int, int], ...]] | None:
        """What happens to a frame; ask in order of time. None if the queue for the rate has no room.

        Else when it leaves the sending end, and of each copy (none: it is lost) when it arrives and which
        bit of the frame is wrong then, counted from the lowest of the first byte, or -1.
        """

    def empty_queue(self) -> None:
        """What waits for the rate is gone, as when a link is cut."""

class Cables:
    """One loop for all links of a run. The caller closes the descriptors after `run` has returned."""

    def __init__(
        self, frame_bytes: int, memory_bytes: int, tap_frames: int = 10_000, dilate: int = 1
    ) -> None:
        """Make room for frames of up to `frame_bytes`, `memory_bytes` of them on their way at once.

        `tap_frames` is how many may wait in a descriptor unread. With `dilate` N delays, jitter and
        queues are N times as long as the impairments say and rates an N-th; lateness is told in N-ths.
        """

    def join(self, a: int, b: int, seeds: tuple[int, int]) -> int:
        """Make a link between two non-blocking descriptors that give and take a frame a call; its number.

        `seeds` (64 bits) are of the ways from `a` and from `b`. Call it before `run`.
        """

    def impair(self, link: int, there: Impairment, back: Impairment) -> None:
        """From now on the link does this to frames, both ways at once; what is on its way stays.

        ValueError if that makes no sense. From any thread, as the next three.
        """

    def cut(self, link: int) -> None:
        """Lose what is on its way, and what comes."""

    def mend(self, link: int) -> None:
        """Carry again, as impaired as before."""

    def count_lateness_anew(self) -> None:
        """What was late until now counts no more, on any link. From any thread."""

    def measures(self, link: int) -> tuple[dict[str, int], dict[str, int]]:
        """What happened to frames from `a` and from `b`.

        frames, bytes, delivered, lost, lost_queue, lost_down, duplicated, reordered, corrupted,
        overruns (no memory, or the descriptor would not take it), underway, last_errno; measured
        (how many frames' lateness is known), late_p50_ns, late_p99_ns, late_max_ns: how much later
        than due frames were handed over, with the longest that each may have waited unread, within 3 %.
        """

    def run(self) -> None:
        """Carry until `stop`. Releases the GIL. Call it once."""

    def stop(self) -> None:
        """Make `run` return; callable from any thread, any number of times."""
