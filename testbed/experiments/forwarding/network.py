"""Section 5.4 computed: a message crosses a network of routers, each of which matches it once (E4)."""

from __future__ import annotations

import math

from testbed.experiments.forwarding.rows import Row


def hops(interfaces: int, destinations: int) -> int:
    """Routers on the longest way: up a tree of that degree and down again, 2 log_I H (E4).

    >>> hops(20, 1_000_000), hops(10, 1_000_000), hops(40, 1_000_000)
    (10, 12, 8)
    """
    exact = 2 * math.log(destinations) / math.log(interfaces)
    return max(1, math.ceil(exact - 1e-9))


def network_us(row: Row, count: int) -> float:
    """Matching from end to end: every router on the way holds the whole table, as in the paper."""
    return row.time_us * count


def break_even_us(single: Row, row: Row, count: int) -> float:
    """What a further hop may cost besides matching before the single router is as fast."""
    return (single.time_us - network_us(row, count)) / max(1, count - 1)
