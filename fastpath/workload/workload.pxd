# distutils: language = c++
"""Workloads as Cython sees them, for those who match what has been read."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes


cdef extern from "workload/workload.hpp" namespace "cbn::workload" nogil:
    cdef cppclass Pieces:
        size_t size()
        size_t bytes()
        Bytes at(size_t)

    cdef cppclass CFilterList "cbn::workload::FilterList":
        Pieces filters
        vector[uint32_t] interfaces
        uint64_t constraints

    cdef cppclass CMessageList "cbn::workload::MessageList":
        Pieces packets

    cdef cppclass FilterReader:
        CFilterList list
        void feed(Bytes) except +
        void finish() except +

    cdef cppclass MessageReader:
        CMessageList list
        void feed(Bytes) except +
        void finish() except +


cdef class TextList:
    cdef int feed(self, Bytes text) except -1 nogil
    cdef int finish(self) except -1 nogil


cdef class FilterList(TextList):
    cdef FilterReader reader


cdef class MessageList(TextList):
    cdef MessageReader reader
