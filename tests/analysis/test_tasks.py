"""Calls as Spark tasks: what comes back, and what is said when a worker cannot do them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import TaskContext
from pyspark.cloudpickle import dumps

from analysis import AnalysisError, session, tasks, workers
from analysis.session import start_session
from analysis.settings import Asked
from analysis.tasks import carried_out

pytestmark = pytest.mark.spark


def doubled(number: int) -> int:
    return 2 * number


def test_each_call_gives_its_result_once(spark: Any) -> None:
    ended = list(carried_out(spark, doubled, range(50)))
    assert sorted((each.index, each.value, each.problem) for each in ended) == [
        (n, 2 * n, "") for n in range(50)
    ]


def test_a_call_that_ends_its_process_each_time_is_named_and_the_others_go_on(spark: Any) -> None:
    def fatal(number: int) -> int:
        if number == 3:
            os._exit(9)
        return number

    ended = {each.index: each for each in carried_out(spark, fatal, range(6))}
    assert [ended[n].value for n in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]
    assert "its process ended each time" in ended[3].problem


def test_a_call_that_ends_its_process_once_is_done_again(spark: Any, tmp_path: Path) -> None:
    def fatal_once(number: int) -> int:
        if number == 1 and not (tmp_path / "been here").exists():
            (tmp_path / "been here").touch()
            os._exit(9)
        return number

    ended = list(carried_out(spark, fatal_once, range(3)))
    assert sorted((each.value, each.problem) for each in ended) == [(0, ""), (1, ""), (2, "")]


def test_one_of_many_short_calls_that_ends_its_process_is_found_in_its_task(spark: Any) -> None:
    def fatal(number: int) -> int:
        if number == 50:
            os._exit(9)
        return number

    ended = {each.index: each for each in carried_out(spark, fatal, range(100))}
    assert [index for index in range(100) if ended[index].problem] == [50]
    assert [ended[index].value for index in range(100) if index != 50] == [n for n in range(100) if n != 50]


def test_short_calls_share_tasks_and_long_ones_do_not(spark: Any) -> None:
    def slow_at_the_end(number: int) -> tuple[int, int, int]:
        if number >= 80:
            time.sleep(0.2)
        context = TaskContext.get()
        assert context is not None
        return number, context.stageId(), context.partitionId()

    ended = [each.value for each in carried_out(spark, slow_at_the_end, range(100))]
    assert sorted(number for number, *_ in ended) == list(range(100))
    calls = Counter((stage, task) for _, stage, task in ended)
    assert max(calls.values()) > 3
    assert max(calls[stage, task] for number, stage, task in ended if number >= 84) <= 3


@given(
    calls=st.lists(st.integers(), unique=True),
    size=st.integers(1, 20),
    alone=st.sets(st.integers(), max_size=5),
)
def test_every_call_is_in_one_task(calls: list[int], size: int, alone: set[int]) -> None:
    groups = tasks.grouped(calls, size, alone)
    assert sorted(chain.from_iterable(groups)) == sorted(calls)
    assert all(0 < len(group) <= size for group in groups)
    assert all(len(group) == 1 for group in groups if alone & set(group))


def test_what_is_left_early_is_cancelled(spark: Any) -> None:
    results = carried_out(spark, doubled, range(200))
    assert len(list(islice(results, 1))) == 1
    results.close()
    assert spark.sparkContext.statusTracker().getActiveStageIds() == []


def test_an_exception_is_a_problem_of_its_call_and_told_in_full(spark: Any) -> None:
    ended = {each.index: each for each in carried_out(spark, lambda number: 6 // number, [0, 3])}
    assert ended[0].problem.startswith("a defect: Traceback")
    assert "ZeroDivisionError" in ended[0].problem
    assert (ended[1].value, ended[1].problem) == (2, "")


def test_workers_with_another_version_are_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "code_digest", lambda: "of another version")
    monkeypatch.setattr(tasks, "runs_here", lambda _spark: False)
    with pytest.raises(AnalysisError, match=r"^the Spark worker on \S+ has another version of cbn-testbed"):
        list(carried_out(spark, doubled, [1]))
    monkeypatch.setattr(workers, "code_digest", lambda: "of another version")
    monkeypatch.setattr(workers, "runs_here", lambda _spark: False)
    with pytest.raises(AnalysisError, match=r"install the same on all machines$"):
        workers.check_workers(spark)


def test_workers_with_this_version_take_part(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "runs_here", lambda _spark: False)
    workers.check_workers(spark)
    assert session.runs_here(spark)


def test_a_worker_without_the_package_says_so(tmp_path: Path) -> None:
    """As a worker does it: what it is sent, in a Python that has PySpark and nothing of ours."""
    task = dumps(tasks._task(SimpleNamespace(add=print), "any"))  # type: ignore[arg-type]
    (tmp_path / "task").write_bytes(task)
    packages = Path(pyspark.__file__).parents[1]
    script = (
        f"import sys; sys.path.append({str(packages)!r}); import pickle; from pyspark import cloudpickle\n"
    )
    script += "pickle.load(open('task', 'rb'))((0, b''))"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "has not installed cbn-testbed (No module named 'analysis')" in done.stderr
    assert "install it there, in the Python that spark.pyspark.python names" in done.stderr


def test_a_master_that_does_not_answer_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.session._running", lambda: None)
    with pytest.raises(AnalysisError, match=r"nothing answers at spark://127.0.0.1:9 .*cbn spark up"):
        start_session(0, Asked("spark://127.0.0.1:9"))


@pytest.mark.parametrize("master", ["nonsense", "spark:/host:7077", "local[", "http://host:7077"])
def test_what_is_no_master_is_refused_before_spark_starts(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.session._running", lambda: None)
    with pytest.raises(AnalysisError, match=r"no master of Spark; expected local\[N\], spark://HOST:PORT"):
        start_session(0, Asked(master))
