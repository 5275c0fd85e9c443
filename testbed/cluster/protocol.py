"""What a controller and the agents agree on; requests are in `agent`."""

from __future__ import annotations

from pathlib import Path

from testbed.live.clients import AdminError
from testbed.live.fabric import NetworkError, NotReadyError, ProcessDiedError
from testbed.live.registry import RegistryError
from testbed.plan.recorded import RecordedRunError
from testbed.runs.directory import RunDirectoryError

VERSION = 11
"""Raised whenever requests or results change."""
RUNS = Path("/var/lib/cbn/runs")
"""Where the runs' files are on a machine until they are fetched."""
KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        AdminError,
        NetworkError,
        NotReadyError,
        ProcessDiedError,
        RegistryError,
        RecordedRunError,
        RunDirectoryError,
    )
}
"""What may go wrong on a machine without anything being wrong with the testbed."""
