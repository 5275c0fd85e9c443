"""The Spark session: started here, on another machine, or of Spark Connect; and what each can do.

What differs between a session in this process and one of Spark Connect is decided in this module alone.
"""

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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis import AnalysisError, jvm
from analysis.java import find_java
from analysis.settings import PARALLELISM, Asked, session_settings, settings_for

GIVEN_UP = (PySparkException, Py4JError)
"""What is raised where Spark could not do something."""
CONNECT_PACKAGES = ("grpc", "grpc_status", "google.rpc", "zstandard")
_NO_CHOICE = re.compile(r"^(?!spark\.)|^spark\.(app|submit)\.|JavaOptions|\.port$|secret|executor\.id$")
"""Settings of one session alone, of Spark itself, or secret: they are not recorded."""
_MASTER = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[.+\]|(spark|sc|k8s)://.+|yarn")
"""The URLs of masters, as Spark has them."""
_ANSWER_S = 5.0
_SQL_LOGGER = "SQLQueryContextLogger"
_PYTHON = "spark.pyspark.python"
_LOOPBACK = ("127.0.0.1", "localhost")
_CONNECT_PORT = 15002


def start_session(
    captured_bytes: int, asked: Asked | None = None, log_path: Path | None = None
) -> SparkSession:
    """A session fit for this much captured data; the running one if there is one.

    Args:
        captured_bytes: size of all captures of the run.
        asked: what a person asks of Spark.
        log_path: where Spark's own words go; else to standard error.

    Raises:
        AnalysisError: no Java, or Spark would not start.
    """
    running = _running()
    if running is not None:
        return running
    asked = asked or Asked()
    _check_reachable(asked.url())
    # What libraries log goes where Spark's words go: py4j logs a stack trace when it is interrupted.
    logging.basicConfig(filename=log_path)
    logging.getLogger(_SQL_LOGGER).disabled = True  # what it prints is in the exception, too
    if asked.connects:
        return _connected(asked.url(), session_settings(captured_bytes, asked))
    _prepare_environment(asked.url(), asked.settings.get(_PYTHON, sys.executable))
    settings = settings_for(captured_bytes, asked)
    with _standard_error_to(log_path), _interrupt_handler_kept(), jvm.running(settings):
        return _build(asked.url(), settings)


def _running() -> SparkSession | None:
    return SparkSession.getActiveSession()


def is_connect(spark: SparkSession) -> bool:
    """Whether Spark runs elsewhere: then there is no SparkContext, and no Java in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def runs_here(spark: SparkSession) -> bool:
    """Whether all work is done in processes of this one, with its files."""
    return not is_connect(spark) and str(spark.sparkContext.master).startswith("local")


def context_of(spark: SparkSession) -> SparkContext:
    """What hands out tasks that are not SQL.

    Raises:
        AnalysisError: Spark Connect has none.
    """
    if is_connect(spark):
        raise AnalysisError("Spark Connect cannot hand out tasks; name the master: spark://HOST:PORT")
    return spark.sparkContext


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once."""
    if is_connect(spark):
        return int(spark.conf.get(PARALLELISM, str(os.cpu_count() or 1)) or 1)
    return spark.sparkContext.defaultParallelism


def record_of(spark: SparkSession) -> dict[str, Any]:
    """What a run notes of the session that analysed it: version, master, settings."""
    pairs = spark.conf.getAll if is_connect(spark) else dict(spark.sparkContext.getConf().getAll())
    settings = {key: pairs[key] for key in sorted(pairs) if _NO_CHOICE.search(key) is None}
    master = "Spark Connect" if is_connect(spark) else spark.sparkContext.master
    return {"spark": spark.version, "master": master, "settings": settings}


def reason_of(error: Exception) -> str:
    """Why Spark could not go on, in a line; its own first line often says less."""
    full = os.strerror(errno.ENOSPC)
    if full in str(error):
        return f"{full}: make room where the run is, or in {tempfile.gettempdir()} for temporary files"
    lines = str(error).strip().splitlines()
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return next(iter(lines), type(error).__name__)


def missing_for_connect() -> list[str]:
    """The packages that Spark Connect needs and that are not installed."""
    return [name for name in CONNECT_PACKAGES if not _is_there(name)]


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _prepare_environment(master: str, worker_python: str) -> None:
    """What Spark and its workers read there."""
    os.environ["JAVA_HOME"] = str(find_java(os.environ))
    if master.startswith("local") or any(f"//{host}:" in master for host in _LOOPBACK):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ |= {"PYSPARK_PYTHON": worker_python, "PYSPARK_DRIVER_PYTHON": sys.executable}


def _check_reachable(master: str) -> None:
    """Spark itself looks for a master for minutes, and does not say what is wrong with its URL."""
    if _MASTER.fullmatch(master) is None:
        raise AnalysisError(
            f"{master}: no master of Spark; expected local[N], spark://HOST:PORT, sc://HOST:PORT, "
            "yarn or k8s://URL"
        )
    found = re.match(r"(spark|sc)://([^:/,;]+)(?::(\d+))?(/;.*)?$", master)
    if found is None:
        return
    try:
        socket.create_connection((found[2], int(found[3] or _CONNECT_PORT)), _ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise AnalysisError(
            f"nothing answers at {master} ({error}); "
            "`cbn spark up` starts a Spark cluster on this machine, and `cbn spark ps` names it"
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


def _build(master: str, settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (*GIVEN_UP, RuntimeError, OSError) as error:
        hint = "" if master.startswith("local") else f", which must have Spark {pyspark.__version__}, as here"
        raise AnalysisError(f"Spark did not start on {master}{hint}: {reason_of(error)}") from error


def _connected(url: str, settings: dict[str, str]) -> SparkSession:
    """A session of a server of Spark Connect, which has the same version."""
    if missing := missing_for_connect():
        raise AnalysisError(
            f"Spark Connect needs {', '.join(missing)}, not installed: `pip install 'cbn-testbed[connect]'`"
        )
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        if spark.version != pyspark.__version__:
            raise AnalysisError(
                f"{url} has Spark {spark.version}, and here is {pyspark.__version__}: "
                "install the same on both, or results could differ"
            )
        for key, value in settings.items():
            spark.conf.set(key, value)
    except (PySparkException, RuntimeError, OSError) as error:
        raise AnalysisError(f"no session of Spark Connect at {url}: {reason_of(error)}") from error
    return spark
