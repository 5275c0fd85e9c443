"""Reads a scenario file: bytes, then text, then plain data with places."""

from __future__ import annotations

import hashlib
from pathlib import Path

from testbed.plan.problems import Problem
from testbed.plan.source import Source, Unreadable
from testbed.plan.yaml_subset import build, compose

BYTES_MAX = 16 * 1024 * 1024
_KEYS = "name, topology, clients"


def read_source(path: Path) -> Source:
    """The file's data. Duplicate keys and tags are noted as problems.

    Raises:
        Unreadable: There is no such file, or it is not YAML, or not UTF-8.
    """
    name = str(path)
    text = _decode(_read_bytes(path), name)
    source = Source(name, text, hashlib.sha256(text.encode()).hexdigest())
    source.value = build(source, compose(text, name))
    if source.value is None:
        raise Unreadable(Problem(name, 1, 1, "", "the file is empty", f"a scenario: {_KEYS}"))
    if not isinstance(source.value, dict):
        found = "a list" if isinstance(source.value, list) else f"one value, {ascii(source.value)[:40]}"
        raise Unreadable(
            Problem(name, 1, 1, "", f"the file holds {found}", f"a mapping with the keys {_KEYS}")
        )
    return source


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise Unreadable(Problem(str(path), 0, 0, "", "this is a directory", "a scenario file (YAML)"))
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise Unreadable(Problem(str(path), 0, 0, "", reason, "a scenario file (YAML)")) from None
    if len(data) > BYTES_MAX:
        raise Unreadable(Problem(str(path), 0, 0, "", f"the file has more than {BYTES_MAX >> 20} MiB"))
    return data


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise Unreadable(Problem(name, line, column, "", message, "a text file in UTF-8")) from None
    return text
