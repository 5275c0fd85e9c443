"""The digest of what was delivered: of the sorted lines `publisher sequence subscriber`.

Lines of a large run are sorted in parts, each in a file of its own, which are merged as they are read: a
block of each is in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

LINES_A_BLOCK = 1 << 14
MOST_OPEN = 256
"""Files."""
_LINES = pa.schema([("line", pa.string())])


def delivered_digest(source: pa.Array, sequence: pa.Array, client: pa.Array, names: Mapping[int, str]) -> str:
    """Of pairs of a message and a client, in any order."""
    return digest_of([delivered_lines(source, sequence, client, names)])


def delivered_lines(
    source: pa.Array, sequence: pa.Array, client: pa.Array, names: Mapping[int, str]
) -> pa.StringArray:
    """The lines of such pairs, in order."""
    publishers, subscribers = _named(source, names), _named(client, names)
    return pc.binary_join_element_wise(publishers, sequence.cast(pa.string()), subscribers, " ").sort()


def write_lines(path: Path, lines: pa.StringArray) -> None:
    """Keep lines that are in order."""
    _write(path, [lines])


def _write(path: Path, chunks: Iterable[pa.StringArray]) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with pa.ipc.new_file(partial, _LINES, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
        for chunk in chunks:
            file.write_table(pa.table([chunk], _LINES), max_chunksize=LINES_A_BLOCK)
    partial.replace(path)


def merged_digest(paths: Sequence[Path]) -> str:
    """Of the lines in all of these files together; if they are many, some of them are first made one."""
    while len(paths) > MOST_OPEN:
        some, paths = paths[:MOST_OPEN], paths[MOST_OPEN:]
        _write(one := some[0].with_name(f"{some[0].name}-and-more"), _merged(some))
        paths = [*paths, one]
    return digest_of(_merged(paths))


def _merged(paths: Sequence[Path]) -> Iterator[pa.StringArray]:
    """All lines in order, some at a time: those up to the end of the block that ends first."""
    with ExitStack() as files:
        streams = [_Stream(files.enter_context(pa.ipc.open_file(str(path)))) for path in paths]
        while streams := [stream for stream in streams if stream.fill()]:
            bound = min(stream.last for stream in streams)
            yield pa.concat_arrays([stream.up_to(bound) for stream in streams]).sort()


class _Stream:
    """The lines of a file, block by block."""

    def __init__(self, file: pa.ipc.RecordBatchFileReader) -> None:
        self._file = file
        self._next = 0
        self._block = pa.array([], pa.string())
        self.last = ""

    def fill(self) -> bool:
        """See to it that there is a block, unless the file has ended."""
        while not len(self._block) and self._next < self._file.num_record_batches:
            self._block = self._file.get_batch(self._next).column(0)
            self._next += 1
            self.last = self._block[-1].as_py() if len(self._block) else ""
        return len(self._block) > 0

    def up_to(self, bound: str) -> pa.StringArray:
        """Take away the lines of the block that are not behind `bound`."""
        count = pc.sum(pc.less_equal(self._block, bound), min_count=0).as_py()
        taken, self._block = self._block[:count], self._block[count:]
        return taken


def _named(ids: pa.Array, names: Mapping[int, str]) -> pa.StringArray:
    """The name of each node; its number, if it is in no plan."""
    encoded = ids.dictionary_encode()
    texts = [names.get(each, str(each)) for each in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def digest_of(chunks: Iterable[pa.StringArray]) -> str:
    """SHA-256 of the strings of all chunks, a line each."""
    digest = hashlib.sha256()
    for chunk in chunks:
        text = pc.binary_join_element_wise(chunk, "", "\n").cast(pa.large_string())
        if len(text):
            _, offsets, data = text.buffers()
            ends = memoryview(offsets).cast("q")
            digest.update(memoryview(data)[ends[text.offset] : ends[text.offset + len(text)]])
    return digest.hexdigest()
