# distutils: language = c++
"""Workloads for benchmarks: generate, write, read. See __init__.pyi for the signatures.

Generating and reading is done by workload/workload.hpp without the GIL, a batch at a
time; here Python's values are checked and files are opened.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport Bytes

import decimal
import os
from pathlib import Path

from fastpath.wire.codec import UsageError
from fastpath.workload.recipe import OPERATORS, Recipe, WorkloadError

__all__ = ["FilterList", "Generator", "MessageList", "Recipe", "UsageError", "WorkloadError"]

cdef size_t BATCH = 4096
cdef size_t READ_BYTES = 1 << 22
MOST_WORDS = 1_000_000


cdef extern from "workload/workload.hpp" namespace "cbn::workload" nogil:
    cdef cppclass CountRange "cbn::workload::Range<std::uint64_t>":
        uint64_t low
        uint64_t high

    cdef cppclass IntegerRange "cbn::workload::Range<std::int64_t>":
        int64_t low
        int64_t high

    cdef cppclass Weighted:
        Weighted()
        Weighted(const vector[uint64_t] &) except +

    cdef cppclass CRecipe "cbn::workload::Recipe":
        uint64_t seed
        uint32_t interfaces
        uint64_t filters
        CountRange filters_per_interface, constraints, attributes
        IntegerRange integers
        size_t words, piece
        Weighted names, types, string_ops, integer_ops

    cdef cppclass CGenerator "cbn::workload::Generator":
        CGenerator(const CRecipe &) except +
        uint64_t filters()
        size_t filters(size_t, string &) except +
        void messages(size_t, string &) except +


cdef object number(object value, str what, object low, object high):
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{what} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise UsageError(f"{what} is {value}; expected {low} to {high}")
    return value


cdef tuple pair(object value, str what, object low, object high):
    first, last = value
    number(first, f"the low end of {what}", low, high)
    number(last, f"the high end of {what}", low, high)
    if first > last:
        raise UsageError(f"{what} is {first} to {last}; the low end comes first")
    return first, last


cdef CountRange counts(object value, str what, object low, object high) except *:
    cdef CountRange found
    found.low, found.high = pair(value, what, low, high)
    return found


cdef Weighted weighted(list weights, str what) except *:
    cdef vector[uint64_t] numbers = weights
    if not any(weights):
        raise UsageError(f"{what} has no weight above 0")
    return Weighted(numbers)


cdef Weighted mix(object weights, tuple known, str what) except *:
    for each, weight in weights.items():
        if each not in known:
            raise UsageError(f"{what} has {each!r}; expected some of {' '.join(known)}")
        number(weight, f"the weight of {each} in {what}", 0, 1_000_000_000)
    return weighted([weights.get(each, 0) for each in known], what)


cdef Weighted zipf(object count, object exponent) except *:
    """Whole numbers, by decimal arithmetic: the same on every machine, which pow() of C is not."""
    number(count, "names", 1, MOST_WORDS)
    try:
        power = decimal.Decimal(str(exponent))
    except decimal.InvalidOperation:
        raise UsageError(f"the Zipf exponent is {exponent!r}; expected a number") from None
    if not (power.is_finite() and 0 <= power <= 4):
        raise UsageError(f"the Zipf exponent is {exponent}; expected 0 to 4")
    with decimal.localcontext(decimal.Context(prec=40)):
        scale = decimal.Decimal(1 << 40)
        ranks = map(decimal.Decimal, range(1, count + 1))
        return weighted([max(1, int(scale / rank**power)) for rank in ranks], "names")


cdef CRecipe compiled(object recipe) except *:
    cdef CRecipe made
    most_values = 2**63 - 1
    made.names = zipf(recipe.names, recipe.zipf)
    made.seed = number(recipe.seed, "seed", 0, 2**64 - 1)
    made.interfaces = number(recipe.interfaces, "interfaces", 1, 1 << 24)
    made.filters_per_interface = counts(recipe.filters_per_interface, "filters_per_interface", 0, 1 << 32)
    made.filters = 0 if recipe.filters is None else number(recipe.filters, "filters", 1, 1 << 40)
    made.constraints = counts(recipe.constraints, "constraints", 0, 65_535)
    made.attributes = counts(recipe.attributes, "attributes", 0, min(recipe.names, 65_535))
    made.integers.low, made.integers.high = pair(recipe.integers, "integers", -most_values - 1, most_values)
    made.words = number(recipe.words, "words", 1, MOST_WORDS)
    made.piece = number(recipe.piece, "piece", 0, 255)
    made.types = mix(recipe.types, ("s", "i"), "types")
    made.string_ops = mix(recipe.string_operators, OPERATORS["string"], "string_operators")
    made.integer_ops = mix(recipe.integer_operators, OPERATORS["integer"], "integer_operators")
    return made


cdef class Generator:
    """Makes the lines of one workload. UsageError if the recipe cannot be followed."""

    cdef unique_ptr[CGenerator] generator

    def __cinit__(self, recipe):
        cdef CRecipe made = compiled(recipe)
        self.generator.reset(new CGenerator(made))

    @property
    def filters_total(self):
        """How many filters there are going to be."""
        return self.generator.get().filters()

    def filters(self):
        """The lines of the filters, some thousands a piece. The interfaces take turns."""
        cdef string text
        cdef size_t written = BATCH
        while written == BATCH:
            text.clear()
            with nogil:
                written = self.generator.get().filters(BATCH, text)
            yield <bytes>text

    def messages(self, count):
        """The lines of that many messages, some thousands a piece."""
        return self._messages(number(count, "messages", 0, 1 << 40))

    def _messages(self, size_t left):
        cdef string text
        cdef size_t size
        while left > 0:
            text.clear()
            size = min(left, BATCH)
            with nogil:
                self.generator.get().messages(size, text)
            left -= size
            yield <bytes>text


cdef Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef class TextList:
    """What is read from a file of text, a line each."""

    cdef int feed(self, Bytes text) except -1 nogil:
        return 0

    cdef int finish(self) except -1 nogil:
        return 0


cdef int read(TextList into, object path, object progress) except -1:
    """Read a file in pieces; `progress` is called with the bytes read so far."""
    cdef Bytes text
    name, done = os.fspath(path), 0
    try:
        with Path(path).open("rb", buffering=0) as source:
            while data := source.read(READ_BYTES):
                text = view(data)
                with nogil:
                    into.feed(text)
                done += len(data)
                if progress is not None:
                    progress(done)
        with nogil:
            into.finish()
    except ValueError as error:
        raise WorkloadError(f"{name}:{error}") from None
    return 0


cdef class FilterList(TextList):
    """Filters read from text, encoded, in memory.

    Constraints that a filter repeats are dropped (E5). WorkloadError if the
    file is not what it should be; OSError if it cannot be read. `progress` is
    called with the bytes read so far, every few megabytes.
    """

    def __cinit__(self, path, progress=None):
        read(self, path, progress)

    cdef int feed(self, Bytes text) except -1 nogil:
        self.reader.feed(text)
        return 0

    cdef int finish(self) except -1 nogil:
        self.reader.finish()
        return 0

    def __len__(self):
        return self.reader.list.filters.size()

    @property
    def constraints(self):
        """As written: those that a filter repeats are counted, though they are kept once."""
        return self.reader.list.constraints

    def __getitem__(self, index):
        """(interface, encoded filter) of a line, counted from 0."""
        cdef size_t at = range(len(self))[index]
        cdef Bytes filter = self.reader.list.filters.at(at)
        return self.reader.list.interfaces[at], (<const char *>filter.data())[:filter.size()]


cdef class MessageList(TextList):
    """Messages read from text, as MESSAGE packets; see FilterList."""

    def __cinit__(self, path, progress=None):
        read(self, path, progress)

    cdef int feed(self, Bytes text) except -1 nogil:
        self.reader.feed(text)
        return 0

    cdef int finish(self) except -1 nogil:
        self.reader.finish()
        return 0

    def __len__(self):
        return self.reader.list.packets.size()

    def __getitem__(self, index):
        """The packet of a line, counted from 0."""
        cdef size_t at = range(len(self))[index]
        cdef Bytes packet = self.reader.list.packets.at(at)
        return (<const char *>packet.data())[:packet.size()]
