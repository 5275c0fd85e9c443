"""`cbn workload` and `cbn bench match`: what they write, what they answer, what they refuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fastpath.bench import ALGORITHMS
from testbed.cli.commands.bench import warn_of_memory
from tests.benchmarks.reference_answers import answers

ROOT = Path(__file__).parents[2]

RESULT = re.compile(
    r"RESULT algorithm=(\w+) filters=(\d+) constraints=(\d+) interfaces=(\d+) messages=(\d+) build_s=[\d.]+ "
    r"bytes_per_constraint=[\d.]+ mean_us=[\d.]+ p50_us=[\d.]+ p99_us=[\d.]+ max_us=[\d.]+ matches=(\d+)\n"
)
SMALL = ("--filters", 400, "--messages", 30, "--names", 12, "--attributes", 1, 12, "--words", 30, "--quiet")


@pytest.fixture
def files(cbn: Any, tmp_path: Path) -> tuple[Path, Path]:
    """A small workload that matches often."""
    done = cbn("workload", "w", *SMALL)
    assert done.returncode == 0, done.stderr
    return tmp_path / "w" / "filters.txt", tmp_path / "w" / "messages.txt"


def bench(cbn: Any, files: tuple[Path, Path], *more: object) -> Any:
    done = cbn(
        "bench", "match", "--filters", files[0], "--messages", files[1], "--repeat", 1, "--quiet", *more
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("central", [(), ("--central",)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_F1_the_answers_are_those_of_the_model_byte_for_byte(
    algorithm: str, central: tuple[str, ...], cbn: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    named = ("--algorithm", algorithm, "--answers", tmp_path / "answers.txt", *central)
    done = bench(cbn, files, *named)
    expected = answers(files[0].read_text(), files[1].read_text(), central=bool(central))
    assert (tmp_path / "answers.txt").read_text() == expected
    found, filters, _, interfaces, messages, matches = RESULT.fullmatch(done.stdout).groups()
    assert (found, filters, interfaces, messages) == (algorithm, "400", "400" if central else "20", "30")
    assert int(matches) == sum(int(line.split()[0]) for line in expected.splitlines()) > 30


def test_the_digest_of_no_interface_is_where_fnv_starts(cbn: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f 5 1 a i= 1\nf 1 1 a i> 0\n")
    (tmp_path / "m").write_text("m 0\nm 1 a i 1\n")
    bench(cbn, (tmp_path / "f", tmp_path / "m"), "--answers", tmp_path / "answers.txt")
    start, factor = 1469598103934665603, 1099511628211
    both = ((start ^ 1) * factor ^ 5) * factor % 2**64
    assert (tmp_path / "answers.txt").read_text() == f"0 {start:016x}\n2 {both:016x}\n"


def test_fresh_strings_are_the_same_every_time_and_match_less(
    cbn: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    def matches(percent: int, name: str) -> tuple[int, str]:
        done = bench(cbn, files, "--fresh", percent, "--answers", tmp_path / name, "--json")
        return json.loads(done.stdout)["matches"], (tmp_path / name).read_text()

    assert matches(50, "first") == matches(50, "second")
    assert matches(100, "all")[0] < matches(50, "first")[0] < matches(0, "none")[0]


def test_threads_and_cold_caches_are_measured_and_change_no_answer(
    cbn: Any, files: tuple[Path, Path]
) -> None:
    plain = json.loads(bench(cbn, files, "--json").stdout)
    for more in (("--threads", 2), ("--cold",)):
        found = json.loads(bench(cbn, files, *more, "--json").stdout)
        assert found["matches"] == plain["matches"]
        assert 0 <= found["p50_us"] <= found["p99_us"] <= found["max_us"]
        assert found["mean_us"] > 0


def test_a_workload_is_the_recipe_it_keeps_and_is_not_overwritten(cbn: Any, tmp_path: Path) -> None:
    assert cbn("workload", "w", *SMALL, "--zipf", "0.5", "--integer-operators", "!=:1,<=:2").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "w").iterdir()}
    assert sorted(before) == ["filters.txt", "messages.txt", "recipe.json"]
    recipe = json.loads(before["recipe.json"])
    assert (recipe["zipf"], recipe["integer_operators"]) == ("0.5", {"!=": 1, "<=": 2})
    assert set(re.findall(rb" (i[^ ]+)", before["filters.txt"])) == {b"i!=", b"i<="}
    again = cbn("workload", "w", *SMALL, "--seed", 2)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "w").iterdir()} == before
    assert cbn("workload", "w", *SMALL, "--seed", 2, "--force").returncode == 0
    assert (tmp_path / "w" / "filters.txt").read_bytes() != before["filters.txt"]


def test_the_command_says_what_it_wrote_as_text_and_as_json(cbn: Any) -> None:
    assert "cbn bench match --filters w/filters.txt" in cbn("workload", "w", *SMALL).stdout
    found = json.loads(cbn("workload", "v", *SMALL, "--json").stdout)
    assert found == {
        "filters": 400,
        "messages": 30,
        "files": ["v/filters.txt", "v/messages.txt", "v/recipe.json"],
    }


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--zipf", "9"), "the Zipf exponent is 9; expected 0 to 4"),
        (("--types", "s=1"), "'s=1' is not NAME:WEIGHT"),
        (("--types", "s:1,s:2"), "s has two weights"),
        (("--constraints", "5", "1"), "constraints is 5 to 1"),
        (("--messages", "-1"), "messages is -1"),
        (("--interfaces", "many"), "invalid int value"),
    ],
)
def test_a_workload_that_cannot_be_made_is_refused(more: tuple[str, ...], complaint: str, cbn: Any) -> None:
    done = cbn("workload", "w", *more)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not Path("w").exists()


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--algorithm", "magic"), "algorithm is 'magic'; expected one of"),
        (("--rounds", "3"), "rounds"),
        (("--repeat", "0"), "--repeat is 0"),
        (("--threads", "0"), "threads is 0"),
        (("--fresh", "101"), "fresh is 101"),
        (("--cold", "--threads", "2"), "cold is for one thread"),
        (("--answers", "no/such/directory"), "no/such/directory: No such file"),
        (("--filters", "missing"), "missing: No such file"),
        (("--messages", "broken"), "broken:2: found 'f'; expected m"),
        (("--messages", "empty"), "there are no messages"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    more: tuple[str, ...], complaint: str, cbn: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "broken").write_text("m 0\nf 0 0\n")
    (tmp_path / "empty").write_text("")
    done = cbn("bench", "match", "--filters", files[0], "--messages", files[1], "--quiet", *more)
    assert done.returncode == 2, done.stdout
    assert complaint in done.stderr


@pytest.mark.parametrize(("resident", "warned"), [(80, False), (101, False), (126, True), (70, True)])
def test_a_table_that_misjudges_its_memory_by_a_quarter_is_not_believed(
    resident: int, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_memory({"table_bytes": 100_000_000, "resident_bytes": resident * 1_000_000})
    assert ("not to be trusted" in capsys.readouterr().err) is warned


def test_a_small_table_is_not_judged_by_the_pages_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_memory({"table_bytes": 1000, "resident_bytes": 500_000})
    assert capsys.readouterr().err == ""


def test_rounds_change_the_selective_algorithm_and_no_answer(cbn: Any, files: tuple[Path, Path]) -> None:
    few, many = (
        json.loads(bench(cbn, files, "--algorithm", "selective", "--rounds", r, "--json").stdout)
        for r in (0, 50)
    )
    assert few["matches"] == many["matches"]


def test_the_table_of_all_algorithms_can_be_made_in_small() -> None:
    program = ROOT / "tests" / "benchmarks" / "match_table.py"
    options = ["--quick", "--only", "i20-500k", "--messages", "20", "--repeat", "1"]
    done = subprocess.run(
        [sys.executable, str(program), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| 20 interfaces")]
    assert len(rows) == 2 * len(ALGORITHMS) + 2
