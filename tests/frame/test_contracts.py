"""The import contracts of pyproject.toml hold, and each of them would notice being broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["importlinter"]["root_packages"]

VIOLATIONS = {
    "The fast path knows no other room": ("fastpath", "import nodes.model"),
    "The model is standard library alone": ("nodes/model", "import nodes.routing"),
    "The wire room opens no socket and knows no router": ("nodes/wire", "import socket"),
    "Only the layer file imports Scapy": ("nodes/daemon", "from scapy.packet import Packet"),
    "Routing is sans-IO": ("nodes/routing", "import time"),
    "Markings are computed from trees and numbers alone": ("nodes/matchmaker", "import nodes.routing"),
    "A router needs no solver": ("nodes/routing", "import nodes.matchmaker.optimum"),
    "Nodes know nothing of the testbed": ("nodes/daemon", "import testbed.plan"),
    "No honest node comes where attackers are": ("nodes/routing", "import nodes.attacks.heard"),
    "The name cbn stands for nodes alone": ("cbn", "import testbed.plan"),
    "No room imports the name cbn": ("nodes/client", "import cbn"),
    "Topologies are pure graph code": ("topologies", "import subprocess"),
    "A plan starts nothing": ("testbed/plan", "import mininet.net"),
    "The simulator has no real clock and no real socket": ("testbed/sim", "import time"),
    "The emulator does not look inside a router": ("testbed/emu", "import nodes.routing"),
    "What decides about a network does not make it": ("testbed/live", "import testbed.emu"),
    "The analysis reads runs and nothing else": ("analysis", "import testbed.runs"),
    "A quick verdict needs no Spark": ("analysis/quick", "import pyspark.sql"),
    "The engine that forwards does not judge itself": ("analysis/matching.py", "import fastpath.wire"),
    "Figures are drawn with the standard library": ("analysis/figures", "import nodes.model"),
    "The experiments of papers measure what is in this process": (
        "testbed/experiments",
        "import analysis.pipeline",
    ),
}
"""Per contract: in which room, or which file, one line would break it, and the line."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the tree in `folder`."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def broken_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the rooms in which every contract is broken once."""
    tree = tmp_path_factory.mktemp("broken")
    shutil.copy(ROOT / "pyproject.toml", tree)
    for room in ROOMS:
        shutil.copytree(
            ROOT / room, tree / room, ignore=shutil.ignore_patterns("*.so", "*.cpp", "__pycache__")
        )
    for place, line in VIOLATIONS.values():
        file = tree / place if place.endswith(".py") else tree / place / "intruder.py"
        with file.open("a") as out:
            out.write(f"{line}\n")
    return tree


def test_the_rooms_import_only_what_they_may() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_notices_a_violation(broken_tree: Path) -> None:
    report = lint(broken_tree).stdout
    kept = [name for name in VIOLATIONS if f"{name} BROKEN" not in report]
    assert kept == [], report


def test_every_contract_has_a_violation_to_notice() -> None:
    names = [contract["name"] for contract in PROJECT["tool"]["importlinter"]["contracts"]]
    assert sorted(names) == sorted(VIOLATIONS)
