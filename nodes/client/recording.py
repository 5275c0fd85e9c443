"""What an application leaves for the run that it is part of: its events, and its status when that changes.

The run reads the status to know whether the network has converged, and the events to judge
it. A client that is part of no run (its configuration names no file of events) leaves nothing.

Not here: what the events are (`events`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable
from pathlib import Path

from nodes.client.events import Events
from nodes.config import NodeConfig
from nodes.daemon.journal import BLOCK_BUFFERED, Journal
from nodes.daemon.shell import status_path

_PUBLISHED = b'"event":"publish"'


class Recording:
    """Writes the events and the status of one client of an application.

    A client may have lived before in the same run: then its events go on where they ended.

    Args:
        config: The client's, with the path of its events.
    """

    def __init__(self, config: NodeConfig) -> None:
        count, self.last_sequence = earlier_life(config.events_path)
        self.events = Events(config.name, count)
        self._journal = Journal(config.events_path, BLOCK_BUFFERED)
        self._status_path = status_path(config)
        self._state: Hashable = None

    def write(self) -> None:
        """Write what has happened, so that it is there even if this process is killed next."""
        made = self.events.take()
        for event in made:
            self._journal.write(event)
        if made:
            self._journal.flush()

    def note_state(self, state: Hashable, status: Callable[[], object]) -> None:
        """Write the status, if the state is another than it was.

        Args:
            state: Whatever differs when the status differs in what matters.
            status: Makes what to write, as every node does.
        """
        if self._status_path is None or state == self._state:
            return
        self._state = state
        partial = self._status_path.with_name(self._status_path.name + ".partial")
        partial.write_text(json.dumps(status()), encoding="utf-8")
        partial.replace(self._status_path)

    def close(self) -> None:
        """The client is no part of the network any more."""
        self.write()
        self._journal.close()
        if self._status_path is not None:
            self._status_path.unlink(missing_ok=True)


def earlier_life(events_path: str) -> tuple[int, int]:
    """How many events a client has left already, and a number that none of its messages goes beyond."""
    path = Path(events_path)
    lines = path.read_bytes().splitlines() if path.exists() else []
    return len(lines), time.time_ns() if any(_PUBLISHED in line for line in lines) else 0
