"""The admin socket of a node: what it can be asked, each request answered from within the node's loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from nodes.daemon.json_lines import (
    LONGEST_SOCKET_PATH,
    Caller,
    Limits,
    Request,
    RequestError,
    Server,
    done,
)
from nodes.daemon.loop import Loop
from nodes.daemon.sockets import BindError

__all__ = ["AdminServer", "Command", "Request", "RequestError"]

Command = Callable[[Request], object]
LIMITS = Limits(request_bytes=64 * 1024, backlog_bytes=64 * 1024 * 1024)


class AdminServer:
    """Answers on a Unix socket."""

    def __init__(self, path: str, loop: Loop, commands: Mapping[str, Command]) -> None:
        self._commands = commands
        try:
            self._server = Server(Path(path), loop, self._answer, LIMITS)
        except OSError as error:
            raise BindError(
                f"admin socket {path}: {error.strerror or error}; its folder must exist, its path have "
                f"at most {LONGEST_SOCKET_PATH} bytes, and no other node use it"
            ) from error

    def close(self) -> None:
        """Cut all callers off and remove the socket's file."""
        self._server.close()

    def _answer(self, caller: Caller, request: Request) -> None:
        command = self._commands.get(str(request["do"]))
        if command is None:
            raise RequestError(f'expected {{"do": NAME}} with NAME one of {", ".join(self._commands)}')
        caller.send(done(command(request)))
