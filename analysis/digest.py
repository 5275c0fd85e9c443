"""The digest of what was delivered: of the sorted lines `publisher sequence subscriber`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def delivered_digest(source: pa.Array, sequence: pa.Array, client: pa.Array, names: Mapping[int, str]) -> str:
    """Of pairs of a message and a client, in any order."""
    publishers, subscribers = _named(source, names), _named(client, names)
    lines = pc.binary_join_element_wise(publishers, sequence.cast(pa.string()), subscribers, " ")
    return digest_of([pc.binary_join_element_wise(lines.sort(), "", "\n")])


def _named(ids: pa.Array, names: Mapping[int, str]) -> pa.StringArray:
    """The name of each node; its number, if it is in no plan."""
    encoded = ids.dictionary_encode()
    texts = [names.get(each, str(each)) for each in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


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
