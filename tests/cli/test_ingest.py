"""`cbn ingest`: captures that no run of ours made, as a user reads of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fastpath.captures import frame, message, pcap


@pytest.fixture
def captures(tmp_path: Path) -> list[Path]:
    """Of one router: what comes in on one interface and goes out on the other, 300 us later."""
    paths = []
    for hops, source in ((0, "02:00:00:00:00:01"), (1, "02:00:00:00:00:03")):
        paths.append(tmp_path / f"r1-eth{hops}.pcap")
        records = [
            (1, n * 10**6 + hops * 300_000, frame(message(n, hop_count=hops), source=source))
            for n in range(50)
        ]
        paths[-1].write_bytes(pcap(records))
    return paths


def test_it_says_what_is_known_and_what_is_not(captures: list[Path], cbn: Any) -> None:
    done = cbn("ingest", *captures)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("100 packets in 100 records of 2 captures\n")
    assert "r1-eth0  r1-eth1  router  50        300 us  300 us  300 us  300 us" in done.stdout
    assert "50 messages:" in done.stdout
    assert "who wanted which message" in done.stdout
    assert "reading the captures" in done.stderr


def test_as_json_it_is_one_document(captures: list[Path], cbn: Any) -> None:
    done = cbn("ingest", *captures, "--json", "--quiet")
    document = json.loads(done.stdout)
    assert (document["packets"], document["messages"], done.stderr) == (100, 50, "")
    assert document["steps"][0]["p50_ns"] == pytest.approx(300_000, rel=0.01)


def test_tables_and_summary_are_kept_and_the_second_time_nothing_is_read(
    captures: list[Path], tmp_path: Path, cbn: Any
) -> None:
    first = json.loads(cbn("ingest", *captures, "--out", "kept", "--json").stdout)
    second = json.loads(cbn("ingest", *captures, "--out", "kept", "--json").stdout)
    assert (first["reused_pieces"], second["reused_pieces"]) == (0, 2)
    assert second == {**first, "reused_pieces": 2}
    assert json.loads((tmp_path / "kept" / "summary.json").read_text()) == second
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        "packets.parquet",
        "steps.parquet",
        "summary.json",
    ]


def test_what_is_no_capture_is_an_error_with_the_reason(tmp_path: Path, cbn: Any) -> None:
    (tmp_path / "x.pcap").write_bytes(b"no capture at all, by any reading")
    for name, words in (("x.pcap", "is not a pcap file"), ("none.pcap", "not there"), (".", "a folder")):
        done = cbn("ingest", name)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stdout == ""


def test_a_file_in_the_place_of_the_tables_is_found_before_any_work(
    captures: list[Path], tmp_path: Path, cbn: Any
) -> None:
    (tmp_path / "taken").write_text("mine")
    done = cbn("ingest", *captures, "--out", "taken")
    assert done.returncode == 2
    assert "taken: a file is there; name a folder for the tables" in done.stderr
    assert "reading the captures" not in done.stderr
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.spark
def test_spark_does_the_same(captures: list[Path], tmp_path: Path, cbn: Any) -> None:
    here = json.loads(cbn("ingest", *captures, "--out", "here", "--json").stdout)
    done = cbn("ingest", *captures, "--out", "there", "--json", "--master", "local[2]")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == sorted(
        p.name for p in (tmp_path / "here").iterdir()
    )


def test_settings_of_spark_are_of_no_use_without_it(captures: list[Path], cbn: Any) -> None:
    done = cbn("ingest", *captures, "--conf", "spark.a=b")
    assert (done.returncode, done.stdout) == (2, "")
    assert "with --master alone" in done.stderr
