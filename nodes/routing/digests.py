"""Digests of sets that change one by one, by which two ends see that they hold the same."""

from __future__ import annotations

import hashlib
import struct
from functools import lru_cache

KNOWN_BYTES = 256
"""What a member of at most this size adds to a digest is remembered for a while."""
_NUMBER = struct.Struct(">I")


class SetDigest:
    """A digest over a set of (number, bytes), the same in whatever order they came."""

    def __init__(self) -> None:
        self._sum = 0

    def toggle(self, number: int, data: bytes) -> None:
        """It is in the set now, or it is no longer."""
        self._sum ^= (_known if len(data) <= KNOWN_BYTES else hashed)(number, data)

    @property
    def digest(self) -> str:
        """As 64 hexadecimal digits."""
        return f"{self._sum:064x}"


def hashed(number: int, data: bytes) -> int:
    """What a member adds to a digest, or takes from it."""
    return int.from_bytes(hashlib.sha256(_NUMBER.pack(number) + data).digest())


_known = lru_cache(maxsize=4_096)(hashed)
"""Both ends of many links count the same in and out."""
