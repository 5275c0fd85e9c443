"""The tree itself: nothing in it that ties it to one machine, and no test that depends on another."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Written in parts, or this file would be the first to be found.
HOSTS = re.compile(
    "|".join(
        map(
            re.escape,
            [
                "py" + "pi.org",
                "python" + "hosted.org",
                "deb." + "debian.org",
                "registry." + "npm" + "js.org",
                "repo1." + "maven.org",
                "vagrant" + "cloud.com",
                "app.vagrant" + "up.com",
            ],
        )
    )
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(?:" + "|".join(["ho" + "me", "wo" + "rk", "ro" + "ot", "User" + "s"]) + r")/\w"
)


def tracked() -> list[Path]:
    """Every file that a clone brings."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for name in names.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def found(pattern: re.Pattern[str]) -> list[str]:
    """Where the pattern stands in the tree, as file:line: text."""
    places = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        lines = enumerate(text.splitlines(), 1) if pattern.search(text) else ()
        places += [
            f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for n, line in lines if pattern.search(line)
        ]
    return places


def test_no_package_registry_is_named_so_that_the_users_own_configuration_decides() -> None:
    assert found(HOSTS) == []


def test_no_path_of_a_build_machine_is_named() -> None:
    assert found(MACHINE_PATHS) == []


def test_no_test_imports_another_test() -> None:
    lines = [
        line
        for path in tracked()
        if path.is_relative_to(ROOT / "tests") and path.suffix == ".py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(from|import) test_", line)
    ]
    assert lines == []
