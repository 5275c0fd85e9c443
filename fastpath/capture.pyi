"""Copy frames from packet sockets into pcap files with nanosecond time stamps."""

from collections.abc import Sequence

class Capture:
    """One loop for all interfaces of a run. The caller closes the descriptors after `run` has returned."""

    def __init__(self, sockets: Sequence[tuple[int, str]], snap_bytes: int = 262_144) -> None:
        """(bound AF_PACKET, SOCK_RAW descriptor, path of the pcap to write) each.

        The files are created here, header and all. The kernel's time stamps and
        a receive buffer of 32 MB (as much as may be had) are asked for here.
        OSError if a descriptor or a file will not do; it names which.
        """

    def run(self) -> None:
        """Copy until `stop`, then drain what the sockets hold. Releases the GIL. Call it once."""

    def stop(self) -> None:
        """Make `run` drain and return; callable from any thread, any number of times."""

    def counters(self) -> list[dict[str, int]]:
        """Per socket, at any time, also after `run`.

        packets and bytes (of the frames as they were) in the file or on their way to it; kernel_drops:
        frames the socket's buffer had no room for; read_errors: errors of the socket, such as its
        interface going down; write_errors: frames the disk would not take (then `last_errno` says
        why). What is on disk is a readable pcap at any time.
        """
