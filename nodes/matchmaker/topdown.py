"""Markings by the costs of each link alone: greedy, and top-down (MM 4.1, 4.3; K3, E18).

On a shared tree the better mark of each link is a valid marking and the best one
(Fig. 5, Claim 1). On per-source trees it may not be valid. Top-down marking (TDM,
Fig. 6) goes along the links from upstream to downstream, and what follows an s-link
becomes one.

The union of several trees' orders can be cyclic: of two links each may be downstream
of the other, in different trees. They must then have the same mark. So TDM treats as
one what is strongly connected, and compares the sums of what its links would carry. Of links that
are not ordered, the footnote takes the one with the least difference first; the result is the same
in any order, as it depends on what is upstream alone.

Not here: the best marking on per-source trees (`optimum`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from nodes.matchmaker.marking import Marking, P, S
from nodes.matchmaker.problem import Link, Problem

CLOSED = 1 << 60
"""The index of a link whose component is known."""
Below = Mapping[Link, tuple[Link, ...]]
"""By link, those that follow it directly."""


def greedy(problem: Problem) -> Marking:
    """The better mark of each link, s-links where both cost the same (Fig. 5): valid on shared trees."""
    publication, subscription = problem.publication, problem.subscription
    return {t: P if publication[t] < subscription[t] else S for t in problem.links}


def top_down(problem: Problem) -> Marking:
    """What Fig. 6 makes of it: always valid, not always the best."""
    parts = components(problem.below)
    number = {link: i for i, links in enumerate(parts) for link in links}
    after = [
        sorted({number[b] for a in links for b in problem.below[a]} - {i}) for i, links in enumerate(parts)
    ]
    gains = [sum(problem.publication[t] - problem.subscription[t] for t in links) for links in parts]
    marks = _marks(after, gains)
    return {link: marks[number[link]] for link in problem.links}


def is_cyclic(below: Below) -> bool:
    """Whether some links are downstream of each other (E18)."""
    return any(len(links) > 1 for links in components(below))


def components(below: Below) -> list[tuple[Link, ...]]:
    """The strongly connected components, each after all that is upstream of it (Tarjan's algorithm)."""
    index: dict[Link, int] = {}
    open_, found = list[Link](), list[tuple[Link, ...]]()
    for start in below:
        if start in index:
            continue
        index[start] = len(index)
        open_.append(start)
        waiting: list[tuple[Link, int, Iterator[Link]]] = [(start, index[start], iter(below[start]))]
        while waiting:
            link, least, rest = waiting.pop()
            following = next(rest, None)
            if following is None:
                _close(link, least, index, open_, found)
                if waiting:
                    before, known, others = waiting.pop()
                    waiting.append((before, min(known, least), others))
            elif following in index:
                waiting.append((link, min(least, index[following]), rest))
            else:
                index[following] = len(index)
                open_.append(following)
                waiting += [(link, least, rest), (following, index[following], iter(below[following]))]
    return found[::-1]


def _close(
    link: Link, least: int, index: dict[Link, int], open_: list[Link], found: list[tuple[Link, ...]]
) -> None:
    """A link has been followed to the end: if it was the first of its component, that is complete."""
    if least < index[link]:
        return
    at = open_.index(link)
    found.append(tuple(open_[at:]))
    for each in open_[at:]:
        index[each] = CLOSED
    del open_[at:]


def _marks(after: Sequence[Sequence[int]], gains: Sequence[float]) -> list[int]:
    """A mark a component, upstream first; gains, what s-links save, also order what is not ordered."""
    before = [0] * len(after)
    for following in after:
        for other in following:
            before[other] += 1
    forced, marks = [False] * len(after), [P] * len(after)
    ready = [(gains[i], i) for i, count in enumerate(before) if not count]
    heapq.heapify(ready)
    while ready:
        gain, i = heapq.heappop(ready)
        marks[i] = S if forced[i] or gain >= 0 else P
        for other in after[i]:
            forced[other] |= marks[i] == S
            before[other] -= 1
            if not before[other]:
                heapq.heappush(ready, (gains[other], other))
    return marks
