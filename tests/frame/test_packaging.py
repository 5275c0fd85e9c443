"""The package: what is pinned, what is packed, and what is promised to be there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["importlinter"]["root_packages"]
LAYERS = ("build", "runtime", "tables", "analysis", "dev")


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(*layers: str) -> list[tuple[str, str]]:
    """(name, version) of every line of the requirement files."""
    texts = [
        (ROOT / "requirements" / f"{layer}.txt").read_text(encoding="utf-8") for layer in layers or LAYERS
    ]
    lines = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []
    return [(name, version) for name, _, version in (line.partition("==") for line in lines)]


def declared() -> list[Requirement]:
    """What pyproject.toml asks for, in all its groups."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = [PROJECT["build-system"]["requires"], PROJECT["project"]["dependencies"], *extras]
    return [Requirement(text) for group in groups for text in group]


def test_every_requirement_is_pinned_once_to_a_version_that_it_allows() -> None:
    found = pins(*LAYERS, "fuzz")
    pinned = dict(found)
    assert len(pinned) == len(found)
    wrong = [str(r) for r in declared() if not r.specifier.contains(pinned.get(normal(r.name), "0"), True)]
    assert wrong == []


def test_the_pins_are_closed_and_installed() -> None:
    pinned = dict(pins())
    assert {n: v for n, v in pinned.items() if metadata.version(n) != v} == {}
    needs = [Requirement(text) for name in pinned for text in metadata.requires(name) or ()]
    active = [r for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert sorted({normal(r.name) for r in active} - set(pinned)) == []


SCRIPTS = ROOT / "topologies" / "mininet"
"""Scripts that Mininet's users run and change; no module imports them."""


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {p.parent for room in ROOMS for p in (ROOT / room).rglob("*.py")} - {SCRIPTS}
    assert sorted(str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").is_file()) == []


def test_a_wheel_carries_every_data_file(tmp_path: Path) -> None:
    # Without the extensions: their build is a step of its own and takes minutes under sanitizers.
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    copy = tmp_path / "tree"
    for name in tracked.split():
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "."]
    environment = {"CBN_EXT": "none", "PATH": "/usr/bin:/bin"}
    subprocess.run([*command, "--wheel-dir", str(tmp_path)], cwd=copy, env=environment, check=True)
    packed = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    owed = {name for name in tracked.split() if name.split("/")[0] in ROOMS and (copy / name).is_file()}
    assert sorted(owed - packed) == []


def test_debian_packages_stand_one_a_line_and_once() -> None:
    lines = (ROOT / "packages.apt").read_text(encoding="utf-8").splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    assert [n for n in names if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", n)] == []
    assert len(set(names)) == len(names)
