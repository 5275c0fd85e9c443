"""Hostile captures beside good ones: what is good is read, and the rest is named."""

from __future__ import annotations

import pytest

from analysis.captured import files_of, read_captures
from analysis.numbered_tasks import in_threads
from tests.fastpath.captures import frame, message, pcap
from tests.fastpath.hostile import CORPUS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All hostile files, and one that is good."""
    made = tmp_path_factory.mktemp("hostile")
    for number, case in enumerate(CORPUS.values()):
        (made / f"h{number:02d}.pcap").write_bytes(case.make())
    (made / "good-eth0.pcap").write_bytes(pcap([frame(message(n)) for n in range(10)]))
    return made


def test_a_folder_of_hostile_captures_is_read_and_every_bad_one_is_named(folder, tmp_path):
    paths = sorted(folder.iterdir())
    document = read_captures(files_of(paths), tmp_path / "out", in_threads(2), 2)
    good = next(c for c in document["captures"] if c["interface"] == "good-eth0")
    assert good["packets"] == 10
    refused = {f"h{n:02d}.pcap" for n, case in enumerate(CORPUS.values()) if case.error}
    left_out = {note.split()[0].split("/")[-1] for note in document["notes"]}  # equal files are read once
    named = {problem.split(":")[0] for problem in document["problems"]}
    assert refused - left_out <= named
    for name in (f"h{n:02d}" for n, case in enumerate(CORPUS.values()) if case.skipped is not None):
        if f"{name}.pcap" not in left_out:
            case = list(CORPUS.values())[int(name[1:])]
            found = next(c for c in document["captures"] if c["interface"] == name)
            assert found["packets"] >= case.rows, name
    assert document["skipped"]["truncated_file"] > 5


def test_the_same_folder_again_gives_the_same_answer(folder, tmp_path):
    paths = sorted(folder.iterdir())
    first = read_captures(files_of(paths), tmp_path / "out", in_threads(2), 2)
    second = read_captures(files_of(paths), tmp_path / "out", in_threads(2), 2)
    different = {key for key in first if first[key] != second[key]}
    assert different <= {"reused_pieces", "problems"}
    assert sorted(first["problems"]) == sorted(second["problems"])
