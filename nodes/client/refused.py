"""What a client's router does not take from it: why not, in words.

Not here: who finds out (`core`), and limits and policy, which are the router's (`nodes.config`).
"""

from __future__ import annotations

from nodes.wire.packets import OF_LIMITS, OF_PATTERNS, Refusal

_WHY = {
    Refusal.TOO_MANY_PATTERNS: "it seeks as many of {client} as it may (limits.patterns_per_neighbour)",
    Refusal.OVERSIZE_PATTERN: "the pattern is longer than it takes (limits.pattern_bytes)",
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "the policy does not permit it to {client} (policy.subscribe)",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "the policy does not permit it to {client} (policy.advertise)",
    Refusal.PATTERN_NOT_PERMITTED: "the policy does not permit a part of it to {client} (policy.subscribe)",
    Refusal.SUBSCRIPTION_OVER_LIMIT: "it holds as much of {client} as it may (limits.filters_per_neighbour, "
    "constraints_per_neighbour, bytes_per_neighbour)",
    Refusal.ADVERTISEMENT_OVER_LIMIT: "it holds as much of {client} as it may (limits.filters_per_neighbour, "
    "constraints_per_neighbour, bytes_per_neighbour)",
}
_WHAT = {
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "does not take the subscription",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "does not take the advertisement",
    Refusal.SUBSCRIPTION_OVER_LIMIT: "does not take the subscription",
    Refusal.ADVERTISEMENT_OVER_LIMIT: "does not take the advertisement",
}
"""What the router does not do; if nothing else, it does not seek a pattern."""


class PatternRefused(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The client's router does not seek this pattern. It can be sought again later."""


class NotPermitted(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The policy of the client's router does not permit it this subscription, or this advertisement."""


class LimitReached(RuntimeError):  # noqa: N818  (as `NotAttached`)
    """The client's router holds as many subscriptions, or advertisements, of it as it may."""


def name_of(reason: int) -> str:
    """The name of a reason to refuse something; of one that this version does not know, its number."""
    return Refusal(reason).name.lower() if reason in list(Refusal) else str(reason)


def error_of(reason: int, text: str) -> RuntimeError:
    """What a program is raised for it."""
    if reason in OF_PATTERNS or reason == Refusal.PATTERN_NOT_PERMITTED:
        return PatternRefused(text)
    return LimitReached(text) if reason in OF_LIMITS else NotPermitted(text)


def why_not(client: str, router: str, reason: int) -> str:
    """A sentence: the router does not take something of the client."""
    why = _WHY[Refusal(reason)].format(client=client)
    return f"{router} {_WHAT.get(Refusal(reason), 'does not seek the pattern')}: {why}"
