# distutils: language = c++
"""Decode pcap files of CBN traffic into columns. See pcap.pyi for the signatures.

pcap.hpp reads and fills the columns without the GIL; here they become Arrow
arrays that point into the memory they were written to.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes

import os

import pyarrow as pa


cdef extern from "pcap.hpp" namespace "cbn::pcap" nogil:
    uint32_t LINK_ETHERNET
    uint32_t LINK_RAW
    uint32_t LINK_SLL2
    const char *SKIP_NAMES[8]

    cdef cppclass Mac:
        uint8_t *data()

    cdef cppclass Mapping:
        Mapping()
        int open(const string &) except +
        Bytes bytes()

    cdef cppclass Format:
        uint32_t link_type
        const char *fault

    cdef cppclass BitColumn:
        pass

    cdef cppclass Columns:
        size_t rows
        BitColumn sent, has_sent, is_message, is_control, has_attributes
        vector[int64_t] time_ns, source, header_class, sequence, publish_time_ns
        vector[int32_t] frame_bytes, packet_bytes, type, hop_limit, hop_count, attribute_count, kind
        vector[int32_t] attribute_ends
        vector[uint8_t] attributes
        uint64_t skipped[8]
        uint64_t records

    Bytes memory_of(const BitColumn &)
    Bytes memory_of(const vector[uint8_t] &)
    Bytes memory_of(const vector[int32_t] &)
    Bytes memory_of(const vector[int64_t] &)
    Format read_format(Bytes)
    void decode(Bytes, const Format &, size_t, size_t, const Mac *, Columns &) except +
    vector[pair[size_t, size_t]] index(Bytes, const Format &, size_t) except +


class PcapError(ValueError):
    """Not a pcap file this reader knows."""


cdef class Memory:
    """One vector of the columns, lent to Arrow; keeps them all alive."""

    cdef shared_ptr[Columns] columns
    cdef const uint8_t *start
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.start, self.size, 1, flags)


cdef object lend(const shared_ptr[Columns] &columns, Bytes data):
    cdef Memory memory = Memory.__new__(Memory)
    memory.columns = columns
    memory.start = data.data() if data.size() else <const uint8_t *>b""
    memory.size = data.size()
    return pa.py_buffer(memory)


cdef class Reader:
    """A mapped file and how to read it."""

    cdef Mapping mapping
    cdef Format format
    cdef str path

    def __cinit__(self, path):
        self.path = os.fspath(path)
        cdef int failure = self.mapping.open(os.fsencode(path))
        if failure:
            raise OSError(failure, os.strerror(failure), self.path)
        self.format = read_format(self.mapping.bytes())
        if self.format.fault:
            raise PcapError(f"{self.path} {self.format.fault.decode()}")
        if self.format.link_type not in (LINK_ETHERNET, LINK_RAW, LINK_SLL2):
            raise PcapError(
                f"{self.path} has link type {self.format.link_type};"
                f" expected {LINK_ETHERNET} (Ethernet), {LINK_RAW} (RAW) or {LINK_SLL2} (SLL2)"
            )

    cdef shared_ptr[Columns] decode(self, size_t start, size_t end, Mac *own) except *:
        cdef shared_ptr[Columns] columns = make_shared[Columns]()
        with nogil:
            decode(self.mapping.bytes(), self.format, start, end, own, columns.get()[0])
        return columns

    cdef list ranges(self, size_t target):
        cdef vector[pair[size_t, size_t]] found
        with nogil:
            found = index(self.mapping.bytes(), self.format, target)
        return [(each.first, each.second) for each in found]


cdef object batch_of(const shared_ptr[Columns] &kept):
    cdef Columns *c = kept.get()
    int32, int64 = pa.int32(), pa.int64()
    message = lend(kept, memory_of(c.is_message))
    columns = {
        "sent": (pa.bool_(), lend(kept, memory_of(c.has_sent)), lend(kept, memory_of(c.sent))),
        "time_ns": (int64, None, lend(kept, memory_of(c.time_ns))),
        "frame_bytes": (int32, None, lend(kept, memory_of(c.frame_bytes))),
        "packet_bytes": (int32, None, lend(kept, memory_of(c.packet_bytes))),
        "type": (int32, None, lend(kept, memory_of(c.type))),
        "source": (int64, message, lend(kept, memory_of(c.source))),
        "header_class": (int64, message, lend(kept, memory_of(c.header_class))),
        "sequence": (int64, message, lend(kept, memory_of(c.sequence))),
        "publish_time_ns": (int64, message, lend(kept, memory_of(c.publish_time_ns))),
        "hop_limit": (int32, message, lend(kept, memory_of(c.hop_limit))),
        "hop_count": (int32, message, lend(kept, memory_of(c.hop_count))),
        "attribute_count": (int32, message, lend(kept, memory_of(c.attribute_count))),
        "attributes": (
            pa.binary(),
            lend(kept, memory_of(c.has_attributes)),
            lend(kept, memory_of(c.attribute_ends)),
            lend(kept, memory_of(c.attributes)),
        ),
        "kind": (int32, lend(kept, memory_of(c.is_control)), lend(kept, memory_of(c.kind))),
    }
    arrays = [pa.Array.from_buffers(kind, c.rows, buffers) for kind, *buffers in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


cdef bytes mac_bytes(str mac):
    try:
        octets = bytes.fromhex(mac.replace(":", ""))
    except ValueError:
        octets = b""
    if len(octets) != 6:
        raise ValueError(f"mac is {mac!r}; expected six octets such as 02:00:00:00:00:01")
    return octets


def decode_pcap(path, size_t start=0, end=None, str mac=""):
    """One row per CBN packet of the file's records that start in [start, end), and counts."""
    cdef size_t stop = <size_t>-1 if end is None else end
    cdef Mac own
    for place, octet in enumerate(mac_bytes(mac) if mac else b""):
        own.data()[<size_t>place] = octet
    cdef Reader reader = Reader(path)
    cdef shared_ptr[Columns] columns = reader.decode(start, stop, &own if mac else NULL)
    cdef Columns *c = columns.get()
    counts = {"records": c.records, "packets": c.rows}
    for reason in range(1, 8):
        counts[SKIP_NAMES[reason].decode()] = c.skipped[reason]
    return batch_of(columns), counts


def index_pcap(path, target_bytes):
    """Exact split points: [start, end) byte ranges of about `target_bytes`, whole records each."""
    if target_bytes < 1:
        raise ValueError(f"target_bytes is {target_bytes}; expected at least 1")
    return Reader(path).ranges(target_bytes)
