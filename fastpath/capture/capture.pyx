# distutils: language = c++
"""Copy frames from packet sockets into capture files. See __init__.pyi for the signatures."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string

from fastpath.wire cimport Bytes

import os

cdef extern from "capture/capture.hpp" namespace "cbn" nogil:
    cdef cppclass CaptureOptions:
        uint32_t snap_bytes
        cbool pcapng
        size_t rotate_bytes
        size_t index_bytes
        size_t buffer_bytes
        cbool keep_open
        string interface

    cdef cppclass EmulatedClock:
        int64_t from_ns
        int64_t rate

    cdef cppclass RecorderOptions:
        CaptureOptions file
        EmulatedClock clock
        size_t memory_bytes
        size_t sockets
        cbool rings

    cdef cppclass CaptureFile:
        CaptureFile()
        int open(const string &, const CaptureOptions &) except +
        void append(int64_t, uint32_t, Bytes) except +
        void flush() except +
        void close(uint64_t) except +
        cbool dirty()
        uint64_t packets()
        uint64_t bytes()
        uint64_t write_errors()
        uint64_t files()
        int last_error()

    cdef cppclass Tap:
        uint64_t kernel_drops()
        uint64_t read_errors()
        uint64_t unfinished()
        cbool gone()
        cbool has_ring()
        size_t ring_bytes()
        CaptureFile file

    cdef cppclass Failure "cbn::Recorder::Failure":
        int number
        size_t tap
        cbool about_file

    cdef cppclass Recorder:
        Recorder(const RecorderOptions &) except +
        void add(int, const string &, const string &) except +
        Failure begin() except +
        int run() except +
        void stop()
        size_t size()
        Tap &tap(size_t)

FORMATS = ("pcap", "pcapng")
cdef size_t LEAST_BUFFER = 64 << 10
cdef size_t MOST_BUFFER = 1 << 20
cdef size_t ALL_BUFFERS = 64 << 20


cdef CaptureOptions file_options(size_t snap_bytes, str format, size_t rotate_bytes) except *:
    if not 64 <= snap_bytes <= 1 << 24:
        raise ValueError(f"snap_bytes is {snap_bytes}; expected 64 to {1 << 24}")
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
    cdef CaptureOptions options
    options.snap_bytes = <uint32_t>snap_bytes
    options.pcapng = format == "pcapng"
    options.rotate_bytes = rotate_bytes
    return options


cdef class Capture:
    """One loop for all interfaces of a run. The caller closes the descriptors after `run` has returned.

    Make ready to capture: what comes from now on is not missed.

    The files are created here, header and all. Frames that a socket held before are
    lost where it gets a ring.

    Args:
        sockets: (bound AF_PACKET, SOCK_RAW descriptor, path of the file to write) each.
        snap_bytes: of each frame, how much is kept.
        format: `pcap` (with nanoseconds) or `pcapng`.
        rotate_bytes: how large a file becomes before the next is begun; 0: never.
        names: of the interfaces, for pcapng.
        memory_bytes: what frames that wait may take of all sockets together; each has room for
            256 KB at least and 32 MB at most. Rings take a quarter of it, whether frames wait or not.
        rings: read through rings shared with the kernel, where it gives memory for them.
            It costs a quarter as much, and the kernel loses a frame now and then.
        dilate: how many times slower than real time the stamps' time goes.
        dilate_from_ns: when both were the same.

    Raises:
        OSError: a descriptor or a file will not do; it names which.
    """

    cdef Recorder *recorder

    def __cinit__(
        self,
        sockets,
        size_t snap_bytes=262_144,
        *,
        str format="pcap",
        size_t rotate_bytes=0,
        names=(),
        size_t memory_bytes=512 << 20,
        cbool rings=False,
        int64_t dilate=1,
        int64_t dilate_from_ns=0,
    ):
        if dilate < 1:
            raise ValueError(f"dilate is {dilate}; expected 1 or more")
        cdef RecorderOptions options
        options.file = file_options(snap_bytes, format, rotate_bytes)
        options.sockets = <size_t>(len(sockets) or 1)
        options.file.buffer_bytes = min(max(ALL_BUFFERS // options.sockets, LEAST_BUFFER), MOST_BUFFER)
        options.clock.from_ns = dilate_from_ns
        options.clock.rate = dilate
        options.memory_bytes = memory_bytes
        options.rings = rings
        self.recorder = new Recorder(options)
        for place, (descriptor, path) in enumerate(sockets):
            name = names[place] if names else ""
            self.recorder.add(descriptor, os.fsencode(path), name.encode())
        self.begin(sockets)

    def __dealloc__(self):
        del self.recorder

    cdef int begin(self, sockets) except -1:
        cdef Failure failure
        with nogil:
            failure = self.recorder.begin()
        if not failure.number:
            return 0
        descriptor, path = sockets[failure.tap]
        why = os.strerror(failure.number)
        if failure.about_file:
            raise OSError(failure.number, why, os.fspath(path))
        raise OSError(failure.number, f"descriptor {descriptor} cannot be captured from: {why}")

    def run(self):
        """Copy until `stop`, then drain what the sockets hold. Releases the GIL. Call it once."""
        cdef int failure
        with nogil:
            failure = self.recorder.run()
        if failure:
            raise OSError(failure, f"the capture cannot go on: {os.strerror(failure)}")

    def stop(self):
        """Make `run` drain and return; callable from any thread, any number of times."""
        self.recorder.stop()

    @property
    def rings(self):
        """How many sockets are read through a ring."""
        return sum(self.recorder.tap(index).has_ring() for index in range(self.recorder.size()))

    @property
    def ring_bytes(self):
        """How much memory all rings take."""
        return sum(self.recorder.tap(index).ring_bytes() for index in range(self.recorder.size()))

    def counters(self):
        """Per socket, at any time, also after `run`.

        packets and bytes (of the frames as they were) in the file or on their way to it; kernel_drops:
        frames there was no room for, or that the kernel never handed over; read_errors: errors of the
        socket, such as its interface going down; write_errors: frames the disk would not take (then
        `last_errno` says why); files: how many were written one after the other; gone: 1 if the interface
        was no more at the end; unfinished_checksums: frames whose checksum was left to the device (known
        of rings alone). What is on disk is readable at any time.
        """
        return [self.counted(index) for index in range(self.recorder.size())]

    cdef dict counted(self, size_t index):
        cdef Tap *tap = &self.recorder.tap(index)
        return {
            "packets": tap.file.packets(),
            "bytes": tap.file.bytes(),
            "kernel_drops": tap.kernel_drops(),
            "read_errors": tap.read_errors(),
            "write_errors": tap.file.write_errors(),
            "last_errno": tap.file.last_error(),
            "files": tap.file.files(),
            "gone": <int>tap.gone(),
            "unfinished_checksums": tap.unfinished(),
        }


cdef class CaptureWriter:
    """The capture of one interface, frame by frame; the same bytes as `Capture` writes.

    No file is kept open between two writes, so that there may be any number of writers.

    Begin the file. OSError, here and in the methods, if the disk will not take it.
    """

    cdef CaptureFile file
    cdef size_t snap_bytes
    cdef readonly str path

    def __cinit__(
        self,
        path,
        size_t snap_bytes=262_144,
        *,
        str format="pcap",
        size_t rotate_bytes=0,
        str name="",
        size_t buffer_bytes=64 << 10,
        size_t index_bytes=1 << 20,
    ):
        cdef CaptureOptions options = file_options(snap_bytes, format, rotate_bytes)
        options.interface = name.encode()
        options.buffer_bytes = buffer_bytes
        options.index_bytes = index_bytes
        options.keep_open = False
        self.path = os.fspath(path)
        self.snap_bytes = snap_bytes
        cdef int failure = self.file.open(os.fsencode(path), options)
        if failure:
            raise OSError(failure, os.strerror(failure), self.path)

    def record(self, int64_t time_ns, const uint8_t[::1] frame):
        """Note that `frame` passed at `time_ns`."""
        cdef size_t size = <size_t>frame.shape[0]
        cdef size_t kept = min(size, self.snap_bytes)
        self.file.append(time_ns, <uint32_t>size, Bytes(&frame[0] if size else NULL, kept))
        if self.file.write_errors():
            self.fail()

    def flush(self):
        """Bring the file up to date."""
        self.file.flush()
        self.fail()

    def close(self):
        """Write all that is left; nothing can be added after that."""
        self.file.close(0)
        self.fail()

    cdef int fail(self) except -1:
        cdef int failure = self.file.last_error()
        if failure:
            raise OSError(failure, os.strerror(failure), self.path)
        return 0

    @property
    def packets(self):
        """How many frames were kept."""
        return self.file.packets()

    @property
    def frame_bytes(self):
        """How long they were."""
        return self.file.bytes()

    @property
    def files(self):
        """How many files it took."""
        return self.file.files()
