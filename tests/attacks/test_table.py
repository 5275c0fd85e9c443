"""The tables of docs/security.md, with fewer packets: what succeeds without seals does nothing with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.table import HEAD, ON_LINK, endure, rows

pytestmark = pytest.mark.sim


def test_of_very_many_packets_none_changes_anything() -> None:
    found = endure(20_000)
    assert (found.acts, found.changed, found.wrong) == (20_000, 0, 0)
    assert found.owed > 1000
    assert sum(found.refused.values()) > 0.99 * found.acts
    assert found.grown_bytes < 64 << 20


def test_a_row_says_what_an_attack_did_in_each_mode(tmp_path: Path) -> None:
    off, permissive, required = rows(tmp_path, 300, "2ms", [(ON_LINK, "forge", "hello")])
    assert {each.acts for each in (off, permissive, required)} == {300}
    assert off.ended > 5
    assert permissive.ended > 5
    assert (required.ended, required.installed, required.settled) == (0, 0, True)
    assert required.refused == 300
    assert off.refused == permissive.refused == 0
    assert len(required.cells()) == len(HEAD)
    assert required.cells()[5].startswith("0 of 2,040")
