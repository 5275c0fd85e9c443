# distutils: language = c++
"""What is to happen, in the order of time. See __init__.pyi for the signatures."""

from libc.stdint cimport int64_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

__all__ = ["EventQueue"]


cdef extern from "events/heap.hpp" namespace "cbn::events" nogil:
    cdef cppclass Due:
        int64_t time_ns

    cdef cppclass Heap:
        cbool empty()
        size_t size()
        const Due &first()
        void push(int64_t, uint32_t) except +
        uint32_t pop()
        vector[uint32_t] in_order() except +
        void drop(const vector[cbool] &) except +


cdef class EventQueue:
    """Events, (action, a, b) each, by the time at which they are due.

    What is to happen stands in a list, so that Python finds what it refers to; the order is kept beside it.
    """

    cdef Heap heap
    cdef list events
    cdef vector[uint32_t] free

    def __cinit__(self):
        self.events = []

    def __len__(self):
        return self.heap.size()

    def push(self, int64_t time_ns, action, a, b):
        """Let it happen at this time, after all that was put in for it before."""
        cdef uint32_t place
        if self.free.empty():
            place = <uint32_t>len(self.events)
            self.events.append((action, a, b))
        else:
            place = self.free.back()
            self.free.pop_back()
            self.events[place] = (action, a, b)
        self.heap.push(time_ns, place)

    def first_ns(self):
        """When the first is due; IndexError: there is none."""
        if self.heap.empty():
            raise IndexError("nothing is to happen")
        return self.heap.first().time_ns

    def pop(self):
        """Take the first out; IndexError: there is none."""
        if self.heap.empty():
            raise IndexError("nothing is to happen")
        return self.take(self.heap.pop())

    def withdraw(self, owner):
        """Take out, in order, those whose actions are methods of this object."""
        cdef vector[cbool] gone = vector[cbool](<size_t>len(self.events), False)
        cdef vector[uint32_t] places = self.heap.in_order()
        cdef uint32_t place
        cdef list found = []
        for place in places:
            if getattr(self.events[place][0], "__self__", None) is owner:
                gone[place] = True
                found.append(self.take(place))
        if found:
            self.heap.drop(gone)
        return found

    cdef tuple take(self, uint32_t place):
        cdef tuple event = <tuple>self.events[place]
        self.events[place] = None
        self.free.push_back(place)
        return event
