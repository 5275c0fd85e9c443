"""Carry frames between pairs of descriptors, with what their links do to them."""

from collections.abc import Sequence

Does = tuple[int, int, str, float, float, float, float, float, float, int, int, int]
"""delay_ns, jitter_ns, its shape, its correlation, loss, burst (0: none), duplicate, reorder, corrupt,
rate_bps (0: none), queue_packets and queue_bytes (-1: any number)."""

class Cables:
    """One loop for all links of a run. The caller closes the descriptors after `run` has returned."""

    def __init__(
        self, frame_bytes: int, memory_bytes: int, tap_frames: int = 10_000, dilate: int = 1
    ) -> None:
        """Make room for frames of up to `frame_bytes`, `memory_bytes` of them on their way at once.

        `tap_frames` is how many may wait in a descriptor unread. With `dilate` N delays, jitter and
        queues are N times as long as the impairments say and rates an N-th; lateness is told in N-ths.
        """

    def join(self, a: int, b: int, lucks: tuple[int, int]) -> int:
        """Make a link between two non-blocking descriptors that give and take a frame a call; its number.

        `lucks` are the seeds (64 bits) of the ways from `a` and from `b`. Call it before `run`.
        """

    def impair(self, link: int, there: Does, back: Does) -> None:
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

def jitter_draws(seed: int, does: Does, count: int) -> Sequence[int]:
    """Delays as frames of a way with that seed would have them, in nanoseconds: for tests of the shapes."""
