# distutils: language = c++
"""Predicates that come and go, by the million. See __init__.pyi for the signatures.

The work is done by interests/interests.hpp. All of it keeps the GIL, which makes it safe:
forwarding does not need the GIL and is not held up.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from fastpath.fib.fib cimport ForwardingTable, Table
from fastpath.wire cimport Bytes, ChangeView, Status, describe, parse_interest_change, string_view

from fastpath.wire.codec import UsageError, WireError

__all__ = ["FilterPool", "Predicate", "TableEditor", "Union", "UsageError", "WireError", "read_change"]


cdef extern from "interests/interests.hpp" namespace "cbn::interests" nogil:
    cdef cppclass Pool:
        size_t size()
        size_t bytes()

    cdef cppclass Digest:
        Digest()
        Digest(const Digest &)
        uint64_t high
        uint64_t low

    cdef cppclass CPredicate "cbn::interests::Predicate":
        CPredicate(shared_ptr[Pool]) except +
        size_t size()
        uint64_t constraints()
        uint64_t encoded_bytes()
        const Digest &digest()
        size_t bytes()
        Status read(Bytes, size_t) except +
        cbool put(uint32_t) except +
        cbool fits(const CPredicate &, const CPredicate &)
        void change(const CPredicate &, const CPredicate &) except +
        void minus(const CPredicate &, CPredicate &) except +
        string encoded(string_view) except +

    cdef cppclass CUnion "cbn::interests::Union":
        CUnion(shared_ptr[Pool], size_t) except +
        void add(const CPredicate &) except +
        cbool remove(const CPredicate &) except +
        size_t size()
        size_t bytes()

    cdef cppclass CTableEditor "cbn::interests::TableEditor":
        CTableEditor(shared_ptr[Pool], size_t) except +
        void add(uint32_t, const CPredicate &) except +
        cbool remove(uint32_t, const CPredicate &) except +
        cbool settle(Table &) except +
        vector[pair[uint32_t, string]] contents() except +
        size_t size()
        size_t bytes()


cdef extern from "interests/calls.hpp" namespace "cbn::interests" nogil:
    cbool settle_into(CUnion &, CPredicate &, CPredicate &) except +
    string digest_bytes(const Digest &) except +
    Digest digest_after(const CPredicate &, const CPredicate &, const CPredicate &)


cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline bytes to_bytes(const string &data):
    return PyBytes_FromStringAndSize(data.data(), data.size())


cdef int check(const Status &status) except -1:
    if not status.ok():
        raise WireError(f"{status.field.decode()} at byte {status.offset} {describe(status.fault).decode()}")
    return 0


cdef uint32_t interface_number(object interface) except? 0:
    if not isinstance(interface, int) or not 0 <= interface < 1 << 24:
        raise UsageError(f"interface is {interface!r}; expected 0 to 16777215")
    return interface


cdef size_t reduced_limit(object reduced_max) except? 0:
    if not isinstance(reduced_max, int) or not 0 <= reduced_max < 1 << 31:
        raise UsageError(f"reduced_max is {reduced_max!r}; expected 0 to {(1 << 31) - 1}")
    return reduced_max


cdef class FilterPool:
    """Every filter that some predicate holds, once."""

    cdef shared_ptr[Pool] pool

    def __cinit__(self):
        self.pool = make_shared[Pool]()

    def read(self, bytes encoded not None):
        """The predicate of these bytes. WireError if malformed."""
        return Predicate(self, encoded)

    def stats(self):
        """`filters`: how many different ones there are; `bytes`: what they take."""
        return {"filters": self.pool.get().size(), "bytes": self.pool.get().bytes()}


cdef class Predicate:
    """A set of a pool's filters, 4 to 11 bytes each.

    Empty if no bytes are given. WireError if they are malformed.
    """

    cdef unique_ptr[CPredicate] set
    cdef readonly FilterPool pool

    def __cinit__(self, FilterPool pool not None, encoded=None):
        self.pool = pool
        self.set.reset(new CPredicate(pool.pool))
        if encoded is not None:
            check(self.set.get().read(view(<bytes?>encoded), 0))

    cdef const CPredicate *other(self, Predicate other) except NULL:
        if other.pool is not self.pool:
            raise UsageError("two predicates of different pools cannot be worked on together")
        return other.set.get()

    def fits(self, Predicate removed not None, Predicate added not None):
        """Whether all of `removed` is here and nothing of `added`."""
        return self.set.get().fits(self.other(removed)[0], self.other(added)[0])

    def change(self, Predicate removed not None, Predicate added not None):
        """Take filters out and put others in. UsageError, and nothing done, if that does not fit."""
        if not self.fits(removed, added) or removed is self or added is self:
            raise UsageError("a change takes out what is not there or puts in what is")
        self.set.get().change(removed.set.get()[0], added.set.get()[0])

    def minus(self, Predicate other not None):
        """The filters that the other has not."""
        cdef Predicate out = Predicate(self.pool)
        self.set.get().minus(self.other(other)[0], out.set.get()[0])
        return out

    def encode(self, bytes head=b""):
        """The canonical bytes, behind `head`."""
        return to_bytes(self.set.get().encoded(string_view(PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))))

    def digest(self):
        """16 bytes: the sum of the first 16 bytes of SHA-256 of each filter, modulo 2^128.

        Equal predicates have equal digests whatever way they came about. It finds out
        mistakes; it is no signature.
        """
        return to_bytes(digest_bytes(self.set.get().digest()))

    def digest_after(self, Predicate removed not None, Predicate added not None):
        """What the digest would be after a `change` that fits."""
        cdef Digest after = digest_after(self.set.get()[0], self.other(removed)[0], self.other(added)[0])
        return to_bytes(digest_bytes(after))

    def __len__(self):
        """How many filters it has."""
        return self.set.get().size()

    @property
    def constraints(self):
        """How many constraints all filters have together."""
        return self.set.get().constraints()

    @property
    def encoded_bytes(self):
        """The length of `encode()`."""
        return self.set.get().encoded_bytes()

    @property
    def bytes(self):
        """The memory the set takes, without its filters, which the pool has."""
        return self.set.get().bytes()


def read_change(FilterPool pool not None, bytes payload not None):
    """(origin, sequence, digest, removed, added) of an INTEREST_CHANGE payload. WireError if malformed."""
    cdef ChangeView change
    check(parse_interest_change(view(payload), change))
    cdef Predicate removed = Predicate(pool), added = Predicate(pool)
    check(removed.set.get().read(change.removed, change.removed_at))
    check(added.set.get().read(change.added, change.added_at))
    digest = PyBytes_FromStringAndSize(<const char *>change.digest.data(), change.digest.size())
    return change.origin, change.sequence, digest, removed, added


cdef class Union:
    """The union of predicates that come and go, at the cost of what changed.

    Its result is the union, reduced by covering (D2) while it has at most
    `reduced_max` filters: to reduce is to look at all of them.
    """

    cdef unique_ptr[CUnion] all
    cdef readonly FilterPool pool

    def __cinit__(self, FilterPool pool not None, reduced_max):
        self.pool = pool
        self.all.reset(new CUnion(pool.pool, reduced_limit(reduced_max)))

    def add(self, Predicate predicate not None):
        """Count a predicate in. What it holds later does not matter."""
        own_pool(self.pool, predicate)
        self.all.get().add(predicate.set.get()[0])

    def remove(self, Predicate predicate not None):
        """Count it out. UsageError, and nothing done, if not all of it was counted in."""
        own_pool(self.pool, predicate)
        if not self.all.get().remove(predicate.set.get()[0]):
            raise UsageError("a predicate is taken out of a union that it was not put into")

    def settle(self):
        """(removed, added): how the result has changed since this was last asked."""
        cdef Predicate removed = Predicate(self.pool), added = Predicate(self.pool)
        settle_into(self.all.get()[0], removed.set.get()[0], added.set.get()[0])
        return removed, added

    def __len__(self):
        """How many filters the result has, as it was last settled."""
        return self.all.get().size()

    @property
    def bytes(self):
        """The memory it takes, without the filters, which the pool has."""
        return self.all.get().bytes()


cdef int own_pool(FilterPool pool, Predicate predicate) except -1:
    if predicate.pool is not pool:
        raise UsageError("a predicate of another pool cannot be counted here")
    return 0


cdef class TableEditor:
    """Keeps one forwarding table at unions of predicates, interface by interface.

    Nobody else may change the table. Each interface's union is reduced as `Union` says.
    """

    cdef unique_ptr[CTableEditor] rows
    cdef readonly FilterPool pool
    cdef readonly ForwardingTable table

    def __cinit__(self, FilterPool pool not None, ForwardingTable table not None, reduced_max):
        self.pool = pool
        self.table = table
        self.rows.reset(new CTableEditor(pool.pool, reduced_limit(reduced_max)))

    def add(self, interface, Predicate predicate not None):
        """Count a predicate in at an interface."""
        own_pool(self.pool, predicate)
        self.rows.get().add(interface_number(interface), predicate.set.get()[0])

    def remove(self, interface, Predicate predicate not None):
        """Count it out. UsageError, and nothing done, if not all of it was counted in."""
        own_pool(self.pool, predicate)
        if not self.rows.get().remove(interface_number(interface), predicate.set.get()[0]):
            raise UsageError(f"a predicate is taken from interface {interface}, where it was not put")

    def settle(self):
        """Bring the table to what was said and commit it; whether there was anything to do."""
        cdef cbool changed = self.rows.get().settle(self.table.table.get()[0])
        if changed:
            self.table.commit()
        return changed

    def contents(self):
        """The encoded predicate that stands in the table at each interface that has any filter."""
        cdef vector[pair[uint32_t, string]] rows = self.rows.get().contents()
        cdef dict found = {}
        cdef size_t at
        for at in range(rows.size()):
            found[rows[at].first] = to_bytes(rows[at].second)
        return found

    def __len__(self):
        """How many filters stand in the table."""
        return self.rows.get().size()

    @property
    def bytes(self):
        """The memory it takes, without the filters and the table."""
        return self.rows.get().bytes()
