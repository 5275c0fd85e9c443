"""Counts the tree: lines, files, rooms and doors. `python -m tests.frame.tree_size [REVISION...]`.

A room is a folder with code in it. A door is a module of a room that another
room imports; a passage is a pair of rooms, one of which imports from the other.
Lines are all lines; code lines are those without blank lines, comments and
docstrings, where the language is Python or C++. Without a revision the work
tree is counted, so `tree_size BASE` shows a change as two tables.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PRODUCT = ("cbn", "fastpath", "nodes", "topologies", "testbed", "analysis", "playbooks")
CODE = (".py", ".pyi", ".pyx", ".pxd", ".pxi", ".hpp", ".cpp", ".lua", ".j2", ".css")
_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+)?c?import\s+([\w., ]+)", re.MULTILINE)
_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)
_CPP_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Size:
    """What one room, or all of them, holds."""

    files: int
    lines: int
    code: int
    doors: int


def work_tree() -> dict[str, str]:
    """The files that git tracks, or would, as they are now."""
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard").decode().splitlines()
    return {
        name: Path(name).read_text(encoding="utf-8")
        for name in listed
        if _counts(name) and Path(name).is_file()
    }


def revision(name: str) -> dict[str, str]:
    """The files of a commit."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", name, "--", *PRODUCT, "tests"))) as archive:
        members = [m for m in archive if m.isfile() and _counts(m.name)]
        return {m.name: archive.extractfile(m).read().decode() for m in members}


def sizes(files: Mapping[str, str]) -> dict[str, Size]:
    """By room, in order of their names."""
    doors: dict[str, set[str]] = defaultdict(set)
    for source, target in imports(files):
        if _room(source) != _room(target):
            doors[_room(target)].add(target)
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in files:
        rooms[_room(name)].append(name)
    return {
        room: Size(
            len(names),
            sum(files[n].count("\n") for n in names),
            sum(code_lines(n, files[n]) for n in names),
            len(doors[room]),
        )
        for room, names in sorted(rooms.items())
    }


def passages(files: Mapping[str, str]) -> set[tuple[str, str]]:
    """The pairs of rooms, the first of which imports from the second."""
    return {(_room(a), _room(b)) for a, b in imports(files) if _room(a) != _room(b)}


def imports(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each file with each file of the tree that it imports or includes."""
    modules = {name.rpartition(".")[0].replace("/", "."): name for name in files if "." in name}
    modules |= {
        name.removesuffix("/__init__.py").replace("/", "."): name
        for name in files
        if name.endswith("/__init__.py")
    }
    headers = {PurePosixPath(name).name: name for name in files if name.endswith(".hpp")}
    for name, text in files.items():
        for imported in _imported(name, text):
            target = modules.get(imported) or modules.get(imported.rpartition(".")[0])
            if target is not None and target != name:
                yield name, target
        if name.endswith((".hpp", ".cpp")):
            for included in _INCLUDE.findall(text):
                target = headers.get(PurePosixPath(included).name)
                if target is not None and target != name:
                    yield name, target


def code_lines(name: str, text: str) -> int:
    """Lines that are neither blank nor comment nor docstring."""
    if name.endswith((".hpp", ".cpp")):
        text = _CPP_COMMENT.sub("", text)
        return sum(1 for line in text.splitlines() if line.strip())
    if not name.endswith((".py", ".pyi")):
        return sum(1 for line in text.splitlines() if line.strip())
    kept: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            kept.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def table(files: Mapping[str, str], title: str) -> str:
    """All rooms of the product, their sum, and the tests, for a person."""
    by_room = sizes(files)
    rows = [(room, size) for room, size in by_room.items() if not room.startswith("tests")]
    tests = [size for room, size in by_room.items() if room.startswith("tests")]
    rows += [("product", _sum(size for _, size in rows)), ("tests", _sum(tests))]
    lines = [title, f"{'room':32} {'files':>6} {'lines':>7} {'code':>7} {'doors':>6}"]
    lines += [f"{name:32} {s.files:6} {s.lines:7} {s.code:7} {s.doors:6}" for name, s in rows]
    inside = {p for p in passages(files) if not any(room.startswith("tests") for room in p)}
    rooms = len(by_room) - len(tests)
    return "\n".join([*lines, f"{rooms} rooms and {len(inside)} passages between them in the product"])


def main(arguments: list[str]) -> None:
    """Print a table a revision named, and one of the work tree."""
    for name in arguments:
        print(table(revision(name), f"== {name}"), end="\n\n")
    print(table(work_tree(), "== the work tree"))


def _sum(parts: Iterable[Size]) -> Size:
    parts = list(parts)
    return Size(*(sum(getattr(p, field) for p in parts) for field in Size.__slots__))


def _room(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _counts(name: str) -> bool:
    return name.endswith(CODE) and name.split("/", 1)[0] in (*PRODUCT, "tests")


def _imported(name: str, text: str) -> Iterator[str]:
    if name.endswith((".py", ".pyi")):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif name.endswith((".pyx", ".pxd", ".pxi")):
        for source, names in _CIMPORT.findall(text):
            for word in (n.split(" as ")[0].strip() for n in names.split(",")):
                yield f"{source}.{word}" if source else word


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    main(sys.argv[1:])
