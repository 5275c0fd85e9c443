# distutils: language = c++
"""The forwarding headers as Cython sees them, and the table and FIB objects for those who work with them."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes


cdef extern from "match/bits.hpp" namespace "cbn" nogil:
    cdef cppclass Bits:
        Bits()
        Bits(Bytes)
        cbool test(uint32_t)
        size_t extent()


cdef extern from "match/index.hpp" namespace "cbn" nogil:
    cdef cppclass TableStats:
        size_t filters
        size_t constraints
        size_t interfaces
        size_t names
        size_t bytes

    cdef cppclass Scratch:
        vector[uint32_t] matched

    cdef cppclass Index:
        TableStats stats() except +

    const uint32_t MAX_INTERFACES


cdef extern from "fib/table.hpp" namespace "cbn" nogil:
    ctypedef shared_ptr[const Index] TablePointer

    cdef cppclass Table:
        Table() except +
        Table(const string &, size_t) except +
        uint64_t add(uint32_t, Bytes) except +
        cbool remove(uint64_t) except +
        void commit() except +
        TablePointer current()


cdef extern from "fib/gate.hpp" namespace "cbn" nogil:
    cdef cppclass Refused "cbn::Refusals::Refused":
        uint64_t count
        uint64_t sequence

    cdef cppclass CppGate "cbn::Gate":
        CppGate(size_t) except +
        size_t size()
        void set(uint32_t, uint32_t, Bytes) except +
        Refused refused(uint32_t)

    ctypedef shared_ptr[CppGate] GatePointer


cdef extern from "fib/permits.hpp" namespace "cbn" nogil:
    cdef cppclass CppPermits "cbn::Permits":
        CppPermits(size_t) except +
        size_t size()
        void limit(uint32_t, TablePointer)
        Refused refused(uint32_t)

    ctypedef shared_ptr[CppPermits] PermitsPointer


cdef extern from "fib/fib.hpp" namespace "cbn" nogil:
    cdef cppclass ClassRule:
        Bits accept
        Bits out
        uint32_t table
        uint32_t rewrite
        cbool routed

    cdef cppclass Destination:
        uint32_t router
        uint32_t interface

    cdef cppclass RouteRule:
        uint32_t node
        uint32_t table
        cbool one_each
        vector[Destination] destinations

    cdef cppclass Classes:
        ClassRule &operator[](uint32_t) except +
        const ClassRule *find(uint32_t)
        size_t size()

    cdef cppclass FibData:
        uint32_t origin_class
        vector[uint32_t] clients
        vector[uint32_t] max_datagram
        Classes classes
        vector[TablePointer] tables
        RouteRule route
        PermitsPointer permits
        GatePointer gate
        cbool is_client(uint32_t)
        void note_own_clients() except +

    ctypedef shared_ptr[const FibData] FibPointer


cdef class ForwardingTable:
    cdef unique_ptr[Table] table


cdef class Gate:
    cdef GatePointer gate
    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF


cdef class Permits:
    cdef PermitsPointer permits
    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF


cdef class Fib:
    cdef FibPointer data
    cdef uint32_t port(self, object ingress) except? 0xFFFFFFFF
