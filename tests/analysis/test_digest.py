"""The digest of lines in files, merged block by block, is that of all lines sorted at once."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import digest

NAMES = {1: "a", 2: "a-b", 3: "ä", 4: "b", 5: "z!"}
PAIRS = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2**62), st.integers(1, 6)), max_size=80)
Pairs = list[tuple[int, int, int]]


def columns(pairs: Pairs) -> list[pa.Array]:
    return [pa.array([pair[at] for pair in pairs], pa.int64()) for at in range(3)]


def slow(pairs: Pairs) -> str:
    lines = (f"{NAMES.get(a, a)} {number} {NAMES.get(b, b)}\n".encode() for a, number, b in pairs)
    return hashlib.sha256(b"".join(sorted(lines, key=lambda line: line[:-1]))).hexdigest()


@given(PAIRS)
def test_a_digest_is_of_the_sorted_lines(pairs: Pairs) -> None:
    assert digest.delivered_digest(*columns(pairs), NAMES) == slow(pairs)


@given(st.lists(PAIRS, max_size=9), st.integers(1, 7), st.integers(2, 4))
def test_files_that_are_merged_have_the_digest_of_all(parts: list[Pairs], block: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(digest, "LINES_A_BLOCK", block)
        patch.setattr(digest, "MOST_OPEN", most)
        paths = [Path(folder) / f"lines-{number}" for number in range(len(parts))]
        for path, pairs in zip(paths, parts, strict=True):
            digest.write_lines(path, digest.delivered_lines(*columns(pairs), NAMES))
        assert digest.merged_digest(paths) == slow([pair for part in parts for pair in part])
