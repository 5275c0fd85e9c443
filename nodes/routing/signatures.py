"""Whether a record is its origin's, whoever passed it on: signs ours, looks at the signatures of others'.

    off      records have no signatures
    signed   a record without a right signature of its origin is dropped: it is neither held nor passed on

Only what would be news is looked at; the same bytes that are held need no other proof. A router that drops a
record goes on with the neighbour that sent it: the payload has arrived, and what it says has no effect.

A router that starts again knows no longer which numbers it used. Where records are signed its numbers begin
at its clock, in microseconds, so what it says is above all that it has said before, which nobody can repeat.

Not here: the bytes of a signature (`nodes.wire.signature`), which of two records is newer (`numbers`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.config import NodeConfig, RecordSigning
from nodes.routing.effects import Reason
from nodes.routing.link import Link
from nodes.wire.signature import SIGNATURE_BYTES, Signer, proves

REFUSED: Mapping[Reason, str] = {
    Reason.UNKNOWN_SIGNER: "we have no public key of the router that it is said to be of (signers_path)",
    Reason.WRONG_SIGNATURE: "the router that it is said to be of has not signed it (security.records)",
}


class Signatures:
    """One router's.

    Args:
        signer: Signs what the router says; None: nothing is signed, and no signature looked at.
        signers: The public keys of all routers, by id.
    """

    def __init__(self, signer: Signer | None = None, signers: Mapping[int, bytes] | None = None) -> None:
        self._signer = signer
        self._signers = signers or {}
        self._told: set[tuple[int, Reason]] = set()

    @classmethod
    def of(cls, config: NodeConfig) -> Signatures:
        """As a router is configured."""
        if config.security.records is RecordSigning.OFF:
            return cls()
        return cls(Signer(config.signing_seed), config.signers)

    @property
    def required(self) -> bool:
        """Whether records are signed."""
        return self._signer is not None

    def use(self, signers: Mapping[int, bytes]) -> None:
        """The public keys of all routers are these now."""
        self._signers = signers

    def signed(self, kind: int, record: bytes) -> bytes:
        """A record of ours as it is passed on."""
        return record if self._signer is None else record + self._signer.sign(kind, record)

    def split(self, payload: bytes) -> tuple[bytes, bytes]:
        """(The record, its signature) of what was passed on; what is too short for both is all record."""
        if self._signer is None or len(payload) < SIGNATURE_BYTES:
            return payload, b""
        return payload[:-SIGNATURE_BYTES], payload[-SIGNATURE_BYTES:]

    def record(self, payload: bytes) -> bytes:
        """A record without its signature."""
        return payload if self._signer is None else self.split(payload)[0]

    def admits_payload(self, link: Link, kind: int, origin: int, payload: bytes) -> bool:
        """As `admits`, of a record with its signature."""
        return self.admits(link, kind, origin, *self.split(payload))

    def admits(self, link: Link, kind: int, origin: int, record: bytes, signature: bytes) -> bool:
        """Whether its origin has signed a record; if not, it is dropped, and logged once a session."""
        if self._signer is None:
            return True
        public = self._signers.get(origin)
        if public is None:
            self._drop(link, Reason.UNKNOWN_SIGNER, kind, origin)
        elif not proves(kind, record, signature, public):
            self._drop(link, Reason.WRONG_SIGNATURE, kind, origin)
        else:
            return True
        return False

    def reset(self, link: Link) -> None:
        """A new session: what is refused now is logged again."""
        self._told = {each for each in self._told if each[0] != link.interface.index}

    def _drop(self, link: Link, reason: Reason, kind: int, origin: int) -> None:
        first = (link.interface.index, reason) not in self._told
        self._told.add((link.interface.index, reason))
        fields = {"kind": kind, "origin": origin, "why": REFUSED[reason]}
        link.drop(reason, **(fields if first else {}))


UNSIGNED = Signatures()
"""Where no record is signed."""
