"""A slice of `make test-properties`, and that what does not hold is found."""

from __future__ import annotations

import pytest

from fastpath import cover
from nodes.routing.schemes.siena_poset import Poset
from tests.properties import campaign, overlaps, posets
from tests.properties.campaign import PROPERTIES, Batch, carry_out

SLICE = 100
FINDS_SOON = 9
"""A seed whose cases show each planted defect early, and are soon made small."""


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_slice_of_each_property_holds(name: str, seed: int) -> None:
    outcome = carry_out(Batch(name, seed, SLICE))
    assert outcome.problem == "", (
        f"python -m tests.properties.campaign --only {name} --seed {seed} --cases {SLICE}"
    )
    assert outcome.cases >= SLICE


def test_the_command_prints_how_many_cases_held(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["campaign", "--only", "overlap", "--seed", "5", "--cases", "60"])
    assert campaign.main() == 0
    assert "overlap: 60 cases" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "where", "what", "instead"),
    [
        ("poset", Poset, "unsubscribe", lambda *_: None),
        ("poset-of-advertisements", cover, "AdvertisementSet", cover.PredicateSet),
        ("roots", posets, "model_covers", lambda *_: False),
        ("overlap", overlaps, "advertisement_overlaps", lambda *_: True),
    ],
)
def test_a_defect_that_is_planted_is_found(
    name: str, where: object, what: str, instead: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, what, instead)
    assert "Failing test case" in carry_out(Batch(name, FINDS_SOON, 10 * SLICE)).problem
