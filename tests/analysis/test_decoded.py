"""A run whose captures machines have decoded is judged as one whose captures came home."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis import AnalysisError
from analysis.decoded import FOLDER, decode
from analysis.pipeline import analyze
from analysis.quick.judge import judge
from tests.judge.runs import carry_out

pytestmark = [pytest.mark.sim, pytest.mark.spark]

SCENARIO: dict[str, Any] = {
    "name": "decoded",
    "seed": 5,
    "scheme": "cbcb",
    "topology": {
        "routers": ["r1", "r2", "r3"],
        "links": ["r1 - r2", "r2 - r3", "r3 - r1"],
        "link_defaults": {"delay": "2ms"},
    },
    "clients": {
        "alice": {"at": "r1", "publish": [{"every": "10ms", "count": 200, "message": {"n": {"count": 0}}}]},
        "bob": {"at": "r2", "subscribe": ["n < 150"]},
        "carol": {"at": "r3", "subscribe": ["n >= 50"]},
    },
    "faults": [{"at": "1500ms", "link_down": "r1 - r2"}],
    "timing": {"settle": "100ms"},
}
MACHINES = {"one": ("r1", "r2"), "two": ("r3",)}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("captured"))


def on_machine(run: Path, routers: tuple[str, ...], folder: Path) -> Path:
    """What a machine has of a run: its own captures, listed."""
    (folder / "captures").mkdir(parents=True)
    shutil.copy(run / "plan.json", folder)
    index = json.loads((run / "captures" / "index.json").read_text())
    index["interfaces"] = [row for row in index["interfaces"] if row["node"] in routers]
    (folder / "captures" / "index.json").write_text(json.dumps(index))
    for row in index["interfaces"]:
        for path in (run / "captures").glob(f"{row['file']}*"):
            shutil.copy(path, folder / "captures")
    return folder


@pytest.fixture
def decoded(captured: Path, tmp_path: Path) -> Path:
    """The run as it comes home from two machines."""
    run = Path(shutil.copytree(captured, tmp_path / "run"))
    shutil.rmtree(run / "captures")
    index = json.loads((captured / "captures" / "index.json").read_text())
    for name, routers in MACHINES.items():
        folder = on_machine(captured, routers, tmp_path / name)
        decode(folder)
        assert sorted(p.name for p in (folder / "captures").iterdir()) == [FOLDER, "index.json"]
        shutil.copytree(folder / "captures" / FOLDER, run / "captures" / FOLDER / name)
        for row in index["interfaces"]:
            if row["node"] in routers:
                row |= {"file": None, "files": [], "decoded": name}
    (run / "captures" / "index.json").write_text(json.dumps(index))
    return run


def rows(run: Path) -> dict[str, list[str]]:
    return {
        path.name: sorted(map(repr, pq.read_table(path).to_pylist())) for path in (run / "tables").iterdir()
    }


def test_tables_and_verdicts_are_those_of_the_captures(
    captured: Path, decoded: Path, spark: object, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(captured, tmp_path / "home"))
    assert judge(decoded) == judge(home)
    verdict = analyze(home)
    assert analyze(decoded) == verdict
    assert verdict["delivered"] > 100
    assert rows(decoded) == rows(home)
    assert analyze(decoded) == verdict  # once more, beside its own tables


def test_what_did_not_come_home_is_named_and_not_missing(decoded: Path, spark: object) -> None:
    shutil.rmtree(decoded / "captures" / FOLDER / "two")
    for verdict in (judge(decoded), analyze(decoded)):
        assert any("captures/decoded/two: No such file" in problem for problem in verdict["problems"])
        assert verdict["verdict"] == "doubtful"
        assert verdict["missing"] == 0
        assert verdict["unknown"] > 0


def test_rows_that_are_damaged_are_named(decoded: Path) -> None:
    (decoded / "captures" / FOLDER / "one" / "_ingested.json").write_text('{"parts": [{}]}')
    assert any("captures/decoded/one: damaged" in problem for problem in judge(decoded)["problems"])


def test_a_machine_that_cannot_decode_a_capture_keeps_all_of_them(captured: Path, tmp_path: Path) -> None:
    folder = on_machine(captured, ("r1", "r2"), tmp_path / "one")
    broken = next((folder / "captures").glob("r1-*.pcap"))
    broken.write_bytes(b"no capture at all, but some text that is long enough")
    before = sorted(p.name for p in (folder / "captures").iterdir())
    with pytest.raises(AnalysisError, match=broken.name):
        decode(folder)
    assert sorted(p.name for p in (folder / "captures").iterdir()) == before
