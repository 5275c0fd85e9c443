"""Faults planted into the captures of a real simulated run are found, and nothing else is."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze
from nodes.wire.codec import split_datagram
from nodes.wire.packets import PacketType

pytestmark = [pytest.mark.sim, pytest.mark.spark]

SCENARIO = """
name: planted
seed: 3
scheme: pif
topology:
  routers: [r1, r2]
  links: [r1 - r2]
clients:
  pub:
    at: r1
    publish: [{every: 10ms, count: 12, from: 0s, message: {n: {count: 0}}}]
  few: {at: r2, subscribe: ["n >= 8"]}
  all: {at: r2, subscribe: ["n any integer"]}
"""
CLEAN = {"owed": 16, "delivered": 16, "missing": 0, "duplicate": 0, "spurious": 0}


@pytest.fixture(scope="module")
def simulated(simulate) -> Path:
    return simulate("planted", SCENARIO)


@pytest.fixture
def run(simulated, tmp_path) -> Path:
    return Path(shutil.copytree(simulated, tmp_path / "run"))


class Access:
    """The capture of a client's access interface, frame by frame."""

    def __init__(self, run: Path, client: str) -> None:
        self.index_path = run / "captures" / "index.json"
        self.entry = self._entry(client, json.loads(self.index_path.read_text()))
        self.path = run / "captures" / self.entry["file"]
        data = self.path.read_bytes()
        self.header, self.records, at = data[:24], [], 24
        while at < len(data):
            end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
            self.records.append(data[at:end])
            at = end

    def messages(self) -> list[int]:
        """Positions of the messages sent to the client."""
        own = bytes.fromhex(self.entry["mac"].replace(":", ""))
        sent = [i for i, r in enumerate(self.records) if r[22:28] == own]
        return [i for i in sent if split_datagram(self.records[i][58:])[0][0] is PacketType.MESSAGE]

    def adopt(self, record: bytes) -> None:
        """Add a frame of another interface as if it had left here."""
        own = bytes.fromhex(self.entry["mac"].replace(":", ""))
        self.records.append(record[:22] + own + record[28:])

    def save(self) -> None:
        """With the index: as if it had been captured so."""
        self.path.write_bytes(self.header + b"".join(self.records))
        index = json.loads(self.index_path.read_text())
        self._entry(self.entry["peer"], index)["frames"] = len(self.records)
        self.index_path.write_text(json.dumps(index))

    @staticmethod
    def _entry(client: str, index: dict) -> dict:
        return next(i for i in index["interfaces"] if i["peer"] == client)


def counts(verdict):
    return {k: verdict[k] for k in CLEAN}


def test_a_simulated_run_is_clean_until_something_is_planted(spark, run):
    verdict = analyze(run)
    assert counts(verdict) == CLEAN
    assert verdict["ok"], verdict["problems"]
    assert verdict["hops"] == {"min": 2, "mean": 2.0, "max": 2}


def test_a_message_removed_from_a_capture_is_missing(spark, run):
    access = Access(run, "few")
    del access.records[access.messages()[1]]
    access.save()
    assert counts(analyze(run)) == CLEAN | {"delivered": 15, "missing": 1}


def test_a_message_repeated_in_a_capture_is_duplicate(spark, run):
    access = Access(run, "all")
    access.records += [access.records[access.messages()[4]]] * 2
    access.save()
    assert counts(analyze(run)) == CLEAN | {"duplicate": 2}


def test_a_message_that_nobody_asked_for_is_spurious(spark, run):
    """Message 0 is for `all` alone; here it leaves towards `few` too."""
    source, target = Access(run, "all"), Access(run, "few")
    target.adopt(source.records[source.messages()[0]])
    target.save()
    verdict = analyze(run)
    assert counts(verdict) == CLEAN | {"spurious": 1}
    found = pq.read_table(run / "tables" / "verdicts.parquet", filters=[("verdict", "=", "spurious")])
    assert found["subscriber"].to_pylist() == [target.entry["peer_id"]]


def test_faults_of_all_kinds_at_once_are_told_apart(spark, run):
    everything, few = Access(run, "all"), Access(run, "few")
    first, second, *_ = everything.messages()
    few.adopt(everything.records[first])
    everything.records.append(everything.records[second])
    del everything.records[everything.messages()[-2]]
    everything.save()
    few.save()
    assert counts(analyze(run)) == CLEAN | {"delivered": 15, "missing": 1, "duplicate": 1, "spurious": 1}


def test_a_crossing_whose_delivery_is_removed_was_wasted(spark, run):
    assert analyze(run)["wasted_crossings"] == 0
    access = Access(run, "all")
    del access.records[access.messages()[0]]  # message 0 crosses for `all` alone
    access.save()
    assert analyze(run)["wasted_crossings"] == 1
