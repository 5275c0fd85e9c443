"""Runs a command whose analyses are made by another Spark than its own, which is started for it.

    python -m tests.judge.elsewhere WHERE COMMAND ...

WHERE is `spark` (a standalone cluster of two workers on this machine), `connect` (a server of Spark Connect
on it), or the URL of a master. The command finds its master where every analysis looks for it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from analysis.settings import MASTER_VARIABLE
from analysis.standalone import Cluster, Wanted, start, stop

WORKERS, MEMORY_MB = 2, 1024
SERVER_MEMORY_MB = 512
"""For each of the workers that a server of Spark Connect stands for."""
KINDS = ("spark", "connect")


@contextmanager
def cluster_of(kind: str, logs: Path) -> Iterator[Cluster]:
    """A cluster of one of `KINDS` for as long as it is needed."""
    connect = kind == "connect"
    memory_mb = SERVER_MEMORY_MB if connect else MEMORY_MB
    cluster = start(Wanted(workers=WORKERS, cores=1, memory_mb=memory_mb, connect=connect, logs=logs))
    try:
        yield cluster
    finally:
        stopped = stop(cluster)
    assert stopped, f"the cluster goes on; its logs are in {logs}"


def main(arguments: Sequence[str]) -> int:
    """The exit code of the command."""
    where, *command = arguments
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # the cluster ends with it
    if where not in KINDS:
        return _run(command, where)
    with (
        tempfile.TemporaryDirectory(prefix="cbn-elsewhere-") as logs,
        cluster_of(where, Path(logs)) as cluster,
    ):
        return _run(command, cluster.master)


def _run(command: Sequence[str], master: str) -> int:
    print(f"analyses by {master}", flush=True)
    return subprocess.run(command, env={**os.environ, MASTER_VARIABLE: master}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
