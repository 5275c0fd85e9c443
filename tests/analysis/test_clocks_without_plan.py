"""Captures without a plan: clocks of hosts are estimated from messages in both directions, and corrected.

The network is that of `stamped_clocks`; its links delay 5 ms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.captured import files_of, read_captures
from analysis.numbered_tasks import in_threads
from tests.analysis.stamped_clocks import MS, SCENARIO, SECOND, Clock, shows, stamped
from tests.judge.runs import carry_out

pytestmark = [pytest.mark.sim]

UNSURE_NS = 3 * MS
"""What clocks drift within the run is less than links delay: here it cannot be told from delays."""
Offset = Callable[[int], Clock]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("clocks"))


def read(run: Path, out: Path | None = None, names: Iterable[str] | None = None) -> dict[str, Any]:
    """What `cbn ingest` says of the captures, or of those with these names."""
    paths = sorted((run / "captures").glob("*.pcap"))
    chosen = [path for path in paths if names is None or path.stem in names]
    return read_captures(files_of(chosen), out, in_threads(1), 1)


def steps(document: dict[str, Any]) -> dict[tuple[str, str], tuple[int, ...]]:
    return {
        (row["from"], row["to"]): tuple(row[name] for name in ("messages", "min_ns", "p50_ns", "max_ns"))
        for row in document["steps"]
    }


@pytest.mark.parametrize(
    "clocks",
    [
        {"r2": shows(300 * MS, 120)},
        {"r1": shows(-2 * SECOND), "r4": shows(40 * MS, -200)},
        {"r3": shows(-20 * MS)},
    ],
    ids=["in the middle", "two", "behind"],
)
def test_latencies_are_those_of_good_clocks(
    clocks: dict[str, Offset], simulated: Path, tmp_path: Path
) -> None:
    good, off = read(simulated), read(stamped(simulated, tmp_path, **clocks).path, tmp_path / "tables")
    assert [row["host"] for row in off["clocks"] if row["corrected"]] == sorted(clocks)
    for row in off["clocks"]:
        expected_ns = clocks.get(row["host"], shows(0))(0)(0)
        assert row["offset_ns"] == pytest.approx(expected_ns, abs=UNSURE_NS)
        assert row["uncertainty_ns"] <= 3 * 5 * MS
    found, expected = steps(off), steps(good)
    assert found.keys() == expected.keys()
    for step, (messages, *times_ns) in expected.items():
        assert found[step][0] == messages
        assert found[step][1:] == pytest.approx(times_ns, rel=0.01, abs=UNSURE_NS), step
    assert off["problems"] == []
    assert [note.split(" is ")[0] for note in off["notes"]] == [
        f"the clock of {name}" for name in sorted(clocks)
    ]
    written = pq.read_table(tmp_path / "tables" / "steps.parquet").to_pylist()
    over_links = [row["latency_ns"] for row in written if row["over"] == "link"]
    assert min(over_links) == pytest.approx(5 * MS, abs=UNSURE_NS)


def test_clocks_that_are_right_are_said_to_be_and_nothing_is_corrected(simulated: Path) -> None:
    document = read(simulated)
    assert [(row["host"], row["offset_ns"], row["corrected"]) for row in document["clocks"]] == [
        (name, 0, False) for name in ("r1", "r2", "r3", "r4")
    ]
    assert (document["problems"], document["notes"]) == ([], [])
    assert not any("clocks" in text for text in document["unknown"])


def test_a_clock_that_was_set_is_named_and_not_corrected(simulated: Path, tmp_path: Path) -> None:
    document = read(stamped(simulated, tmp_path, r2=shows(0, 0, -400 * MS)).path)
    assert [row["host"] for row in document["clocks"] if not row["even"]] == ["r2"]
    assert any(text.startswith("the clock of r2 was set while") for text in document["problems"])
    assert document["notes"] == []


def test_where_nobody_knows_which_end_has_sent_nothing_is_said_of_clocks(
    simulated: Path, tmp_path: Path
) -> None:
    """Both ends of a link alone: hop counts are equal, and times are what is asked about."""
    run = stamped(simulated, tmp_path, r1=shows(-2 * SECOND)).path
    rows = json.loads((run / "captures" / "index.json").read_text())["interfaces"]
    ends = {row["interface"] for row in rows if {row["node"], row["peer"]} == {"r1", "r2"}}
    document = read(run, names=ends)
    assert len(document["steps"]) >= len(ends) - 1 > 0
    assert document["clocks"] == []
    (unknown,) = [text for text in document["unknown"] if "clocks" in text]
    assert unknown.startswith("how far the clocks of r1, r2 are from those of others")


def test_captures_without_the_name_of_a_router_have_no_clock(simulated: Path, tmp_path: Path) -> None:
    run = stamped(simulated, tmp_path, r2=shows(300 * MS)).path
    for number, path in enumerate(sorted((run / "captures").glob("*.pcap"))):
        path.rename(path.with_name(f"capture{number}.pcap"))
    document = read(run)
    assert document["clocks"] == []
    assert any("how far the clocks of" in text for text in document["unknown"])
    assert any("before they leave" in text for text in document["problems"])
