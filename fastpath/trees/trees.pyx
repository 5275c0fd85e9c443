# distutils: language = c++
"""Shortest-path trees and what follows from them. See __init__.pyi for the signatures."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from fastpath.wire.codec import UsageError

__all__ = ["Forest", "UsageError"]


cdef extern from "trees/trees.hpp" namespace "cbn::trees" nogil:
    cdef cppclass Tree:
        vector[uint32_t] parent
        vector[uint32_t] first

    cdef cppclass Group:
        vector[uint32_t] sources
        vector[uint32_t] below

    cdef cppclass CForest "cbn::trees::Forest":
        CForest(size_t) except +
        void join(uint32_t, uint32_t, uint32_t, uint64_t) except +
        size_t count()
        uint32_t stranded() except +
        const Tree &tree(uint32_t) except +
        vector[uint32_t] path(uint32_t, uint32_t) except +
        vector[vector[uint32_t]] children(uint32_t) except +
        vector[Group] groups(uint32_t) except +
        vector[uint8_t] rewrites(uint32_t) except +
        vector[uint32_t] headers(uint32_t) except +


cdef uint64_t bits(object value, int count, str what) except? 0:
    if not isinstance(value, int) or value < 0 or value.bit_length() > count:
        raise UsageError(f"{what} is {value!r}; expected an integer of {count} bits")
    return value


cdef class Forest:
    """A connected graph and the trees of all its nodes, which are positions from 0.

    Trees are computed when first asked for and kept. The tie-breakers of the links must make
    shortest paths unique (E7); then the path back is the path there reversed.

    UsageError if it is no connected graph.

    `links` are (node, node, cost of 32 bits, tie-breaker of 64).
    """

    cdef unique_ptr[CForest] forest

    def __cinit__(self, count, links):
        if not isinstance(count, int) or count <= 0 or count.bit_length() > 32:
            raise UsageError(f"a graph has at least one node and less than 2^32; this has {count!r}")
        self.forest.reset(new CForest(count))
        for one, other, cost, tie in links:
            self.forest.get().join(
                self.at(one), self.at(other), bits(cost, 32, "a cost"), bits(tie, 64, "a tie-breaker")
            )

        stranded = self.forest.get().stranded()
        if stranded:
            raise UsageError(f"the graph is not connected: there is no path from node 0 to node {stranded}")

    cdef uint32_t at(self, object node) except? 0xFFFFFFFF:
        if not isinstance(node, int) or not 0 <= node < self.forest.get().count():
            raise UsageError(f"there is no node {node!r}; there are {self.forest.get().count()}")
        return node

    def parents(self, root):
        """By node: the one before it on the path from the root; the root's is its own."""
        return self.forest.get().tree(self.at(root)).parent

    def first_hops(self, root):
        """By node: the one after the root on the path to it; the root's is its own."""
        return self.forest.get().tree(self.at(root)).first

    def path(self, source, target):
        """The nodes from source to target, both included."""
        return self.forest.get().path(self.at(source), self.at(target))

    def children(self, node):
        """By source: the children of a node in the source's tree, ascending."""
        return self.forest.get().children(self.at(node))

    def groups(self, node):
        """The sources that are indistinguishable at a node (T3): (sources, nodes below it in their trees).

        Both ascending; the groups in the order of their first sources.
        """
        cdef vector[Group] found = self.forest.get().groups(self.at(node))
        groups = []
        for index in range(found.size()):
            groups.append((found[index].sources, found[index].below))
        return groups

    def rewrites(self, node):
        """By source v: R_u(I_u(v)), whether v is indistinguishable from u to all that is below u (E12)."""
        return [may != 0 for may in self.forest.get().rewrites(self.at(node))]

    def headers(self, node):
        """By source: the header with which its messages come to the node if all rewrite that may (T3)."""
        return self.forest.get().headers(self.at(node))
