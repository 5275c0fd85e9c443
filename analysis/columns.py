"""Columns of whole numbers: codes for what is equal, groups, and many lists one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def coded(values: Numbers) -> Numbers:
    """Small numbers, the same for the same values, in the order in which these appear."""
    codes: Numbers = pa.array(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def groups(*columns: Numbers) -> tuple[Numbers, Numbers]:
    """The number of each row's group of equals, and the first row of each group."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code = coded(column)
        key = coded(key * (1 + code.max(initial=0)) + code)
    _, first = np.unique(key, return_index=True)
    return key, first


def ranges(begins: Numbers, sizes: Numbers) -> Numbers:
    """The numbers from each begin on, so many of each."""
    ends = np.cumsum(sizes)
    found: Numbers = np.repeat(begins - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    return found


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of numbers, one after another."""

    values: Numbers
    sizes: Numbers

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[int, int]], lists: int) -> Lists:
        """Each pair is a list and a number in it."""
        table = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return cls(table[:, 1], np.bincount(table[:, 0], minlength=lists))

    @property
    def first(self) -> Numbers:
        """Where each begins."""
        begins: Numbers = np.cumsum(self.sizes) - self.sizes
        return begins

    def expand(self, lists: Numbers) -> tuple[Numbers, Numbers]:
        """For each number in some lists: at which of these it is, and the number."""
        sizes = self.sizes[lists]
        return np.repeat(np.arange(len(lists)), sizes), self.values[ranges(self.first[lists], sizes)]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Numbers added up by key: a row for each key."""

    keys: NDArray[np.int64]
    """A column for each part of the key."""
    sums: NDArray[np.int64]
    """A column for each of the numbers."""

    @classmethod
    def of(cls, keys: Sequence[Numbers], numbers: Sequence[Numbers]) -> Grouped:
        """Of columns of equal length."""
        group, first = groups(*keys)
        sums = [np.bincount(group, each, minlength=len(first)).astype(np.int64) for each in numbers]
        return cls(np.stack([key[first] for key in keys], axis=1), np.stack(sums, axis=1))

    @classmethod
    def added(cls, parts: Sequence[Grouped]) -> Grouped:
        """Those of several parts together."""
        keys, sums = (np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "sums"))
        return cls.of(list(keys.T), list(sums.T))

    def rows(self) -> Iterator[tuple[list[int], list[int]]]:
        """Each key, and its numbers."""
        yield from zip(self.keys.tolist(), self.sums.tolist(), strict=True)
