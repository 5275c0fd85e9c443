"""What import-linter cannot see: the imports of Cython sources and the includes of C++ headers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("cbn", "nodes", "topologies", "testbed", "analysis", "logging", "scapy")
IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+([\w.]+)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def test_kernels_import_no_other_room() -> None:
    sources = sorted((ROOT / "fastpath").rglob("*.py[xd]"))
    named = [(p.name, m) for p in sources for m in IMPORT.findall(p.read_text(encoding="utf-8"))]
    assert [(file, module) for file, module in named if module.split(".")[0] in ROOMS] == []


def test_headers_include_only_headers_of_their_room() -> None:
    folder = ROOT / "fastpath"
    named = [(p.name, m) for p in sorted(folder.rglob("*.hpp")) for m in INCLUDE.findall(p.read_text())]
    assert [(file, header) for file, header in named if not (folder / header).is_file()] == []


def test_every_kernel_has_a_stub_that_says_what_it_offers() -> None:
    # That of a package's only kernel is the package's own: it offers the same.
    kernels = sorted((ROOT / "fastpath").rglob("*.pyx"))
    stubs = [(p.with_suffix(".pyi"), p.with_name("__init__.pyi")) for p in kernels]
    without = [k for k, either in zip(kernels, stubs, strict=True) if not any(s.is_file() for s in either)]
    assert [p.name for p in without] == []


def test_what_a_kernel_does_is_said_in_the_kernel_and_not_in_its_stub() -> None:
    found = [(p, node) for p in sorted((ROOT / "fastpath").rglob("*.pyi")) for node in said_in(p)]
    assert [f"{path.parent.name}/{path.name}: {name}" for path, name in found] == []


def said_in(stub: Path) -> list[str]:
    """The classes and functions with a docstring; what only the stub declares, a protocol, may have one."""
    nodes = [
        n for n in ast.walk(ast.parse(stub.read_text())) if isinstance(n, (ast.ClassDef, ast.FunctionDef))
    ]
    return [n.name for n in nodes if ast.get_docstring(n) and not of_protocol(n)]


def of_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        isinstance(b, ast.Name) and b.id == "Protocol" for b in node.bases
    )
