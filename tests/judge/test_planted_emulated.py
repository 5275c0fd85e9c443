"""The same of runs of the emulated world, whose clocks and captures are the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.emu.world import EmulatedWorld
from tests.judge.mutations import DEFECTS, SCENARIO
from tests.judge.runs import carry_out, differences
from tests.judge.test_planted import assert_found

pytestmark = [pytest.mark.emu, pytest.mark.spark]


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("planted"), EmulatedWorld())


def test_both_judges_say_the_same_of_an_emulated_run(emulated: Path) -> None:
    assert not differences(emulated).wrong


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found_and_named(emulated: Path, tmp_path: Path, name: str) -> None:
    assert_found(emulated, tmp_path, name)
