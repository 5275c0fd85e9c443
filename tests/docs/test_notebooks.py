"""The notebooks do what they show: their cells run in turn, and print what stands below them.

After a change: CBN_WRITE_GOLDENS=1 python -m pytest tests/docs/test_notebooks.py
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(
    path: Path, spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    shared: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        source = "".join(cell["source"])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(source, f"{path.name}, cell {number}", "exec"), shared)
        text = "" if "testbed.cli" in source else printed.getvalue()  # a verdict has times in it
        if os.environ.get("CBN_WRITE_GOLDENS"):
            output = {"name": "stdout", "output_type": "stream", "text": text}
            cell["outputs"] = [output] if text else []
        else:
            assert "".join(output["text"] for output in cell["outputs"]) == text
    if os.environ.get("CBN_WRITE_GOLDENS"):
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
