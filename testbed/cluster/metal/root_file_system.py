"""The root file system that all machines share: made once by mmdebstrap, kept in a cache folder.

Its name is made from all that it depends on, so what is in the cache is never changed;
machines write into layers of their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nodes.processes import SCRATCH, scratch_owner, scratch_prefix
from testbed.cluster.metal.programs import MetalError, UnableError, run

ACCOUNT = "admin"
"""Whom people and Ansible log in as; may use sudo without a password."""
ACCOUNT_ID = 1000
_ROOT = Path(__file__).parents[3]
PACKAGES_FILES = (_ROOT / "packages-machine.apt", _ROOT / "packages-spark.apt")
BOOTED = ("systemd", "systemd-sysv", "dbus", "openssh-server", "kmod")
"""What a Debian installed on a real machine has, beside the least that there is."""
ROOM_BYTES = 1_500_000_000
"""Free space that making it takes, with the packages."""
BUILD_TIMEOUT_S = 600.0
FORMAT = 1
"""To be raised when what is made here changes."""
_APT = Path("/etc/apt")
_SET_UP = f"""set -eu
useradd --create-home --shell /bin/bash --uid {ACCOUNT_ID} {ACCOUNT}
printf '%s ALL=(ALL) NOPASSWD: ALL\\n' {ACCOUNT} > /etc/sudoers.d/{ACCOUNT}
chmod 0440 /etc/sudoers.d/{ACCOUNT}
: > /etc/fstab
: > /etc/machine-id
rm -f /etc/hostname /etc/resolv.conf /etc/ssh/ssh_host_* /var/lib/dbus/machine-id
rm -f /etc/apt/apt.conf.d/99mmdebstrap
"""

Say = Callable[[str], None]


def cache_folder() -> Path:
    """Where root file systems are kept."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given) / "cbn"
    return Path("/var/cache/cbn") if os.geteuid() == 0 else Path.home() / ".cache" / "cbn"


def root_file_system(say: Say) -> Path:
    """The folder of the root file system; it is made if there is none.

    Raises:
        MetalError: It cannot be made.
    """
    sources = apt_sources()
    packages = wanted_packages()
    cache = cache_folder()
    folder = cache / f"root-{_digest(sources, packages)}"
    with _sole_builder(cache, say):
        if not folder.is_dir():
            say("making a root file system of Debian packages, which takes about half a minute; it is kept")
            _build(folder, sources, packages)
    return folder


def wanted_packages() -> list[str]:
    """Names of Debian packages.

    Raises:
        UnableError: Their list is not there.
    """
    for path in PACKAGES_FILES:
        if not path.is_file():
            raise UnableError(f"there is no {path}: call cbn from the source tree")
    lines = [line for path in PACKAGES_FILES for line in path.read_text(encoding="utf-8").splitlines()]
    return [*BOOTED, *(line for line in lines if line and not line.startswith("#"))]


def apt_sources() -> list[Path]:
    """The files of this machine's apt that name Debian's own archive.

    Raises:
        UnableError: There are none.
    """
    parts = sorted((_APT / "sources.list.d").glob("*"))
    files = [_APT / "sources.list", *(p for p in parts if p.suffix in (".list", ".sources"))]
    chosen = [path for path in files if path.is_file() and _names_suite(path)]
    if not chosen:
        raise UnableError(f"no file of {_APT} has packages of Debian {suite()}, which machines are made of")
    return chosen


def suite() -> str:
    """The release of Debian that runs here, which machines run as well.

    Raises:
        UnableError: This is not Debian.
    """
    facts = platform.freedesktop_os_release()
    if facts.get("ID") != "debian":
        raise UnableError(f"machines are made of Debian's packages, and this is {facts.get('NAME')}")
    return facts["VERSION_CODENAME"]


def remove_abandoned() -> None:
    """Remove what a process has left that was killed while it made a root file system."""
    for path in cache_folder().glob(f"{SCRATCH}*"):
        owner = scratch_owner(path.name)
        if owner is not None and not owner.alive():
            shutil.rmtree(path)


def _names_suite(path: Path) -> bool:
    words = path.read_text(encoding="utf-8").split()
    return suite() in words


def _digest(sources: list[Path], packages: list[str]) -> str:
    texts = [path.read_text(encoding="utf-8") for path in sources]
    facts = [str(FORMAT), suite(), platform.machine(), _SET_UP, *packages, *texts]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


@contextmanager
def _sole_builder(cache: Path, say: Say) -> Iterator[None]:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / "lock").open("w")
    except OSError as error:
        raise UnableError(f"the cache folder {cache} cannot be used: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that is making the root file system")
            fcntl.flock(lock, fcntl.LOCK_EX)
        remove_abandoned()
        yield


def _build(folder: Path, sources: list[Path], packages: list[str]) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < ROOM_BYTES:
        raise UnableError(
            f"{folder.parent} has {free / 1e9:.1f} GB free, and making a root file system takes "
            f"{ROOM_BYTES / 1e9:.1f} GB: make room, or name another folder with XDG_CACHE_HOME"
        )
    with tempfile.TemporaryDirectory(prefix=scratch_prefix(), dir=folder.parent) as scratch:
        made, log = Path(scratch, "root"), Path(scratch, "log")
        settings = Path(scratch, "apt.conf")
        settings.write_text(_apt_settings(), encoding="utf-8")
        _bootstrap(made, sources, packages, settings, log)
        run(["chroot", str(made), "sh", "-c", _SET_UP])
        made.rename(folder)


def _apt_settings() -> str:
    """How this machine's apt fetches: proxies, certificates."""
    lines = run(["apt-config", "dump"]).splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("Acquire::http"))


def _bootstrap(made: Path, sources: list[Path], packages: list[str], settings: Path, log: Path) -> None:
    # In namespaces of its own: what mmdebstrap mounts and starts ends with it, and it ends with us.
    alone = ["setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--aptopt={settings}"]
    command += [f"--include={','.join(packages)}", suite(), str(made), *map(str, sources)]
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                [*alone, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                timeout=BUILD_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise MetalError(f"mmdebstrap has not ended after {BUILD_TIMEOUT_S:g} s") from error
    if done.returncode:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line[:2] in ("E:", "W:")]
        why = "; ".join(lines[:3]) or f"exit status {done.returncode}"
        raise MetalError(
            f"mmdebstrap could not make the root file system: {why}. Usual causes: apt's sources cannot be "
            "reached (try `apt-get update`), or no space left"
        )
