"""Machines that only run networks lack the packages of the analysis: `cbn run` works there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BLOCKED = """\
import sys
for name in ("numpy", "pandas", "pyarrow", "pyspark"):
    sys.modules[name] = None
from testbed.cli.main import main
sys.exit(main(["run", sys.argv[1], "--world", "sim", "--no-judge", "--quiet", "--out", "out"]))
"""


def test_a_scenario_is_run_where_the_packages_of_the_analysis_are_missing(tiny: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", BLOCKED, str(tiny)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "complete" in done.stdout
