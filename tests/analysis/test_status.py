"""What is said of Spark's progress while something takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.status import told

pytestmark = pytest.mark.spark


def waiting_for(path: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The first task ends at once, the others when a file is there."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            while batch["id"][0].as_py() > 0 and not path.exists():
                pass
            yield batch

    return work


def test_tasks_that_have_ended_are_counted_while_others_go_on(spark: Any, tmp_path: Path) -> None:
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        if "1 of 2" in line:
            (tmp_path / "go on").touch()

    with told(spark, hear, every_s=0.01):
        rows = spark.range(2, numPartitions=2).mapInArrow(waiting_for(tmp_path / "go on"), "id long").count()
    assert rows == 2
    assert "Spark: 1 of 2 tasks of this step have ended" in said


def test_nothing_is_said_of_what_is_quick(spark: Any) -> None:
    said: list[str] = []
    with told(spark, said.append):
        assert spark.range(3).count() == 3
    assert said == []
