# distutils: language = c++
"""Seals of datagrams as Cython sees them, for those who work with them."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.optional cimport optional
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes


cdef extern from "seal/guard.hpp" namespace "cbn::seal" nogil:
    cdef enum class Mode(uint8_t):
        Off, Permissive, Required

    cdef cppclass Key "cbn::seal::Key":
        uint8_t *data()

    cdef cppclass KeyOf:
        uint16_t key_id
        uint64_t session
        Key key

    cdef cppclass Verdict:
        cbool refused
        size_t messages

    cdef cppclass Guard:
        void use(const optional[KeyOf] &, const vector[KeyOf] &) except +

    cdef cppclass Guards:
        Guards(size_t, Mode) except +
        size_t size()
        Guard &at(size_t)
        size_t room(size_t)

    ctypedef shared_ptr[Guards] GuardsPointer


cdef class MessageSeals:
    cdef GuardsPointer guards
    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF
