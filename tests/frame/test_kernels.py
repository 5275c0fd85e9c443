"""What import-linter cannot see: the imports of Cython sources and the includes of C++ headers."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("nodes", "topologies", "testbed", "analysis", "logging", "scapy")
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
