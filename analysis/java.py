"""Finding the Java that Spark needs, or saying how to get it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from analysis import AnalysisError

OLDEST = 17
SEARCHED = Path("/usr/lib/jvm")
ADVICE = f"PySpark needs Java {OLDEST} or newer: apt-get install openjdk-17-jre-headless, or set JAVA_HOME"


def find_java(environ: Mapping[str, str], searched: Path = SEARCHED) -> Path:
    """The home of a Java that is new enough: JAVA_HOME, the PATH's, or an installed one.

    A JAVA_HOME that is set is meant: if it will not do, that is an error, not a
    reason to look elsewhere.

    Raises:
        AnalysisError: there is none.
    """
    if environ.get("JAVA_HOME"):
        return _named(Path(environ["JAVA_HOME"]))
    found = [f"{home}: Java {java_version(home)}" for home in _candidates(environ, searched)]
    for home in _candidates(environ, searched):
        if (java_version(home) or 0) >= OLDEST:
            return home
    raise AnalysisError(f"{ADVICE} (found {', '.join(found) or 'no Java'})")


def java_version(home: Path) -> int | None:
    """Major version of the Java at `home`; None if there is none."""
    if not (home / "bin" / "java").exists():
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.exists() else _ask(home)
    match = re.search(r'version[= ]"?(?:1\.)?(\d+)', text, re.IGNORECASE)
    return int(match.group(1)) if match else None


def _named(home: Path) -> Path:
    version = java_version(home)
    if version is None:
        raise AnalysisError(f"JAVA_HOME is {home}, but there is no Java there. {ADVICE}")
    if version < OLDEST:
        raise AnalysisError(f"JAVA_HOME is {home}, which is Java {version}. {ADVICE}")
    return home


def _candidates(environ: Mapping[str, str], searched: Path) -> Iterator[Path]:
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path).resolve().parent.parent
    yield from sorted(p for p in searched.glob("*") if p.is_dir() and not p.is_symlink())


def _ask(home: Path) -> str:
    answer = subprocess.run(
        [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=False
    )
    return answer.stderr + answer.stdout
