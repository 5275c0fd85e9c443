"""Leaves out test files that passed, as long as nothing that they depend on has changed: for `make check`.

`pytest -p tests.unchanged` remembers of each file that passed the digest of the
file, of all rooms that it imports, of those that these import, of what is installed,
and of all of `tests` but the other test files. What counts as imported is also what the texts in its
code name: modules that it starts as processes, and programs that it gives to Python. A file
that starts Python and names nothing depends on all rooms; one that reads other files of the
tree, on everything. The same holds of what it imports of `tests`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
PASSED = ROOT / ".pytest_cache" / "unchanged.json"
_SHARED = ("tests/", "requirements/", "pyproject.toml", "setup.py")
PARTS = ("analysis", "cbn", "fastpath", "nodes", "testbed", "topologies")
_PYTHON = "sys.executable"
"""What makes a test that names no module in its texts depend on all rooms."""
_HARNESSES = "tests/native_build.py"
_READERS = re.compile(r"ls-files|\bdocs(/|$)|Makefile|\.md\b")
"""What makes it depend on everything if it stands in a text, as does to be in one of these folders."""
_READING = ("tests/frame/", "tests/docs/")
_MODULE = re.compile(rf"(?:{'|'.join(PARTS)})(?:\.\w+)*")
_IMPORT = re.compile(r"^[ \t]*(?:from (?P<package>[\w.]+) )?import (?P<names>\([^)]*\)|[^\n]*)", re.MULTILINE)


def room(path: str) -> str:
    """The room of a file: `nodes/routing` of `nodes/routing/link.py`, `nodes` of `nodes/config.py`."""
    parts = PurePosixPath(path).parts
    nested = parts[0] in ("nodes", "testbed") and len(parts) > 2
    return "/".join(parts[:2]) if nested else parts[0]


@cache
def strings(text: str) -> tuple[str, ...]:
    """The texts in a module's code; docstrings and comments are none of them."""
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone)
    return tuple(node.value for node in found if isinstance(node.value, str))


@cache
def started(text: str) -> frozenset[str]:
    """What a module's texts name: modules, and what programs in them import; as paths."""
    whole = {found.replace(".", "/") for found in strings(text) if _MODULE.fullmatch(found)}
    return frozenset(whole.union(*(modules(found) for found in strings(text) if "import" in found)))


@cache
def modules(text: str) -> frozenset[str]:
    """What a module imports, at its top or within functions, as paths; some may be names in modules."""
    names = set()
    for found in _IMPORT.finditer(text):
        package = found["package"]
        listed = re.findall(r"[\w.]+", found["names"].partition("#")[0])
        names |= {package, *(f"{package}.{name}" for name in listed)} if package else set(listed)
    return frozenset(name.replace(".", "/") for name in names)


def imported(text: str, rooms: Iterable[str]) -> set[str]:
    """The rooms that a module imports, or names in its texts."""
    known = set(rooms)
    pairs = (("/".join(path.split("/")[:2]), path.split("/")[0]) for path in modules(text) | started(text))
    return {nested if nested in known else outer for nested, outer in pairs} & known


def surroundings(test: str, texts: Mapping[str, str]) -> set[str]:
    """A test file, the conftests above it, and what they import of `tests`."""
    # Not the one of all tests, whose fixtures find out what the machine can do.
    above = [folder for folder in PurePosixPath(test).parents if len(folder.parts) > 1]
    found = {str(folder / "conftest.py") for folder in above} & set(texts)
    waiting = [test, *found]
    while waiting:
        near = {f"{path}.py" for path in modules(texts[waiting.pop()])} & set(texts)
        waiting += [path for path in near - found if path.startswith("tests/")]
        found |= near
    return {path for path in found if path.startswith("tests/")} | {test}


def dependencies(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """The rooms that each room imports, directly or through others, itself among them."""
    found: dict[str, set[str]] = {room(path): {room(path)} for path in texts if path.startswith(PARTS)}
    for path in texts:
        if path.startswith(PARTS) and path.endswith((".py", ".pyx")):
            # Cython is not Python, but rooms of compiled code import no other.
            found[room(path)] |= imported(texts[path], found) if path.endswith(".py") else set()
    for _ in found:  # as often as a chain of imports can be long
        for reached in found.values():
            reached |= {far for near in list(reached) for far in found[near]}
    return found


def digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Of each test file, and all that it depends on."""
    tests = [path for path in texts if path.startswith("tests/") and Path(path).name.startswith("test_")]
    shared = [path for path in texts if path.startswith(_SHARED) and path not in tests]
    reached = dependencies(texts)
    each = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}
    rooms: dict[str, list[str]] = {name: [] for name in reached}
    for path in texts:
        if path.startswith(PARTS):
            rooms[room(path)].append(path)
    found = {}
    for test in tests:
        around = surroundings(test, texts)
        # Programs that are compiled over the kernels' headers contain nothing else.
        compiled = {"fastpath"} if _HARNESSES in around else set()
        about = [texts[path] for path in around if path != _HARNESSES]
        near = {name for text in about for name in imported(text, reached)} | compiled
        far = {name for start in near for name in reached[start]}
        if any(_PYTHON in text and not started(text) for text in about):
            far = set(rooms)
        paths = [test, *shared, *(path for name in far for path in rooms[name])]
        if test.startswith(_READING) or any(
            _READERS.search(found) for text in about for found in strings(text)
        ):
            paths = [*texts]
        lines = sorted(f"{path} {each[path]}" for path in paths)
        found[test] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return found


@cache
def _tree() -> dict[str, str]:
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    files = [name for name in names.stdout.split("\0") if name and (ROOT / name).is_file()]
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", errors="replace") for name in files}
    return digests(texts)


@cache
def _passed() -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads(PASSED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known


def _is_unchanged(test: str) -> bool:
    return test in _passed() and _passed()[test] == _tree().get(test)


def pytest_configure() -> None:
    """Take the digests before anything is run: what is changed meanwhile has not been tested."""
    _tree()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not even import what has not changed."""
    name = collection_path.relative_to(ROOT).as_posix() if collection_path.is_relative_to(ROOT) else ""
    return True if _is_unchanged(name) else None


_ran: dict[str, bool] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note whether all tests of a file passed, of those that could run."""
    test = report.nodeid.partition("::")[0]
    _ran[test] = _ran.get(test, True) and not report.failed


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember what passed, if all was run that was to be run."""
    if hasattr(session.config, "workerinput"):
        return
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        tree = _tree()
        passed = {test: tree[test] for test, well in _ran.items() if well and test in tree}
        kept = {test: digest for test, digest in _passed().items() if _ran.get(test, True)}
        PASSED.parent.mkdir(exist_ok=True)
        PASSED.write_text(json.dumps(kept | passed, indent=1), encoding="utf-8")
