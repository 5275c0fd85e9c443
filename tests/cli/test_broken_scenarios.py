"""A broken scenario gives located errors and exit code 2, and nothing is started."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.exits import CommandError
from testbed.cli.scenario import find
from topologies.library import SCENARIOS

GOOD = """\
name: good
topology:
  routers: [r1, r2]
  links: [r1 - r2]
clients:
  bob: {at: r2, subscribe: [price < 50]}
"""

BROKEN = {
    "an empty file": ("", "empty"),
    "not YAML": ("name: [", "YAML"),
    "not a mapping": ("- a\n- b\n", ""),
    "an unknown key": (GOOD + "sceme: pif\n", "sceme"),
    "a wrong type": (GOOD + "seed: many\n", "seed"),
    "a missing key": (GOOD.replace("name: good\n", ""), "name"),
    "an undefined router of a link": (GOOD.replace("[r1 - r2]", "[r1 - r9]"), "r9"),
    "an undefined router of a client": (GOOD.replace("at: r2", "at: r7"), "r7"),
    "a disconnected graph": (GOOD.replace("[r1 - r2]", "[]"), "r2"),
    "a duplicate router": (GOOD.replace("[r1, r2]", "[r1, r2, r1]"), "r1"),
    "a client named as a router": (GOOD.replace("bob:", "r1:"), "r1"),
    "a duplicate key": (GOOD + "name: again\n", "name"),
    "a bad predicate": (GOOD.replace("price < 50", "price << 50"), "column"),
    "a negative delay": (GOOD.replace("[r1 - r2]", "[{between: [r1, r2], delay: -5ms}]"), "delay"),
    "a delay without a unit": (GOOD.replace("[r1 - r2]", "[{between: [r1, r2], delay: 5}]"), "delay"),
    "an unknown scheme": (GOOD + "scheme: magic\n", "magic"),
    "a loss above one": (GOOD.replace("[r1 - r2]", "[{between: [r1, r2], loss: 1.5}]"), "loss"),
    "bytes that are no text": (b"\xff\xfe\x00name: x", ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_scenario_starts_nothing(kind: str, cbn_here: Any, tmp_path: Path) -> None:
    content, word = BROKEN[kind]
    path = tmp_path / "broken.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = cbn_here("run", path, "--world", "sim", "--out", "out")
    assert done.returncode == 2, done.stderr
    assert "nothing was started" in done.stderr
    assert re.search(r"broken\.yaml(:\d+:\d+)?: ", done.stderr)
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.yaml"]


def test_all_that_is_wrong_is_reported_at_once(cbn_here: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(GOOD.replace("at: r2", "at: r7").replace("price < 50", "price <") + "seed: many\n")
    done = cbn_here("run", path)
    assert done.returncode == 2
    for word in ("r7", "column", "seed"):
        assert word in done.stderr


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_scenario_that_is_not_there_is_met_with_those_that_are(command: str, cbn_here: Any) -> None:
    done = cbn_here(command, "quickstrat")
    assert done.returncode == 2
    assert "quickstart" in done.stderr


@pytest.mark.parametrize(
    ("override", "word"),
    [("seed", "KEY=VALUE"), ("=3", "KEY=VALUE"), ("sceme=pif", "sceme"), ("seed=many", "seed")],
)
def test_a_wrong_override_is_an_error_of_the_option(
    override: str, word: str, cbn_here: Any, tiny: Path
) -> None:
    done = cbn_here("run", tiny, "--set", override, "--world", "sim")
    assert done.returncode == 2
    assert "--set" in done.stderr
    assert word in done.stderr


def test_a_folder_is_no_scenario(cbn_here: Any, tmp_path: Path) -> None:
    done = cbn_here("run", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


def test_a_folder_does_not_hide_the_shipped_scenario_of_its_name(cbn_here: Any, tmp_path: Path) -> None:
    (tmp_path / "quickstart").mkdir()
    assert "6 routers" in cbn_here("show", "quickstart").stdout


def test_a_scenario_is_found_by_name_and_by_path_a_file_of_that_name_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find("quickstart") == SCENARIOS / "quickstart.yaml"
    with pytest.raises(CommandError, match="no such file and no shipped scenario"):
        find("some/where.yaml")
    monkeypatch.chdir(tmp_path)
    Path("quickstart").touch()
    assert find("quickstart") == Path("quickstart")
