"""The same scenario and seed give the same bytes, whatever the hash seed and whoever runs it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodes.routing.schemes import SCHEMES

pytestmark = pytest.mark.sim

ROOT = Path(__file__).parents[2]
RANDOM = """\
name: random
topology:
  generate: grid
  width: 3
  height: 3
  link_defaults: {delay: 2ms, jitter: 1ms, loss: 0.05, rate: 5mbit}
clients:
  alice:
    at: r1
    subscribe: [price < 50, 'kind >* "a"']
    publish:
      - {message: {price: {uniform: [0, 99]}, kind: {choice: [ab, cd]}}, every: 3ms, count: 50, from: 0s}
  bob:
    at: r9
    subscribe: [{predicate: price >= 20, at: 50ms, until: 120ms}]
    publish: [{message: {price: {uniform: [0, 99]}}, every: 5ms, count: 30, from: 1ms}]
"""


def digests(folder: Path) -> dict[str, str]:
    """A digest of everything that has to be the same."""
    files = [folder / "events.jsonl", *sorted((folder / "captures").iterdir())]
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def run(scenario: str, out: Path, hash_seed: str, *more: str) -> dict[str, str]:
    command = [
        sys.executable,
        "-m",
        "testbed.cli",
        "run",
        scenario,
        "--world",
        "sim",
        "--out",
        str(out),
        "-q",
    ]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    subprocess.run([*command, *more], cwd=ROOT, env=environment, check=True, capture_output=True)
    return digests(out)


@pytest.mark.parametrize("name", ["quickstart", "random"])
def test_events_and_captures_are_the_same_byte_for_byte(name: str, tmp_path: Path) -> None:
    scenario = name
    if name == "random":
        (tmp_path / "random.yaml").write_text(RANDOM)
        scenario = str(tmp_path / "random.yaml")
    first, second = (run(scenario, tmp_path / h, h, "--seed", "1") for h in ("0", "4242"))
    assert first == second
    assert len(first) > 10


FAULTS = """\
faults:
  - {at: 20ms, link_down: r1 - r2}
  - {at: 60ms, crash: r5}
  - {at: 90ms, start: r5}
  - {at: 120ms, pause: r4}
  - {at: 150ms, resume: r4}
  - {at: 160ms, churn: {clients: 50%, times: 2, every: 100ms}}
timers: {hello_ms: 20, hold_ms: 100, retransmit_ms: 10, retransmit_max_ms: 50, install_delay_ms: 2}
"""
EVERY_SCHEME = """\
import sys
from nodes.routing.schemes import SCHEMES
from testbed.cli.main import main
for name in sorted(SCHEMES):
    command = ["run", sys.argv[1], "--world", "sim", "-q", "--no-judge", "--set", f"scheme={name}"]
    assert main([*command, "--out", f"{sys.argv[2]}/{name}"]) == 0, name
"""


def test_under_every_scheme_and_with_faults_too(tmp_path: Path) -> None:
    (tmp_path / "random.yaml").write_text(RANDOM + FAULTS)
    found = []
    for hash_seed in ("1", "31337"):
        out = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", EVERY_SCHEME, str(tmp_path / "random.yaml"), str(out)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
        )
        found.append({name: digests(out / name) for name in sorted(SCHEMES)})
    for name in SCHEMES:
        assert found[0][name] == found[1][name], name


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    first, second = (run("quickstart", tmp_path / s, "0", "--seed", s) for s in ("1", "2"))
    assert first["events.jsonl"] != second["events.jsonl"]


def test_the_simulator_needs_neither_mininet_nor_spark_nor_scapy_nor_java(tmp_path: Path) -> None:
    """They are made impossible to import, and there is no program on the PATH."""
    program = f"""
import sys
for name in ("mininet", "pyspark", "pyarrow", "pandas", "numpy", "scapy", "jinja2", "ansible"):
    sys.modules[name] = None
from testbed.cli.main import main
sys.exit(main(["run", "quickstart", "--world", "sim", "--out", {str(tmp_path / "run")!r}, "--quiet"]))
"""
    environment = {"PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "run") == run("quickstart", tmp_path / "again", "7")


NO_RIGHTS = ["unshare", "--user"]
"""An own user namespace that maps nobody: the files stay ours, root and its rights do not."""


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*NO_RIGHTS, "true"], check=False).returncode != 0,
    reason="not root, or root cannot be given up here: the other tests already run without it",
)
def test_the_simulator_needs_no_root(tmp_path: Path) -> None:
    (tmp_path / "random.yaml").write_text(RANDOM)
    run = ["-m", "testbed.cli", "run", str(tmp_path / "random.yaml"), "--world", "sim", "-q"]
    command = [*NO_RIGHTS, sys.executable, *run, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "events.jsonl").stat().st_size > 0
