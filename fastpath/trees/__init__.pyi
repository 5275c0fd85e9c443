"""Shortest-path trees of a graph with unique shortest paths, and what sources look like from a node."""

from collections.abc import Iterable

from fastpath.wire.codec import UsageError

__all__ = ["Forest", "UsageError"]

class Forest:
    """A connected graph and the trees of all its nodes, which are positions from 0.

    Trees are computed when first asked for and kept. The tie-breakers of the links must make
    shortest paths unique (E7); then the path back is the path there reversed.
    """

    def __init__(self, count: int, links: Iterable[tuple[int, int, int, int]]) -> None:
        """UsageError if it is no connected graph.

        `links` are (node, node, cost of 32 bits, tie-breaker of 64).
        """
    def parents(self, root: int) -> list[int]:
        """By node: the one before it on the path from the root; the root's is its own."""
    def first_hops(self, root: int) -> list[int]:
        """By node: the one after the root on the path to it; the root's is its own."""
    def path(self, source: int, target: int) -> list[int]:
        """The nodes from source to target, both included."""
    def children(self, node: int) -> list[list[int]]:
        """By source: the children of a node in the source's tree, ascending."""
    def groups(self, node: int) -> list[tuple[list[int], list[int]]]:
        """The sources that are indistinguishable at a node (T3): (sources, nodes below it in their trees).

        Both ascending; the groups in the order of their first sources.
        """
    def rewrites(self, node: int) -> list[bool]:
        """By source v: R_u(I_u(v)), whether v is indistinguishable from u to all that is below u (E12)."""
    def headers(self, node: int) -> list[int]:
        """By source: the header with which its messages come to the node if all rewrite that may (T3)."""
