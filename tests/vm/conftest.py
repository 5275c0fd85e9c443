"""What tests of virtual machines share: where they can run, and the machine `lab`, up once for all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.vm.vagrant import BOX, STAGES, Guest, stage, vagrant


def why_not() -> str | None:
    """Why no virtual machine is tried here, if so."""
    if not os.environ.get("CBN_PRIVATE_LIBVIRT"):
        return "virtual machines are tried by `make test-vm` and `make test-vm-nodes`"
    return None if BOX.is_file() else "no box: `make box`"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = why_not()
    for item in items:
        if why is not None and item.get_closest_marker("vm"):
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long everything took."""
    if STAGES:
        terminalreporter.section("what took how long")
        for name, seconds in STAGES:
            terminalreporter.line(f"{seconds:6.0f} s  {name}")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The machine `lab`, provisioned; taken away at the end, if a test has not done so."""
    with stage("vagrant up lab"):
        done = vagrant("up", "lab")
    try:
        assert done.returncode == 0, done.stdout[-4000:]
        assert re.search(r"lab +: ok=\d+ +changed=[1-9]\d* .*failed=0", done.stdout), done.stdout[-4000:]
        guest = Guest("lab", tmp_path_factory.mktemp("ssh"), {})
        yield guest
        guest.close()
    finally:
        vagrant("destroy", "--force")
