"""What the first bytes of CONTROL packets of the matchmaker say (docs/wire-format.md, kinds 24 to 27).

Not here: what is counted of them (`signalling`), and what follows of them (`markings`,
`analysis.messages.matches`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.columns import Numbers
from analysis.decode import FRONT_BYTES
from analysis.messages.rows import numbers
from nodes.wire.packets import Kind

FIRST, LAST = 2, 4
"""Flags of a CONTROL packet: of a payload the first fragment, and the last."""
_OF_ALL = {
    "flags": ("u1", 4),
    "kind": ("u1", 5),
    "incarnation": (">u8", 8),
    "peer_incarnation": (">u8", 16),
    "packet": (">u4", 24),
}
_OF_CHANGES = {"change": (">u4", 32), "marking": ("u1", 36), "count": (">u4", 37)}
_OF_UPDATES = {
    "said": ("u1", 32),
    "publisher": (">u4", 33),
    "pcd": (">u8", 37),
    "subscriber": (">u4", 45),
    "scd": (">u8", 49),
}
_FIELDS = _OF_ALL | _OF_CHANGES | _OF_UPDATES
FRONT = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for kind, _ in _FIELDS.values()],
        "offsets": [at for _, at in _FIELDS.values()],
        "itemsize": FRONT_BYTES,
    }
)
"""A front: fields of all, those of a change of a mark and its reply, and those of a CD_UPDATE."""
OF_CHANGE_BYTES = 45
"""Of the shortest front of a change of a mark that is one."""
PCD, SCD, MCD = 1, 2, 3
"""What a CD_UPDATE is of, in the place of a kind."""
NOTHING = -1
"""In the place of what a CD_UPDATE says, for others."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Told:
    """The packets of the matchmaker between routers, and what their fronts say."""

    rows: pa.Table
    fronts: NDArray[Any]
    """Of dtype `FRONT`; what is not there is 0."""
    sizes: Numbers
    """How many bytes of each front are there."""

    @classmethod
    def of(cls, packets: pa.Table) -> Self:
        """Those among rows of table `packets`."""
        chosen = pc.and_(pc.is_valid(packets["front"]), pc.invert(packets["peer_is_client"]))
        rows = packets.filter(pc.fill_null(chosen, False))
        front = rows["front"].combine_chunks()
        padded = pc.binary_join_element_wise(front, pa.scalar(bytes(FRONT_BYTES)), pa.scalar(b""))
        whole = b"".join(pc.binary_slice(padded, 0, FRONT_BYTES).to_pylist())
        return cls(rows, np.frombuffer(whole, FRONT), numbers(pc.binary_length(front)))

    def column(self, name: str) -> Numbers:
        """Of the rows; conditions are 0 and 1."""
        return numbers(self.rows[name].cast(pa.int64()))

    def field(self, name: str) -> Numbers:
        """Of the fronts."""
        found: Numbers = self.fronts[name].astype(np.int64)
        return found

    @property
    def sent(self) -> Flags:
        """Whether the router sent it, and did not receive it."""
        found: Flags = self.column("sent") == 1
        return found

    @property
    def begins(self) -> Flags:
        """Whether each is the first fragment of a payload, or all of it."""
        found: Flags = (self.field("flags") & FIRST) != 0
        return found

    @property
    def ends(self) -> Flags:
        """Whether each is the last fragment of a payload, or all of it."""
        found: Flags = (self.field("flags") & LAST) != 0
        return found

    @property
    def of_change(self) -> Flags:
        """Whether each is of a change of a mark, or of a reply."""
        return np.isin(self.fronts["kind"], (Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY))

    @property
    def says_mark(self) -> Flags:
        """Whether each begins such a payload, with number and mark."""
        return self.of_change & self.begins & (self.sizes >= OF_CHANGE_BYTES)

    @property
    def of_update(self) -> Flags:
        """Whether each says of a descriptor or a match that it comes, is there still, or goes."""
        is_update = self.fronts["kind"] == Kind.CD_UPDATE
        found: Flags = self.begins & is_update & (self.sizes == FRONT_BYTES)
        return found

    @property
    def what(self) -> Numbers:
        """`PCD`, `SCD` or `MCD` of an update, and of others the kind."""
        sort = (self.fronts["publisher"] > 0) * PCD + (self.fronts["subscriber"] > 0) * SCD
        found: Numbers = np.where(self.of_update & (sort > 0), sort, self.field("kind"))
        return found

    @property
    def said(self) -> Numbers:
        """The flags of an update."""
        return np.where(self.of_update, self.field("said"), NOTHING)

    @property
    def descriptors(self) -> Numbers:
        """How many descriptors and matches each begins to tell of."""
        return np.where(self.says_mark, self.field("count"), 0) + self.of_update
