"""docs/clusters.md does what it says, from bare machines to a report: its blocks in order, in one folder.

The machines of `cbn metal` that the page works with are those that all tests share; those that its
first block boots, and its second takes away, are others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import ROOT, Cluster
from tests.docs.test_examples import Example, check_console, examples, take_down_what_runs_in

# Half a gigabyte of Spark is installed on machines that share two processors with other tests.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(390)]
PAGE = ROOT / "docs" / "clusters.md"
BLOCKS = [example for example in examples(PAGE) if "cluster" in example.marks]
BOOTING = [
    example for example in BLOCKS if "$ cbn metal up" in example.text or "$ cbn metal down" in example.text
]


def marked(block: Example) -> object:
    marks = [getattr(pytest.mark, name) for name in block.marks]
    return pytest.param(block, id=f"line {block.line}", marks=marks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a person who works through the page."""
    made = tmp_path_factory.mktemp("page")
    for name in ("playbooks", "ansible.cfg"):
        (made / name).symlink_to(ROOT / name)
    return made


def test_machines_come_and_go(lab_name: str, folder: Path) -> None:
    assert len(BOOTING) == 2
    for block in BOOTING:
        check_console(block, folder, lab_name)


@pytest.mark.parametrize("block", [marked(block) for block in BLOCKS if block not in BOOTING])
def test_what_is_done_with_them_does_what_the_page_says(
    cluster: Cluster, folder: Path, block: Example
) -> None:
    try:
        check_console(block, folder, cluster.hosts_file.parent.name)
    finally:
        take_down_what_runs_in(folder)
