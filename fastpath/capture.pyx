# distutils: language = c++
"""Copy frames from packet sockets into pcap files. See capture.pyi for the signatures."""

from libc.stdint cimport uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string

import os

cdef extern from "capture.hpp" namespace "cbn" nogil:
    cdef cppclass CaptureFile:
        uint64_t packets()
        uint64_t bytes()
        uint64_t write_errors()
        int last_error()

    cdef cppclass Tap:
        uint64_t kernel_drops()
        uint64_t read_errors()
        CaptureFile file

    cdef cppclass Recorder:
        Recorder(size_t) except +
        int add(int, const string &, cbool &) except +
        int run() except +
        void stop()
        size_t size()
        Tap &tap(size_t)


cdef class Capture:
    """One loop for all interfaces of a run."""

    cdef Recorder *recorder

    def __cinit__(self, sockets, size_t snap_bytes=262_144):
        if not 64 <= snap_bytes <= 1 << 24:
            raise ValueError(f"snap_bytes is {snap_bytes}; expected 64 to {1 << 24}")
        self.recorder = new Recorder(snap_bytes)
        for descriptor, path in sockets:
            self.add(descriptor, os.fspath(path))

    def __dealloc__(self):
        del self.recorder

    cdef int add(self, int descriptor, str path) except -1:
        cdef cbool about_file = False
        cdef int failure = self.recorder.add(descriptor, os.fsencode(path), about_file)
        if failure and about_file:
            raise OSError(failure, os.strerror(failure), path)
        if failure:
            raise OSError(failure, f"descriptor {descriptor} cannot be captured from: {os.strerror(failure)}")
        return 0

    def run(self):
        """Copy until `stop`, then drain what the sockets hold. Releases the GIL."""
        cdef int failure
        with nogil:
            failure = self.recorder.run()
        if failure:
            raise OSError(failure, f"the capture cannot go on: {os.strerror(failure)}")

    def stop(self):
        """Make `run` drain and return; callable from any thread, any number of times."""
        self.recorder.stop()

    def counters(self):
        """Per socket: packets, bytes, kernel_drops, read_errors, write_errors, last_errno."""
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
        }
