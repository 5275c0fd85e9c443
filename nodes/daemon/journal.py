"""Writes JSON lines: a node's log and a client's events."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

LINE_BUFFERED = 1
BLOCK_BUFFERED = -1


class Journal:
    """One file of JSON lines, or standard error if it is given no path.

    A log is buffered by the line, so that it survives a killed process; events
    come by the thousand and are buffered by the block and flushed now and then.
    """

    def __init__(self, path: str, buffering: int = LINE_BUFFERED) -> None:
        self._owned = bool(path)
        self._file: TextIO = Path(path).open("a", buffering, encoding="utf-8") if path else sys.stderr  # noqa: SIM115

    def write(self, record: Mapping[str, object]) -> None:
        """Add one line; what JSON cannot say is written as its `repr`."""
        self._file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=repr) + "\n")

    def flush(self) -> None:
        """Let readers see what was written."""
        self._file.flush()

    def close(self) -> None:
        """Flush, and close the file if it is ours."""
        self._file.flush()
        if self._owned:
            self._file.close()
