"""A disk that is full is named as that, in an emulated run and in an analysis."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOME = """\
name: some
topology: {generate: ring, size: 4}
populations:
  sub: {count: 4, subscribe: [all]}
  pub: {count: 2, publish: [{message: x = 1, every: 1ms, count: 1000}]}
"""
CBN = f"{sys.executable} -m testbed.cli"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def on_small_disk(tmp_path: Path) -> Any:
    """`on_small_disk(kilobytes, commands)`: carried out on a private disk of that size."""
    (tmp_path / "small").mkdir()
    (tmp_path / "some.yaml").write_text(SOME)

    def carry_out(kilobytes: int, commands: str) -> subprocess.CompletedProcess[str]:
        mount = f"mount -t tmpfs -o size={kilobytes}k none small && cd small && {commands}"
        return subprocess.run(
            ["unshare", "--mount", "bash", "-c", mount],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return carry_out


@pytest.mark.emu
def test_a_full_disk_ends_an_emulated_run_and_is_named(on_small_disk: Any) -> None:
    done = on_small_disk(1000, f"{CBN} run ../some.yaml --world emu --quiet --out out")
    assert done.returncode == 4
    assert "No space left on device; make room, or name another place with --out" in done.stderr


@pytest.mark.emu
@pytest.mark.spark
def test_a_full_disk_ends_an_analysis_and_is_named(on_small_disk: Any, tmp_path: Path) -> None:
    run = [*CBN.split(), "run", "some.yaml", "--world", "sim", "--out", "out", "--quiet"]
    subprocess.run(run, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    taken = subprocess.run(["du", "-sk", "out"], cwd=tmp_path, check=True, capture_output=True, text=True)
    size = int(taken.stdout.split()[0]) + 150
    done = on_small_disk(size, f"cp -r ../out . && {CBN} analyze out --quiet")
    assert done.returncode == 4
    assert "out: Spark gave up: No space left on device: make room where the run is" in done.stderr
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["outcome"] == "complete"
