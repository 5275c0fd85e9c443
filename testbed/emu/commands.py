"""Runs commands that configure the network; when one fails, its own words are told."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

COMMAND_TIMEOUT_S = 30.0


class NetworkError(RuntimeError):
    """The network could not be built, or changed, as planned."""


def run_batch(what: str, command: Sequence[str], lines: Sequence[str]) -> str:
    """Run a command that reads these lines; returns what it printed.

    Raises:
        NetworkError: it failed; the text has its own words.
    """
    try:
        done = subprocess.run(
            command,
            input="".join(line + "\n" for line in lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            start_new_session=True,  # a Ctrl-C at the terminal is for the run alone
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{what}: {command[0]} did not end within {COMMAND_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise NetworkError(f"{what}: {done.stdout.strip() or f'exit status {done.returncode}'}")
    return done.stdout
