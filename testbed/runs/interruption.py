"""The one way in which a run is told from outside to end."""

from __future__ import annotations


class Interruption(KeyboardInterrupt):
    """Somebody wants the run to end: raised in the main thread by the CLI's signal handlers.

    It may come at any point. A world that catches it cleans up and returns an
    Outcome `interrupted`; as a KeyboardInterrupt it passes every `except Exception`.
    """

    def __init__(self, signal_name: str) -> None:
        super().__init__(f"interrupted by {signal_name}")
        self.signal_name = signal_name
