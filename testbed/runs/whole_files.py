"""Files that are there when they are complete, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Where to write: the file takes its place when the block ends; if that fails, nothing is left."""
    unfinished = path.with_name(path.name + ".partial")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """Write a text; returns its path."""
    with written_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path
