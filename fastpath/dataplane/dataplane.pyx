# distutils: language = c++
"""The router's socket loop. See __init__.pyi for the signatures and dataplane/dataplane.hpp for the loop."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.fib.fib cimport Fib, FibPointer
from fastpath.seal.seal cimport GuardsPointer, MessageSeals
from fastpath.wire cimport Bytes, Status, describe

import os

from fastpath.wire.codec import UsageError
from fastpath.fib import DropReason


cdef extern from "dataplane/dataplane.hpp" namespace "cbn" nogil:
    const char *COUNT_NAMES[13]

    cdef cppclass Loop:
        Loop(vector[int], size_t, cbool, GuardsPointer) except +
        void install(FibPointer)
        int run() except +
        void stop()
        void shut(size_t, cbool)
        int control_descriptor()
        vector[pair[uint32_t, string]] take_control()
        cbool send(uint32_t, Bytes)
        size_t ports()
        uint64_t count(size_t, size_t)
        uint64_t inner_count(size_t)
        uint64_t drops(size_t)

    Status check_framing "cbn::wire::check_framing"(Bytes)


INNER_COUNTS = ("rx_messages", "control_overflows")


cdef class DataPlane:
    """Owns no descriptor it is given; the caller closes them after `run` has returned.

    What it does to a message is what `Fib.forward_datagram` says. Nothing waits:
    what a socket will not take at once is dropped and counted (SEND_FAILED).

    `descriptors[i]` is the connected, non-blocking UDP socket of interface i.

    With `inner`, a FIB may have one interface more than there are descriptors: what it forwards there is not
    sent, but taken by the control plane (`take_control`), as MESSAGE packets. They get half of the queue.

    With `seals`, of as many interfaces, datagrams with messages are sealed on their way out, and of
    those that come without a right seal no message is forwarded.

    UDP GRO and the count of lost datagrams are switched on where the kernel has them.
    """

    cdef Loop *loop

    def __cinit__(self, descriptors, size_t queue_packets=65_536, cbool inner=False, MessageSeals seals=None):
        cdef GuardsPointer guards
        if seals is not None:
            if seals.guards.get().size() != <size_t>len(descriptors):
                raise UsageError(f"seals of {seals.guards.get().size()} interfaces for {len(descriptors)}")
            guards = seals.guards
        self.loop = new Loop(<vector[int]>list(descriptors), queue_packets, inner, guards)
        if self.loop.control_descriptor() < 0:
            raise OSError("no eventfd to be had: too many open files?")

    def __dealloc__(self):
        del self.loop

    cdef int known(self, uint32_t interface) except -1:
        if interface >= self.loop.ports():
            raise UsageError(f"interface is {interface}; the data plane has {self.loop.ports()}")
        return 0

    def install(self, Fib fib not None):
        """Swap the FIB atomically; callable from any thread while `run` runs.

        Every batch of datagrams is forwarded by one FIB. Before the first, messages are NO_FIB drops.
        """
        self.loop.install(fib.data)

    def run(self):
        """Forward until `stop`. Releases the GIL. Call it in a thread of its own, once."""
        cdef int failure
        with nogil:
            failure = self.loop.run()
        if failure:
            raise OSError(failure, f"the data plane cannot go on: {os.strerror(failure)}")

    def stop(self):
        """Make `run` return soon; callable from any thread, any number of times, also before `run`."""
        self.loop.stop()

    def shut(self, uint32_t interface, cbool shut):
        """Drop CONTROL and ACK of an interface but for the first of them, and count them; or take them again.

        Callable from any thread while `run` runs. HELLOs are taken always.
        """
        self.known(interface)
        self.loop.shut(interface, shut)

    def control_fd(self):
        """Readable while control packets wait. Belongs to the data plane: do not close it."""
        return self.loop.control_descriptor()

    def take_control(self):
        """Waiting packets for the control plane, (interface, packet): of each interface the oldest in turn.

        No more than 4,096 of them; while more wait, `control_fd` is readable.
        """
        return [(each.first, <bytes>each.second) for each in self.loop.take_control()]

    def send(self, uint32_t interface, bytes datagram not None):
        """Send one datagram; False if the kernel would not take it (counted).

        UsageError if the interface does not exist or the datagram is not well framed.
        """
        self.known(interface)
        cdef Bytes data = Bytes(<const uint8_t *>PyBytes_AS_STRING(datagram), PyBytes_GET_SIZE(datagram))
        cdef Status status = check_framing(data)
        if not status.ok():
            words = describe(status.fault).decode()
            raise UsageError(f"to be sent: {status.field.decode()} at byte {status.offset} {words}")
        cdef cbool sent
        with nogil:
            sent = self.loop.send(interface, data)
        return sent

    def counters(self):
        """How much has passed, and what was lost.

        `interfaces`: a dict each of rx_messages, tx_messages, rx_control, tx_control (packets),
        rx_bytes, tx_bytes (UDP payload), rx_datagrams, tx_datagrams, rx_errors, tx_errors (system
        calls and datagrams refused by the kernel), rx_overflows (datagrams lost in the socket's
        queue), control_overflows (packets lost in ours), over_share (those dropped by `shut`).
        `inner`: rx_messages and control_overflows of what is forwarded to the control plane.
        `drops`: reason name -> messages.
        """
        names = [COUNT_NAMES[what].decode() for what in range(13)]
        interfaces = [
            {name: self.loop.count(port, what) for what, name in enumerate(names)}
            for port in range(self.loop.ports())
        ]
        drops = {reason.name: self.loop.drops(reason.value) for reason in DropReason}
        inner = {name: self.loop.inner_count(names.index(name)) for name in INNER_COUNTS}
        return {"interfaces": interfaces, "inner": inner, "drops": drops}
