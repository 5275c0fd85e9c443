"""Workloads for benchmarks by the parameters of FWD Table 1: generate, write as text, read, encode."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fastpath.wire.codec import UsageError

__all__ = ["FilterList", "Generator", "MessageList", "Recipe", "UsageError", "WorkloadError"]

OPERATORS: dict[str, tuple[str, ...]]
"""By type, `string` and `integer`: what a mix may have; `^ $ *` are prefix, suffix, substring."""

class WorkloadError(ValueError):
    """A file is not a workload: `file:line: what is wrong`."""

@dataclass(frozen=True)
class Recipe:
    """The parameters of FWD Table 1, with the paper's values (F7) in the readings E2 and E3.

    Both ends of a range belong to it; draws are uniform. What is drawn
    depends on the recipe alone, not on the machine.
    """

    seed: int = 1
    interfaces: int = 20
    """I"""
    filters_per_interface: tuple[int, int] = (1, 99_999)
    """[f_l, f_h): about a million filters at 20 interfaces (E2); (1, 24_999) for 250,000."""
    filters: int | None = None
    """Not in the paper: exactly so many filters in all, dealt out evenly, in place of a range."""
    constraints: tuple[int, int] = (1, 9)
    """[c_l, c_h) per filter; they may repeat a name, and themselves."""
    attributes: tuple[int, int] = (1, 19)
    """[a_l, a_h) per message; at most as many as there are names."""
    names: int = 1000
    """D_a = D_c: pseudo-words, the n-th most frequent with weight 1/n^zipf."""
    zipf: str = "1"
    """Exponent, a decimal number from 0 (uniform) to 4."""
    words: int = 1000
    """D_s: pseudo-words, uniform, for the strings of filters and messages."""
    piece: int = 0
    """Letters in the operands of prefix, suffix and substring, cut from a word; 0: the whole word."""
    integers: tuple[int, int] = (0, 99)
    """D_i, uniform."""
    types: Mapping[str, int] = field(default_factory=dict)
    """D_t: weights of `s` and `i`; 50 each."""
    string_operators: Mapping[str, int] = field(default_factory=dict)
    """D_os: weights; = 35, ^ 15, $ 15, * 15, < 10, > 10."""
    integer_operators: Mapping[str, int] = field(default_factory=dict)
    """D_oi: weights; = 60, < 20, > 20."""

class Generator:
    """Makes the lines of one workload. UsageError if the recipe cannot be followed."""

    def __init__(self, recipe: Recipe) -> None: ...
    @property
    def filters_total(self) -> int:
        """How many filters there are going to be."""

    def filters(self) -> Iterator[bytes]:
        """The lines of the filters, some thousands a piece. The interfaces take turns."""

    def messages(self, count: int) -> Iterator[bytes]:
        """The lines of that many messages, some thousands a piece."""

class FilterList:
    """Filters read from text, encoded, in memory.

    Constraints that a filter repeats are dropped (E5). WorkloadError if the
    file is not what it should be; OSError if it cannot be read. `progress` is
    told the bytes read so far, every few megabytes.
    """

    def __init__(
        self, path: str | os.PathLike[str], progress: Callable[[int], None] | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def constraints(self) -> int:
        """As written: those that a filter repeats are counted, though they are kept once."""

    def __getitem__(self, index: int) -> tuple[int, bytes]:
        """(interface, encoded filter) of a line, counted from 0."""

class MessageList:
    """Messages read from text, as MESSAGE packets; see FilterList."""

    def __init__(
        self, path: str | os.PathLike[str], progress: Callable[[int], None] | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> bytes:
        """The packet of a line, counted from 0."""
