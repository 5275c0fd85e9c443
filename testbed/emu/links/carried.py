"""What carries links, whoever asks for them: how each kind is made, impaired, cut and measured.

Three things can carry a link. `Veth`: a bare pair, as fast as the machine, which
does nothing to packets. `Netem`: a pair with the kernel's queueing disciplines.
`Wire`: a tap device at each end and the project's own process between them.
A run chooses for each link (`choice`); what was chosen stands in the manifest.
What cannot be applied raises `NetworkError`: it is never left out.

Not here: links as Mininet knows them (`link`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from nodes.daemon.kernel import interface_counts
from nodes.processes import OWNER_MARK, RUN_MARK, Owner
from testbed.emu.links.cable import Cable, End
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure


@dataclass(frozen=True)
class Place:
    """What links need to know of the run that they are made in."""

    environment: Mapping[str, str]
    """Of processes that belong to the run: its marks."""
    config: Path
    """Folder for what processes read."""
    logs: Path
    seed: int = 1
    dilate: int = 1

    @classmethod
    def of_this_process(cls) -> Place:
        """For links that belong to no run of ours: what they start ends with this process."""
        folder = Path(tempfile.mkdtemp(prefix="cbn-link-"))
        marks = {RUN_MARK: f"links-{os.getpid()}", OWNER_MARK: str(Owner.this_process())}
        return cls({**os.environ, **marks}, folder, folder)


class Carried:
    """A link of any kind."""

    carrier: ClassVar[str]
    """`veth`, `netem` or `wire`."""
    cable: Cable | None = None
    """Known once it is made."""
    place: Place | None = None

    @classmethod
    def make_all(cls, links: Sequence[tuple[Self, Cable]], place: Place) -> None:
        """Make many links of this kind at once; the interfaces are left down, the impairments in force.

        Raises:
            NetworkError: something cannot be made, or applied.
        """
        for link, cable in links:
            link.cable, link.place = cable, place
        cls.carry([link for link, _ in links], place)

    @classmethod
    def carry(cls, links: Sequence[Self], place: Place) -> None:
        """See `make_all`."""
        raise NotImplementedError

    def impair(self, impairment: Impairment, back: Impairment) -> None:
        """From now on do this to packets, from `a` to `b` and back; what is on its way stays.

        Raises:
            NetworkError: it cannot be applied.
        """
        raise NotImplementedError

    def take_down(self) -> None:
        """Carry nothing any more, either way; what is on its way is lost."""
        raise NotImplementedError

    def bring_up(self) -> None:
        """Carry again, as impaired as before."""
        raise NotImplementedError

    @classmethod
    def count_lateness_anew(cls, links: Sequence[Self]) -> None:
        """Forget the lateness measured so far, since the workload begins; only wires measure it."""

    @classmethod
    def measures(cls, links: Sequence[Self]) -> list[LinkMeasure]:
        """What was delivered so far: two entries a link, from `a` and from `b`."""
        raise NotImplementedError

    def made(self) -> tuple[Cable, Place]:
        """What was made, and where."""
        assert self.cable is not None, "the link is not made yet"
        assert self.place is not None
        return self.cable, self.place


def inside(end: End) -> list[str]:
    """What to put before a command to run it where an interface is."""
    return ["nsenter", f"--net=/proc/{end.pid}/ns/net"]


def counts_of(cables: Sequence[Cable]) -> dict[tuple[int, str], dict[str, int]]:
    """What the kernel counted at every end of these links, by process and interface."""
    found: dict[tuple[int, str], dict[str, int]] = {}
    for pid in dict.fromkeys(end.pid for cable in cables for end in (cable.a, cable.b)):
        counts = interface_counts(pid, f"the namespace of process {pid}")
        found |= {(pid, name): row for name, row in counts.items()}
    return found


def by_kind(links: Iterable[Carried]) -> list[tuple[type[Carried], list[Any]]]:
    """Links of the same kind together: what is asked of a kind is asked once."""
    found: dict[type[Carried], list[Any]] = {}
    for link in links:
        found.setdefault(type(link), []).append(link)
    return list(found.items())
