"""Mininet's hosts and links as a planned network needs them: made already, and cheap.

A Mininet host is a shell from the start. Ours is the namespace that a holder
(`holders`) keeps, and gets its shell when somebody first gives it a command: a
hundred shells that nobody talks to would take most of the time and the
pseudo-terminals of the machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

from mininet.link import Intf, Link
from mininet.node import Host

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


class PlannedHost(Host):  # type: ignore[misc]
    """A host in the namespace of the process `holder`; `environment` has the run's marks."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: ARG002, N802 - Mininet's names
        """Not yet: see `sendCmd`."""
        self.pid = self.params["holder"]
        self.waiting = False

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802 - Mininet's name
        """As Mininet's; the first command starts the shell."""
        if self.shell is None:
            self._start_shell()
        super().sendCmd(*args, **kwargs)

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """As Mininet's, which takes a host without a shell for one that has exited."""
        if self.shell is None:
            self._start_shell()
        return super().cmd(*args, **kwargs)

    def _start_shell(self) -> None:
        """Mininet's own way, but into the namespace that is there."""
        self.inNamespace = False
        super().startShell(f"-cda{self.params['holder']}")
        self.inNamespace = True
        self.pid = self.params["holder"]

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """What a host starts carries the run's marks and dies with the run."""
        params.setdefault("env", self.params["environment"])
        return super()._popen([*DIE_WITH_PARENT, *cmd], **params)  # type: ignore[no-any-return]


class PlannedInterface(Intf):  # type: ignore[misc]
    """One end of a planned link; its address is set with all others of its host."""

    def config(self, ip: str = "", prefix_length: int = 0, **_: Any) -> dict[str, Any]:
        """Note what the plan says; nothing is run."""
        self.ip, self.prefixLen = ip, prefix_length
        return {}


class PlannedLink(Link):  # type: ignore[misc]
    """A link that is made with all others of the plan, and goes with what carries it."""

    @classmethod
    def makeIntfPair(cls, *_: Any, **__: Any) -> None:  # noqa: N802 - Mininet's name
        """Made already, by what carries the link."""

    def stop(self) -> None:
        """Nothing: what carries the link takes it away."""
