# distutils: language = c++
"""Covering, overlap and reduction of encoded filters. See __init__.pyi for the signatures.

All functions take canonical bytes (docs/wire-format.md) and raise WireError if they are not.

The work is done by cover/cover.hpp; whole predicates are worked on without the GIL.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes, Status, describe, string_view

from functools import lru_cache
from hashlib import sha256

from fastpath.wire.codec import WireError

__all__ = [
    "AdvertisementSet", "CoveringSet", "Overlaps", "PredicateSet", "WireError", "advertisement_covers",
    "advertisement_overlaps", "contradictory", "count", "covers", "difference", "digest", "overlaps",
    "reduce", "reduce_advertisement", "reduce_filter", "union",
]


cdef extern from "cover/cover.hpp" namespace "cbn::cover" nogil:
    cdef cppclass Count:
        uint64_t filters
        uint64_t constraints

    Status c_covers "cbn::cover::covers" (Bytes, Bytes, cbool &) except +
    Status c_overlaps "cbn::cover::overlaps" (Bytes, Bytes, cbool &) except +
    Status c_contradictory "cbn::cover::contradictory" (Bytes, cbool &) except +
    Status c_reduce_filter "cbn::cover::reduce_filter" (Bytes, string &) except +
    Status c_reduce "cbn::cover::reduce" (Bytes, string &) except +
    Status c_difference "cbn::cover::difference" (Bytes, Bytes, string &) except +
    Status c_count "cbn::cover::count" (Bytes, Count &) except +
    Status filters_of(Bytes, vector[string_view] &) except +
    string joined(vector[string_view]) except +

    Status c_advertisement_covers "cbn::cover::advertisement_covers" (Bytes, Bytes, cbool &) except +
    Status c_advertisement_overlaps "cbn::cover::advertisement_overlaps" (Bytes, Bytes, cbool &) except +
    Status c_reduce_advertisement "cbn::cover::reduce_advertisement" (Bytes, string &) except +

    cdef cppclass AnySet:
        Status normalized(Bytes, string &) except +
        cbool add(string) except +
        cbool remove(const string &) except +
        cbool contains(const string &) except +
        const string *cover_of(const string &) except +
        string roots() except +
        void changes(vector[string] &, vector[string] &) except +
        size_t size()
        size_t root_count()

    cdef cppclass CPredicateSet "cbn::cover::PredicateSet" (AnySet):
        CPredicateSet() except +

    cdef cppclass CAdvertisementSet "cbn::cover::AdvertisementSet" (AnySet):
        CAdvertisementSet() except +

    cdef cppclass COverlaps "cbn::cover::Overlaps":
        void add(string) except +
        cbool remove(const string &) except +
        void advertise(uint32_t, string, vector[string] &) except +
        cbool withdraw(uint32_t, const string &, vector[string] &) except +
        cbool owners(const string &, vector[uint32_t] &) except +
        size_t filters()
        size_t advertisements()


cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline bytes to_bytes(const string &data):
    return PyBytes_FromStringAndSize(data.data(), data.size())


cdef int check(const Status &status) except -1:
    if not status.ok():
        raise WireError(f"{status.field.decode()} at byte {status.offset} {describe(status.fault).decode()}")
    return 0


def covers(bytes wide not None, bytes narrow not None):
    """Whether every message that matches the filter `narrow` matches the filter `wide` (M7).

    Never a false yes. Exact, unless `narrow` has suffixes or substrings on strings.
    """
    cdef cbool out = False
    check(c_covers(view(wide), view(narrow), out))
    return out


def overlaps(bytes left not None, bytes right not None):
    """Whether some message may match both filters; never a false no (E14)."""
    cdef cbool out = False
    check(c_overlaps(view(left), view(right), out))
    return out


def contradictory(bytes filter not None):
    """Whether the filter can match no message: surely so if true."""
    cdef cbool out = False
    check(c_contradictory(view(filter), out))
    return out


def reduce_filter(bytes filter not None):
    """The filter without constraints that its others imply; a contradictory one as it is."""
    cdef string out
    check(c_reduce_filter(view(filter), out))
    return to_bytes(out)


def reduce(bytes predicate not None):
    """The predicate without redundant constraints, covered filters and contradictory filters (D2).

    Matches the same messages. Of filters that say the same, one stays: the
    first by encoded bytes, unless they differ in string patterns' ranges.
    """
    cdef Bytes data = view(predicate)
    cdef string out
    cdef Status status
    with nogil:
        status = c_reduce(data, out)
    check(status)
    return to_bytes(out)


def union(predicates):
    """All filters of all predicates, none twice; not reduced."""
    cdef vector[string_view] filters
    cdef list held = list(predicates)  # keeps alive what the views point into
    for predicate in held:
        check(filters_of(view(<bytes?>predicate), filters))
    return to_bytes(joined(filters))


def difference(bytes predicate not None, bytes without not None):
    """The filters of the first predicate that the second does not have, byte for byte."""
    cdef string out
    check(c_difference(view(predicate), view(without), out))
    return to_bytes(out)


def digest(bytes predicate not None):
    """SHA-256 of the canonical bytes: equal digests, equal predicates."""
    count(predicate)
    return sha256(predicate).digest()


def count(bytes predicate not None):
    """How many filters it has, and how many constraints these have together."""
    cdef Count out
    check(c_count(view(predicate), out))
    return (out.filters, out.constraints)


def advertisement_covers(bytes wide not None, bytes narrow not None):
    """Whether what is within the advertisement `narrow` is within `wide` (M5, M7); never a false yes."""
    cdef cbool out = False
    check(c_advertisement_covers(view(wide), view(narrow), out))
    return out


def advertisement_overlaps(bytes advertisement not None, bytes filter not None):
    """Whether some message within the advertisement may match the filter; never a false no (E14)."""
    cdef cbool out = False
    check(c_advertisement_overlaps(view(advertisement), view(filter), out))
    return out


def reduce_advertisement(bytes advertisement not None):
    """The advertisement without alternatives that lie within others, or that no value satisfies."""
    cdef string out
    check(c_reduce_advertisement(view(advertisement), out))
    return to_bytes(out)


# The routers of one process are told the same filters: what the small ones become is remembered.
cdef Py_ssize_t KNOWN_BYTES = 512
cdef object filter_known = lru_cache(maxsize=4096)(reduce_filter)
cdef object advertisement_known = lru_cache(maxsize=4096)(reduce_advertisement)


cdef bytes reduced_once(bytes filter):
    return (filter_known if PyBytes_GET_SIZE(filter) <= KNOWN_BYTES else reduce_filter)(filter)


cdef bytes offered_once(bytes advertisement):
    small = PyBytes_GET_SIZE(advertisement) <= KNOWN_BYTES
    return (advertisement_known if small else reduce_advertisement)(advertisement)


cdef list as_bytes(vector[string] &filters):
    return [to_bytes(each) for each in filters]


cdef class CoveringSet:
    """Filters, or advertisements, that come and go, with their reduction kept at hand (S1, S2, E15).

    The roots are those that no other covers. Each of the others hangs below one that covers it. One
    that was added twice stays until it is removed twice.
    """

    cdef unique_ptr[AnySet] all

    cdef string normalized(self, bytes filter) except *:
        cdef string out
        check(self.all.get().normalized(view(filter), out))
        return out

    def add(self, bytes filter not None):
        """Add a filter; whether the roots changed. WireError if malformed."""
        return self.all.get().add(self.normalized(filter))

    def remove(self, bytes filter not None):
        """Withdraw a filter. KeyError if it is not there, WireError if malformed.

        What it alone covered becomes a root again (E15).
        """
        if not self.all.get().remove(self.normalized(filter)):
            raise KeyError(f"the set does not hold the filter {filter.hex()}")

    def cover_of(self, bytes filter not None):
        """The filter below which this one hangs; None for a root and for a contradictory filter.

        KeyError if the filter is not there.
        """
        cdef string key = self.normalized(filter)
        if not self.all.get().contains(key):
            raise KeyError(f"the set does not hold the filter {filter.hex()}")
        cdef const string *cover = self.all.get().cover_of(key)
        return None if cover == NULL else to_bytes(cover[0])

    def roots(self):
        """The encoded predicate of those that no other covers."""
        return to_bytes(self.all.get().roots())

    def changes(self):
        """(Filters that became roots, filters that ceased to be) since this was last asked, ascending."""
        cdef vector[string] added, removed
        self.all.get().changes(added, removed)
        return as_bytes(added), as_bytes(removed)

    def root_count(self):
        """How many roots there are."""
        return self.all.get().root_count()

    def __contains__(self, bytes filter not None):
        return self.all.get().contains(self.normalized(filter))

    def __len__(self):
        """How many different ones there are, roots or not."""
        return self.all.get().size()


cdef class PredicateSet(CoveringSet):
    """The filters of a predicate. The roots are what `reduce` would leave.

    A filter is known by what `reduce_filter` makes of it. Contradictory filters are held and never
    become roots.
    """

    def __cinit__(self):
        self.all.reset(new CPredicateSet())


cdef class AdvertisementSet(CoveringSet):
    """Advertisements, each known by what `reduce_advertisement` makes of it."""

    def __cinit__(self):
        self.all.reset(new CAdvertisementSet())


cdef class Overlaps:
    """Which filters overlap what somebody advertises, while both come and go (E14).

    Whatever was added twice stays until it is removed twice. KeyError where something is taken out
    that is not there, WireError if it is malformed.
    """

    cdef COverlaps all

    def add(self, bytes filter not None):
        """Keep at hand who advertises something that overlaps this filter."""
        self.all.add(reduced_once(filter))

    def remove(self, bytes filter not None):
        """It is not asked for any more."""
        if not self.all.remove(reduced_once(filter)):
            raise KeyError(f"there is no filter {filter.hex()}")

    def advertise(self, uint32_t owner, bytes advertisement not None):
        """Somebody advertises this; the filters that nothing of theirs overlapped before."""
        cdef vector[string] gained
        self.all.advertise(owner, offered_once(advertisement), gained)
        return as_bytes(gained)

    def withdraw(self, uint32_t owner, bytes advertisement not None):
        """Somebody does so no longer; the filters that nothing of theirs overlaps any more."""
        cdef vector[string] lost
        if not self.all.withdraw(owner, offered_once(advertisement), lost):
            raise KeyError(f"{owner} has not advertised {advertisement.hex()}")
        return as_bytes(lost)

    def owners(self, bytes filter not None):
        """Who advertises something that overlaps a filter which was added, ascending."""
        cdef vector[uint32_t] out
        if not self.all.owners(reduced_once(filter), out):
            raise KeyError(f"there is no filter {filter.hex()}")
        return out

    def stats(self):
        """How many different `filters` and `advertisements` there are."""
        return {"filters": self.all.filters(), "advertisements": self.all.advertisements()}
