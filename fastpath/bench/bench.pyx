# distutils: language = c++
"""Measure a forwarding table. See __init__.pyi for the signatures.

bench/bench.hpp takes the times without the GIL; here Python's values are checked,
and long work is cut into pieces between which an interruption is noticed.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.workload.workload cimport CFilterList, CMessageList, FilterList, MessageList

import os
import time
from pathlib import Path

from fastpath.wire.codec import UsageError
from fastpath.fib import ALGORITHMS

__all__ = ["ALGORITHMS", "Bench", "BenchTable", "Memory", "UsageError"]

cdef size_t ROUNDS = 10  # as in the paper
cdef size_t BATCH = 65_536
cdef size_t MAX_INTERFACES = 1 << 24


cdef extern from "<malloc.h>" nogil:
    int malloc_trim(size_t)


cdef extern from "bench/bench.hpp" namespace "cbn::bench" nogil:
    cdef cppclass TableStats "cbn::TableStats":
        size_t filters
        size_t constraints
        size_t interfaces
        size_t names
        size_t bytes

    cdef cppclass TablePointer "cbn::TablePointer":
        pass

    cdef cppclass TestedTable:
        void choose(const string &, size_t) except +
        void add(const CFilterList &, size_t, size_t, cbool) except +
        void commit() except +
        TablePointer current()
        TableStats stats() except +

    cdef cppclass Settings:
        uint64_t seed
        uint32_t threads
        uint32_t fresh
        cbool cold

    cdef cppclass Answer:
        uint64_t count
        uint64_t digest

    cdef cppclass CBench "cbn::bench::Bench":
        CBench(TablePointer, const CFilterList &, const CMessageList &, const Settings &) except +
        vector[Answer] answers() except +
        double repeat() except +
        double mean_ns()
        vector[int64_t] times_ns() except +


class Memory:
    """How the resident memory of this process grows. What is free is given back before each look."""

    def __init__(self):
        malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            self.knows_peak = True
        except OSError:
            self.knows_peak = False
        self._before = _resident()

    def growth(self):
        """Bytes more than when this was made."""
        malloc_trim(0)
        return _resident() - self._before

    def peak_growth(self):
        """Bytes more at the worst moment since; None if the system does not tell."""
        if not self.knows_peak:
            return None
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 - self._before


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


cdef class BenchTable:
    """A forwarding table by the name of its algorithm; UsageError if there is none of that name.

    `rounds` of preselection are for `selective` (FWD Fig. 7); 10 if not given, as in the paper.
    """

    cdef TestedTable table
    cdef readonly str algorithm

    def __init__(self, algorithm="fast", rounds=None):
        if algorithm not in ALGORITHMS:
            raise UsageError(f"algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}")
        if rounds is not None and algorithm != "selective":
            raise UsageError(f"rounds are for the algorithm selective, not for {algorithm}")
        if rounds is not None and not 0 <= rounds <= 1_000_000:
            raise UsageError(f"rounds is {rounds}; expected 0 to 1000000")
        self.algorithm = algorithm
        self.table.choose(algorithm.encode(), ROUNDS if rounds is None else rounds)
        self.table.commit()

    def build(self, FilterList filters not None, central=False, progress=None):
        """Add all filters and commit; the seconds it took.

        With `central`, the interface of a filter is its line. `progress` is
        called with the number of filters added so far.
        """
        cdef size_t count = len(filters), first = 0, last
        cdef cbool by_line = central
        if by_line and count > MAX_INTERFACES:
            raise UsageError(f"{count} filters, an interface each; expected at most {MAX_INTERFACES}")
        start = time.perf_counter()
        while first < count:
            last = min(first + BATCH, count)
            with nogil:
                self.table.add(filters.reader.list, first, last, by_line)
            first = last
            if progress is not None:
                progress(first)
        with nogil:
            self.table.commit()
        return time.perf_counter() - start

    def stats(self):
        """As of ForwardingTable."""
        cdef TableStats stats = self.table.stats()
        return {
            "filters": stats.filters,
            "constraints": stats.constraints,
            "interfaces": stats.interfaces,
            "names": stats.names,
            "bytes": stats.bytes,
        }


cdef class Bench:
    """Times a table, as committed last, on messages; UsageError if the settings make no sense.

    `threads` match at once, `fresh` percent of the messages' strings are
    replaced by strings that no filter has (others in every repeat), and with
    `cold` the caches are flushed before each message.
    """

    cdef unique_ptr[CBench] bench
    cdef FilterList filters
    cdef MessageList messages

    def __cinit__(self, BenchTable table not None, FilterList filters not None,
                  MessageList messages not None, *, threads=1, fresh=0, cold=False, seed=1):
        cdef Settings settings
        if len(messages) == 0:
            raise UsageError("there are no messages to measure with")
        if not 1 <= threads <= 1024:
            raise UsageError(f"threads is {threads}; expected 1 to 1024")
        if not 0 <= fresh <= 100:
            raise UsageError(f"fresh is {fresh}; expected 0 to 100 percent")
        if cold and threads > 1:
            raise UsageError("cold is for one thread: the others would warm up what one has flushed")
        settings.seed, settings.threads, settings.fresh, settings.cold = seed, threads, fresh, cold
        self.filters, self.messages = filters, messages
        self.bench.reset(
            new CBench(table.table.current(), filters.reader.list, messages.reader.list, settings)
        )

    def answers(self):
        """By message: (number of interfaces that match, digest of them); of fresh ones for the first pass."""
        cdef vector[Answer] found
        with nogil:
            found = self.bench.get().answers()
        return [(each.count, each.digest) for each in found]

    def repeat(self):
        """Measure once; the mean microseconds a message of this repeat."""
        cdef double mean
        with nogil:
            mean = self.bench.get().repeat()
        return mean / 1000

    def result(self):
        """`mean_us`, `p50_us`, `p99_us`, `max_us`: the least over the repeats so far.

        `undisturbed_us` is the mean of the least times of each message by
        itself: where it is far below `mean_us`, other processes interfered.
        """
        cdef vector[int64_t] times = self.bench.get().times_ns()

        def rank(percent):
            return times[(times.size() * percent + 99) // 100 - 1] / 1000

        return {
            "mean_us": self.bench.get().mean_ns() / 1000,
            "p50_us": rank(50),
            "p99_us": rank(99),
            "max_us": rank(100),
            "undisturbed_us": sum(times) / times.size() / 1000,
        }
