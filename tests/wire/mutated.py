"""Damage to valid bytes: what a bad cable, a bad peer and an enemy might send."""

from collections.abc import Callable, Sequence
from random import Random

BYTES = [0x00, 0x01, 0x02, 0x05, 0x0A, 0x40, 0x7F, 0x80, 0xC0, 0xED, 0xF4, 0xFF]


class Mutator:
    """Draws damaged copies of a corpus; equal seeds, equal damage."""

    def __init__(self, random: Random, corpus: Sequence[bytes]) -> None:
        self._random = random
        self._corpus = corpus
        self._ways: list[Callable[[bytearray], bytearray]] = [
            self._flip_bit,
            self._flip_bit,
            self._set_byte,
            self._truncate,
            self._extend,
            self._splice,
            self._repeat,
            self._edit_number,
            self._swap_bytes,
        ]

    def damage(self, data: bytes, framed: bool) -> bytes:
        """One to three kinds of damage; a packet's length often repaired, to get behind the first check."""
        damaged = bytearray(data)
        for _ in range(self._random.choice([1, 1, 2, 3])):
            damaged = self._random.choice(self._ways)(damaged)
        if framed and len(damaged) >= 4 and self._random.random() < 0.6:
            damaged[2:4] = min(len(damaged), 65535).to_bytes(2)
        return bytes(damaged)

    def _at(self, data: bytearray) -> int:
        return self._random.randrange(len(data)) if data else 0

    def _flip_bit(self, data: bytearray) -> bytearray:
        if data:
            data[self._at(data)] ^= 1 << self._random.randrange(8)
        return data

    def _set_byte(self, data: bytearray) -> bytearray:
        if data:
            data[self._at(data)] = self._random.choice(BYTES)
        return data

    def _truncate(self, data: bytearray) -> bytearray:
        return data[: self._at(data)]

    def _extend(self, data: bytearray) -> bytearray:
        return data + self._random.randbytes(self._random.randint(1, 8))

    def _splice(self, data: bytearray) -> bytearray:
        other = self._random.choice(self._corpus)
        return data[: self._at(data)] + other[self._random.randrange(len(other) + 1) :]

    def _repeat(self, data: bytearray) -> bytearray:
        start, size = self._at(data), self._random.randint(1, 24)
        return data[: start + size] + data[start:]

    def _edit_number(self, data: bytearray) -> bytearray:
        """Add a little to what may be a length or a count."""
        size = self._random.choice([1, 2, 4])
        at = self._at(data)
        if at + size <= len(data):
            number = int.from_bytes(data[at : at + size]) + self._random.choice([-2, -1, 1, 2, 256])
            data[at : at + size] = (number % 256**size).to_bytes(size)
        return data

    def _swap_bytes(self, data: bytearray) -> bytearray:
        if data:
            i, j = self._at(data), self._at(data)
            data[i], data[j] = data[j], data[i]
        return data
