"""What Spark is told: chosen for the machine and the size of the data, and overridable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis import AnalysisError, archive

MASTER_VARIABLE = "CBN_SPARK_MASTER"
CONNECT = "sc://"
"""How the URLs of Spark Connect begin."""
SMALL_BYTES = 64 * 1024 * 1024
"""Runs with less captured than this are bound by start-up and compilation, not by data."""
PARALLELISM = "spark.default.parallelism"
_TRIES = 4
"""How often a task may fail."""
_HERE = Path(__file__).resolve().parent
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DYNAMIC = "spark.sql."
"""How the settings begin that a session can have for itself; others belong to a process."""

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks of Spark."""

    master: str = ""
    """Its URL; else `CBN_SPARK_MASTER`, else all cores of this machine."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """In the place of those that are chosen."""
    event_log: Path | None = None
    """A folder for the log that Spark's history server shows."""

    def url(self) -> str:
        """Of the master. On one machine Spark does a failed task again only if its URL says so."""
        url = self.master or os.environ.get(MASTER_VARIABLE) or "local[*]"
        return re.sub(r"^local\[(\*|\d+)\]$", rf"local[\1,{_TRIES}]", url)

    @property
    def connects(self) -> bool:
        """Whether Spark itself runs elsewhere, and this process only talks to it."""
        return self.url().startswith(CONNECT)


def settings_for(captured_bytes: int, asked: Asked) -> dict[str, str]:
    """The settings of a session in this process.

    Raises:
        AnalysisError: The folder for the event log cannot be had.
    """
    url = asked.url()
    small = captured_bytes < SMALL_BYTES
    chosen = _COMMON | {
        JAVA_OPTIONS: f"{java_options(small)} {archive.words_to_use_it()}".rstrip(),
        # The workers import the rooms from where this process has them.
        "spark.executorEnv.PYTHONPATH": str(_HERE.parent),
    }
    chosen |= _QUICK if small else _large() | {"spark.driver.memory": "2g"}
    return chosen | _of_cluster(url) | _event_log(asked) | dict(asked.settings) | {"spark.master": url}


def java_options(small: bool) -> str:
    """What the Java process of a session is told, for little or for much that was captured."""
    return f"{_quiet()} -XX:-UsePerfData {_QUICK_JVM if small else _LARGE_JVM}"


def session_settings(captured_bytes: int, asked: Asked) -> dict[str, str]:
    """The settings of a session of Spark Connect: those that do not belong to the server.

    Raises:
        AnalysisError: What is asked for belongs to the server.
    """
    theirs = [f"--conf {key}" for key in asked.settings if not key.startswith(_DYNAMIC)]
    if theirs or asked.event_log is not None:
        what = ", ".join([*theirs, *(["the event log"] if asked.event_log is not None else [])])
        raise AnalysisError(
            f"{what}: this belongs to the server of Spark Connect, and is given where it is started"
        )
    chosen = _COMMON | (_QUICK if captured_bytes < SMALL_BYTES else _large()) | dict(asked.settings)
    return {key: value for key, value in chosen.items() if key.startswith(_DYNAMIC)}


def server_settings(cores: int, memory_mb: int) -> dict[str, str]:
    """The settings of a Connect server with so many cores, and so much memory."""
    return _COMMON | {
        PARALLELISM: str(cores),
        "spark.driver.memory": f"{memory_mb}m",
        JAVA_OPTIONS: f"{java_options(small=False)} -Xss4m",
        "spark.executorEnv.PYTHONPATH": str(_HERE.parent),
    }


def warehouse_in(folder: Path) -> dict[str, str]:
    """Where Spark makes a folder when a table is asked for that is not there: not where people work."""
    return {"spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}


def _large() -> dict[str, str]:
    return {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}


def _quiet() -> str:
    return f"-Dlog4j2.configurationFile={(_HERE / 'log4j2.properties').as_uri()}"


def _of_cluster(url: str) -> dict[str, str]:
    """Executors that fit into the workers, where these are known."""
    from analysis.standalone import clusters

    known = [cluster for cluster in clusters() if cluster.master == url] if url.startswith("spark:") else []
    return {"spark.executor.memory": f"{known[0].memory_mb}m"} if known else {}


def _event_log(asked: Asked) -> dict[str, str]:
    if asked.event_log is None:
        return {}
    try:
        asked.event_log.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnalysisError(f"--event-log {asked.event_log}: {error.strerror}") from error
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": asked.event_log.absolute().as_uri()}
