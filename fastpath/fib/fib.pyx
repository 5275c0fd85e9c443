# distutils: language = c++
"""The forwarding table and the FIB: what a router does with a MESSAGE. See __init__.pyi for the signatures.

Matching and forwarding are done by fib/table.hpp and fib/fib.hpp without the GIL; here
Python's values are checked and made.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes, Status, describe, validate_filter, validate_predicate

from fastpath.fib.values import ClassEntry, DropReason, Route
from fastpath.wire.codec import UsageError, WireError

__all__ = [
    "ALGORITHMS",
    "ClassEntry",
    "DropReason",
    "Fib",
    "ForwardingTable",
    "Gate",
    "Permits",
    "Route",
    "UsageError",
    "WireError",
    "count_messages",
    "forward_without_fib",
]

cdef uint32_t DEFAULT_MAX_DATAGRAM = 1472
cdef uint32_t MAX_PARTS = 1 << 16
ALGORITHMS = ("fast", "selective", "counting")


cdef extern from "fib/calls.hpp" namespace "cbn" nogil:
    cdef cppclass Output "cbn::Outcome::Output":
        uint32_t interface
        vector[uint8_t] bytes

    cdef cppclass Matches:
        vector[size_t] counts
        vector[uint32_t] interfaces

    cdef cppclass Outcome:
        vector[Bytes] control
        vector[Output] outputs
        vector[uint8_t] drops

    Scratch &thread_scratch()
    Status match_packet(const Index &, Bytes, const Bits *) except +
    Status match_packets(const Index &, const vector[Bytes] &, const Bits *, Matches &) except +
    void forward_for_python(const FibData *, Bytes, uint32_t, Outcome &) except +
    void forward_one(const FibData &, Bytes, uint32_t, Outcome &) except +
    size_t c_count_messages "cbn::count_messages"(Bytes)


cdef extern from "paper/index.hpp" namespace "cbn::paper" nogil:
    cdef cppclass PaperIndex "cbn::paper::Index":
        size_t rows()
        pair[string, vector[uint32_t]] row(size_t) except +

    const PaperIndex *as_paper(const Index &)
    Status eliminated(const PaperIndex &, Bytes, Scratch &, size_t &) except +


cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef str fault(const Status &status):
    return f"{status.field.decode()} at byte {status.offset} {describe(status.fault).decode()}"


cdef int check(const Status &status) except -1:
    if not status.ok():
        raise WireError(fault(status))
    return 0


cdef uint32_t u32(object value, str what, uint64_t most=0xFFFFFFFF) except? 0:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{what} must be an integer, not {value!r}")
    if value < 0 or value > most:
        raise UsageError(f"{what} is {value}; expected 0 to {most}")
    return value


cdef Bits mask(object value, str what) except *:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{what} must be an integer used as a bit mask, not {value!r}")
    if value < 0:
        raise UsageError(f"{what} is {value}; a bit mask is not negative")
    if value.bit_length() > MAX_INTERFACES:
        raise UsageError(f"{what} has {value.bit_length()} bits; expected at most {MAX_INTERFACES}")
    cdef bytes octets = value.to_bytes((value.bit_length() + 7) // 8, "little")
    return Bits(view(octets))


cdef const PaperIndex *paper_index(const TablePointer &index) except NULL:
    cdef const PaperIndex *paper = as_paper(index.get()[0])
    if paper is NULL:
        raise UsageError("only the algorithms selective and counting have a selectivity table")
    return paper


cdef class ForwardingTable:
    """Predicates by interface, matched against encoded messages.

    Any number of threads may match while others change and commit: a match
    sees the table as of one commit, whole. When memory runs out, MemoryError is
    raised, what was committed stays, and changes that wait go on waiting.

    Algorithms: `fast` is ours (docs/matching-engine.md); `counting` and
    `selective` are those of FWD Fig. 4 and 7, which compile the whole table at
    each commit; `rounds` belongs to `selective`. All give the same answers.

    UsageError if there is no such algorithm.
    """

    def __cinit__(self, algorithm="fast", rounds=10):
        if algorithm not in ALGORITHMS:
            raise UsageError(f"algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}")
        self.table.reset(new Table(algorithm.encode(), u32(rounds, "rounds")))

    def add(self, interface, bytes filter not None):
        """File one encoded filter under an interface; returns its id, counted from 0.

        Interfaces are 0 to 16,777,215. A filter filed twice has two ids and matches until
        both are removed. No id is ever given twice. WireError if malformed.
        """
        cdef uint32_t where = u32(interface, "interface", MAX_INTERFACES - 1)
        cdef Bytes encoded = view(filter)
        cdef uint64_t filter_id
        check(validate_filter(encoded))
        with nogil:  # a commit may be under way in another thread
            filter_id = self.table.get().add(where, encoded)
        return filter_id

    def remove(self, filter_id):
        """Withdraw a filter. KeyError if there is none of that id."""
        cdef cbool known = isinstance(filter_id, int) and 0 <= filter_id < 1 << 64
        cdef uint64_t number = filter_id if known else 0
        with nogil:
            known = known and self.table.get().remove(number)
        if not known:
            raise KeyError(f"no filter has the id {filter_id!r}")

    def commit(self):
        """Make additions and removals visible to matching, all at once."""
        with nogil:
            self.table.get().commit()

    def match(self, bytes packet not None, allowed=None):
        """The interfaces, ascending, one of whose filters matches the MESSAGE packet.

        `allowed` is a bit mask of interfaces to consider; None: all. WireError if
        the packet is not one well-formed MESSAGE.
        """
        cdef TablePointer index = self.table.get().current()
        cdef Bytes data = view(packet)
        cdef Bits wanted
        cdef const Bits *limit = NULL
        if allowed is not None:
            wanted = mask(allowed, "allowed")
            limit = &wanted
        cdef Status status
        with nogil:
            status = match_packet(index.get()[0], data, limit)
        check(status)
        sort(thread_scratch().matched.begin(), thread_scratch().matched.end())
        return tuple(thread_scratch().matched)

    def match_many(self, packets, allowed=None):
        """`match` for each packet, all by one state of the table; WireError names the first bad one."""
        cdef TablePointer index = self.table.get().current()
        cdef list kept = list(packets)
        cdef vector[Bytes] encoded
        cdef Bits wanted
        cdef const Bits *limit = NULL
        if allowed is not None:
            wanted = mask(allowed, "allowed")
            limit = &wanted
        for packet in kept:
            if not isinstance(packet, bytes):
                raise TypeError(f"a packet is bytes, not {type(packet).__name__}")
            encoded.push_back(view(packet))
        cdef Matches matches
        cdef Status status
        with nogil:
            status = match_packets(index.get()[0], encoded, limit, matches)
        if not status.ok():
            raise WireError(f"packet {matches.counts.size()}: {fault(status)}")
        cdef size_t count, first = 0
        found = []
        for count in matches.counts:
            found.append(tuple([matches.interfaces[at] for at in range(first, first + count)]))
            first += count
        return found

    def determinants(self):
        """The selectivity table (FWD 4.3) of `selective`, a row a round: (name, interfaces).

        The interfaces are those all of whose filters constrain the name: a message without it
        is kept from them. Those rows come first that exclude most. UsageError for `fast`.
        """
        cdef TablePointer index = self.table.get().current()
        cdef const PaperIndex *paper = paper_index(index)
        rows = []
        cdef pair[string, vector[uint32_t]] row
        for number in range(paper.rows()):
            row = paper.row(number)
            rows.append((row.first.decode(), tuple(row.second)))
        return rows

    def eliminated(self, bytes packet not None):
        """How many interfaces the rounds rule out for a MESSAGE packet, of `selective` (FWD Fig. 7).

        UsageError for `fast`, WireError if the packet is not one well-formed MESSAGE.
        """
        cdef TablePointer index = self.table.get().current()
        cdef const PaperIndex *paper = paper_index(index)
        cdef Bytes data = view(packet)
        cdef size_t count = 0
        cdef Status status
        with nogil:
            status = eliminated(paper[0], data, thread_scratch(), count)
        check(status)
        return count

    def stats(self):
        """Of what was committed last: `filters`, `constraints`, `interfaces`, `names`, `bytes`.

        `constraints` counts them as filed, `names` those (or their pairs with a type) that filters mention,
        `bytes` all memory that answering and updating take.
        """
        cdef TablePointer index = self.table.get().current()
        cdef TableStats stats = index.get().stats()
        return {
            "filters": stats.filters,
            "constraints": stats.constraints,
            "interfaces": stats.interfaces,
            "names": stats.names,
            "bytes": stats.bytes,
        }


include "parts.pxi"


cdef tuple account(Outcome &outcome):
    control = [(<const char *>each.data())[:each.size()] for each in outcome.control]
    outputs = [
        (each.interface, (<const char *>each.bytes.data())[:each.bytes.size()]) for each in outcome.outputs
    ]
    return control, outputs, [DropReason(each) for each in outcome.drops]


def forward_without_fib(bytes datagram not None, ingress):
    """What the data plane does with a datagram before it has a FIB, as `Fib.forward_datagram` tells it."""
    cdef Bytes data = view(datagram)
    cdef uint32_t where = u32(ingress, "ingress")
    cdef Outcome outcome
    with nogil:
        forward_for_python(NULL, data, where, outcome)
    return account(outcome)


def count_messages(bytes datagram not None):
    """How many MESSAGE packets a datagram holds; none if it is not well framed."""
    return c_count_messages(view(datagram))


cdef class Gate:
    """What clients may publish, where they have to advertise; shared by the FIBs of a router.

    What is set takes effect at once. A client that has advertised nothing may publish nothing.
    """

    def __cinit__(self, interfaces):
        self.gate = make_shared[CppGate](<size_t>u32(interfaces, "interfaces", MAX_INTERFACES))

    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF:
        count = self.gate.get().size()
        if not isinstance(interface, int) or not 0 <= interface < count:
            raise UsageError(f"interface is {interface!r}; this gate has {count}")
        return interface

    def set(self, interface, bytes predicate not None, part=0):
        """What the client at an interface has advertised, as a predicate; WireError if malformed.

        It may be told in parts, numbered from 0, each of which takes the place of what it was before.
        """
        cdef uint32_t where = self.port(interface), which = u32(part, "part", MAX_PARTS - 1)
        cdef Bytes data = view(predicate)
        check(validate_predicate(data))
        with nogil:
            self.gate.get().set(where, which, data)

    def refused(self, interface):
        """How many messages of a client were refused, and the sequence of the last (0: of none)."""
        cdef Refused found = self.gate.get().refused(self.port(interface))
        return found.count, found.sequence


cdef class Permits:
    """What clients may publish by the policy of their router; shared by the FIBs of a router."""

    def __cinit__(self, interfaces):
        self.permits = make_shared[CppPermits](<size_t>u32(interfaces, "interfaces", MAX_INTERFACES))

    cdef uint32_t port(self, object interface) except? 0xFFFFFFFF:
        count = self.permits.get().size()
        if not isinstance(interface, int) or not 0 <= interface < count:
            raise UsageError(f"interface is {interface!r}; these permits have {count}")
        return interface

    def limit(self, interface, ForwardingTable table not None):
        """The client at an interface may publish what matches a filter of the table, as it is committed now.

        To be called before a FIB has these permits. Who is not limited may publish anything.
        """
        self.permits.get().limit(self.port(interface), table.table.get().current())

    def refused(self, interface):
        """How many messages of a client were refused, and the sequence of the last (0: of none)."""
        cdef Refused found = self.permits.get().refused(self.port(interface))
        return found.count, found.sequence


cdef class Fib:
    """Immutable. `clients[i]` is the id of the client at interface i, 0 for a router.

    Holds the tables as committed when it is made: what is committed later
    needs a new FIB (which costs no copy of the tables). `max_datagram_bytes[i]`
    bounds the UDP payload sent at interface i, 1472 if not given; a packet
    larger than that is sent alone. With a `gate` of as many interfaces, clients may publish what they
    have advertised, with `permits` what these permit. UsageError if the parts do not fit together.
    """

    def __cinit__(self, *_, **__):
        self.data = <FibPointer>make_shared[FibData]()

    def __init__(
        self,
        origin_class,
        clients,
        classes,
        tables,
        max_datagram_bytes=None,
        route=None,
        gate=None,
        permits=None,
    ):
        cdef shared_ptr[FibData] data = make_shared[FibData]()
        data.get().origin_class = u32(origin_class, "origin_class")
        add_interfaces(data.get(), clients, max_datagram_bytes)
        for table in tables:
            data.get().tables.push_back((<ForwardingTable?>table).table.get().current())
        add_route(data.get(), route)
        add_gate(data.get(), gate)
        add_permits(data.get(), permits)
        for entry in classes:
            add_class(data.get(), entry)
        self.data = <FibPointer>data

    def over(self, tables):
        """The same over these tables, as they were committed last. UsageError if there are more or fewer."""
        cdef shared_ptr[FibData] data = make_shared[FibData](self.data.get()[0])
        cdef size_t at, count = len(tables)
        if count != data.get().tables.size():
            raise UsageError(f"{count} tables in the place of {data.get().tables.size()}")
        for at in range(count):
            data.get().tables[at] = (<ForwardingTable?>tables[at]).table.get().current()
        cdef Fib made = Fib.__new__(Fib)
        made.data = <FibPointer>data
        return made

    cdef uint32_t port(self, object ingress) except? 0xFFFFFFFF:
        count = self.data.get().clients.size()
        if not isinstance(ingress, int) or not 0 <= ingress < count:
            raise UsageError(f"ingress is {ingress!r}; this FIB has {count} interfaces")
        return ingress

    def forward(self, bytes packet not None, ingress):
        """One MESSAGE packet: (0, [(interface, packet to send there)...]) or (DropReason, []).

        From a client, the packet must carry that client's id as source and
        header class 0, and is forwarded as `origin_class`. From a router, its
        class must be known and accepted on that interface. Copies have one hop
        less to go; one with none left goes to clients only. The interfaces are
        ascending, and all copies are equal; of a routed class, copies for clients
        come first and have an empty route.
        """
        cdef Bytes data = view(packet)
        cdef uint32_t where = self.port(ingress)
        cdef Outcome outcome
        with nogil:
            forward_one(self.data.get()[0], data, where, outcome)
        _, outputs, drops = account(outcome)
        return (drops[0] if drops and not outputs else 0), outputs

    def forward_datagram(self, bytes datagram not None, ingress):
        """A whole datagram: (control packets, [(interface, datagram to send there)...], drops).

        Bad framing is one MALFORMED drop for all of it. Control packets are
        framed but not yet validated. Messages for one interface are bundled.
        HOP_LIMIT is among the drops also if clients got their copies and only
        routers had to go without, UNREACHABLE once for each destination.
        """
        cdef Bytes data = view(datagram)
        cdef uint32_t where = self.port(ingress)
        cdef Outcome outcome
        with nogil:
            forward_for_python(self.data.get(), data, where, outcome)
        return account(outcome)

    def stats(self):
        """`interfaces`, `classes`, `tables`, and the tables' `filters`, `constraints`, `bytes` in sum."""
        cdef const FibData *data = self.data.get()
        cdef size_t filters = 0, constraints = 0, total = 0
        cdef TableStats stats
        for index in range(data.tables.size()):
            stats = data.tables[index].get().stats()
            filters += stats.filters
            constraints += stats.constraints
            total += stats.bytes
        return {
            "interfaces": data.clients.size(),
            "classes": data.classes.size(),
            "tables": data.tables.size(),
            "filters": filters,
            "constraints": constraints,
            "bytes": total,
        }
