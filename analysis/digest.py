"""The digest of lines in Arrow's memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa


def digest_of(chunks: Sequence[pa.StringArray]) -> str:
    """SHA-256 of all strings of the chunks, end to end: Arrow keeps them so already."""
    digest = hashlib.sha256()
    for chunk in chunks:
        text = chunk.cast(pa.large_string())
        if len(text):
            _, offsets, data = text.buffers()
            ends = memoryview(offsets).cast("q")
            digest.update(memoryview(data)[ends[text.offset] : ends[text.offset + len(text)]])
    return digest.hexdigest()
