"""Labs for tests: machines of their own names, so that tests of several clones do not meet."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_NUMBERS = itertools.count(1)
Metal = Callable[..., "subprocess.CompletedProcess[str]"]


def call(*arguments: object, **environment: str) -> list[str]:
    """The command line of `cbn metal`, with more variables in its environment."""
    variables = [f"{name}={value}" for name, value in {"PYTHONPATH": str(ROOT), **environment}.items()]
    return ["env", *variables, sys.executable, "-m", "testbed.cli", "metal", *map(str, arguments)]


@pytest.fixture(scope="session")
def metal() -> Metal:
    """`metal(*arguments)`: `cbn metal` as a finished process, with its code and what it printed."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        command = call(*arguments, **environment)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)

    return run


@pytest.fixture
def lab_name(metal: Metal) -> Iterator[str]:
    """The name of a lab that nobody else has; it is taken away if it is there at the end."""
    name = f"test-{os.getpid()}-{next(_NUMBERS)}"
    yield name
    metal("down", "--name", name)
