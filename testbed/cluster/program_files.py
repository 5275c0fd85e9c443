"""What programs need of the folder they are started in: packed on the controller, unpacked on a machine.

A folder goes as it is, but for what is hidden, what Python has compiled, and the directories of runs. It
comes home with the run's files, with what programs have written into it.
"""

from __future__ import annotations

import base64
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from nodes.daemon.kernel import Account
from testbed.plan.recorded import MANIFEST

PROGRAMS = "programs"
"""The folder of a run's files on a machine that programs are started in."""
MOST_BYTES = 32 << 20
MOST_FILES = 2_000


class TooMuchError(Exception):
    """A folder has more in it than is sent to machines; the text says what to do."""


def pack(folder: Path) -> str:
    """The files of a folder, as text.

    Raises:
        TooMuchError: they are too many, or too large.
        OSError: they cannot be read.
    """
    paths = []
    size = 0
    for path in files_of(folder):
        paths.append(path)
        size += path.stat().st_size
        if size > MOST_BYTES or len(paths) > MOST_FILES:
            raise TooMuchError(
                f"{folder} goes to the machines that run its programs, and has more than "
                f"{MOST_BYTES >> 20} MiB or {MOST_FILES:,} files in it: put the programs, and what they "
                "need, into a folder of their own"
            )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path in paths:
            archive.add(path, path.relative_to(folder), recursive=False)
    return base64.b64encode(packed.getvalue()).decode("ascii")


def files_of(folder: Path) -> Iterator[Path]:
    """The files that are sent, in order."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__" or (path / MANIFEST).exists():
            continue
        if path.is_dir() and not path.is_symlink():
            yield from files_of(path)
        elif path.is_file():
            yield path


def unpack(packed: str, folder: Path, account: Account) -> None:
    """Make the folder, as one of this account; nothing if nothing was packed.

    Raises:
        OSError: it cannot be made.
    """
    if not packed:
        return
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed)), mode="r:gz") as archive:
        # Python 3.11 has filters from 3.11.4 on; who can ask this machine's agent is root here anyway.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, *account)
