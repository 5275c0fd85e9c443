"""Examples in the documentation that boot machines: a file apart, run in turn with all others that do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_examples import SECONDS, Example, parameters, run_example

pytestmark = pytest.mark.cluster


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize("example", parameters("cluster"))
def test_the_example_does_what_the_page_says(example: Example, tmp_path: Path) -> None:
    run_example(example, tmp_path)
