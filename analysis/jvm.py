"""The Java process in which Spark runs: it is started here, and ends with this process.

PySpark's own launcher forgets the process if a signal comes while it starts, and removes the folder
without which it cannot notice that nobody needs it. So it is started here, with the marks of
`nodes.processes`, and PySpark connects to it. The kernel ends it when this process ends, however that does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home

from analysis import AnalysisError
from analysis.settings import JAVA_OPTIONS, warehouse_in
from nodes.processes import die_with, marks, scratch_prefix

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_POLL_S = 0.02
_STILL_S = 300.0
"""How long it may do nothing while it starts. How long it may work has no limit: minutes, if emulated.

Not less: where many others wanted the processors, one that worked got 7 s of them in 500.
"""
_WORK_S = 1.0
"""Less processor time than this is nothing: a Java process that is stuck still looks at its clock."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
"""The environment in which PySpark looks for a Java process that is there already."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """A Java process that waits for PySpark."""

    process: subprocess.Popen[bytes]
    scratch: Path
    """What it keeps on disk while it lives."""

    def connection(self) -> dict[str, str]:
        """How to connect to it, as soon as it says so.

        Raises:
            AnalysisError: It has ended instead, or does nothing any more.
        """
        path, deadline, noted_s = _connection(self.scratch), time.monotonic() + _STILL_S, 0.0
        while not path.is_file():
            worked_s = _processor_s(self.process.pid)
            if worked_s >= noted_s + _WORK_S:
                deadline, noted_s = time.monotonic() + _STILL_S, worked_s
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AnalysisError(f"Spark did not start: its Java process {self._state()}")
            time.sleep(_POLL_S)
        with path.open("rb") as file:
            port, length = struct.unpack(">ii", file.read(8))
            return {_PORT: str(port), _SECRET: file.read(length).decode()}

    def forget(self) -> None:
        """Remove what it keeps; the kernel ends it with this process."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _state(self) -> str:
        code = self.process.returncode
        return f"did nothing for {_STILL_S:.0f} s" if code is None else f"ended with code {code}"


@contextmanager
def running(settings: Mapping[str, str]) -> Iterator[None]:
    """While entered, PySpark connects to a Java process of ours and keeps to that afterwards.

    Raises:
        AnalysisError: It does not start.
    """
    if SparkContext._gateway is not None or _PORT in os.environ:  # there is one, of ours or of spark-submit
        yield
        return
    jvm = _start(settings)
    try:
        os.environ.update(jvm.connection())
        yield
    finally:
        os.environ.pop(_PORT, None)
        os.environ.pop(_SECRET, None)


def _start(settings: Mapping[str, str]) -> Jvm:
    """A process that is known as soon as there is one, whatever signals come."""
    with _signals_later():
        scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
        process = subprocess.Popen(
            _command(settings, scratch),
            stdin=subprocess.PIPE,
            env={**os.environ, **_environment(scratch)},
            process_group=0,  # Ctrl-C is for this process
            preexec_fn=partial(die_with, os.getpid()),  # noqa: PLW1509 - asks the kernel, takes no lock
        )
        jvm = Jvm(process, scratch)
        atexit.register(jvm.forget)  # until then it has an open standard input
    return jvm


def _command(settings: Mapping[str, str], scratch: Path) -> list[str]:
    java = f"{settings[JAVA_OPTIONS]} -Djava.io.tmpdir={scratch}"
    own = {**warehouse_in(scratch), **settings, JAVA_OPTIONS: java, **_local_folder(settings, scratch)}
    options = (word for key, value in own.items() for word in ("--conf", f"{key}={value}"))
    return [f"{_find_spark_home()}/bin/spark-submit", *options, "pyspark-shell"]


def _local_folder(settings: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """The workers of a cluster have folders of their own."""
    return {"spark.local.dir": str(scratch)} if settings["spark.master"].startswith("local") else {}


def _environment(scratch: Path) -> dict[str, str]:
    return {
        **marks(f"analysis-{os.getpid()}"),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection(scratch)),
    }


def _processor_s(pid: int) -> float:
    """The processor time of a process, and of its children that have ended; 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _connection(scratch: Path) -> Path:
    return scratch / "connection"


@contextmanager
def _signals_later() -> Iterator[None]:
    """What asks this process to end is heard when the block has been left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    before = {number: signal.signal(number, lambda *call: heard.append(call)) for number in _SIGNALS}
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)
        for number in dict.fromkeys(number for number, _ in heard):
            signal.raise_signal(number)
