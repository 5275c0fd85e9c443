# distutils: language = c++
"""Seals of datagrams with messages. See __init__.pyi for the signatures and seal/guard.hpp for the rest."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.memory cimport make_shared
from libcpp.optional cimport optional
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes

from fastpath.fib.values import DropReason
from fastpath.wire.codec import UsageError

__all__ = ["MessageSeals"]

cdef Py_ssize_t KEY_BYTES = 32


cdef extern from "seal/calls.hpp" namespace "cbn::seal" nogil:
    cdef cppclass Opened:
        Verdict verdict
        string left

    string sealed(Guard &, Bytes) except +
    Opened opened(Guard &, Bytes) except +
    uint8_t reason_of(const Opened &)


cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef KeyOf key_of(object key) except *:
    cdef KeyOf found
    cdef bytes secret
    number, session, secret = key
    if len(secret) != KEY_BYTES:
        raise UsageError(f"a key has {len(secret)} bytes; expected {KEY_BYTES}")
    found.key_id = number
    found.session = session
    memcpy(found.key.data(), PyBytes_AS_STRING(secret), KEY_BYTES)
    return found


cdef class MessageSeals:
    """The seals of what a node sends and receives at its interfaces; any thread may call it.

    `mode` is 0 (off: nothing is sealed, and no seal is looked at), 1 (permissive: what comes without one is
    taken, and counted) or 2 (required). Until an interface has keys, nothing is sealed there.
    """

    def __cinit__(self, size_t interfaces, uint8_t mode):
        if mode > <uint8_t>Mode.Required:
            raise UsageError(f"mode is {mode}; expected 0, 1 or 2")
        self.guards = make_shared[Guards](interfaces, <Mode>mode)

    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF:
        count = self.guards.get().size()
        if not isinstance(interface, int) or not 0 <= interface < count:
            raise UsageError(f"interface is {interface!r}; there are {count}")
        return interface

    def use(self, interface, sending, receiving):
        """The keys of an interface from now on, (key_id, session, key) each; for what goes there may be none.

        What was repeated in a session stays known as long as one of its keys is taken.
        """
        cdef uint32_t where = self.port(interface)
        cdef optional[KeyOf] ours
        cdef vector[KeyOf] theirs
        if sending is not None:
            ours = key_of(sending)
        for each in receiving:
            theirs.push_back(key_of(each))
        with nogil:
            self.guards.get().at(where).use(ours, theirs)

    def seal(self, interface, bytes datagram not None):
        """A datagram as it is to be sent: with a seal, if it has a MESSAGE and there is a key."""
        cdef uint32_t where = self.port(interface)
        cdef Bytes data = view(datagram)
        cdef string made
        with nogil:
            made = sealed(self.guards.get().at(where), data)
        return <bytes>made

    def open(self, interface, bytes datagram not None):
        """What a node is to take of a datagram that came: (datagram, DropReason or 0, how many messages).

        If its messages are refused they are left out, and the reason says why; with a reason and all
        messages still in it, they are only counted. What cannot be framed comes back as it is.
        """
        cdef uint32_t where = self.port(interface)
        cdef Bytes data = view(datagram)
        cdef Opened found
        with nogil:
            found = opened(self.guards.get().at(where), data)
        reason = reason_of(found)
        if reason == 0:
            return datagram, 0, 0
        taken = <bytes>found.left if found.verdict.refused else datagram
        return taken, DropReason(reason), found.verdict.messages
