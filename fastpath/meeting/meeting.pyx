# distutils: language = c++
"""Descriptors and matches of one router. See __init__.pyi for the signatures."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes, Status, describe, string_view, validate_filter

from enum import IntEnum

from fastpath.wire.codec import WireError

__all__ = ["OURS", "Change", "Meeting", "Outcome", "Telling", "WireError"]

cdef extern from "meeting/called.hpp" namespace "cbn::meeting":
    cdef cppclass Groups:
        void push_back(pair[vector[uint32_t], vector[uint32_t]]) except +

    cdef cppclass CalledShape:
        CalledShape(
            void *,
            cbool (*)(void *, uint32_t, uint32_t, vector[int] &) except False,
            cbool (*)(void *, Groups &) except False,
        ) except +


cdef extern from "meeting/meeting.hpp" namespace "cbn::meeting" nogil:
    cdef cppclass Key:
        Key()
        uint32_t publisher
        uint64_t pcd
        uint32_t subscriber
        uint64_t scd

    cdef cppclass Filter:
        const string &bytes()

    cdef cppclass FilterRef:
        FilterRef()
        cbool operator bool()
        Filter *get()

    FilterRef filter_of "cbn::meeting::FilterRef::of"(string_view) except +

    cdef cppclass Update:
        Key key
        FilterRef filter
        uint8_t flags
        cbool operator==(const Update &)

    cbool read(Bytes, Update &) except +
    void write(const Update &, string &) except +

    cdef cppclass CTelling "cbn::meeting::Telling":
        int interface
        Update update

    cdef cppclass CChange "cbn::meeting::Change":
        uint32_t subscriber
        FilterRef filter
        cbool came

    cdef cppclass Held:
        int interface
        FilterRef filter

    cdef cppclass HeldList:
        size_t size()
        const Held &operator[](size_t)

    cdef cppclass Entry:
        HeldList held
        FilterRef forwarded
        FilterRef counted
        cbool counts
        cbool concerned
        cbool gone

    cdef cppclass Ways:
        void begin(CalledShape *)
        void add_router(uint32_t, uint32_t) except +
        void add_way(uint32_t, int) except +
        void add_link(int, uint32_t) except +

    cdef enum class COutcome "cbn::meeting::Outcome":
        Taken, Again, Malformed, Refused, Full, Unknown

    const int C_OURS "cbn::meeting::OURS"

    cdef cppclass CMeeting "cbn::meeting::Meeting":
        CMeeting(uint32_t, size_t) except +
        Ways &ways()
        const vector[int] &told(const Entry &)
        cbool compares()
        COutcome take(int, const Update &, uint64_t) except +
        COutcome hold(int, const Key &, const FilterRef &, uint64_t) except +
        cbool withdraw(int, const Key &, cbool) except +
        cbool put(int, const Key &, const FilterRef &) except +
        cbool take_back(int, const Key &, cbool) except +
        cbool holds(int, const Key &) except +
        vector[Key] ours() except +
        cbool still_makes(const Key &) except +
        void unmake(const Key &) except +
        void again(int, const Key &) except +
        void join(int) except +
        void lose(int) except +
        void mark(int, cbool, cbool, cbool, cbool) except +
        void forget_held(int, cbool) except +
        void forget_told(int, cbool) except +
        void reconsider(cbool) except +
        void turn() except +
        void settle() except +
        vector[CTelling] tellings
        vector[CChange] changes
        uint64_t count(int) except +
        string digest(int, cbool) except +
        uint64_t held_of_sort(int)
        vector[const pair[const Key, Entry] *] places() except +


OURS = C_OURS
Telling = tuple[int, bytes]
Change = tuple[int, bytes, bool]


class Outcome(IntEnum):
    """What became of something that came over a link."""

    TAKEN = <int>COutcome.Taken
    AGAIN = <int>COutcome.Again
    """It is held from there, and was told again; nothing was done."""
    MALFORMED = <int>COutcome.Malformed
    REFUSED = <int>COutcome.Refused
    """The link does not carry its sort."""
    FULL = <int>COutcome.Full
    """As much is held from there as may be."""
    UNKNOWN = <int>COutcome.Unknown
    """It is withdrawn, and nothing was known of it."""


cdef extern from *:
    """
    static inline std::string_view as_text(PyObject* data) noexcept {
        return {PyBytes_AS_STRING(data), static_cast<std::size_t>(PyBytes_GET_SIZE(data))};
    }
    """
    string_view as_text(object)


cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline bytes to_bytes(const string &data):
    return PyBytes_FromStringAndSize(data.data(), data.size())


cdef object bytes_of(const FilterRef &filter):
    return to_bytes(filter.get().bytes()) if <cbool>filter else None


cdef FilterRef filter_from(bytes data) except *:
    if data is None:
        return FilterRef()
    cdef Status status = validate_filter(view(data))
    if not status.ok():
        raise WireError(f"{status.field.decode()} at byte {status.offset} {describe(status.fault).decode()}")
    return filter_of(as_text(data))


cdef Key key_from(object key) except *:
    cdef Key found
    found.publisher, found.pcd, found.subscriber, found.scd = key
    return found


cdef tuple key_of(const Key &key):
    return (key.publisher, key.pcd, key.subscriber, key.scd)


cdef cbool ask_onward(void *trees, uint32_t publisher, uint32_t subscriber, vector[int] &out) except False:
    cdef int interface
    for interface in (<object>trees).onward(publisher, subscriber):
        out.push_back(interface)
    return True


cdef cbool ask_groups(void *trees, Groups &out) except False:
    cdef pair[vector[uint32_t], vector[uint32_t]] group
    for sources, below in (<object>trees).groups():
        group.first, group.second = sources, below
        out.push_back(group)
    return True


cdef class Meeting:
    """What is held, what counts of it, and what neighbours have been told.

    Each call that changes something is followed, sooner or later, by `settle`.

    Args:
        node: The router.
        few: So many filters of a sort are compared one by one; of more there is an index.
    """

    cdef unique_ptr[CMeeting] all
    cdef unique_ptr[CalledShape] shape
    cdef object trees

    def __cinit__(self, uint32_t node, size_t few=4096):
        self.all.reset(new CMeeting(node, few))

    def turn(self, next_hops, ways, links, trees not None):
        """The network is another now.

        Args:
            next_hops: By router, the neighbour that is next on the way to it.
            ways: By neighbour, the interface on which to speak to it.
            links: The neighbour at each interface on which we have a session.
            trees: The rest. Its `onward(publisher, subscriber)` says where descriptors of an owner (the other
                is 0) go on, if the marks let them; `groups()` the sources whose messages come by us, and
                the routers that these reach from here.
        """
        self.trees = trees
        self.shape.reset(new CalledShape(<void *>trees, ask_onward, ask_groups))
        cdef Ways *to = &self.all.get().ways()
        to.begin(self.shape.get())
        for router, neighbour in next_hops.items():
            to.add_router(router, neighbour)
        for neighbour, interface in ways.items():
            to.add_way(neighbour, interface)
        for interface, neighbour in links.items():
            to.add_link(interface, neighbour)
        self.all.get().turn()

    def join(self, int interface):
        """A link has joined; it carries nothing until it is marked."""
        self.all.get().join(interface)

    def lose(self, int interface):
        """A link is gone: what came over it is void, and what was told there too."""
        self.all.get().lose(interface)

    def mark(
        self, int interface, cbool published_out, cbool wanted_out, cbool published_in, cbool wanted_in
    ):
        """Which sorts a link carries away from us, and towards us."""
        self.all.get().mark(interface, published_out, wanted_out, published_in, wanted_in)

    def take(self, int interface, bytes payload not None, uint64_t limit):
        """A CD_UPDATE has come, of a neighbour from which at most so much is held: an `Outcome`."""
        cdef Update update
        if not read(view(payload), update):
            return <int>COutcome.Malformed
        return <int>self.all.get().take(interface, update, limit)

    def hold(self, int interface, key, bytes filter_, uint64_t limit):
        """Something has come over a link, in whatever payload: an `Outcome`."""
        return <int>self.all.get().hold(interface, key_from(key), filter_from(filter_), limit)

    def withdraw(self, int interface, key, cbool kept):
        """Something is withdrawn over a link; whether anything was known of it.

        Args:
            interface: Of the link.
            key: What it is.
            kept: The matches that it made stay.
        """
        return self.all.get().withdraw(interface, key_from(key), kept)

    def put(self, key, bytes filter_):
        """A descriptor of ours has come; whether it is news."""
        return self.all.get().put(C_OURS, key_from(key), filter_from(filter_))

    def take_back(self, key):
        """A descriptor of ours is gone; whether it was there."""
        return self.all.get().take_back(C_OURS, key_from(key), False)

    def holds(self, int interface, key):
        """Whether something is held from there."""
        return self.all.get().holds(interface, key_from(key))

    def ours(self):
        """Our own descriptors, and the matches that were made here, ascending."""
        return [key_of(key) for key in self.all.get().ours()]

    def still_makes(self, match):
        """Whether both descriptors of a match count here."""
        return self.all.get().still_makes(key_from(match))

    def unmake(self, match):
        """A match counts as made here no longer."""
        self.all.get().unmake(key_from(match))

    def again(self, int interface, key):
        """Something that is held is told again there, or is ours: tell it on where it was told before."""
        self.all.get().again(interface, key_from(key))

    def forget_held(self, int interface, cbool published):
        """No PCDs (or SCDs) come over a link any more, which both ends know; the matches they made stay."""
        self.all.get().forget_held(interface, published)

    def forget_told(self, int interface, cbool published):
        """No PCDs (or SCDs) are told over a link any more, which both ends know."""
        self.all.get().forget_told(interface, published)

    def reconsider(self, cbool published):
        """A link may carry PCDs (or SCDs) now that did not."""
        self.all.get().reconsider(published)

    def settle(self):
        """What is to be told, and how forwarding changes, after all that has happened since."""
        cdef CMeeting *all = self.all.get()
        all.settle()
        cdef list told = [], changed = []
        cdef bytes payload = None
        cdef string out
        cdef size_t at
        for at in range(all.tellings.size()):
            # What goes to several neighbours is written once.
            if at == 0 or not all.tellings[at].update == all.tellings[at - 1].update:
                out.clear()
                write(all.tellings[at].update, out)
                payload = to_bytes(out)
            told.append((all.tellings[at].interface, payload))
        for at in range(all.changes.size()):
            changed.append(
                (all.changes[at].subscriber, bytes_of(all.changes[at].filter), all.changes[at].came)
            )
        all.tellings.clear()
        all.changes.clear()
        return told, changed

    def count(self, int interface):
        """How much is held from a link that has joined."""
        return self.all.get().count(interface)

    def digests(self, int interface):
        """Of all that was told on such a link, and of all that came: 64 hexadecimal digits each."""
        cdef bytes sent = to_bytes(self.all.get().digest(interface, True))
        return sent.hex(), to_bytes(self.all.get().digest(interface, False)).hex()

    def counts(self):
        """How many PCDs, SCDs and matches are held, each once, whoever told it."""
        cdef CMeeting *all = self.all.get()
        return all.held_of_sort(0), all.held_of_sort(1), all.held_of_sort(2)

    def held(self):
        """All that is held."""
        cdef const pair[const Key, Entry] *place
        cdef dict found = {}
        cdef size_t at
        for place in self.all.get().places():
            if place.second.held.size() > 0:
                found[key_of(place.first)] = {
                    place.second.held[at].interface: bytes_of(place.second.held[at].filter)
                    for at in range(place.second.held.size())
                }
        return found

    def state(self):
        """All that can make a difference later, but for the trees, for those who compare routers."""
        cdef const pair[const Key, Entry] *place
        cdef dict told = {}, counted = {}
        for place in self.all.get().places():
            key = key_of(place.first)
            to = tuple(self.all.get().told(place.second))
            waits = place.second.gone, place.second.concerned
            told[key] = to, waits, bytes_of(place.second.forwarded)
            if place.second.counts:
                counted[key] = bytes_of(place.second.counted)
        return self.held(), told, counted, self.all.get().compares()
