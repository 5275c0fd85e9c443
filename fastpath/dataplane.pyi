"""The router's socket loop: messages never leave C++, the rest is queued for the control plane."""

from collections.abc import Sequence

from fastpath.fib import Fib

class DataPlane:
    """Owns no descriptor it is given; the caller closes them after `run` has returned."""

    def __init__(self, descriptors: Sequence[int], queue_packets: int = 65_536) -> None:
        """`descriptors[i]` is the connected, non-blocking UDP socket of interface i."""

    def install(self, fib: Fib) -> None:
        """Swap the FIB atomically; callable from any thread while `run` runs."""

    def run(self) -> None:
        """Forward until `stop`. Releases the GIL. Call it in a thread of its own, once."""

    def stop(self) -> None:
        """Make `run` return soon; callable from any thread, any number of times."""

    def control_fd(self) -> int:
        """Readable while control packets wait."""

    def take_control(self) -> list[tuple[int, bytes]]:
        """All waiting non-MESSAGE packets, (interface, packet), in order of arrival."""

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send one datagram; False if the kernel would not take it (counted)."""

    def counters(self) -> dict[str, object]:
        """`interfaces`: list of dicts (rx_messages, tx_messages, rx_control, tx_control, rx_bytes,
        tx_bytes, rx_datagrams, tx_datagrams, tx_errors); `drops`: dict reason name -> count."""
