"""doctor, clean, scenarios, show, match, analyze: the commands around a run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.commands.doctor import ABILITIES, run_checks


def test_doctor_says_of_everything_whether_it_is_there_what_for_and_how_to_get_it() -> None:
    checks = run_checks()
    assert len({c.name for c in checks}) == len(checks) > 15
    for check in checks:
        assert check.found
        assert check.fix
        assert set(check.needed_for) <= set(ABILITIES)
        assert check.needed_for


def test_doctor_succeeds_where_the_simulator_works(cbn: Any) -> None:
    done = cbn("doctor")
    assert done.returncode == 0
    assert "can    simulate" in done.stdout


def test_doctor_of_a_bare_machine_says_how_to_fix_it(cbn: Any) -> None:
    done = cbn("doctor", "--json", PATH="/nonexistent")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["abilities"]["sim"] is True
    assert document["abilities"]["emu"] is False
    missing = {c["name"]: c["fix"] for c in document["checks"] if not c["ok"]}
    assert "apt install mininet" in missing["program mnexec"]


def test_clean_has_nothing_to_remove_for_runs_that_never_were(cbn: Any, tmp_path: Path) -> None:
    done = cbn("clean", "--dry-run", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["dry_run"] is True
    assert document["survivors"] == []


def test_the_shipped_scenarios_are_listed_with_what_they_are_for(cbn_here: Any) -> None:
    done = cbn_here("scenarios")
    assert done.returncode == 0
    assert "quickstart: 6 routers, 8 clients" in done.stdout
    assert "single-router: 1 router, 8 clients" in done.stdout
    names = [row["name"] for row in json.loads(cbn_here("scenarios", "--json").stdout)]
    assert names == sorted(names)


def test_show_counts_ids_and_how_often_they_are_given_something_else(cbn_here: Any, tmp_path: Path) -> None:
    path = tmp_path / "game.yaml"
    path.write_text(
        "name: game\ntopology: {routers: [r1]}\nclients: {s: {at: r1, entities: subscribe}}\n"
        "workload: {dis: {squares: 9, entities: [5, 5], arrivals: 0/s, until: 1h}}\n"
    )
    (first, *rest) = cbn_here("show", path).stdout.splitlines()
    assert re.search(r"5 subscriptions \(changed [1-9][0-9,]* times\), 0 messages", first)
    assert any("and 2 more" in line for line in rest)
    assert any(re.search(r"changed \d+ times", line) for line in rest)


def test_show_prints_nodes_links_and_workload(cbn_here: Any, tiny: Path) -> None:
    text = cbn_here("show", tiny).stdout
    for word in ("2 routers, 2 clients, 3 links", "r1--r2", "alice", "price < 50"):
        assert word in text
    document = json.loads(cbn_here("show", tiny, "--json", "--seed", "9").stdout)
    assert document["seed"] == 9
    assert document["actions"] == {"publish": 20, "subscribe": 1}


def test_match_says_yes(cbn_here: Any) -> None:
    done = cbn_here("match", 'dest = "ORD" and price < 400', 'dest = "ORD", price = 350')
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "matches"


def test_match_says_why_not(cbn_here: Any) -> None:
    """M3: no coercion between integer and float."""
    done = cbn_here("match", "price < 400 or gate any string or x > 1.0", "price = 450, x = 3")
    assert done.returncode == 1
    for reason in (
        "the message has 450",
        "no attribute gate",
        "of type integer, not float",
        "does not match",
    ):
        assert reason in done.stdout


def test_match_in_json_gives_every_filter_its_verdict(cbn_here: Any) -> None:
    done = cbn_here("match", "a = 1 or b = 2", "b = 2", "--json")
    document = json.loads(done.stdout)
    assert document["matches"] is True
    assert [bool(f["objections"]) for f in document["filters"]] == [True, False]


@pytest.mark.parametrize(
    ("predicate", "message", "what"), [("a <", "a = 1", "PREDICATE"), ("a < 1", "a =", "MESSAGE")]
)
def test_match_points_at_the_column_of_an_error(
    predicate: str, message: str, what: str, cbn_here: Any
) -> None:
    done = cbn_here("match", predicate, message)
    assert done.returncode == 2
    assert f"{what}: column 4" in done.stderr


LOGINS = 'what = "login" and what = "alarm" and user any string'
"""ADR Table 3."""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("match", "--advertisement", LOGINS, 'what = "alarm"'), 0, "matches"),
        (
            ("match", "--advertisement", LOGINS, 'what = "out"'),
            1,
            'declares what = "alarm" or what = "login"',
        ),
        (("match", "--advertisement", LOGINS, "at = 1"), 1, "does not declare this attribute"),
        (("cover", "x < 4", 'x < 3 and y = "a"'), 0, "x < 4 covers it"),
        (("cover", "x < 4 and z any float", "x < 3"), 1, "also asks for z any float"),
        (("cover", "x < 4", "x < 9 or x > 1"), 1, "SECOND alone has: x = 8"),
        (("cover", "none", "x < 1 and x > 1"), 0, "no message can match it"),
        (("cover", "--advertisement", LOGINS, 'what = "alarm"'), 0, "covers it"),
        (("cover", "--advertisement", 'what = "alarm"', LOGINS), 1, 'SECOND alone has: what = "login"'),
        (("overlap", "x < 4", "x > 2"), 0, "both have: x = 3"),
        (("overlap", "x < 4", "x > 4 or x = 1.0"), 1, "no x satisfies x < 4 and x > 4"),
        (("overlap", "--advertisement", LOGINS, 'user >* "a"'), 0, 'both have: user = "a"'),
        (
            ("overlap", "--advertisement", LOGINS, 'user = "ann" and at = 1'),
            1,
            "at = 1: the advertisement does",
        ),
    ],
)
def test_predicates_and_advertisements_are_related_with_reasons(
    words: tuple[str, ...], code: int, said: str, cbn_here: Any
) -> None:
    done = cbn_here(*words)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout + done.stderr
    answer = json.loads(cbn_here(*words, "--json").stdout)
    assert answer["matches" if words[0] == "match" else "holds"] is (code == 0)


def test_analyze_wants_a_run_directory(cbn_here: Any, tmp_path: Path) -> None:
    missing = cbn_here("analyze", "nowhere")
    assert (missing.returncode, "no such directory" in missing.stderr) == (2, True)
    (tmp_path / "empty").mkdir()
    empty = cbn_here("analyze", "empty")
    assert (empty.returncode, "not a run directory" in empty.stderr) == (2, True)


def test_a_missing_extension_is_reported_with_the_remedy(tiny: Path, tmp_path: Path, cbn: Any) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['fastpath.fib'] = None\n")
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = cbn("run", tiny, "--world", "sim", PYTHONPATH=path)
    assert done.returncode == 3
    assert "make build" in done.stderr


def test_a_defect_says_so_and_how_to_report_it(tiny: Path, tmp_path: Path, cbn: Any) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['testbed.runs.conduct'] = sys\n")
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = cbn("run", tiny, "--world", "sim", PYTHONPATH=path)
    assert done.returncode == 70
    assert "CBN_DEBUG=1" in done.stderr
    assert "Traceback" not in done.stderr
    shown = cbn("run", tiny, "--world", "sim", PYTHONPATH=path, CBN_DEBUG="1")
    assert shown.returncode == 70
    assert "Traceback" in shown.stderr
