"""Durations on the command line, in the words of scenarios."""

from __future__ import annotations

import re

from testbed.cli import exits
from testbed.plan.quantities import duration_ns

_DURATION = re.compile(r"\d+(\.\d+)?(ns|us|ms|s|min|h)")


def seconds(text: str, option: str) -> float:
    """`10ms` as 0.01.

    Raises:
        CommandError: it is no duration.
    """
    if not _DURATION.fullmatch(text):
        raise exits.CommandError(
            f"{option} {text}: expected a time with its unit, such as 10ms, 1.5s or 2min"
        )
    return duration_ns(text) / 1e9
