"""The Spark session: local by default, quiet, and quick on small runs; and what a session can do."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis import AnalysisError, jvm
from analysis.java import find_java

MASTER_VARIABLE = "CBN_SPARK_MASTER"
SMALL_BYTES = 64 * 1024 * 1024
"""Runs with less captured than this are bound by start-up and compilation, not by data."""
_TRIES = 4
"""How often a task may fail."""
_ANSWER_S = 5.0

_HERE = Path(__file__).resolve().parent

_COMMON = {
    "spark.app.name": "cbn",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
# Interpreting a plan once costs less than generating, compiling and warming code for it.
_QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"
_LARGE_JVM = "-XX:+UseParallelGC"


def start_session(
    captured_bytes: int, master: str | None = None, log_path: Path | None = None
) -> SparkSession:
    """A session fit for this much captured data; the running one if there is one.

    Args:
        captured_bytes: size of all captures of the run.
        master: Spark master URL; else `CBN_SPARK_MASTER`, else all local cores.
        log_path: where Spark's own words go; else to standard error.

    Raises:
        AnalysisError: no Java, or Spark would not start.
    """
    running = _running()
    if running is not None:
        return running
    os.environ["JAVA_HOME"] = str(find_java(os.environ))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    url = _with_second_tries(master or os.environ.get(MASTER_VARIABLE) or "local[*]")
    _check_reachable(url)
    # What libraries log goes where Spark's words go: py4j logs a stack trace when it is interrupted.
    logging.basicConfig(filename=log_path)
    settings = _settings(captured_bytes) | {"spark.master": url}
    with _standard_error_to(log_path), _interrupt_handler_kept(), jvm.running(settings):
        return _build(url, settings)


def _running() -> SparkSession | None:
    return SparkSession.getActiveSession()


def context_of(spark: SparkSession) -> SparkContext:
    """What hands out tasks that are not SQL."""
    return spark.sparkContext


def reason_of(error: Exception) -> str:
    """Why Spark could not go on, in a line; its own first line often says less."""
    full = os.strerror(errno.ENOSPC)
    if full in str(error):
        return f"{full}: make room where the run is, or in {tempfile.gettempdir()} for temporary files"
    lines = str(error).strip().splitlines()
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return next(iter(lines), type(error).__name__)


def _with_second_tries(master: str) -> str:
    """Spark on one machine does a failed task again only if its master says so; a cluster does by itself."""
    return re.sub(r"^local\[(\*|\d+)\]$", rf"local[\1,{_TRIES}]", master)


def _check_reachable(master: str) -> None:
    """Spark itself looks for a master for minutes."""
    found = re.fullmatch(r"spark://([^:/,]+):(\d+)", master)
    if found is None:
        return
    try:
        socket.create_connection((found[1], int(found[2])), _ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise AnalysisError(
            f"no Spark master answers at {master} ({error}); "
            "`cbn spark up` starts one on this machine, and `cbn spark ps` names it"
        ) from error


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """PySpark puts a handler of Ctrl-C in the place of ours, which knows more than that."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _standard_error_to(path: Path | None) -> Iterator[None]:
    """What is started within writes its standard error to a file, for as long as it lives."""
    if path is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with path.open("ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _settings(captured_bytes: int) -> dict[str, str]:
    small = captured_bytes < SMALL_BYTES
    quiet = f"-Dlog4j2.configurationFile={(_HERE / 'log4j2.properties').as_uri()}"
    settings = {
        **_COMMON,
        "spark.driver.extraJavaOptions": f"{quiet} -XX:-UsePerfData {_QUICK_JVM if small else _LARGE_JVM}",
        # The workers import the rooms from where this process has them.
        "spark.executorEnv.PYTHONPATH": str(_HERE.parent),
    }
    if small:
        return settings | _QUICK
    cores = os.cpu_count() or 1
    return settings | {"spark.sql.shuffle.partitions": str(2 * cores), "spark.driver.memory": "2g"}


def _build(master: str, settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        raise AnalysisError(f"Spark did not start on {master}: {error}") from error
