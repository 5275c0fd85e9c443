"""What can happen while requests, replies and advertisements cross, all of it: a slice of `make test-models`.

That it finds anything is tried with routers that do wrong.
"""

from __future__ import annotations

from random import Random

import pytest

from nodes.routing.schemes.cbcb_pull import Relay
from tests.models.cbcb import CBCB
from tests.models.search import Search, replay


def test_E7_whatever_crosses_no_interest_is_lost_and_all_is_learned_at_last(seed: int) -> None:
    model, machines = CBCB["cbcb-star"].model()
    found = Search(model).run()
    assert found.counterexample is None, found.counterexample
    assert found.states > 7_000
    assert machines.disagreements(Random(seed), tries=30) == []


def test_a_router_that_forgets_what_was_advertised_behind_a_reply_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Relay, "has_reply_from", lambda _relay, _branch: False)
    model, _ = CBCB["cbcb-star"].model()
    found = Search(model).run().counterexample
    assert found is not None
    assert "r1 knows no longer" in found.wrong
    *_, (last, _, wrong_there) = replay(model, found.steps)
    assert (last, *wrong_there) == (found.steps[-1], found.wrong)
