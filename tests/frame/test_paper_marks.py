"""Marks such as E7 or FWD 4.3 have an entry in docs/papers.md, and its code and tests exist."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
SCANNED = ("analysis", "cbn", "docs", "fastpath", "nodes", "testbed", "tests", "topologies")

# A letter of the page and a number that stand alone: not in a hexadecimal number, a name or a format.
MARK = re.compile(r"(?<![\w.:#%$/+])[MSFPTDKE][1-9]\d?(?![\w%]|[.:/]\w)")
SECTION = re.compile(r"\b([A-Z]{2,3}) (\d(?:\.\d)+)(?!\.?\d)")
ENTRY = re.compile(r"^### ([A-Z]\d+): .*$", re.MULTILINE)
PAPER = re.compile(r"^\| ([A-Z]{2,3}) \| .* \| ([^|]*) \|$", re.MULTILINE)


def prose_of_python(text: str) -> str:
    """Comments, and strings of more than one word."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kinds = {tokenize.COMMENT, tokenize.STRING}
    return "\n".join(t.string for t in tokens if t.type in kinds and " " in t.string)


def prose(suffix: str, text: str) -> str:
    """What is written for people in a file of this kind."""
    if suffix in {".py", ".pyi", ".pyx", ".pxd", ".pxi"}:
        return prose_of_python(text)
    if suffix in {".hpp", ".cpp"}:
        return "\n".join(re.findall(r"//.*", text))
    if suffix == ".md":
        return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return text if suffix in {".yaml", ".lua"} else ""


def sections() -> dict[str, list[str]]:
    """The sections of each paper."""
    return {name: listed.split() for name, listed in PAPER.findall(PAGE.read_text(encoding="utf-8"))}


def entries() -> dict[str, str]:
    """Mark -> what stands below its heading."""
    parts = ENTRY.split(PAGE.read_text(encoding="utf-8"))
    bodies = (re.split(r"^#", body, maxsplit=1, flags=re.MULTILINE)[0] for body in parts[2::2])
    return dict(zip(parts[1::2], bodies, strict=True))


def unknown(text: str) -> list[str]:
    """Marks without an entry, and sections that the paper named does not have."""
    known, papers = entries(), sections()
    marks = [m for m in MARK.findall(text) if m not in known]
    return marks + [f"{p} {s}" for p, s in SECTION.findall(text) if s not in papers.get(p, ())]


def named(entry: str) -> list[str]:
    """The files, folders and tests of an entry."""
    return re.findall(r"`((?:analysis|fastpath|nodes|testbed|tests|topologies)/[^`]*)`", entry)


def functions_in(path: Path) -> set[str]:
    """The functions of a file, also in classes."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef)}


def test_every_mark_has_an_entry() -> None:
    listed = subprocess.run(
        ["git", "ls-files", *SCANNED, "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    missing = {}
    for name in listed.stdout.split():
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            found = unknown(prose(path.suffix, path.read_text(encoding="utf-8", errors="replace")))
            missing |= {name: found} if found else {}
    assert missing == {}, "explain these marks in docs/papers.md"


@pytest.mark.parametrize(
    ("suffix", "text", "found"),
    [
        (".py", "# As in E77 and M4.", ["E77"]),
        (".py", '"""Reverse paths (E7, S9-S11)."""', ["S9", "S11"]),
        (".py", '"""As FWD 4.9 says, and RTE 3.1."""', ["FWD 4.9"]),
        (".py", '"""As XYZ 4.1 says."""', ["XYZ 4.1"]),
        (".hpp", "int E77 = 0;  // see K99", ["K99"]),
        (".md", "A page on T42.\n```\nE77\n```\n", ["T42"]),
        (".yaml", "claim: as expected (F77)", ["F77"]),
        (".py", "M2 = 0xE4 + D99  # 0xE4, E4:AB, M2.x, p.S77, FE80, 2E10, %M12", []),
    ],
)
def test_an_unknown_mark_is_noticed_and_what_only_looks_like_one_is_not(
    suffix: str, text: str, found: list[str]
) -> None:
    assert unknown(prose(suffix, text)) == found


@pytest.mark.parametrize("mark", entries())
def test_an_entry_names_a_paper_code_and_tests_that_exist(mark: str) -> None:
    entry = entries()[mark]
    assert re.match(rf"\s*({'|'.join(sections())}) \d", entry), (
        f"{mark}: it should begin with a paper's section"
    )
    assert unknown(entry) == []
    missing, tests = [], 0
    for name in named(entry):
        file, _, test = name.partition("::")
        tests += bool(test)
        if not (ROOT / file).exists() or (test and test not in functions_in(ROOT / file)):
            missing.append(name)
    assert missing == [], f"{mark} in docs/papers.md names what is not there"
    assert 0 < tests < len(named(entry)), f"{mark}: it should name code and a test"


def test_no_entry_stands_twice() -> None:
    marks = ENTRY.findall(PAGE.read_text(encoding="utf-8"))
    assert len(marks) == len({*marks}) > 50
