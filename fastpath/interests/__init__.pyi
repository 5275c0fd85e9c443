"""Predicates that come and go, by the million: compact sets of filters that are held once.

docs/protocols.md, "Link state and interest", says what routers do with them. Encoded
predicates are those of docs/wire-format.md. Things of different pools do not mix: UsageError.
"""

from fastpath.fib import ForwardingTable
from fastpath.wire.codec import UsageError, WireError

__all__ = ["FilterPool", "Predicate", "TableEditor", "Union", "UsageError", "WireError", "read_change"]

class FilterPool:
    """Every filter that some predicate holds, once."""

    def __init__(self) -> None: ...
    def read(self, encoded: bytes) -> Predicate:
        """The predicate of these bytes. WireError if malformed."""

    def stats(self) -> dict[str, int]:
        """`filters`: how many different ones there are; `bytes`: what they take."""

class Predicate:
    """A set of a pool's filters, 4 to 11 bytes each."""

    pool: FilterPool

    def __init__(self, pool: FilterPool, encoded: bytes | None = None) -> None:
        """Empty if no bytes are given. WireError if they are malformed."""

    def fits(self, removed: Predicate, added: Predicate) -> bool:
        """Whether all of `removed` is here and nothing of `added`."""

    def change(self, removed: Predicate, added: Predicate) -> None:
        """Take filters out and put others in. UsageError, and nothing done, if that does not fit."""

    def minus(self, other: Predicate) -> Predicate:
        """The filters that the other has not."""

    def encode(self, head: bytes = b"") -> bytes:
        """The canonical bytes, behind `head`."""

    def digest(self) -> bytes:
        """16 bytes: the sum of the first 16 bytes of SHA-256 of each filter, modulo 2^128.

        Equal predicates have equal digests whatever way they came about. It finds out
        mistakes; it is no signature.
        """

    def digest_after(self, removed: Predicate, added: Predicate) -> bytes:
        """What the digest would be after a `change` that fits."""

    def __len__(self) -> int:
        """How many filters it has."""

    @property
    def constraints(self) -> int:
        """How many constraints all filters have together."""

    @property
    def encoded_bytes(self) -> int:
        """The length of `encode()`."""

    @property
    def bytes(self) -> int:
        """The memory the set takes, without its filters, which the pool has."""

def read_change(pool: FilterPool, payload: bytes) -> tuple[int, int, bytes, Predicate, Predicate]:
    """(origin, sequence, digest, removed, added) of an INTEREST_CHANGE payload. WireError if malformed."""

class Union:
    """The union of predicates that come and go, at the cost of what changed.

    Its result is the union, reduced by covering (D2) while it has at most
    `reduced_max` filters: to reduce is to look at all of them.
    """

    pool: FilterPool

    def __init__(self, pool: FilterPool, reduced_max: int) -> None: ...
    def add(self, predicate: Predicate) -> None:
        """Count a predicate in. What it holds later does not matter."""

    def remove(self, predicate: Predicate) -> None:
        """Count it out. UsageError, and nothing done, if not all of it was counted in."""

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how the result has changed since this was last asked."""

    def __len__(self) -> int:
        """How many filters the result has, as it was last settled."""

    @property
    def bytes(self) -> int:
        """The memory it takes, without the filters, which the pool has."""

class TableEditor:
    """Keeps one forwarding table at unions of predicates, interface by interface.

    Nobody else may change the table. Each interface's union is reduced as `Union` says.
    """

    pool: FilterPool
    table: ForwardingTable

    def __init__(self, pool: FilterPool, table: ForwardingTable, reduced_max: int) -> None: ...
    def add(self, interface: int, predicate: Predicate) -> None:
        """Count a predicate in at an interface."""

    def remove(self, interface: int, predicate: Predicate) -> None:
        """Count it out. UsageError, and nothing done, if not all of it was counted in."""

    def settle(self) -> bool:
        """Bring the table to what was said and commit it; whether there was anything to do."""

    def contents(self) -> dict[int, bytes]:
        """The encoded predicate that stands in the table at each interface that has any filter."""

    def __len__(self) -> int:
        """How many filters stand in the table."""

    @property
    def bytes(self) -> int:
        """The memory it takes, without the filters and the table."""
