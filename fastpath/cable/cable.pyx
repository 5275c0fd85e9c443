# distutils: language = c++
"""Decide what links do to frames, and carry frames. See __init__.pyi for the signatures."""

from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport make_unique, unique_ptr

import os

__all__ = ["LONGEST_QUEUE_NS", "Cables", "LinkModel"]

cdef extern from "cable/cables.hpp" namespace "cbn::cable" nogil:
    cdef enum class Shape(int):
        uniform
        normal
        pareto

    cdef cppclass Impairment:
        int64_t delay_ns
        int64_t jitter_ns
        Shape shape
        double correlation
        double loss
        double burst
        double duplicate
        double reorder
        double corrupt
        int64_t rate_bps
        int64_t queue_packets
        int64_t queue_bytes

    cdef cppclass Counts:
        uint64_t frames
        uint64_t bytes
        uint64_t delivered
        uint64_t lost
        uint64_t lost_queue
        uint64_t lost_down
        uint64_t duplicated
        uint64_t reordered
        uint64_t corrupted
        uint64_t overruns
        uint64_t underway
        int last_error

    cdef cppclass Account:
        Counts counts
        uint64_t measured
        int64_t late_p50_ns
        int64_t late_p99_ns
        int64_t late_max_ns

    cdef cppclass Copy:
        int64_t arrives_ns
        int64_t wrong_bit

    cdef cppclass Decision:
        cbool has_room
        int64_t leaves_ns
        size_t count
        Copy copies[2]

    cdef cppclass CppLinkModel "cbn::cable::LinkModel":
        CppLinkModel(uint64_t) except +
        void impair(const Impairment &)
        cbool is_constant()
        Decision send(int64_t, size_t) except +
        void empty_queue()

    const int64_t LONGEST_WAIT_NS "cbn::cable::RateQueue::LONGEST_NS"

    cdef cppclass CppCables "cbn::cable::Cables":
        CppCables(size_t, size_t, uint64_t, int64_t) except +
        size_t join(int, int, uint64_t, uint64_t) except +
        size_t links()
        void impair(size_t, const Impairment &, const Impairment &) except +
        void cut(size_t) except +
        void repair(size_t) except +
        void count_lateness_anew() except +
        Account account(size_t) except +
        int run() except +
        void stop()

LONGEST_NS = 1 << 58
"""Nine years: no sum of times overflows."""
LONGEST_QUEUE_NS = LONGEST_WAIT_NS
"""What would wait longer than this for a link's rate finds no room."""
LARGEST_FRAME = 1 << 17
SHAPES = ("uniform", "normal", "pareto")


cdef class LinkModel:
    """Decides about the frames of one direction of a link. Draws nothing for what is not asked for.

    `seed` has 64 bits; `open_delay_ns` is the delay where an impairment names none, and before any.
    """

    cdef unique_ptr[CppLinkModel] model
    cdef int64_t open_delay_ns
    # The delay, if every frame arrives after it, once and whole: then there is nothing to ask.
    cdef readonly object constant_ns

    def __cinit__(self, uint64_t seed, int64_t open_delay_ns=0):
        self.model = make_unique[CppLinkModel](seed)
        self.open_delay_ns = open_delay_ns
        self.constant_ns = open_delay_ns

    def impair(self, does):
        """Do this to frames that are sent from now on. ValueError, and nothing done, if it makes no sense."""
        cdef Impairment asked = impairment_of(does, 1, self.open_delay_ns)
        self.model.get().impair(asked)
        self.constant_ns = asked.delay_ns if self.model.get().is_constant() else None

    def send(self, int64_t now_ns, size_t frame_bytes):
        """What happens to a frame; ask in order of time. None if the queue for the rate has no room.

        Else when it leaves the sending end, and of each copy (none: it is lost) when it arrives and which
        bit of the frame is wrong then, counted from the lowest of the first byte, or -1.
        """
        cdef Decision decided = self.model.get().send(now_ns, frame_bytes)
        if not decided.has_room:
            return None
        cdef Copy *copies = decided.copies
        if decided.count == 0:
            return decided.leaves_ns, ()
        if decided.count == 1:
            return decided.leaves_ns, ((copies[0].arrives_ns, copies[0].wrong_bit),)
        return decided.leaves_ns, (
            (copies[0].arrives_ns, copies[0].wrong_bit), (copies[1].arrives_ns, copies[1].wrong_bit))

    def empty_queue(self):
        """What waits for the rate is gone, as when a link is cut."""
        self.model.get().empty_queue()


