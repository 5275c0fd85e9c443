"""Setting a machine up: what the scripts behind `make` say and do when something is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def call(command: list[str], folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run with this environment on top of the machine's, without a terminal."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        command,
        cwd=folder,
        env=clean | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def script(folder: Path, name: str, text: str) -> None:
    """Put a command into a folder that comes first in PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What setting up needs of the tree, readable by anybody."""
    copy = tmp_path / "tree"
    for name in ("requirements", ".ci"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("Makefile", "packages.apt", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, copy)
    (copy / "bin").mkdir()
    # pytest's folders are private to whoever runs it: those of the run, and of its workers.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and "pytest" in str(folder):
            folder.chmod(0o755)
    return copy


def packages() -> list[str]:
    """The names in packages.apt."""
    return [line for line in (ROOT / "packages.apt").read_text().splitlines() if line and line[0] != "#"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: cannot become somebody with fewer rights")
def test_without_root_the_missing_packages_are_named_with_the_command_that_gets_them(tree: Path) -> None:
    present = packages()[:-1]
    script(tree / "bin", "dpkg-query", "\n".join(f"echo installed {name}" for name in present))
    script(tree / "bin", "sudo", "exit 1")
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    done = call([*NOBODY, "env", f"PATH={path}", "requirements/apt-install"], tree)
    assert done.returncode == 0
    assert f"apt-get install --no-install-recommends {packages()[-1]}\n" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: apt-get would be called through sudo")
def test_only_what_is_missing_is_installed_and_only_then_are_lists_fetched(tree: Path) -> None:
    script(tree / "bin", "dpkg-query", "\n".join(f"echo installed {name}" for name in packages()[1:]))
    script(tree / "bin", "apt-get", f'echo "$@" >> {tree}/calls')
    done = call(["requirements/apt-install"], tree, PATH=f"{tree / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    update, install = (tree / "calls").read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(f" install --no-install-recommends {packages()[0]}")


def test_nothing_is_printed_or_fetched_when_nothing_is_missing(tree: Path) -> None:
    script(tree / "bin", "dpkg-query", "\n".join(f"echo installed {name}" for name in packages()))
    script(tree / "bin", "apt-get", "echo called")
    done = call(["requirements/apt-install"], tree, PATH=f"{tree / 'bin'}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: apt-get would be called through sudo")
def test_a_failing_apt_shows_its_last_words_and_what_to_look_at(tree: Path) -> None:
    script(tree / "bin", "dpkg-query", "exit 0")
    script(tree / "bin", "apt-get", "echo Could not resolve host; exit 100")
    done = call(["requirements/apt-install"], tree, PATH=f"{tree / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "Could not resolve host" in done.stderr
    assert "no network" in done.stderr


def test_a_missing_compiler_is_named_before_anything_is_fetched() -> None:
    done = call([".ci/can-build", sys.executable], CXX="/nowhere/g++")
    assert done.returncode == 1
    assert "no C++ compiler (/nowhere/g++)" in done.stderr


def test_packages_that_cannot_be_fetched_end_the_set_up_with_the_reason(tree: Path) -> None:
    script(tree / "bin", "dpkg-query", "\n".join(f"echo installed {name}" for name in packages()))
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    done = call(["make", "build"], tree, PATH=path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tree))
    assert done.returncode != 0
    assert "pip could not install requirements/build.txt" in done.stderr + done.stdout
    assert not (tree / ".venv/stamps/build").exists()


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Debian Python here")
def test_the_systems_python_comes_before_another_one_in_path(tree: Path) -> None:
    system = call(["/usr/bin/python3", "-c", "import sys; print(sys.version_info >= (3, 11))"]).stdout.strip()
    script(tree / "bin", "python3", "exit 0")
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    done = call(["make", "--eval", "show:; echo $(PYTHON)", "show"], tree, PATH=path)
    assert done.stdout.strip() == ("/usr/bin/python3" if system == "True" else "python3")


def test_help_lists_every_command() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"^\.PHONY: ([a-z-]+)$", makefile, re.MULTILINE)) - {
        "packages",
        "tools",
        "check-tests",
    }
    shown = set(re.findall(r"^  make ([a-z-]+) ", call(["make"]).stdout, re.MULTILINE))
    assert shown == commands


@pytest.mark.parametrize("failing", ["verify", "test"])
def test_the_gate_fails_if_any_of_its_parts_does(tree: Path, failing: str) -> None:
    script(tree / "bin", "make", f'echo "make $1"; [ "$1" != {failing} ]')
    done = call([".ci/run"], tree, PATH=f"{tree / 'bin'}:{os.environ['PATH']}")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == f"make {failing}"


def test_what_root_made_in_the_tree_is_given_back_to_its_owner(tree: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not root: nothing to give back")
    for path in [tree, *tree.rglob("*")]:
        os.chown(path, 65534, 65534)
    script(tree / "bin", "sudo", '[ "$1" = -n ] && exit 0; echo "$@" >> calls')
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    done = call([*NOBODY, "env", f"PATH={path}", "requirements/as-root", "touch", "made"], tree)
    assert done.returncode == 0, done.stderr
    ran, gave_back = (tree / "calls").read_text().splitlines()
    assert ran.endswith("touch made")
    assert ":/usr/sbin" in ran
    assert "-user root" in gave_back
    assert "65534:65534" in gave_back
