"""Taking a pattern apart at a router: which parts to get from which neighbours (ADR 3.6, decision 30).

A router knows what its neighbours, and its own clients, provide: their advertisements. Of a pattern, operands
that stand side by side and that one provider alone has are delegated to it as a pattern of their own. All
other parts are subscribed to, from every provider. The router then recognises the whole from these factors
with a monitor.

Pure: no router, no packets. Not here: recognising (`monitor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from nodes.model import advertisement_overlaps
from nodes.model.filters import Filter
from nodes.model.patterns import (
    Composed,
    Expression,
    Joint,
    Pairing,
    Part,
    Pattern,
    is_bounded,
    parts_of,
)

Provider = int
"""An interface: towards a neighbour, or a client of the router."""


class Availability(Protocol):
    """Who provides what."""

    def providers(self, part: Part) -> frozenset[Provider]:
        """Whose advertisements overlap what the part matches (E14)."""


class Available:
    """What is provided: the paper's T_A, with providers."""

    def __init__(self) -> None:
        self._by_provider: dict[Provider, dict[Filter, int]] = {}

    def add(self, provider: Provider, advertisement: Filter) -> None:
        """A provider has this, once more."""
        held = self._by_provider.setdefault(provider, {})
        held[advertisement] = held.get(advertisement, 0) + 1

    def remove(self, provider: Provider, advertisement: Filter) -> None:
        """A provider has it once less."""
        held = self._by_provider[provider]
        held[advertisement] -= 1
        if not held[advertisement]:
            del held[advertisement]

    def leave(self, provider: Provider) -> None:
        """A provider has gone; one that was not there is fine."""
        self._by_provider.pop(provider, None)

    def providers(self, part: Part) -> frozenset[Provider]:
        """Whose advertisements overlap what the part matches (E14)."""
        return frozenset(
            provider
            for provider, held in self._by_provider.items()
            if any(advertisement_overlaps(a, f) for a in held for f in part.predicate.filters)
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """What fills one place of a monitor, and who is asked for it."""

    expression: Expression
    providers: tuple[Provider, ...]
    """Ascending; none: nobody has it, and the pattern can do without."""

    @property
    def delegated(self) -> bool:
        """Whether a provider is to recognise it; else it is an elementary subscription."""
        return isinstance(self.expression, Composed)


@dataclass(frozen=True, slots=True)
class Factored:
    """A pattern, taken apart.

    Args:
        pattern: What is sought, with delegated operands as one place each.
        factors: What fills the places, from left to right; empty: it waits for parts that nobody provides.
        lacking: These parts.
    """

    pattern: Pattern
    factors: tuple[Factor, ...]
    lacking: tuple[Part, ...] = ()

    @property
    def places(self) -> tuple[Expression, ...]:
        """For `Monitor`."""
        return tuple(factor.expression for factor in self.factors)

    @property
    def requests(self) -> frozenset[tuple[Provider, Expression]]:
        """What is asked of whom."""
        return frozenset((p, factor.expression) for factor in self.factors for p in factor.providers)

    @property
    def passed_on(self) -> bool:
        """Whether one provider has all of it, and is given it as it is."""
        return len(self.factors) == 1 and self.factors[0].delegated

    def delegated(self, factor: Factor) -> Pattern:
        """What a provider is asked to recognise.

        All of its matches, as the pairing chooses among matches of the whole; and in half the time, as they
        have to be here before the whole is evaluated.
        """
        return Pattern(factor.expression, Pairing.EVERY, self.pattern.keep, self.pattern.wait_ns // 2)


def factor(
    pattern: Pattern,
    available: Availability,
    without: Iterable[Provider] = (),
    clients: Iterable[Provider] = (),
) -> Factored:
    """Take a pattern apart.

    Args:
        pattern: What is sought.
        available: Who provides what.
        without: Providers that are not asked: who seeks it has what comes from there.
        clients: Providers to which nothing is delegated: they send messages, and do not recognise.
    """
    excluded = frozenset(without)
    providers = {part: available.providers(part) - excluded for part in dict.fromkeys(pattern.parts)}
    lacking = tuple(part for part in providers if not providers[part])
    if not _can_match(pattern.expression, providers):
        return Factored(pattern, (), lacking)
    factors: list[Factor] = []
    expression = _Factoring(providers, frozenset(clients), factors).of(pattern.expression, None)
    whole = Pattern(expression, pattern.pairing, pattern.keep, pattern.wait_ns)
    return Factored(whole, tuple(factors), lacking)


def changes(
    before: Factored, after: Factored
) -> tuple[frozenset[tuple[Provider, Expression]], frozenset[tuple[Provider, Expression]]]:
    """What is to be asked for anew, and what no longer, when providers have come or gone."""
    return after.requests - before.requests, before.requests - after.requests


def _can_match(expression: Expression, providers: dict[Part, frozenset[Provider]]) -> bool:
    if isinstance(expression, Part):
        return bool(providers[expression])
    of_operands = [_can_match(each, providers) for each in expression.operands]
    return any(of_operands) if expression.joint is Joint.OR else all(of_operands)


class _Factoring:
    def __init__(
        self,
        providers: dict[Part, frozenset[Provider]],
        clients: frozenset[Provider],
        factors: list[Factor],
    ) -> None:
        self._providers = providers
        self._clients = clients
        self._factors = factors

    def of(self, expression: Expression, within_ns: int | None) -> Expression:
        """The expression with delegated parts as places; adds factors from left to right.

        Args:
            expression: What is taken apart.
            within_ns: The shortest window around it.
        """
        if isinstance(expression, Part):
            return self._place(expression, self._providers[expression])
        windows = [each for each in (within_ns, expression.within_ns) if each is not None]
        window_ns = min(windows, default=None)
        sole = self._sole(expression)
        if sole is not None and _takes_several(expression):
            whole = _bounded(expression, window_ns)
            if whole is not None:
                return self._place(whole, sole)
        operands = tuple(self._operands(expression, window_ns))
        return Composed(expression.joint, operands, expression.within_ns)

    def _operands(self, expression: Composed, window_ns: int | None) -> Iterator[Expression]:
        """Operands; neighbours among them of which one provider has all become one."""
        for sole, group in groupby(expression.operands, self._sole):
            run = tuple(group)
            joined = sole is not None and len(run) > 1 and expression.joint is not Joint.OR
            whole = _bounded(Composed(expression.joint, run), window_ns) if joined else None
            if sole is not None and whole is not None:
                yield self._place(whole, sole)
            else:
                for operand in run:
                    yield self.of(operand, window_ns)

    def _place(self, expression: Expression, providers: frozenset[Provider]) -> Expression:
        self._factors.append(Factor(expression, tuple(sorted(providers))))
        return expression

    def _sole(self, expression: Expression) -> frozenset[Provider] | None:
        """The router that has all of its parts, of which nobody else has any; None: there is none."""
        found = {self._providers[part] for part in parts_of(expression)}
        only = next(iter(found))
        return only if len(found) == 1 and len(only) == 1 and only.isdisjoint(self._clients) else None


def _takes_several(expression: Expression) -> bool:
    """Whether a match may have several messages: else elementary subscriptions say it all."""
    if isinstance(expression, Part):
        return False
    return expression.joint is not Joint.OR or any(_takes_several(each) for each in expression.operands)


def _bounded(expression: Composed, window_ns: int | None) -> Composed | None:
    """The expression with the shortest window around it; None: it has no bound to be sought alone."""
    bounded = Composed(expression.joint, expression.operands, window_ns)
    return bounded if is_bounded(bounded) else None
