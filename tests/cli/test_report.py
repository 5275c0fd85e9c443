"""`cbn report`, from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

ONE = """\
name: one
topology: {generate: ring, size: 3}
populations:
  sub: {count: 2, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: 5}]}
"""


def test_the_page_of_a_run_or_of_a_matrix_is_found_and_opened(cbn: Any, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE, encoding="utf-8")
    (tmp_path / "many.yaml").write_text(ONE + "matrix: {scheme: [pif, flood]}\n", encoding="utf-8")
    for name in ("one", "many"):
        done = cbn("run", f"{name}.yaml", "--world", "sim", "--out", name)
        assert done.returncode == 0, done.stderr
    done = cbn("report", "one")
    assert (done.returncode, done.stderr.strip()) == (
        2, "cbn: one/report.html: there is none yet; `cbn analyze one` makes it",
    )  # fmt: skip
    (tmp_path / "one" / "report.html").write_text("<html/>")
    for name, page in (("one", "report.html"), ("many", "compare.html")):
        done = cbn("report", name, "--path")
        assert (done.returncode, done.stdout.strip()) == (0, f"{name}/{page}"), done.stderr
        assert json.loads(cbn("report", name, "--json").stdout) == {"page": f"{name}/{page}"}


def test_a_browser_is_told_the_address_of_the_page(cbn: Any, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE, encoding="utf-8")
    assert cbn("run", "one.yaml", "--world", "sim", "--out", "one").returncode == 0
    (tmp_path / "one" / "report.html").write_text("<html/>")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > "$(dirname "$0")/told"\n')
    browser.chmod(0o755)
    done = cbn("report", "one", BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout.strip()) == (0, "opened one/report.html"), done.stderr
    assert (tmp_path / "told").read_text().strip() == (tmp_path / "one" / "report.html").as_uri()
