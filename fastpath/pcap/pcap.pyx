# distutils: language = c++
"""Decode pcap and pcapng files of CBN traffic into columns. See __init__.pyi for the signatures.

pcap/pcap.hpp reads and fills the columns without the GIL; here they become Arrow
arrays that point into the memory they were written to.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from libcpp cimport bool as cbool

from fastpath.wire cimport Bytes

import os

import pyarrow as pa

from fastpath.pcap.edges import RangeEdges
from fastpath.pcap.unpack import Unpacking, compression_of


cdef extern from "pcap/pcap.hpp" namespace "cbn::pcap" nogil:
    cbool known_link(uint32_t)
    const char *SKIP_NAMES[14]

    cdef cppclass Mac:
        uint8_t *data()

    cdef cppclass Ends:
        const Mac *own
        const Mac *peer

    cdef cppclass FileSource:
        FileSource()
        int open(const string &) except +
        void adopt(int)
        void close()
        int failure()

    cdef cppclass Format:
        uint32_t link_type
        cbool blocks
        const char *fault

    cdef cppclass Edges:
        cbool starts_clean
        cbool ends_clean
        cbool late

    cdef cppclass BitColumn:
        pass

    cdef cppclass Reading[Source]:
        Reading(Source &, const Format &, size_t, size_t, const Ends &) except +
        cbool fill(Columns &, size_t) except +
        const Edges &edges()

    cdef cppclass Columns:
        size_t rows
        BitColumn sent, has_sent, is_message, is_control, has_id, has_attributes
        vector[int64_t] time_ns, source, header_class, sequence, publish_time_ns, content
        vector[int32_t] frame_bytes, packet_bytes, type, hop_limit, hop_count, attribute_count, kind
        vector[int32_t] attribute_ends, control_ends
        vector[uint8_t] attributes, control
        uint64_t skipped[14]
        uint64_t records
        uint8_t foreign[12]
        uint8_t between[12]
        cbool has_between
        cbool several

    Bytes memory_of(const BitColumn &)
    Bytes memory_of(const vector[uint8_t] &)
    Bytes memory_of(const vector[int32_t] &)
    Bytes memory_of(const vector[int64_t] &)
    Format read_format(FileSource &) except +
    vector[pair[size_t, size_t]] index(FileSource &, const Format &, size_t) except +


cdef extern from "pcap/merge.hpp" namespace "cbn::pcap" nogil:
    cdef cppclass Track:
        Track(string, vector[string])

    cdef cppclass Merged:
        uint64_t packets
        uint64_t cut
        int failure
        string failed
        int why

    Merged merge(vector[Track] &, const string &, uint32_t) except +


class PcapError(ValueError):
    """Not a pcap or pcapng file this reader knows."""


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
    """An open file and how to read it."""

    cdef FileSource source
    cdef Format format
    cdef str path
    cdef readonly object unpacking

    def __cinit__(self, path):
        self.path = os.fspath(path)
        compression = compression_of(self.path)
        if compression:
            self.unpacking = Unpacking(self.path, compression)
            self.source.adopt(self.unpacking.start())
        else:
            self.check(self.source.open(os.fsencode(path)))
        with nogil:
            self.format = read_format(self.source)
        self.check(self.source.failure())
        if self.format.fault:
            raise PcapError(f"{self.path} {self.stopped() or self.format.fault.decode()}")
        if not self.format.blocks and not known_link(self.format.link_type):
            raise PcapError(
                f"{self.path} has link type {self.format.link_type}; expected Ethernet (1), Linux cooked"
                " (113, 276), raw IP (101, 228, 229) or loopback (0, 108)"
            )

    cdef str stopped(self):
        """Reads no more; why a compressed file was not read to its end, if so."""
        self.source.close()
        return self.unpacking.why if self.unpacking else ""

    cdef int check(self, int failure) except -1:
        if failure:
            raise OSError(failure, os.strerror(failure), self.path)
        return 0

    cdef list ranges(self, size_t target):
        cdef vector[pair[size_t, size_t]] found
        with nogil:
            found = index(self.source, self.format, target)
        self.check(self.source.failure())
        return [(each.first, each.second) for each in found]


BATCH_ROWS = 1 << 18
_REASONS = [SKIP_NAMES[reason].decode() for reason in range(1, 14)]
_INT32, _INT64 = pa.int32(), pa.int64()
SCHEMA = pa.schema([
    ("sent", pa.bool_()),
    ("time_ns", _INT64),
    ("frame_bytes", _INT32),
    ("packet_bytes", _INT32),
    ("type", _INT32),
    ("source", _INT64),
    ("header_class", _INT64),
    ("sequence", _INT64),
    ("publish_time_ns", _INT64),
    ("hop_limit", _INT32),
    ("hop_count", _INT32),
    ("attribute_count", _INT32),
    ("attributes", pa.binary()),
    ("kind", _INT32),
    ("content", _INT64),
    ("control", pa.binary()),
])


cdef object batch_of(const shared_ptr[Columns] &kept):
    cdef Columns *c = kept.get()
    message, identified = lend(kept, memory_of(c.is_message)), lend(kept, memory_of(c.has_id))
    columns = {
        "sent": (lend(kept, memory_of(c.has_sent)), lend(kept, memory_of(c.sent))),
        "time_ns": (None, lend(kept, memory_of(c.time_ns))),
        "frame_bytes": (None, lend(kept, memory_of(c.frame_bytes))),
        "packet_bytes": (None, lend(kept, memory_of(c.packet_bytes))),
        "type": (None, lend(kept, memory_of(c.type))),
        "source": (identified, lend(kept, memory_of(c.source))),
        "header_class": (message, lend(kept, memory_of(c.header_class))),
        "sequence": (identified, lend(kept, memory_of(c.sequence))),
        "publish_time_ns": (message, lend(kept, memory_of(c.publish_time_ns))),
        "hop_limit": (message, lend(kept, memory_of(c.hop_limit))),
        "hop_count": (message, lend(kept, memory_of(c.hop_count))),
        "attribute_count": (message, lend(kept, memory_of(c.attribute_count))),
        "attributes": (
            lend(kept, memory_of(c.has_attributes)),
            lend(kept, memory_of(c.attribute_ends)),
            lend(kept, memory_of(c.attributes)),
        ),
        "kind": (lend(kept, memory_of(c.is_control)), lend(kept, memory_of(c.kind))),
        "content": (None, lend(kept, memory_of(c.content))),
        "control": (
            None,
            lend(kept, memory_of(c.control_ends)),
            lend(kept, memory_of(c.control)),
        ),
    }
    arrays = [pa.Array.from_buffers(field.type, c.rows, list(columns[field.name])) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


cdef bytes mac_bytes(str mac):
    try:
        octets = bytes.fromhex(mac.replace(":", ""))
    except ValueError:
        octets = b""
    if len(octets) != 6:
        raise ValueError(f"mac is {mac!r}; expected six octets such as 02:00:00:00:00:01")
    return octets


cdef void fill(Mac &mac, str text) except *:
    for place, octet in enumerate(mac_bytes(text)):
        mac.data()[<size_t>place] = octet


def decode_pcap(path, size_t start=0, end=None, str mac="", str peer_mac=""):
    """One row per CBN packet of the file's records that start in [start, end), and counts.

    Reads pcap in either byte order with micro- and nanoseconds; pcapng with any number of
    sections and interfaces; Ethernet (with VLAN tags), Linux cooked (SLL and SLL2), raw IP and
    loopback; IPv4 and IPv6, also fragmented; super-datagrams of segmentation offload. `start` is 0
    or comes from `index_pcap`. A file compressed by gzip or zstd is read whole, whatever the range.

    Columns: those of docs/run-directory.md, table `packets`, that stand in the
    capture. `sent` says that the source address is `mac`, the capturing
    interface's own; it is null if no `mac` is given (with SLL and SLL2 the capture says
    it). With `peer_mac`, a frame of which neither the source nor the destination is one
    of the two is `foreign`; if the source is neither, the destination decides. `attributes`
    are those of a MESSAGE with hop count 0 that was not sent: of a publication, if the peer
    is a client. `control` are whole packets: what adds and withdraws subscriptions, advertisements
    and patterns, if it was not sent; LINK_STATE, INTEREST, OFFER and the changes of these, if it was; and
    in both directions the first 57 bytes of COST_ANNOUNCE, CHANGE_MARKING, its reply and CD_UPDATE.

    The counts: `records` and `packets` are what was read; the rest is what was
    passed over, by reason: `truncated_file` (the last record is cut short),
    `truncated` (frames captured in part; whole packets at their front are
    read), `not_cbn`, `ip_fragments` (whose datagram is not complete),
    `bad_frame` (headers that contradict themselves), `malformed` (CBN
    datagrams with bad framing, and well framed packets wrong inside),
    `bad_checksum` (damaged on the way: whoever receives them drops them), `foreign` (of
    another link). Of pcapng alone: `damaged_file` (blocks' lengths contradict each other: what follows is not
    read), `bad_block` (contradicts itself, or names an interface that is not there),
    `untimed` (simple packets have no time), `unknown_link` (of an interface of
    another kind), `unknown_block` (none of those that hold packets).

    The file is read, not mapped: one that becomes shorter meanwhile has a truncated end.

    Raises:
        PcapError: Not a pcap file, or of a link type not known here.
        OSError: The file cannot be read.
    """
    batch, counts, _, _ = decode_range(path, start, end, mac, peer_mac)
    return batch, counts


def decode_range(path, size_t start, end, str mac="", str peer_mac=""):
    """As `decode_pcap`; whether the edges are where they should be; and the addresses of foreign frames.

    These are source and destination of the first such frame; None: there is none.
    """
    cdef Decoding decoding = Decoding(path, start, end, mac, peer_mac)
    batch = decoding.fill(<size_t>-1)
    return batch, decoding.counts, decoding.edges, decoding.foreign


def decode_batches(path, size_t start=0, end=None, str mac="", str peer_mac="", size_t rows=BATCH_ROWS):
    """As `decode_range`, in batches of about so many rows: memory does not grow with the range."""
    return Decoding(path, start, end, mac, peer_mac, rows)


cdef class Decoding:
    """An iterator over batches; `counts`, `edges`, `foreign` and `why` are complete when it has ended.

    `between` which addresses the frames are, if no `mac` is given; ("", ""): between others too.
    `why` a compressed file was not read to its end; empty: it was, or it is not compressed.
    """

    cdef Reader reader
    cdef unique_ptr[Reading[FileSource]] reading
    cdef Mac own, peer
    cdef size_t rows
    cdef cbool more
    cdef readonly dict counts
    cdef readonly object foreign
    cdef readonly set between
    cdef readonly str why

    def __cinit__(self, path, size_t start=0, end=None, str mac="", str peer_mac="", size_t rows=BATCH_ROWS):
        cdef size_t stop = <size_t>-1 if end is None else end
        cdef Ends ends
        if mac:
            fill(self.own, mac)
            ends.own = &self.own
        if mac and peer_mac:
            fill(self.peer, peer_mac)
            ends.peer = &self.peer
        self.rows = rows
        self.more = True
        self.between = set()
        self.why = ""
        self.counts = dict.fromkeys(["records", "packets", *_REASONS], 0)
        self.reader = Reader(path)
        if self.reader.unpacking:
            start, stop = 0, <size_t>-1  # offsets in a compressed file are none of its records
        self.reading.reset(
            new Reading[FileSource](self.reader.source, self.reader.format, start, stop, ends)
        )

    def __iter__(self):
        return self

    def __next__(self):
        if not self.more:
            raise StopIteration
        return self.fill(self.rows)

    cdef object fill(self, size_t rows):
        cdef shared_ptr[Columns] columns = make_shared[Columns]()
        cdef Reading[FileSource] *reading = self.reading.get()
        with nogil:
            self.more = reading.fill(columns.get()[0], rows)
        self.reader.check(self.reader.source.failure())
        self.count(columns.get())
        if not self.more:
            self.why = self.reader.stopped()
            if self.why:
                self.counts["truncated_file"] = 1
        return batch_of(columns)

    cdef void count(self, Columns *c) except *:
        self.counts["records"] += c.records
        self.counts["packets"] += c.rows
        for reason, name in enumerate(_REASONS, 1):
            self.counts[name] += c.skipped[reason]
        if self.foreign is None and c.skipped[_REASONS.index("foreign") + 1]:
            seen = bytes(c.foreign[i] for i in range(12))
            self.foreign = (seen[6:].hex(":"), seen[:6].hex(":"))
        if c.has_between:
            seen = bytes(c.between[i] for i in range(12))
            self.between.add(tuple(sorted((seen[6:].hex(":"), seen[:6].hex(":")))))
        if c.several:
            self.between.add(("", ""))

    @property
    def edges(self):
        """How the range begins and ends."""
        cdef Edges edges = self.reading.get().edges()
        return RangeEdges(edges.starts_clean, edges.ends_clean, edges.late)


def index_pcap(path, target_bytes):
    """Exact split points: [start, end) byte ranges of about `target_bytes`, whole records each.

    Together they hold every record once. Consecutive fragments of a datagram stay together.
    """
    if target_bytes < 1:
        raise ValueError(f"target_bytes is {target_bytes}; expected at least 1")
    reader = Reader(path)
    if reader.unpacking:
        raise PcapError(f"{os.fspath(path)} is compressed; it is read from front to back, in one piece")
    return reader.ranges(target_bytes)


def merge_captures(captures, path, uint32_t snap_bytes=262_144):
    """All captures (name of the interface, its files) as one pcapng file, in order of time.

    Of Ethernet alone. Stamps within a capture may cross by some hundred records, as those of
    several processors do. Counts: `packets`, and `truncated`, files whose end is not whole.

    Raises:
        PcapError: one of the files is no capture.
        OSError: one cannot be read, or `path` cannot be written; then it is not whole.
    """
    cdef vector[Track] tracks
    cdef vector[string] files
    for name, paths in captures:
        files = [os.fsencode(each) for each in paths]
        tracks.emplace_back(<string>name.encode(), files)
    cdef string target = os.fsencode(path)
    cdef Merged merged
    with nogil:
        merged = merge(tracks, target, snap_bytes)
    if merged.failure:
        raise OSError(merged.failure, os.strerror(merged.failure), os.fspath(path))
    failed = os.fsdecode(merged.failed)
    if merged.why:
        raise OSError(merged.why, os.strerror(merged.why), failed)
    if failed:
        raise PcapError(f"{failed} is no capture that can be read")
    return {"packets": merged.packets, "truncated": merged.cut}
