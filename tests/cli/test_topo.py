"""`cbn topo`: what it lists, shows, draws, reads and makes, and what it says to mistakes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from testbed.plan.load import load_plan

COMMANDS = ("list", "show", "draw", "import", "generate")


def test_the_list_has_every_shape_with_its_parameters_and_every_map(cbn_here: Any) -> None:
    done = cbn_here("topo", "list")
    assert done.returncode == 0
    for word in ("fat-tree", "k*", "waxman", "alpha=0.3", "geant", "22 routers, 36 links"):
        assert word in done.stdout
    document = json.loads(cbn_here("topo", "list", "--json").stdout)
    assert {"line", "transit-stub"} <= {shape["name"] for shape in document["shapes"]}
    assert {"abilene", "world"} <= {drawn["name"] for drawn in document["maps"]}


def test_show_prints_size_paths_bridges_delays_and_degrees(cbn_here: Any) -> None:
    done = cbn_here("topo", "show", "abilene")
    for word in (
        "11 nodes, 14 links",
        "5 at most",
        "bridges    none",
        "1.33 to 11 ms",
        "Kansas City",
        "10gbit",
    ):
        assert word in done.stdout
    document = json.loads(cbn_here("topo", "show", "abilene", "--json").stdout)
    assert document["measures"]["diameter"] == 5
    assert document["measures"]["degrees"] == {"2": 5, "3": 6}
    assert document["link_list"][0]["name"] == "seattle--sunnyval"


def test_shapes_and_scenarios_can_be_shown_too(cbn_here: Any, tiny: Path) -> None:
    assert "20 nodes, 32 links" in cbn_here("topo", "show", "fat-tree", "k=4").stdout
    assert "4 nodes, 3 links" in cbn_here("topo", "show", tiny).stdout
    assert "client 8" in cbn_here("topo", "show", "quickstart").stdout


def test_draw_writes_a_picture_where_it_says(cbn_here: Any, tmp_path: Path, tiny: Path) -> None:
    assert cbn_here("topo", "draw", "geant").stdout == "geant.svg: 22 nodes, 36 links\n"
    assert cbn_here("topo", "draw", tiny, "-o", "mine.svg").returncode == 0
    for name in ("geant.svg", "mine.svg"):
        assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")
    assert cbn_here("topo", "draw", "ring", "size=5", "-o", "-").stdout.startswith("<svg ")


def test_a_run_directory_can_be_drawn(cbn_here: Any, tiny: Path, tmp_path: Path) -> None:
    assert cbn_here("run", tiny, "--world", "sim", "--out", "kept", "--quiet").returncode == 0
    done = cbn_here("topo", "draw", "kept", "-o", "kept.svg", "--json")
    assert json.loads(done.stdout)["routers"] == 4
    assert (tmp_path / "kept.svg").is_file()


def test_generate_and_import_go_together_with_scenarios(cbn_here: Any, tmp_path: Path) -> None:
    done = cbn_here(
        "topo", "generate", "waxman", "size=30", "side_km=800", "--seed", "7", "-o", "wax.graphml"
    )
    assert done.stdout == "wax.graphml: 30 nodes, 63 links\n"
    assert cbn_here("topo", "import", "wax.graphml", "-o", "wax.map").returncode == 0
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("name: x\ntopology: {import: wax.map}\n")
    plan = load_plan(scenario)
    assert len(plan.routers) == 30
    assert all(link.impairment.delay_ns for link in plan.links)


def test_import_without_a_target_prints_the_map_and_what_was_done_to_it(
    cbn_here: Any, tmp_path: Path
) -> None:
    (tmp_path / "x.edges").write_text("a b\nb a\na a\nc d\n")
    assert cbn_here("topo", "import", "x.edges").returncode == 2
    done = cbn_here("topo", "import", "x.edges", "--largest")
    assert done.returncode == 0
    assert "link a b\n" in done.stdout
    assert "note: 1 parallel link merged" in done.stderr
    assert json.loads(cbn_here("topo", "import", "x.edges", "--largest", "--json").stdout)["links"] == 1


WRONG = [
    (["show", "gean"], "did you mean geant?"),
    (["show", "geant", "k=4"], "parameters go with a shape"),
    (["show", "fat-tree"], "k is missing: ports of a switch"),
    (["show", "fat-tree", "k"], "expected KEY=VALUE"),
    (["show", "fat-tree", "k=four"], "expected a number"),
    (["show", "fat-tree", "k=3"], "an even number"),
    (["show", "fat-tree", "size=3"], "has no parameter size; expected k"),
    (["generate", "fatree", "k=4"], "did you mean fat-tree?"),
    (["generate", "full", "size=9000"], "40,495,500 links"),
    (["generate", "ring", "size=9", "-o", "ring.png"], "the end of the name is of no known format"),
    (["generate", "ring", "size=9", "-o", "no/such/ring.map"], "cannot be written"),
    (["draw", "geant", "-o", "geant.png"], "ends with .svg"),
    (["draw", "."], "not a run directory"),
    (["import", "none.gml"], "cannot be read"),
    (["show", "geant", "--keep", "0"], "expected at least 1"),
    (["show", "geant", "--drop", "foo"], "one of core, east, far"),
    (["draw", "broken.yaml"], "there is no router"),
]


@pytest.mark.parametrize(("arguments", "reported"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_mistakes_are_reported_with_what_to_do(
    arguments: list[str], reported: str, cbn_here: Any, tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_text("name: x\ntopology: {routers: [a], links: [a - b]}\n")
    done = cbn_here("topo", *arguments)
    assert done.returncode == 2
    assert reported in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
