"""`spark.read.format("cbnpcap")`: captures as a table, with the rows that the reader has."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analysis import AnalysisError
from analysis.datasource import COLUMNS, CbnCaptures
from analysis.decode import HEADER
from fastpath.pcap import decode_pcap
from tests.fastpath.captures import ACK, frame, message, pcap, pcapng


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    frames = [frame(message(n), ACK) for n in range(300)]
    (folder / "r1-eth0.pcap").write_bytes(pcap(frames))
    (folder / "r1-eth1.pcapng.gz").write_bytes(gzip.compress(pcapng(frames[:100])))
    (folder / "index.json").write_text("{}")
    return folder


def reader(path: Path, **options: str):
    source = CbnCaptures({"path": str(path), **options})
    return source, source.reader(source.schema())


def rows(path: Path, **options: str):
    _, reading = reader(path, **options)
    return [row for part in reading.partitions() for batch in reading.read(part) for row in batch.to_pylist()]


def test_the_rows_are_those_of_the_reader_with_the_name_of_the_capture(captures):
    expected = [
        {"interface": name, **row}
        for name, file in (("r1-eth0", "r1-eth0.pcap"), ("r1-eth1", "r1-eth1.pcapng.gz"))
        for row in decode_pcap(captures / file)[0].to_pylist()
    ]
    assert len(expected) == 800
    assert rows(captures) == expected


def test_a_capture_in_many_partitions_has_the_same_rows(captures):
    _, reading = reader(captures, split_bytes="3000")
    assert len(reading.partitions()) > 10
    assert rows(captures, split_bytes="3000") == rows(captures)


def test_only_the_columns_that_are_wanted_are_made(captures):
    source, _ = reader(captures, columns="sequence, interface")
    assert source.schema().names == ["sequence", "interface"]
    assert rows(captures, columns="sequence,interface")[0] == {"sequence": 0, "interface": "r1-eth0"}
    assert CbnCaptures({"path": str(captures)}).schema().names == COLUMNS.names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "sequence,sequense"}, "no column 'sequense'; there are interface"),
        ({"colums": "sequence"}, "no option 'colums'; there are path, columns, split_bytes"),
        ({"split_bytes": "64M"}, "split_bytes is '64M'; expected a number of bytes"),
    ],
)
def test_a_wrong_option_is_named_with_those_there_are(captures, options, words):
    with pytest.raises(AnalysisError, match=words):
        reader(captures, **options)


def test_what_is_no_capture_is_named(captures):
    (captures / "odd.pcap").write_bytes(b"x" * 100)
    with pytest.raises(AnalysisError, match=r"odd\.pcap: is not a pcap file"):
        rows(captures, split_bytes="10")
    (captures.parent / "empty").mkdir()
    with pytest.raises(AnalysisError, match="no captures in it"):
        rows(captures.parent / "empty")
    with pytest.raises(AnalysisError, match="no path"):
        CbnCaptures({}).reader(CbnCaptures({}).schema())


def test_an_index_that_lies_is_an_error_and_no_wrong_answer(captures):
    index = captures / "r1-eth0.pcap.idx"
    index.write_text(f"{HEADER}5001 1 1\n")
    with pytest.raises(
        AnalysisError, match=r"split wrongly: its index is wrong \(delete .*r1-eth0\.pcap\.idx"
    ):
        rows(captures, split_bytes="3000")


@pytest.mark.spark
def test_spark_reads_captures_and_answers_questions_in_sql(spark, captures):
    spark.dataSource.register(CbnCaptures)
    table = spark.read.format("cbnpcap").option("split_bytes", "5000").load(str(captures))
    assert table.columns == COLUMNS.names
    table.createOrReplaceTempView("captured")
    found = spark.sql("SELECT interface, count(*), max(sequence) FROM captured GROUP BY interface ORDER BY 1")
    assert [tuple(row) for row in found.collect()] == [("r1-eth0", 600, 299), ("r1-eth1", 200, 99)]
    few = spark.read.format("cbnpcap").option("columns", "sequence").load(str(captures / "r1-eth0.pcap"))
    assert few.columns == ["sequence"]
    assert few.where("sequence IS NOT NULL").count() == 300
