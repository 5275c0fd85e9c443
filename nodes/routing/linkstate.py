"""The map: which router says it is joined to which, and the topology that follows.

A link counts only if both its ends list each other; its cost is the greater of
the two said. Records of dead routers lead nowhere, as their neighbours no
longer list them, until they are forgotten.

Not here: flooding (`flooding`), trees (`trees`).
"""

from __future__ import annotations

from collections.abc import Mapping

from fastpath import codec
from nodes.routing.records import HEAD, Records
from nodes.routing.trees import Edge, Topology
from nodes.wire.packets import Kind

NO_LINKS = codec.encode_link_state(1, 0, [])[HEAD.size :]


class LinkStateDatabase:
    """What every router says of its links."""

    def __init__(self, node: int) -> None:
        self.records = Records(Kind.LINK_STATE, node, NO_LINKS)
        self._node = node
        self._said: dict[int, dict[int, int]] = {}
        self._topology: Topology | None = None

    def originate(self, neighbours: Mapping[int, int]) -> bytes | None:
        """Say who our neighbours are and at what cost: the payload to flood, or None if nothing changed."""
        pairs = sorted(neighbours.items())
        payload = self.records.originate(codec.encode_link_state(self._node, 0, pairs)[HEAD.size :])
        if payload is not None:
            self._learn(payload)
        return payload

    def check(self, payload: bytes) -> None:
        """Nothing, if the record is well-formed.

        Raises:
            WireError: It is not.
        """
        codec.decode_link_state(payload)

    def store(self, payload: bytes) -> None:
        """Keep a record that `records.consider` found newer.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        self._learn(payload)
        self.records.store(payload)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.records.forget(origin)
        self._said.pop(origin, None)
        self._topology = None

    def neighbours(self, origin: int) -> list[int]:
        """Whom an origin says it is joined to."""
        return list(self._said.get(origin, ()))

    def topology(self) -> Topology:
        """The network as far as we are connected with it."""
        if self._topology is None:
            self._topology = Topology.around(self._node, self._edges())
        return self._topology

    def _learn(self, payload: bytes) -> None:
        origin, _, neighbours = codec.decode_link_state(payload)
        self._said[origin] = dict(neighbours)
        self._topology = None

    def _edges(self) -> list[Edge]:
        said = self._said
        return [
            (origin, other, max(cost, said[other][origin]))
            for origin, neighbours in said.items()
            for other, cost in neighbours.items()
            if origin < other and origin in said.get(other, ())
        ]
