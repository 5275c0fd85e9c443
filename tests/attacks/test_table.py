"""The tables of docs/security.md, with fewer packets: what succeeds, and what seals and signatures do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.table import FLOOD, HEAD, LASTING, ON_LINK, endure, rows

pytestmark = pytest.mark.sim


def test_of_very_many_packets_none_changes_anything() -> None:
    found = endure(20_000)
    assert (found.acts, found.changed, found.wrong) == (20_000, 0, 0)
    assert found.owed > 1000
    assert sum(found.refused.values()) > 0.99 * found.acts
    assert found.grown_bytes < 64 << 20


def test_a_row_says_what_an_attack_did_in_each_mode(tmp_path: Path) -> None:
    off, permissive, required, messages, signed = rows(tmp_path, 300, "2ms", [(ON_LINK, "forge", "hello")])
    assert {each.acts for each in (off, permissive, required, messages, signed)} == {300}
    assert off.ended > 5
    assert permissive.ended > 5
    assert (required.ended, required.installed, required.settled) == (0, 0, True)
    assert (signed.ended, signed.installed, signed.refused) == (0, 0, 300)
    assert required.refused == 300
    assert off.refused == permissive.refused == 0
    assert len(required.cells()) == len(HEAD)
    assert required.cells()[6].startswith("0 of 2,040")


def test_what_a_router_with_keys_says_of_others_is_refused_where_records_are_signed(tmp_path: Path) -> None:
    _, _, sealed, _, signed = rows(tmp_path, 300, "2ms", [(LASTING, "lie", "slander")])
    assert sealed.acts > 300
    assert (sealed.refused, sealed.outdone > 100) == (0, True)
    assert signed.acts == signed.refused > 300
    assert (signed.outdone, signed.installed, signed.ended, signed.settled) == (0, 0, 0, True)


@pytest.mark.parametrize(
    ("do", "by"), [("forge", "message"), ("forge", "mutate_message"), ("replay", "message")]
)
def test_messages_of_others_are_delivered_unless_messages_are_sealed(
    do: str, by: str, tmp_path: Path
) -> None:
    _, _, without, sealed, _ = rows(tmp_path, 300, "2ms", [(ON_LINK, do, by)])
    assert without.acts == sealed.acts == 300
    assert (without.refused, without.damage["honest"].startswith("0 of")) == (0, False)
    # Half of those with a bit turned, and those that were cut in front of their seal, are not malformed.
    assert sealed.refused >= (150 if by == "mutate_message" else 300)
    assert (sealed.ended, sealed.installed, sealed.settled) == (0, 0, True)
    assert {each.split(" of ")[0] for each in sealed.damage.values()} <= {"0", "none owed"}


def test_a_share_slows_a_flood_down_and_costs_nobody_a_delivery(tmp_path: Path) -> None:
    *_, required, _, _, shares = rows(tmp_path, 300, "2ms", [(FLOOD.format("ben"), "flood", "filters")])
    assert required.acts == shares.acts == 300
    assert (required.refused, shares.refused > 100) == (0, True)
    assert (shares.ended, shares.settled) == (0, True)
    assert {each.split(" of ")[0] for each in shares.damage.values()} <= {"0", "none owed"}
