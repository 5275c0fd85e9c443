"""Files as bytes and text, within limits."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from topologies.errors import MapError

FILE_MAX = 16 * 1024 * 1024


def content_of(path: Path) -> bytes:
    """What is in a file.

    Raises:
        MapError: It cannot be read, is too large, or holds nothing.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX + 1)
    except OSError as error:
        raise MapError(f"the map cannot be read: {error.strerror}", str(path)) from None
    if len(data) > FILE_MAX:
        raise MapError("the file is too large for a map", str(path), expected="at most 16 MiB")
    if not data.strip():
        raise MapError("the file is empty", str(path), expected="a map with at least one node")
    return data


def decoded(data: bytes, path: str) -> str:
    """A text in UTF-8, or in what its byte order mark says.

    Raises:
        MapError: It is not; says in which line.
    """
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "convert it, as in: iconv -f latin1 -t utf-8 FILE > NEW"
        raise MapError("the text is not UTF-8", path, line, expected="UTF-8", hint=hint) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise MapError("there is a zero byte in it: this is no text", path, line, expected="a text file")
    return text


def plain_label(text: str) -> str:
    """A label in one line, without what does not print; at most 80 characters."""
    kept = "".join(c if unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    return " ".join(kept.split())[:80].strip()
