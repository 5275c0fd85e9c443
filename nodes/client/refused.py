"""What a client's router does not take from it: why not, in words.

Not here: who finds out (`core`), and limits and policy, which are the router's (`nodes.config`).
"""

from __future__ import annotations

from nodes.wire.packets import Refusal

_WHY = {
    Refusal.TOO_MANY_PATTERNS: "it seeks as many of {client} as it may (limits.patterns_per_neighbour)",
    Refusal.OVERSIZE_PATTERN: "the pattern is longer than it takes (limits.pattern_bytes)",
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "the policy does not permit it to {client} (policy.subscribe)",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "the policy does not permit it to {client} (policy.advertise)",
    Refusal.PATTERN_NOT_PERMITTED: "the policy does not permit a part of it to {client} (policy.subscribe)",
}
_WHAT = {
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "does not take the subscription",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "does not take the advertisement",
}
"""What the router does not do; if nothing else, it does not seek a pattern."""


class PatternRefused(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The client's router does not seek this pattern. It can be sought again later."""


class NotPermitted(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The policy of the client's router does not permit it this subscription, or this advertisement."""


def name_of(reason: int) -> str:
    """The name of a reason to refuse something; of one that this version does not know, its number."""
    return Refusal(reason).name.lower() if reason in list(Refusal) else str(reason)


def why_not(client: str, router: str, reason: int) -> str:
    """A sentence: the router does not take something of the client."""
    why = _WHY[Refusal(reason)].format(client=client)
    return f"{router} {_WHAT.get(Refusal(reason), 'does not seek the pattern')}: {why}"
