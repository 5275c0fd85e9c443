"""The project's own box, built from packages, boots and has what a lab needs: `make test-vm`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOOT_S = 240
MACHINE = (
    *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "Nehalem"),
    *("-smp", "2", "-m", "2048", "-nographic", "-monitor", "none"),
)
"""As `Vagrantfile` has it where the processor's own virtual machines cannot run."""

pytestmark = [
    pytest.mark.vm,
    pytest.mark.skipif(os.geteuid() != 0, reason="not root"),
    pytest.mark.skipif(shutil.which(MACHINE[0]) is None, reason="no qemu-system-x86 (packages-vm.apt)"),
]
Guest = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("box") / "lab.box"
    done = subprocess.run([ROOT / "playbooks/box/build", path], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def guest(box: Path) -> Iterator[Guest]:
    """Carries out a command in a machine that was started from the box."""
    folder = box.parent
    with tarfile.open(box) as archive:
        archive.extract("box.img", folder)
    key = folder / "key"
    (found,) = Path("/usr/share").rglob("vagrant*/keys/vagrant")
    shutil.copyfile(found, key)
    key.chmod(0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    network = f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
    disk = f"file={folder / 'box.img'},if=virtio,snapshot=on"
    console = f"file:{folder / 'console'}"
    ends = ("-serial", console, "-drive", disk, "-netdev", network, "-device", "virtio-net-pci,netdev=n")
    ssh = ["ssh", "-i", str(key), "-p", str(port), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]
    ssh += ["-o", f"UserKnownHostsFile={folder / 'hosts'}", "-o", "ConnectTimeout=10", "-o", "LogLevel=ERROR"]

    def run(command: str) -> subprocess.CompletedProcess[str]:
        line = [*ssh, "vagrant@127.0.0.1", command]
        return subprocess.run(line, check=False, capture_output=True, text=True, timeout=120)

    with subprocess.Popen([*MACHINE, *ends], stdin=subprocess.DEVNULL) as machine:
        try:
            until = time.monotonic() + BOOT_S
            while run("true").returncode:
                assert machine.poll() is None, "qemu has ended"
                assert time.monotonic() < until, (folder / "console").read_text(errors="replace")[-2000:]
                time.sleep(2)
            yield run
        finally:
            machine.terminate()


def test_a_box_is_what_vagrant_takes(box: Path) -> None:
    with tarfile.open(box) as archive:
        assert sorted(archive.getnames()) == ["Vagrantfile", "box.img", "metadata.json"]
        about = archive.extractfile("metadata.json")
        assert about is not None
        found = json.load(about)
    assert (found["provider"], found["format"]) == ("libvirt", "qcow2")
    assert box.stat().st_size < 600_000_000


def test_it_boots_and_everything_in_it_has_started(guest: Guest) -> None:
    assert guest("systemctl is-system-running --wait").stdout.strip() == "running"
    assert guest("sudo --non-interactive id --user").stdout.strip() == "0"


def test_its_kernel_has_what_links_are_made_of(guest: Guest) -> None:
    done = guest(
        "sudo ip link add v0 type veth peer name v1 && sudo tc qdisc add dev v0 root netem delay 3ms && "
        "tc qdisc show dev v0; test -c /dev/net/tun && echo tun"
    )
    assert "netem" in done.stdout, done.stderr
    assert done.stdout.endswith("tun\n")


def test_the_packages_that_the_testbed_needs_are_there(guest: Guest) -> None:
    lines = (ROOT / "packages.apt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    done = guest(f"dpkg-query --show --showformat '${{db:Status-Status}}\\n' {' '.join(wanted)}")
    assert done.stdout.split() == ["installed"] * len(wanted), done.stderr
    assert "17" in guest("java -version 2>&1").stdout


def test_it_has_no_keys_but_those_that_it_made_itself(guest: Guest) -> None:
    """Else whoever has the box could pretend to be any machine that was made of it."""
    done = guest('stat --format %Y /etc/ssh/ssh_host_ed25519_key; date --date "$(uptime --since)" +%s')
    made, booted = map(int, done.stdout.split())
    assert made >= booted - 5, done.stderr
