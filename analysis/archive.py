"""An archive of the Java classes that Spark loads, with which it is ready in half the time.

Java writes it when a process ends that was told to, and maps it into those that start later (class data
sharing). Java finds out by itself whether it fits: with other jars or another Java it is not used.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from analysis import AnalysisError

_QUIET = "-Xlog:cds*=error"
"""That an archive does not fit is nothing that anybody has to do something about."""


def place() -> Path:
    """Where it is: in the environment of Python that has the jars, so that they are removed together."""
    return Path(sys.prefix) / "share" / "cbn" / f"spark-{version('pyspark')}.jsa"


def words_to_use_it() -> str:
    """What Java is told; nothing if there is no archive."""
    return f'"-XX:SharedArchiveFile={place()}" {_QUIET}' if place().is_file() else ""


def make(analyse: Callable[[str], object]) -> Path:
    """Make it, or make it anew.

    Args:
        analyse: Starts Spark in this process, gives its Java the words that it gets, and uses it.

    Raises:
        AnalysisError: Java has not written it, or runs in this process already.
        OSError: There is no place for it.
    """
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        raise AnalysisError("Spark runs in this process already, without noting what it loads")
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.touch()  # who may not write here learns it before the work
    unfinished.unlink()
    try:
        analyse(f'"-XX:ArchiveClassesAtExit={unfinished}" {_QUIET}')
        code = _end_java()
        if code != 0 or not unfinished.is_file():
            raise AnalysisError(f"Java ended with code {code}, and has not written {path}")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _end_java() -> int:
    """Let the Java process of this process end by itself, as it writes nothing if it is ended; its code."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is None or gateway.jvm is None:
        raise AnalysisError("Spark has not started, so there is nothing to make an archive of")
    if context is not None:
        context.stop()
    java = gateway.jvm.java.lang
    pid = int(java.ProcessHandle.current().pid())
    with contextlib.suppress(Py4JError, OSError):  # it ends, so it does not answer
        java.System.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
