"""Spark on this machine, from the pip package: a master and workers, or a server of Spark Connect.

A cluster belongs to one process, its owner (`python -m analysis.standalone`), which starts it, waits, and
ends it. The kernel ends all of it with the owner, however that ends; `cbn clean` removes what is then left.
What is known of a cluster is in the owner's folder for temporary files; logs are kept where they are wanted.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from pyspark.find_spark_home import _find_spark_home

from analysis import AnalysisError
from analysis.java import find_java
from nodes.processes import SCRATCH, Owner, die_with, marks, scratch_owner, scratch_prefix

ADDRESS = "127.0.0.1"
RECORD = "cluster.json"
OWNER_LOG = "owner.log"
"""What the owner itself printed, among the logs."""
_POLL_S = 0.05
_START_S = 300.0
_END_S = 30.0
_ROOT = Path(__file__).resolve().parents[1]
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants of a cluster."""

    workers: int
    cores: int
    """Of each worker."""
    memory_mb: int
    """Of each worker."""
    connect: bool
    """A server of Spark Connect, which does the work of so many workers itself, and so answers sooner."""
    logs: Path


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is there."""

    name: str
    master: str
    """Its URL: of a master, or of a server of Spark Connect."""
    page: str
    """What its master shows to browsers; empty: a Connect server shows nothing."""
    workers: int
    cores: int
    memory_mb: int
    worker_pids: tuple[int, ...]
    started_ns: int
    logs: str
    owner: str
    """The process that it belongs to."""

    def answers(self) -> int:
        """How many workers its master knows to be alive; a Connect server is all of them."""
        if not self.page:
            return self.workers
        try:
            with urlopen(f"{self.page}/json/", timeout=5) as reply:
                return int(json.load(reply)["aliveworkers"])
        except (OSError, ValueError, KeyError):
            return 0


def clusters() -> list[Cluster]:
    """Those whose owner is alive, the oldest first."""
    found = (_read(path) for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*/{RECORD}"))
    return sorted((cluster for cluster in found if cluster is not None), key=lambda each: each.started_ns)


def _read(path: Path) -> Cluster | None:
    owner = scratch_owner(path.parent.name)
    if owner is None or not owner.alive():
        return None
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return Cluster(**{**known, "worker_pids": tuple(known["worker_pids"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it has just ended, or is somebody else's


def start(wanted: Wanted) -> Cluster:
    """Start a cluster and wait until all its workers are there.

    Raises:
        AnalysisError: No Java, or it does not start.
    """
    find_java(os.environ)
    wanted.logs.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**asdict(wanted), "logs": str(wanted.logs.absolute())})
    with (wanted.logs / OWNER_LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "analysis.standalone", text],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it outlives the command that starts it
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )
    try:
        return _when_there(process, wanted)
    except BaseException:
        process.terminate()
        process.wait(_END_S)
        raise


def _when_there(process: subprocess.Popen[bytes], wanted: Wanted) -> Cluster:
    while process.poll() is None:
        for cluster in clusters():
            if cluster.owner.partition(":")[0] == str(process.pid):
                return cluster
        time.sleep(_POLL_S)
    said = (wanted.logs / OWNER_LOG).read_text(encoding="utf-8", errors="replace").strip()
    raise AnalysisError(
        f"the Spark cluster did not start: {said.splitlines()[-1] if said else 'no reason given'}"
    )


def stop(cluster: Cluster) -> bool:
    """End a cluster; whether it has ended in time."""
    owner = Owner.parse(cluster.owner)
    assert owner is not None
    if owner.alive():
        os.kill(owner.pid, signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    while owner.alive() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return not owner.alive()


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


class _Processes:
    """The processes of a cluster: run until somebody wants it to end, or its master has ended."""

    def __init__(self, wanted: Wanted, scratch: Path) -> None:
        self._wanted = wanted
        self._scratch = scratch
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = {what: _free_port() for what in ("master", "page", "connect")}
        self._deadline = time.monotonic() + _START_S

    def run(self) -> None:
        """Until it ends.

        Raises:
            AnalysisError: It did not start.
        """
        try:
            cluster = self._start()
            document = self._scratch / f"{RECORD}.partial"
            document.write_text(json.dumps(asdict(cluster), indent=1), encoding="utf-8")
            document.replace(self._scratch / RECORD)
            next(iter(self._processes.values())).wait()
        finally:
            self._end()

    def _start(self) -> Cluster:
        return self._start_connect() if self._wanted.connect else self._start_master()

    def _start_connect(self) -> Cluster:
        self._launch("connect", "spark-submit", *self._connect_options())
        self._until("connect", holds=lambda: self._listens("connect"))
        return self._cluster(f"sc://{ADDRESS}:{self._ports['connect']}", "", [])

    def _start_master(self) -> Cluster:
        url, page = f"spark://{ADDRESS}:{self._ports['master']}", f"http://{ADDRESS}:{self._ports['page']}"
        self._launch("master", "spark-class", _MASTER, *self._place("master", "page"))
        self._until("master", holds=lambda: self._listens("master"))
        size = ("--cores", self._wanted.cores, "--memory", f"{self._wanted.memory_mb}M")
        work = ("--work-dir", self._wanted.logs / "executors")
        workers = [f"worker-{number}" for number in range(1, self._wanted.workers + 1)]
        for name in workers:
            where = ("--host", ADDRESS, "--port", 0, "--webui-port", 0)
            self._launch(name, "spark-class", _WORKER, *where, *size, *work, url)
        cluster = self._cluster(url, page, [self._processes[name].pid for name in workers])
        self._until(*workers, holds=lambda: cluster.answers() == len(workers))
        return cluster

    def _place(self, port: str, page: str) -> tuple[object, ...]:
        return ("--host", ADDRESS, "--port", self._ports[port], "--webui-port", self._ports[page])

    def _connect_options(self) -> Iterator[object]:
        from analysis.settings import Asked, server_settings, warehouse_in

        cores = self._wanted.workers * self._wanted.cores
        settings = server_settings(cores, self._wanted.workers * self._wanted.memory_mb) | {
            "spark.connect.grpc.binding.address": ADDRESS,
            "spark.connect.grpc.binding.port": str(self._ports["connect"]),
            **warehouse_in(self._scratch),
        }
        yield from ("--master", Asked(f"local[{cores}]").url(), "--class", _CONNECT)
        for key, value in settings.items():
            yield from ("--conf", f"{key}={value}")
        yield "spark-internal"

    def _cluster(self, url: str, page: str, worker_pids: Sequence[int]) -> Cluster:
        wanted = self._wanted
        return Cluster(
            wanted.logs.name, url, page, wanted.workers, wanted.cores, wanted.memory_mb,
            tuple(worker_pids), time.time_ns(), str(wanted.logs), str(Owner.this_process()),
        )  # fmt: skip

    def _launch(self, name: str, program: str, *arguments: object) -> None:
        with (self._wanted.logs / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [f"{_find_spark_home()}/bin/{program}", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                process_group=0,
                preexec_fn=partial(die_with, os.getpid()),  # noqa: PLW1509 - asks the kernel, takes no lock
            )

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **marks(self._wanted.logs.name),
            "JAVA_HOME": str(find_java(os.environ)),
            "SPARK_LOCAL_IP": ADDRESS,
            "SPARK_LOCAL_DIRS": str(self._scratch),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(_ROOT),
        }

    def _listens(self, what: str) -> bool:
        try:
            socket.create_connection((ADDRESS, self._ports[what]), 1).close()
        except OSError:
            return False
        return True

    def _until(self, *names: str, holds: Any) -> None:
        """Wait, as long as these processes live."""
        while not holds():
            for name in names:
                if (code := self._processes[name].poll()) is not None:
                    raise AnalysisError(f"{name} ended with code {code}; see {self._wanted.logs}/{name}.log")
            if time.monotonic() > self._deadline:
                raise AnalysisError(f"{', '.join(names)}: not there after {_START_S:.0f} s")
            time.sleep(_POLL_S)

    def _end(self) -> None:
        """The users of the master first, the master last."""
        for process in reversed(self._processes.values()):
            process.terminate()
            try:
                process.wait(_END_S / 3)
            except subprocess.TimeoutExpired:
                process.kill()


def _ask_to_end(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(0)


def main() -> int:
    """Own a cluster: start it, wait, and end it."""
    given = json.loads(sys.argv[1])
    signal.signal(signal.SIGTERM, _ask_to_end)
    scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
    try:
        _Processes(Wanted(**{**given, "logs": Path(given["logs"])}), scratch).run()
    except AnalysisError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
