"""The delivery oracle: every subscription against every publication, by the reference model.

Truth is `nodes.model`, in the plainest Python; nothing fast is asked. The one
definition of what is owed, for the analysis (`expected`) and for harnesses that
judge a run in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.calm import FOREVER, History
from analysis.windows import Claim
from nodes.model import Predicate, PredicateSyntaxError, Value, matches, parse_message, parse_predicate

Pair = tuple[int, int, int]
"""A message by source and sequence, and a subscriber."""


class Oracle:
    """Says who is owed, and who may get, a message.

    Args:
        claims: What the subscriptions claim.
        history: When the network stood still; None: it always did, in one piece.
    """

    def __init__(self, claims: Iterable[Claim], history: History | None = None) -> None:
        self._claims: dict[str, list[Claim]] = {}
        for claim in claims if history is None else _known(claims, history):
            self._claims.setdefault(claim.predicate, []).append(claim)
        self._predicates: list[tuple[Predicate, list[Claim]]] = [
            (parse_predicate(text), held) for text, held in self._claims.items()
        ]
        self._history = history

    def wanting(self, attributes: Mapping[str, Value]) -> list[Claim]:
        """The claims of all predicates that match, whenever they hold."""
        return [c for predicate, claims in self._predicates if matches(predicate, attributes) for c in claims]

    def judge(self, source: int, time_ns: int, wanting: Sequence[Claim]) -> dict[int, bool]:
        """Owed (true) or allowed (false) by subscriber; nobody else may get it, nor the publisher."""
        verdict: dict[int, bool] = {}
        history = self._history
        held_until_ns = time_ns if history is None else history.held_until(time_ns)
        for claim in wanting:
            subscriber = claim.subscriber
            if subscriber == source or not claim.allows(time_ns, held_until_ns):
                continue
            if history is not None and not history.allows(source, subscriber, time_ns):
                continue
            owed = claim.owes(time_ns) and (history is None or history.owes(source, subscriber, time_ns))
            verdict[subscriber] = verdict.get(subscriber, False) or owed
        return dict(sorted(verdict.items()))

    def expected(self, source: int, time_ns: int, attributes: Mapping[str, Value]) -> dict[int, bool]:
        """`judge` for a message."""
        return self.judge(source, time_ns, self.wanting(attributes))


def _known(claims: Iterable[Claim], history: History) -> Iterator[Claim]:
    """The claims, those that end when the network does not stand still lasting until all know of it."""
    for claim in claims:
        if claim.allowed_until_ns == FOREVER:
            yield claim
        else:
            until_ns = history.known_by(claim.allowed_until_ns - history.settle_ns)
            yield replace(claim, allowed_until_ns=until_ns)


def readable_claims(claims: Iterable[Claim]) -> tuple[list[Claim], list[str]]:
    """The claims whose predicates parse, and what is wrong with the others."""
    readable: list[Claim] = []
    problems: list[str] = []
    for claim in claims:
        try:
            parse_predicate(claim.predicate)
            readable.append(claim)
        except PredicateSyntaxError as error:
            problems.append(
                f"events.jsonl: node {claim.subscriber} subscribes to what is no predicate: {error}"
            )
    return readable, problems


@dataclass(slots=True)
class Judged:
    """What became of a run's messages."""

    owed: int = 0
    """Pairs of message and subscriber."""
    allowed: int = 0
    """Delivered though not owed."""
    missing: list[Pair] = field(default_factory=list)
    duplicate: list[Pair] = field(default_factory=list)
    """Of what was owed, one for each copy too many."""
    spurious: list[Pair] = field(default_factory=list)


def judge_events(oracle: Oracle, events: Iterable[Mapping[str, Any]], ids: Mapping[str, int]) -> Judged:
    """Judge a run by its clients' events, which are held in memory; `ids` are the nodes' by name."""
    judged, events = Judged(), list(events)
    got = Counter((e["source"], e["sequence"], ids[e["node"]]) for e in events if e["event"] == "deliver")
    wanting: dict[str, list[Claim]] = {}
    for event in events:
        if event["event"] != "publish":
            continue
        source, sequence, text = event["source"], event["sequence"], event["message"]
        if text not in wanting:
            wanting[text] = oracle.wanting(parse_message(text))
        for subscriber, owed in oracle.judge(source, event["time_ns"], wanting[text]).items():
            pair = (source, sequence, subscriber)
            copies = got.pop(pair, 0)
            if not owed:
                judged.allowed += copies > 0
                continue
            judged.owed += 1
            judged.missing += [pair] * (copies == 0)
            judged.duplicate += [pair] * (copies - 1)
    judged.spurious += got
    return judged
