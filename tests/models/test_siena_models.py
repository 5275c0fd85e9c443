"""What can happen while covers are withdrawn, all of it: a slice of `make test-models`.

That it finds anything is tried with schemes that do wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest

from nodes.routing.schemes.siena import Siena
from nodes.routing.schemes.siena_poset import Forwarding, Poset
from nodes.scheme_catalog import complete
from tests.models.search import Search, replay
from tests.models.siena import SIENA


@pytest.mark.parametrize(("name", "states"), [("siena-covers", 14_000), ("siena-flap", 40_000)])
def test_E15_whatever_is_withdrawn_no_interest_is_lost_on_the_way(name: str, states: int, seed: int) -> None:
    model, machines = SIENA[name].model()
    found = Search(model).run()
    assert found.counterexample is None, found.counterexample
    assert found.states > states
    assert machines.disagreements(Random(seed), tries=30) == []


class WithdrawsFirst(Siena):
    """It withdraws a cover before it asks for what that covered."""

    def _send(self, now_ns: int) -> None:
        first = len(self._router.sent)  # type: ignore[attr-defined]
        super()._send(now_ns)
        self._router.sent[first:] = reversed(self._router.sent[first:])  # type: ignore[attr-defined]


class AsksForNoMore(Siena):
    """What only a cover kept back is not asked for when that is withdrawn."""

    def _settle(self, now_ns: int) -> None:
        for poset in self.table._posets.values():
            poset.take_forwardings = _without_news(poset)  # type: ignore[method-assign]
        super()._settle(now_ns)


def _without_news(poset: Poset) -> Callable[[], list[Forwarding]]:
    """Without what it forwards anew while something else is withdrawn."""

    def take() -> list[Forwarding]:
        noted = Poset.take_forwardings(poset)
        return [*_kept(noted)] if any(each.before & ~each.after for each in noted) else noted

    return take


def _kept(noted: Iterable[Forwarding]) -> Iterable[Forwarding]:
    return (each for each in noted if not each.after & ~each.before)


@pytest.mark.parametrize(
    ("wrong", "said"), [(WithdrawsFirst, "r2 knows no longer that"), (AsksForNoMore, "knows no longer that")]
)
def test_a_scheme_that_does_wrong_is_found_and_the_way_there_can_be_gone_again(
    wrong: type[Siena], said: str
) -> None:
    model, _ = SIENA["siena-covers"].model(lambda: wrong(complete("siena", {})))
    found = Search(model).run().counterexample
    assert found is not None
    assert said in found.wrong
    *_, (last, _, wrong_there) = replay(model, found.steps)
    assert (last, *wrong_there) == (found.steps[-1], found.wrong)
