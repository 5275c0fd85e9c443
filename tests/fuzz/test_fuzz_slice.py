"""A slice of `make fuzz`: every harness over what it begins with, what was kept, and changed copies."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from tests.fuzz.seeds import HARNESSES, KERNELS, LIBRARIES, NAMES, kept, kept_path, seeds
from tests.fuzz.targets import TARGETS
from tests.native_build import compile_sanitized, run_sanitized

CHANGED = 20_000
"""Inputs of a kernel."""
CHANGED_OF = {
    "reassembly": 3_000,
    "node-settings": 300,
    "scenario": 40,
    "router": 60,
    "guard": 2_000,
    "message-guard": 2_000,
    "records": 40,
}
DRIVER = HARNESSES.parent / "driver.cpp"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kernels in one program, which takes long to compile."""
    return compile_sanitized(DRIVER, tmp_path_factory.mktemp("driver"), "-O0", libraries=LIBRARIES)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_takes_whatever_bytes_there_are(name: str, driver: Path, tmp_path: Path, seed: int) -> None:
    inputs = [*seeds(name), *kept(name)]
    path = tmp_path / "inputs"
    path.write_bytes(b"".join(struct.pack("<I", len(each)) + each for each in inputs))
    printed = run_sanitized(driver, name, str(path), str(seed), str(CHANGED))
    assert printed == f"{len(inputs)} inputs, {CHANGED} changed\n"


@pytest.mark.parametrize("name", TARGETS)
def test_python_takes_whatever_bytes_there_are(name: str, seed: int) -> None:
    rng = random.Random(f"{name}/{seed}")
    inputs = [*seeds(name), *kept(name)]
    chosen = inputs if len(inputs) < 100 else rng.sample(inputs, 100)
    for data in (*chosen, *(changed(rng, inputs) for _ in range(CHANGED_OF[name]))):
        try:
            TARGETS[name](data)
        except BaseException as error:
            raise AssertionError(f"{name}: the input in hexadecimal digits is {data.hex()}") from error


def changed(rng: random.Random, inputs: list[bytes]) -> bytes:
    data = bytearray(rng.choice(inputs))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0:
                del data[at:]
            case 1:
                data[at:at] = rng.randbytes(rng.randint(1, 4))
            case 2:
                data[at:] = rng.choice(inputs)[at:]
            case _:
                data[at : at + 1] = rng.randbytes(1)
    return bytes(data)


def test_inputs_are_kept_of_every_kernel_and_of_nothing_that_is_not_fuzzed() -> None:
    found = {path.stem for path in kept_path("x").parent.glob("*.txt")}
    assert {*KERNELS} <= found <= {*NAMES}
    assert all(kept(name) for name in KERNELS)
