"""Reads a scenario file: bytes, then text, then plain data with places."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from testbed.plan.problems import Problem
from testbed.plan.source import Source, Unreadable
from testbed.plan.yaml_subset import VALUES_MAX, build, compose

BYTES_MAX = 16 * 1024 * 1024
OWN_VALUES_MAX = 50_000_000
"""Plans are far larger than the scenarios they come from, and written by ourselves."""


def read_source(
    path: Path,
    what: str = "a scenario",
    keys: str = "name, topology, clients",
    bytes_max: int = BYTES_MAX,
    values_max: int = VALUES_MAX,
) -> Source:
    """The file's data. Duplicate keys and tags are noted as problems.

    Args:
        path: The file.
        what: What the file should hold.
        keys: Some that are in it.
        bytes_max: How large it may be.
        values_max: How many values it may hold.

    Raises:
        Unreadable: There is no such file, or it is not YAML, or not UTF-8.
    """
    name = str(path)
    data = _read_bytes(path, bytes_max)
    text = _decode(data, name)
    source = Source(name, text, hashlib.sha256(data).hexdigest())
    source.value = build(source, compose(text, name), values_max)
    if source.value is None:
        raise Unreadable(Problem(name, 1, 1, "", "the file is empty", f"{what}: {keys}"))
    if not isinstance(source.value, dict):
        found = "a list" if isinstance(source.value, list) else f"one value, {ascii(source.value)[:40]}"
        raise Unreadable(
            Problem(name, 1, 1, "", f"the file holds {found}", f"a mapping with the keys {keys}")
        )
    return source


def read_text(text: str, name: str) -> Any:
    """The data of a YAML text that we wrote ourselves.

    Raises:
        Unreadable: It is not YAML, or more than plain YAML.
    """
    source = Source(name, text, "")
    value = build(source, compose(text, name), OWN_VALUES_MAX)
    if source.problems:
        raise Unreadable(source.problems[0])
    return value


def _read_bytes(path: Path, bytes_max: int) -> bytes:
    try:
        if path.is_dir():
            raise Unreadable(Problem(str(path), 0, 0, "", "this is a directory", "a scenario file (YAML)"))
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise Unreadable(Problem(str(path), 0, 0, "", reason, "a scenario file (YAML)")) from None
    if len(data) > bytes_max:
        raise Unreadable(Problem(str(path), 0, 0, "", f"the file has more than {bytes_max >> 20} MiB"))
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
