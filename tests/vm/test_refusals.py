"""What Vagrant says when something that it was asked for cannot be."""

from __future__ import annotations

import socket

import pytest

from tests.vm.vagrant import vagrant

pytestmark = pytest.mark.vm


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"CBN_MEMORY": "lots"}, "CBN_MEMORY is lots; expected: a whole number, 2048 or more"),
        ({"CBN_MEMORY": "512"}, "CBN_MEMORY is 512; expected: a whole number, 2048 or more"),
        ({"CBN_NODES": "-1"}, "CBN_NODES is -1; expected: a whole number, 0 or more"),
        ({"CBN_PORT": "80"}, "CBN_PORT is 80; expected: a whole number, 1024 or more"),
        ({"CBN_LIBVIRT_DRIVER": "xen"}, "CBN_LIBVIRT_DRIVER is xen; expected: kvm or qemu"),
        ({"CBN_PROVISIONER": "shell"}, "CBN_PROVISIONER is shell; expected: ansible or ansible_local"),
        ({"CBN_BOX": "missing.box"}, "CBN_BOX: there is no file missing.box; `make box` makes build/lab.box"),
        ({"CBN_WHEELHOUSE": "docs"}, "docs has no wheels; `make wheelhouse` makes build/wheelhouse"),
        ({"CBN_FORWARD": "NOT_SET_HERE"}, "CBN_FORWARD names variables that are not set: NOT_SET_HERE"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(settings: dict[str, str], said: str) -> None:
    done = vagrant("status", "lab", **settings)
    assert done.returncode != 0
    (line,) = done.stdout.strip().splitlines()
    assert line.startswith("Vagrantfile: ")
    assert line.endswith(said)


def test_a_port_that_is_in_use_is_named_before_anything_is_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = vagrant("up", "lab", CBN_PORT=port)
    assert done.returncode != 0
    assert f"port {port} of this host is in use" in done.stdout
    assert "Creating domain" not in done.stdout


def test_a_host_with_too_little_memory_is_told_so_before_anything_is_made() -> None:
    done = vagrant("up", "lab", CBN_MEMORY="900000000")
    assert done.returncode != 0
    assert "lab takes 900000000 MiB and this host has" in done.stdout
    assert "Creating domain" not in done.stdout


def test_a_provider_that_is_not_there_is_named() -> None:
    done = vagrant("up", "lab", "--provider", "virtualbox")
    assert done.returncode != 0
    assert "virtualbox" in done.stdout.lower()
