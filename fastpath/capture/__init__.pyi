"""Copy frames from packet sockets into capture files with nanosecond time stamps."""

import os
from collections.abc import Sequence

from _typeshed import ReadableBuffer

FORMATS: tuple[str, ...]

class Capture:
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
    ) -> None: ...
    def run(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def rings(self) -> int: ...
    @property
    def ring_bytes(self) -> int: ...
    def counters(self) -> list[dict[str, int]]: ...

class CaptureWriter:
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
    ) -> None: ...
    def record(self, time_ns: int, frame: ReadableBuffer) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    @property
    def packets(self) -> int: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def files(self) -> int: ...
