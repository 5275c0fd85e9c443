"""Captures of sealed messages say the same as those of messages without seals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.attacks.played import play
from topologies.library import SCENARIOS

pytestmark = pytest.mark.sim
QUICKSTART = SCENARIOS / "quickstart.yaml"


def verdict(out: Path, messages: str) -> dict[str, Any]:
    security = {"security__neighbours": "required", "security__messages": messages}
    found = play(QUICKSTART, out, **security)
    assert found.complete, found.outcome.message
    return dict(found.verdict)


def test_a_run_with_sealed_messages_is_judged_as_one_without(tmp_path: Path) -> None:
    sealed, without = verdict(tmp_path / "sealed", "required"), verdict(tmp_path / "without", "off")
    assert (sealed["verdict"], sealed["problems"]) == ("clean", [])
    assert sealed["owed"] > 100
    captured, of_less = sealed.pop("captures"), without.pop("captures")
    assert sealed == without
    # A seal is a packet of its own, in the frame of the messages that it proves.
    seals = captured.pop("packets") - of_less.pop("packets")
    assert seals > 100
    assert captured == of_less
