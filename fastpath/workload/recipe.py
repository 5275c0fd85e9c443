"""What a workload is made by: the recipe, the operators it may have, and what can be wrong with a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OPERATORS = {"string": ("=", "^", "$", "*", "<", ">", "!="), "integer": ("=", "<", ">", "!=", "<=", ">=")}
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
    types: Mapping[str, int] = field(default_factory=lambda: {"s": 50, "i": 50})
    """D_t: weights of `s` and `i`."""
    string_operators: Mapping[str, int] = field(
        default_factory=lambda: {"=": 35, "^": 15, "$": 15, "*": 15, "<": 10, ">": 10}
    )
    """D_os: weights."""
    integer_operators: Mapping[str, int] = field(default_factory=lambda: {"=": 60, "<": 20, ">": 20})
    """D_oi: weights."""
