"""What a client's router does not take from it: why not, in words.

Not here: who finds out (`core`), and limits, which are the router's (`nodes.config`).
"""

from __future__ import annotations

from nodes.wire.packets import Refusal

_WHY = {
    Refusal.TOO_MANY_PATTERNS: "it seeks as many of {client} as it may (limits.patterns_per_neighbour)",
    Refusal.OVERSIZE_PATTERN: "the pattern is longer than it takes (limits.pattern_bytes)",
}


class PatternRefused(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The client's router does not seek this pattern. It can be sought again later."""


def name_of(reason: int) -> str:
    """The name of a reason to refuse something; of one that this version does not know, its number."""
    return Refusal(reason).name.lower() if reason in list(Refusal) else str(reason)


def why_not(client: str, router: str, reason: int) -> str:
    """A sentence: the router does not seek a pattern of the client."""
    why = _WHY[Refusal(reason)].format(client=client)
    return f"{router} does not seek the pattern: {why}"
