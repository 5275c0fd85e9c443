"""The archive of Spark's classes: it is used where there is one, and what goes wrong with it is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import AnalysisError, archive
from analysis.java import find_java
from analysis.session import start_session

pytestmark = pytest.mark.spark
MAPPED = """
from pathlib import Path
from pyspark import SparkContext
from analysis import archive
from analysis.session import start_session
start_session({captured_bytes})
java = SparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()
print(str(archive.place()) in Path(f"/proc/{{java}}/maps").read_text())
"""


@pytest.mark.parametrize("captured_bytes", [1_000, 10**9])
def test_spark_starts_with_the_archive_that_building_has_made(captured_bytes: int) -> None:
    if not archive.place().is_file():
        subprocess.run([sys.executable, "-m", "testbed.cli", "spark", "archive"], check=True)
    script = MAPPED.format(captured_bytes=captured_bytes)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


def test_a_file_that_is_no_archive_is_not_used_and_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert archive.words_to_use_it() == ""
    archive.place().parent.mkdir(parents=True)
    archive.place().write_text("no archive")
    words = [word.strip('"') for word in archive.words_to_use_it().split()]
    java = find_java(os.environ) / "bin" / "java"
    done = subprocess.run([java, *words, "-version"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith("openjdk version")
    assert len(done.stderr.splitlines()) == 3


def test_where_it_cannot_be_written_is_said_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share").write_text("a file where the folder would be")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    with pytest.raises(OSError, match="share"):
        archive.make(lambda words: pytest.fail(f"Spark would start with {words}"))


def test_a_java_process_that_runs_already_cannot_note_what_it_loads() -> None:
    start_session(1_000)
    with pytest.raises(AnalysisError, match="runs in this process already"):
        archive.make(lambda words: pytest.fail(f"Spark would start with {words}"))


def test_java_that_does_not_write_it_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    archive.place().parent.mkdir(parents=True)
    archive.place().write_text("the earlier one")
    with pytest.raises(AnalysisError, match="Spark has not started"):
        archive.make(lambda _: None)
    assert archive.place().read_text() == "the earlier one"
    assert [path.name for path in archive.place().parent.iterdir()] == [archive.place().name]
