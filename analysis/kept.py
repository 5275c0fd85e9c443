"""What an earlier ingest has decoded, so that it is not decoded again.

Beside the parts of `packets.parquet` stands `_ingested.json`: of each part the pieces of captures that are in
it, what was reported of them, and what the files looked like. A piece is the same again if its file has not
changed since, or has only grown behind the piece, and if the reader is the same program.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis.decode import BinReport, Piece, part_name

MANIFEST = "_ingested.json"
"""Spark and others pass over files that begin so."""
_EDGE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looked like."""

    size: int
    mtime_ns: int
    edges: str
    """A digest of its first and last 64 KiB."""

    @classmethod
    def of(cls, path: str) -> Stamp:
        """Of a file as it is now."""
        about = os.stat(path)  # noqa: PTH116
        return cls(about.st_size, about.st_mtime_ns, _edges(path, about.st_size))

    def bytes_kept(self, now: Stamp, path: str) -> int:
        """How many bytes at the front of the file are those that were there."""
        if now == self:
            return self.size
        return self.size if now.size > self.size and _edges(path, self.size) == self.edges else 0


def _edges(path: str, size: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        digest.update(file.read(min(size, _EDGE_BYTES)))
        file.seek(max(size - _EDGE_BYTES, 0))
        digest.update(file.read(min(size, _EDGE_BYTES)))
    return digest.hexdigest()


@cache
def reader_version() -> str:
    """A digest of the code that makes rows of captures: another reader may read them otherwise."""
    digest = hashlib.blake2b(digest_size=16)
    for name in ("fastpath.pcap.pcap", "fastpath.pcap.unpack", "analysis.decode"):
        found = find_spec(name)
        digest.update(Path(str(found and found.origin)).read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Part:
    """A file of decoded packets."""

    path: Path
    pieces: tuple[Piece, ...]
    report: BinReport


def stamps_of(paths: Collection[str]) -> dict[str, Stamp]:
    """What the files look like; those that cannot be read are left out."""
    stamps = {}
    for path in paths:
        with suppress(OSError):  # whoever decodes it reports it
            stamps[path] = Stamp.of(path)
    return stamps


def write_manifest(target: Path, parts: Sequence[Part], stamps: Mapping[str, Stamp]) -> None:
    """Note beside the parts what is in them."""
    document = {
        "reader": reader_version(),
        "files": {path: asdict(stamp) for path, stamp in stamps.items()},
        "parts": [
            {"file": part.path.name, "pieces": [asdict(p) for p in part.pieces], "report": part.report}
            for part in parts
        ],
    }
    (target / MANIFEST).write_text(json.dumps(document), encoding="utf-8")


def reusable(earlier: Path | None, pieces: Collection[Piece], stamps: Mapping[str, Stamp]) -> list[Part]:
    """The parts of an earlier ingest of which all pieces are wanted again and are as they were."""
    if earlier is None:
        return []
    try:
        document = json.loads((earlier / MANIFEST).read_text(encoding="utf-8"))
        same = document["reader"] == reader_version()
        return _reusable(earlier, document, frozenset(pieces), stamps) if same else []
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):  # not ours, or damaged: all is decoded again
        return []


def parts_in(folder: Path) -> list[Part]:
    """All parts that a manifest lists.

    Raises:
        OSError: There is none.
        ValueError: It is damaged; and so KeyError and TypeError.
    """
    return _listed(folder, json.loads((folder / MANIFEST).read_text(encoding="utf-8")))


def _listed(folder: Path, document: dict[str, Any]) -> list[Part]:
    return [
        Part(folder / entry["file"], tuple(Piece(**piece) for piece in entry["pieces"]), entry["report"])
        for entry in document["parts"]
    ]


def _reusable(
    earlier: Path, document: dict[str, Any], wanted: frozenset[Piece], stamps: Mapping[str, Stamp]
) -> list[Part]:
    then = {path: Stamp(**stamp) for path, stamp in document["files"].items()}
    kept = {path: then[path].bytes_kept(now, path) for path, now in stamps.items() if path in then}
    parts = []
    for part in _listed(earlier, document):
        whole = wanted.issuperset(part.pieces) and all(p.end <= kept.get(p.path, 0) for p in part.pieces)
        doubted = part.report["unreadable"] or part.report["wrongly_split"]
        if whole and not doubted and part.path.is_file():
            parts.append(part)
    return parts


def take_over(part: Part, target: Path, number: int) -> Part:
    """The part under its new number among those of `target`: the same file, or a copy on another disk."""
    path = target / part_name(number)
    try:
        path.hardlink_to(part.path)
    except OSError:
        shutil.copyfile(part.path, path)
    return Part(path, part.pieces, part.report)
