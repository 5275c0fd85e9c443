"""Asks the processes of a running network: each node's admin socket, the supervisor's control socket.

Not here: lines and replies (`nodes.daemon.json_lines`), what can be asked for
(`nodes.daemon.main`, `control`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from nodes.daemon.json_lines import Channel, ClosedError, RefusedError

__all__ = ["AdminClient", "AdminError", "ControlClient", "LostError", "RefusedError"]

REPLY_TIMEOUT_S = 10.0
CONTROL_TIMEOUT_S = 60.0
"""The supervisor asks nodes before it answers; a machine that is this slow is of no use."""


class AdminError(RuntimeError):
    """A node refused a request or broke off."""


class LostError(RuntimeError):
    """The network's supervisor cannot be reached, or has gone while it was being asked."""


class AdminClient:
    """A connection to one node, kept open between requests."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._channel: Channel | None = None
        self._awaited = False
        """Whether a request was posted whose answer has not been fetched."""

    def connect(self) -> bool:
        """Connect unless connected; False if the node does not listen yet."""
        if self._channel is None:
            try:
                self._channel = Channel.connect(self._path)
            except (FileNotFoundError, ConnectionRefusedError):
                return False
        return True

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result.

        Raises:
            AdminError: the node refused, broke off or did not answer in time.
        """
        self.post(do, **arguments)
        return self.answer(do)

    def post(self, do: str, **arguments: object) -> None:
        """Make a request and do not wait: `answer` fetches its result. For asking many at once.

        If the answer to the request before was never fetched (asking another node
        failed meanwhile), that connection is given up: it must not pass for this one's.

        Raises:
            AdminError: the node does not listen, or has broken off.
        """
        if self._awaited:
            self.close()
        if not self.connect():
            raise AdminError(f"{self.name} does not listen on {self._path}")
        assert self._channel is not None
        try:
            self._channel.send({"do": do, **arguments}, seconds=REPLY_TIMEOUT_S)
        except ClosedError as error:
            raise self._no_answer(do, error) from error
        self._awaited = True

    def answer(self, do: str) -> Any:
        """The result of the request that was posted.

        Raises:
            AdminError: the node refused, broke off or did not answer in time.
        """
        assert self._channel is not None
        try:
            result = self._channel.result(REPLY_TIMEOUT_S)
        except ClosedError as error:
            raise self._no_answer(do, error) from error
        except RefusedError as error:
            self._awaited = False
            raise AdminError(f"{self.name} refused {do!r}: {error}") from error
        self._awaited = False
        return result

    def close(self) -> None:
        """Break the connection off."""
        if self._channel is not None:
            self._channel.close()
        self._channel, self._awaited = None, False

    def _no_answer(self, do: str, error: Exception) -> AdminError:
        """An answer that comes after all must not be taken for the next request's."""
        self.close()
        return AdminError(f"{self.name}: no answer to {do!r}: {error}")


class ControlClient:
    """A connection to a network's supervisor.

    Raises:
        LostError: nobody listens there.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._channel = Channel.connect(path)
        except OSError as error:
            raise LostError(f"nobody answers at {path}: {error.strerror}") from error

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result.

        Raises:
            RefusedError: it cannot be done; the text says why.
            LostError: the supervisor has gone, or does not answer.
        """
        try:
            return self._channel.ask(do, CONTROL_TIMEOUT_S, **arguments)
        except ClosedError as error:
            raise LostError(f"the supervisor went away: {error}") from error

    def line(self, seconds: float | None = None) -> dict[str, Any] | None:
        """The next line of the supervisor; None if none comes in that time.

        Raises:
            LostError: it has gone.
        """
        try:
            return self._channel.receive(seconds)
        except ClosedError as error:
            raise LostError(f"the supervisor went away: {error}") from error

    def lines(self) -> Iterator[dict[str, Any]]:
        """All lines until the supervisor goes."""
        while (line := self.line()) is not None:
            yield line

    def close(self) -> None:
        """Break off."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
