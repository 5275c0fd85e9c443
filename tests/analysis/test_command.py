"""`python -m analysis`, from outside: what it prints, where, and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
FROM_ELSEWHERE = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from analysis.__main__ import main; sys.exit(main())"
)


def command(*arguments, cwd, **environ):
    """Run from a directory where no import finds the project by accident, workers' least of all."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-c", FROM_ELSEWHERE, *map(str, arguments)],
        cwd=cwd,
        env=kept | environ,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_what_is_no_run_is_refused_before_anything_starts(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert "not a run directory" in output.err
    assert output.out == ""


def test_without_java_the_command_says_how_to_get_it(hand_made, tmp_path):
    done = command(hand_made.write(), cwd=tmp_path, JAVA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "apt-get install openjdk-17-jre-headless" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spark
def test_a_run_is_analysed_from_anywhere_and_only_our_own_lines_are_printed(hand_made, tmp_path):
    hand_made.subscribe("a", "x = 1")
    hand_made.publish(1, "x = 1", 1_000)
    hand_made.deliver("r1", "a", 1, "x = 1", 1_100, hops=1)
    path = hand_made.write()
    done = command(path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((path / "verdict.json").read_text())
    assert [line for line in done.stderr.splitlines() if not line.startswith("analysis: ")] == []
    assert (path / "logs" / "analysis.log").exists()