cdef class Cables:
    """One loop for all links of a run. The caller closes the descriptors after `run` has returned.

    Make room for frames of up to `frame_bytes`, `memory_bytes` of them on their way at once.

    `tap_frames` is how many may wait in a descriptor unread. With `dilate` N delays, jitter and
    queues are N times as long as the impairments say and rates an N-th; lateness is given in N-ths.
    """

    cdef CppCables *cables
    cdef int64_t dilate

    def __cinit__(
            self, size_t frame_bytes, size_t memory_bytes, uint64_t tap_frames=10_000, int64_t dilate=1):
        if not 14 <= frame_bytes <= LARGEST_FRAME:
            raise ValueError(f"frame_bytes is {frame_bytes}; expected 14 to {LARGEST_FRAME}")
        if not frame_bytes < memory_bytes <= 1 << 40:
            raise ValueError(f"memory_bytes is {memory_bytes}; expected room for a frame, up to 2^40")
        if not 1 <= dilate <= 1_000_000:
            raise ValueError(f"dilate is {dilate}; expected 1 to 1000000")
        if tap_frames < 1:
            raise ValueError("tap_frames is 0; expected at least 1")
        self.dilate = dilate
        self.cables = new CppCables(frame_bytes, memory_bytes, tap_frames, dilate)

    def __dealloc__(self):
        del self.cables

    def join(self, int a, int b, seeds):
        """Make a link between two non-blocking descriptors that give and take a frame a call; its number.

        `seeds` (64 bits) are of the ways from `a` and from `b`. Call it before `run`.
        """
        cdef uint64_t from_a, from_b
        from_a, from_b = seeds
        return self.cables.join(a, b, from_a, from_b)

    def impair(self, size_t link, there, back):
        """From now on the link does this to frames, both ways at once; what is on its way stays.

        ValueError if that makes no sense. From any thread, as the next three.
        """
        cdef Impairment from_a = impairment_of(there, self.dilate, 0)
        cdef Impairment from_b = impairment_of(back, self.dilate, 0)
        self.check(link)
        with nogil:
            self.cables.impair(link, from_a, from_b)

    def cut(self, size_t link):
        """Lose what is on its way, and what comes."""
        self.check(link)
        with nogil:
            self.cables.cut(link)

    def repair(self, size_t link):
        """Carry again, as impaired as before."""
        self.check(link)
        with nogil:
            self.cables.repair(link)

    def count_lateness_anew(self):
        """What was late until now counts no more, on any link. From any thread."""
        with nogil:
            self.cables.count_lateness_anew()

    def measures(self, size_t link):
        """What happened to frames from `a` and from `b`.

        frames, bytes, delivered, lost, lost_queue, lost_down, duplicated, reordered, corrupted,
        overruns (no memory, or the descriptor would not take it), underway, last_errno; measured
        (how many frames' lateness is known), late_p50_ns, late_p99_ns, late_max_ns: how much later
        than due frames were handed over, with the longest that each may have waited unread, within 3 %.
        """
        self.check(link)
        return self.measured(2 * link), self.measured(2 * link + 1)

    def run(self):
        """Carry until `stop`. Releases the GIL. Call it once."""
        cdef int failure
        with nogil:
            failure = self.cables.run()
        if failure:
            raise OSError(failure, f"the links cannot be carried on: {os.strerror(failure)}")

    def stop(self):
        """Make `run` return; callable from any thread, any number of times."""
        self.cables.stop()

    cdef int check(self, size_t link) except -1:
        if link >= self.cables.links():
            raise IndexError(f"there is no link {link}: there are {self.cables.links()}")
        return 0

    cdef dict measured(self, size_t way):
        cdef Account account
        with nogil:
            account = self.cables.account(way)
        return {
            "frames": account.counts.frames,
            "bytes": account.counts.bytes,
            "delivered": account.counts.delivered,
            "lost": account.counts.lost,
            "lost_queue": account.counts.lost_queue,
            "lost_down": account.counts.lost_down,
            "duplicated": account.counts.duplicated,
            "reordered": account.counts.reordered,
            "corrupted": account.counts.corrupted,
            "overruns": account.counts.overruns,
            "underway": account.counts.underway,
            "last_errno": account.counts.last_error,
            "measured": account.measured,
            "late_p50_ns": account.late_p50_ns // self.dilate,
            "late_p99_ns": account.late_p99_ns // self.dilate,
            "late_max_ns": account.late_max_ns // self.dilate,
        }


cdef Impairment impairment_of(does, int64_t dilate, int64_t open_delay_ns) except *:
    """Checked, and with its times stretched."""
    delay_ns = open_delay_ns if does.delay_ns is None else does.delay_ns
    for name, value in (("delay_ns", delay_ns), ("jitter_ns", does.jitter_ns)):
        if not 0 <= value * dilate <= LONGEST_NS:
            raise ValueError(f"{name} is {value}; expected 0 to {LONGEST_NS // dilate}")
    for name in ("jitter_correlation", "loss", "duplicate", "reorder", "corrupt"):
        if not 0 <= getattr(does, name) <= 1:
            raise ValueError(f"{name} is {getattr(does, name)}; expected 0 to 1")
    if not (does.loss_burst is None or 1 <= does.loss_burst < float("inf")):
        raise ValueError(f"loss_burst is {does.loss_burst}; expected at least 1, or None")
    if does.jitter_shape not in SHAPES:
        raise ValueError(f"jitter_shape is {does.jitter_shape}; expected one of {', '.join(SHAPES)}")
    for name, least in (("rate_bps", 1), ("queue_packets", 0), ("queue_bytes", 0)):
        value = getattr(does, name)
        if not (value is None or least <= value < 1 << 62):
            raise ValueError(f"{name} is {value}; expected at least {least}, or None")
    cdef Impairment made
    made.delay_ns, made.jitter_ns = delay_ns * dilate, does.jitter_ns * dilate
    made.shape = <Shape><int>SHAPES.index(does.jitter_shape)
    made.correlation, made.loss, made.burst = does.jitter_correlation, does.loss, does.loss_burst or 0
    made.duplicate, made.reorder, made.corrupt = does.duplicate, does.reorder, does.corrupt
    made.rate_bps = does.rate_bps or 0
    made.queue_packets = -1 if does.queue_packets is None else does.queue_packets
    made.queue_bytes = -1 if does.queue_bytes is None else does.queue_bytes
    return made
