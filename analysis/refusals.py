"""What the policy did not permit, in numbers and words. Not here: what it permits (`policy`)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.findings import Findings

_KINDS = {
    "publications": "message",
    "subscriptions": "subscription",
    "advertisements": "advertisement",
    "patterns": "pattern",
}


def as_verdict(findings: Findings) -> dict[str, int] | None:
    """The value of the key `policy`; None: there is none."""
    if findings.refused is None:
        return None
    kinds = ("subscriptions", "advertisements", "patterns")
    return {
        "publications": findings.not_permitted,
        **{kind: len(getattr(findings.refused, kind)) for kind in kinds},
    }


def notes(findings: Findings) -> Iterator[str]:
    """A sentence about what was refused, if anything was."""
    counts = as_verdict(findings) or {}
    parts = [f"{count:,} {_KINDS[kind]}{'s' * (count != 1)}" for kind, count in counts.items() if count]
    if parts:
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        yield (
            f"The policy did not permit {listed}: the client's router refuses them, nobody is owed anything "
            "of them, and nothing of them is lost."
        )
