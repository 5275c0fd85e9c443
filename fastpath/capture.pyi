"""Copy frames from packet sockets into pcap files with nanosecond time stamps."""

from collections.abc import Sequence

class Capture:
    """One loop for all interfaces of a run."""

    def __init__(self, sockets: Sequence[tuple[int, str]], snap_bytes: int = 262_144) -> None:
        """(bound AF_PACKET descriptor, path of the pcap to write) each; files are created here."""

    def run(self) -> None:
        """Copy until `stop`, then drain what the sockets hold. Releases the GIL."""

    def stop(self) -> None: ...
    def counters(self) -> list[dict[str, int]]:
        """Per socket: packets, bytes, kernel_drops, write_errors."""
