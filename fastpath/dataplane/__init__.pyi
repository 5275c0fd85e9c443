"""The router's socket loop: messages never leave C++, the rest is queued for the control plane."""

from collections.abc import Sequence

from fastpath.fib import Fib

class DataPlane:
    """Owns no descriptor it is given; the caller closes them after `run` has returned.

    What it does to a message is what `Fib.forward_datagram` says. Nothing waits:
    what a socket will not take at once is dropped and counted (SEND_FAILED).
    """

    def __init__(self, descriptors: Sequence[int], queue_packets: int = 65_536) -> None:
        """`descriptors[i]` is the connected, non-blocking UDP socket of interface i.

        UDP GRO and the count of lost datagrams are switched on where the kernel has them.
        """

    def install(self, fib: Fib) -> None:
        """Swap the FIB atomically; callable from any thread while `run` runs.

        Every batch of datagrams is forwarded by one FIB. Before the first, messages are NO_FIB drops.
        """

    def run(self) -> None:
        """Forward until `stop`. Releases the GIL. Call it in a thread of its own, once."""

    def stop(self) -> None:
        """Make `run` return soon; callable from any thread, any number of times, also before `run`."""

    def control_fd(self) -> int:
        """Readable while control packets wait. Belongs to the data plane: do not close it."""

    def take_control(self) -> list[tuple[int, bytes]]:
        """All waiting non-MESSAGE packets, (interface, packet), in order of arrival."""

    def send(self, interface: int, datagram: bytes) -> bool:
        """Send one datagram; False if the kernel would not take it (counted).

        UsageError if the interface does not exist or the datagram is not well framed.
        """

    def counters(self) -> dict[str, object]:
        """How much has passed, and what was lost.

        `interfaces`: a dict each of rx_messages, tx_messages, rx_control, tx_control (packets),
        rx_bytes, tx_bytes (UDP payload), rx_datagrams, tx_datagrams, rx_errors, tx_errors (system
        calls and datagrams refused by the kernel), rx_overflows (datagrams lost in the socket's
        queue), control_overflows (packets lost in ours). `drops`: reason name -> messages.
        """
