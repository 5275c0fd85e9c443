"""What is due of many messages at once, over columns; and whether the reference model says the same.

Which predicates match is found by `matching`. What a claim comes to is asked of the oracle once for all
messages and claims of which it must be the same. Not here: what is owed (`oracle`), or what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from analysis.advertising import Advertising, Standing, restricted
from analysis.columns import Lists, Numbers, coded, groups
from analysis.history import FOREVER
from analysis.matching import Matcher
from analysis.oracle import NEVER, Claim, Due, Oracle, Pair
from analysis.publishing import Publishing
from nodes.model import Value, matches

NOTHING_DUE = Due(None, False)
MOST_SAMPLED = 20
"""Messages in a sample for the reference model."""
MOST_ASKED = 100
"""Predicates that match, and others, about which it is asked for each of them."""
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
Contents = Sequence[Mapping[str, Value] | None]


class Dues(NamedTuple):
    """Columns: each pair of which something is due, once, by message and client."""

    message: Numbers
    """A position among the messages that were asked about."""
    client: Numbers
    due: Numbers
    """A position in `kinds`."""
    kinds: Sequence[Due]
    """The first is that nothing is due."""
    matching: tuple[Numbers, Numbers]
    """Positions of messages and of predicates that they match, ascending."""
    standing: Numbers
    """By message: how it stands to what its publisher had advertised and may publish (`Standing`)."""

    def of(self, message: int) -> dict[int, Due]:
        """What is due of one message, by client."""
        pairs = _of(self.message, message)
        clients, dues = self.client[pairs].tolist(), self.due[pairs].tolist()
        return {client: self.kinds[due] for client, due in zip(clients, dues, strict=True)}


class BulkOracle:
    """The oracle for many messages at once.

    Args:
        oracle: What is asked.
        most_candidates: As for `Matcher`.
        advertising: What was advertised; None: nobody has to advertise.
        publishing: What may be published; None: anything.
    """

    def __init__(
        self,
        oracle: Oracle,
        most_candidates: int | None = None,
        advertising: Advertising | None = None,
        publishing: Publishing | None = None,
    ) -> None:
        self._oracle = oracle
        self._advertising = advertising
        self._publishing = publishing if publishing is not None and publishing.is_limited else None
        self._matcher = Matcher([predicate for predicate, _ in oracle.predicates], most_candidates)
        self._claims = [claim for _, held in oracle.predicates for claim in held]
        self._clients = np.array([claim.subscriber for claim in self._claims], np.int64)
        kinds: dict[object, int] = {}
        alike = [kinds.setdefault(oracle.alike(claim), len(kinds)) for claim in self._claims]
        self._alike = np.array(alike, np.int64)
        self._of_predicate = Lists(
            np.arange(len(self._claims)), np.array([len(held) for _, held in oracle.predicates], np.int64)
        )
        bounds = [min(max(bound, NEVER), FOREVER) for bound in oracle.bounds()]
        self._bounds = np.array(bounds, dtype=np.int64)
        self._kinds = {NOTHING_DUE: 0}

    def dues(self, source: Numbers, time_ns: Numbers, contents: Contents) -> Dues:
        """Of messages by publisher, time of publication, and content (None: nobody can want it).

        Raises:
            TooMuchError: It has become too much work.
        """
        matching = self._matcher.pairs(contents)
        at, claim = self._of_predicate.expand(matching[1])
        message = matching[0][at]
        due = self._of_claims(source[message], time_ns[message], claim)
        known = due > 0
        message, client, due = self._joined(message[known], self._clients[claim[known]], due[known])
        standing = self._standing(source, time_ns, contents)
        due = self._restricted(due, standing[message])
        left = due > 0
        return Dues(message[left], client[left], due[left], list(self._kinds), matching, standing)

    def _standing(self, source: Numbers, time_ns: Numbers, contents: Contents) -> Numbers:
        standing = np.full(len(source), Standing.ADVERTISED, np.int64)
        if self._advertising is not None:
            of_each = zip(source.tolist(), time_ns.tolist(), contents, strict=True)
            standing = np.array([self._advertising.standing(*each) for each in of_each], np.int64)
        if self._publishing is not None:
            each = zip(source.tolist(), contents, strict=True)
            by_policy = np.array([self._publishing.standing(*one) for one in each], np.int64)
            standing = np.maximum(standing, by_policy)
        return standing

    def _restricted(self, due: Numbers, standing: Numbers) -> Numbers:
        """What is left of what is due, once it is known how the message stands."""
        group, first = groups(due, standing)
        kinds = list(self._kinds)
        both = zip(due[first].tolist(), standing[first].tolist(), strict=True)
        codes = [self._code(restricted(kinds[old], Standing(how))) for old, how in both]
        return np.array(codes, np.int64)[group]

    def _of_claims(self, source: Numbers, time_ns: Numbers, claim: Numbers) -> Numbers:
        """What each claim comes to."""
        below, upto = (np.searchsorted(self._bounds, time_ns, side) for side in _SIDES)
        own = source == self._clients[claim]
        group, first = groups(self._places(source), below + upto, self._alike[claim], own)
        columns = (source[first].tolist(), time_ns[first].tolist(), claim[first].tolist())
        answers = [
            self._oracle.moment(published_ns).due(publisher, self._claims[number])
            for publisher, published_ns, number in zip(*columns, strict=True)
        ]
        return np.array([self._code(due or NOTHING_DUE) for due in answers], np.int64)[group]

    def _places(self, nodes: Numbers) -> Numbers:
        """The same for nodes that always belong to the same part of the network."""
        code = coded(nodes)
        _, first = np.unique(code, return_index=True)
        found: dict[object, int] = {}
        places = [found.setdefault(self._oracle.place(node), len(found)) for node in nodes[first].tolist()]
        return np.array(places, np.int64)[code]

    def _joined(self, message: Numbers, client: Numbers, due: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Each pair once, with what all its claims come to together, joined in their order."""
        order = np.lexsort((client, message))
        message, client, due = message[order], client[order], due[order]
        new = np.flatnonzero((np.diff(message, prepend=-1) != 0) | (np.diff(client, prepend=-1) != 0))
        sizes = np.diff(new, append=len(due))
        joined = due[new]
        for nth in range(1, int(sizes.max(initial=0))):
            several = np.flatnonzero(sizes > nth)
            joined[several] = self._join(due[new[several] + nth], joined[several])
        return message[new], client[new], joined

    def _join(self, later: Numbers, earlier: Numbers) -> Numbers:
        group, first = groups(later, earlier)
        kinds = list(self._kinds)
        both = zip(later[first].tolist(), earlier[first].tolist(), strict=True)
        return np.array([self._code(kinds[new].joined(kinds[old])) for new, old in both], np.int64)[group]

    def _code(self, due: Due) -> int:
        return self._kinds.setdefault(due, len(self._kinds))

    def deviating(
        self, source: Numbers, time_ns: Numbers, contents: Contents, found: Dues
    ) -> Iterator[tuple[int, int]]:
        """Messages and clients of a sample of which the reference model says something else than was found.

        The model is asked about all predicates that were found to match, and about some of the others.
        """
        others = _spread(len(self._oracle.predicates), MOST_ASKED)
        for at in _spread(len(contents), MOST_SAMPLED).tolist():
            matching = found.matching[1][_of(found.matching[0], at)]
            content = contents[at]
            if content is not None and len(matching) <= MOST_ASKED:
                asked = np.union1d(matching, others).tolist()
                all_due = self._oracle.judge(int(source[at]), int(time_ns[at]), self._wanting(content, asked))
                standing = Standing(int(found.standing[at]))
                left = {client: restricted(due, standing) for client, due in all_due.items()}
                true = {client: due for client, due in left.items() if due != NOTHING_DUE}
                yield from ((at, client) for client in _differing(found.of(at), true))

    def _wanting(self, content: Mapping[str, Value], asked: Sequence[int]) -> list[Claim]:
        """The claims of those predicates that match by the reference model."""
        some = (self._oracle.predicates[at] for at in asked)
        return [claim for predicate, held in some if matches(predicate, content) for claim in held]


def deviations(pairs: Sequence[Pair], names: Mapping[int, str]) -> list[str]:
    """What to say of pairs of which the reference model says something else; nothing, if there are none."""
    if not pairs:
        return []
    source, sequence, client = pairs[0]
    return [
        f"The oracle contradicts the reference model about {len(pairs):,} pairs of a sample (first: message "
        f"{sequence} of {names.get(source, source)} for {names.get(client, client)}): what was owed is not "
        "to be trusted. This is a defect of the analysis; please report it."
    ]


def _differing(found: Mapping[int, Due], true: Mapping[int, Due]) -> list[int]:
    return sorted(client for client in {*found, *true} if found.get(client) != true.get(client))


def _of(ascending: Numbers, number: int) -> slice:
    """Where a number stands."""
    return slice(*np.searchsorted(ascending, [number, number + 1]).tolist())


def _spread(count: int, most: int) -> Numbers:
    """So many positions, all over."""
    return np.linspace(0, max(0, count - 1), min(count, most)).astype(np.int64)
