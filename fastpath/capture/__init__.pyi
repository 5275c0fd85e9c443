"""Copy frames from packet sockets into capture files with nanosecond time stamps."""

import os
from collections.abc import Sequence

from _typeshed import ReadableBuffer

FORMATS: tuple[str, ...]
"""`pcap` and `pcapng`."""

class Capture:
    """One loop for all interfaces of a run. The caller closes the descriptors after `run` has returned."""

    def __init__(
        self,
        sockets: Sequence[tuple[int, str]],
        snap_bytes: int = 262_144,
        *,
        format: str = "pcap",  # noqa: A002
        rotate_bytes: int = 0,
        names: Sequence[str] = (),
        memory_bytes: int = 536_870_912,
        rings: bool = False,
        dilate: int = 1,
        dilate_from_ns: int = 0,
    ) -> None:
        """Make ready to capture: what comes from now on is not missed.

        The files are created here, header and all. Frames that a socket held before are
        lost where it gets a ring.

        Args:
            sockets: (bound AF_PACKET, SOCK_RAW descriptor, path of the file to write) each.
            snap_bytes: of each frame, how much is kept.
            format: `pcap` (with nanoseconds) or `pcapng`.
            rotate_bytes: how large a file becomes before the next is begun; 0: never.
            names: of the interfaces, for pcapng.
            memory_bytes: what frames that wait may take of all sockets together; each has room for
                256 KB at least and 32 MB at most. Rings take a quarter of it, whether frames wait or not.
            rings: read through rings shared with the kernel, where it gives memory for them.
                It costs a quarter as much, and the kernel loses a frame now and then.
            dilate: how many times slower than real time the stamps' time goes.
            dilate_from_ns: when both were the same.

        Raises:
            OSError: a descriptor or a file will not do; it names which.
        """

    def run(self) -> None:
        """Copy until `stop`, then drain what the sockets hold. Releases the GIL. Call it once."""

    def stop(self) -> None:
        """Make `run` drain and return; callable from any thread, any number of times."""

    @property
    def rings(self) -> int:
        """How many sockets are read through a ring."""

    @property
    def ring_bytes(self) -> int:
        """How much memory all rings take."""

    def counters(self) -> list[dict[str, int]]:
        """Per socket, at any time, also after `run`.

        packets and bytes (of the frames as they were) in the file or on their way to it; kernel_drops:
        frames there was no room for, or that the kernel never handed over; read_errors: errors of the
        socket, such as its interface going down; write_errors: frames the disk would not take (then
        `last_errno` says why); files: how many were written one after the other; gone: 1 if the interface
        was no more at the end; unfinished_checksums: frames whose checksum was left to the device (known
        of rings alone). What is on disk is readable at any time.
        """

class CaptureWriter:
    """The capture of one interface, frame by frame; the same bytes as `Capture` writes.

    No file is kept open between two writes, so that there may be any number of writers.
    """

    path: str

    def __init__(
        self,
        path: str | os.PathLike[str],
        snap_bytes: int = 262_144,
        *,
        format: str = "pcap",  # noqa: A002
        rotate_bytes: int = 0,
        name: str = "",
        buffer_bytes: int = 65_536,
        index_bytes: int = 1_048_576,
    ) -> None:
        """Begin the file. OSError, here and in the methods, if the disk will not take it."""

    def record(self, time_ns: int, frame: ReadableBuffer) -> None:
        """Note that `frame` passed at `time_ns`."""

    def flush(self) -> None:
        """Bring the file up to date."""

    def close(self) -> None:
        """Write all that is left; nothing can be added after that."""

    @property
    def packets(self) -> int:
        """How many frames were kept."""

    @property
    def frame_bytes(self) -> int:
        """How long they were."""

    @property
    def files(self) -> int:
        """How many files it took."""
