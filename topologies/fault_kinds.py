"""The kinds of faults: what can break in a scenario, what repairs it, and what is broken at a moment.

The one table of them; it imports next to nothing, since `cbn --help` loads it. From it are
made the faults of the scenario's schema and the reference's table (a test writes them), the one-line
form, the rules of what may follow what, what both worlds apply, the words of `cbn link` and
`cbn node`, and when the analysis takes two nodes for connected. CONTRIBUTING.md shows how a
kind is added. Not here: how a world applies one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Target = Literal["link", "router", "client", "node"]
Argument = Literal["selection", "groups", "flag", "repeat", "impairment"]
"""What a scenario says of a fault: whom it is to happen to; groups of routers; just `true`; how
often; or what a link does to packets from then on."""
Effect = Literal["", "stops", "holds"]
"""Of a failure on messages: none; nothing passes; nothing passes, and what arrives is kept for later."""


class Repeat(NamedTuple):
    """How a scenario says that something happens again and again."""

    of: str
    """The key that says to whom."""
    lasting: str
    """The key that says for how long each time."""
    anew: bool = False
    """Whether those whom it happens to are drawn anew each time."""


class FaultKind(NamedTuple):
    """Something that breaks a link or node, or repairs it."""

    name: str
    target: Target
    description: str
    """One sentence, for editors and the reference."""
    state: str = ""
    """What is true of the target from then on, if it breaks something: `is` or `has`, and a word."""
    repaired_by: str = ""
    """The kind that repairs it; a scenario's `for` makes it happen."""
    not_while: tuple[str, ...] = ()
    """It cannot happen to what one of these kinds has broken."""
    replaces: tuple[str, ...] = ()
    """What these kinds have broken is broken in this way alone from then on."""
    effect: Effect = ""
    applied_as: str = ""
    """Of a kind that no world knows: the kind that its single steps are of."""
    argument: Argument = "selection"
    repeat: Repeat | None = None
    control: str = ""
    """The word for it in `cbn link` or `cbn node`; empty: it cannot be applied by hand in one word."""
    example: str = ""
    """In one line, where that takes more than the name and the target."""

    @property
    def repairs(self) -> FaultKind | None:
        """The kind that this one repairs."""
        return _REPAIRS.get(self.name)


# fmt: off
_TABLE = (
    FaultKind("link_down", "link", "A link carries nothing any more; what is on it is lost.", state="is down",
              repaired_by="link_up", not_while=("link_down",), effect="stops", control="down"),
    FaultKind("link_up", "link", "A link that is down carries again.", control="up"),
    FaultKind("crash", "router", "A router stops without a word and loses all it knew.", state="has crashed",
              repaired_by="start", not_while=("crash",), replaces=("pause",), effect="stops",
              control="crash"),
    FaultKind("start", "router", "A router that has crashed starts anew: it has learned nothing, and has "
              "another random stream.", control="start"),
    FaultKind("pause", "node", "A node stands still; what arrives waits for it, up to 8 MiB a link.",
              state="is paused", repaired_by="resume", not_while=("crash", "pause"), effect="holds",
              control="pause"),
    FaultKind("resume", "node", "A paused node goes on.", control="resume"),
    FaultKind("leave", "client", "A client is cut off: its access link goes down.", state="is away",
              repaired_by="return", applied_as="link_down"),
    FaultKind("return", "client", "A client that left is back: its access link comes up.",
              applied_as="link_up"),
    FaultKind("partition", "router", "All links between different groups of routers go down. Routers that "
              "are not named are a group of their own.", state="is partitioned", repaired_by="heal",
              not_while=("partition",), applied_as="link_down", argument="groups",
              example="partition west | east"),
    FaultKind("heal", "link", "The links that the partition took down come up. Write true.",
              applied_as="link_up", argument="flag", example="heal, and nothing else"),
    FaultKind("flap", "link", "A link goes down and up again and again.", applied_as="link_down",
              argument="repeat", repeat=Repeat("link", "down"),
              example="flap r1 - r2 5 times every 200ms, and perhaps: down 50ms"),
    FaultKind("churn", "client", "Again and again, some clients leave and return.", applied_as="leave",
              argument="repeat", repeat=Repeat("clients", "away", anew=True),
              example="churn 20% of clients 4 times every 1s, and perhaps: away 300ms"),
    FaultKind("impair", "link", "What links do to packets from now on; what is not said stays as it is.",
              state="is impaired", repaired_by="repair", argument="impairment",
              example="impair r1 - r2 delay 30ms loss 0.1"),
    FaultKind("repair", "link", "A link that was impaired does to packets what the topology says.",
              applied_as="impair"),
)
# fmt: on
KINDS: Mapping[str, FaultKind] = MappingProxyType({kind.name: kind for kind in _TABLE})
"""All that a scenario can say."""
APPLIED = tuple(kind.name for kind in _TABLE if not kind.applied_as)
"""What single steps of a plan are of, and worlds apply."""
LINK_CONTROL = {kind.control: kind.name for kind in _TABLE if kind.control and kind.target == "link"}
NODE_CONTROL = {kind.control: kind.name for kind in _TABLE if kind.control and kind.target != "link"}
"""Word of the command line -> kind."""
_REPAIRS = {kind.repaired_by: kind for kind in _TABLE if kind.repaired_by}


class Failures:
    """What is broken at a moment, while faults happen one after the other. Names of links are no node's."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, Any]] = {}

    def note(self, kind: str, target: str, since: Any = None) -> None:
        """A fault has happened; `since` is kept with what it has broken."""
        about = KINDS[kind]
        failures = self._of.setdefault(target, {})
        if about.state:
            for replaced in about.replaces:
                failures.pop(replaced, None)
            failures[kind] = since
        elif about.repairs is not None:
            failures.pop(about.repairs.name, None)
        if not failures:
            del self._of[target]

    def of(self, target: str) -> Mapping[str, Any]:
        """The kinds that have broken it, each with what was noted with it."""
        return self._of.get(target, {})

    def obstacle(self, kind: str, target: str) -> FaultKind | None:
        """What keeps a fault from happening: a failure, or of a repair the failure that is not there."""
        about, failures = KINDS[kind], self.of(target)
        if about.repairs is not None:
            return None if about.repairs.name in failures else about.repairs
        return next((KINDS[name] for name in about.not_while if name in failures), None)

    def stopped(self) -> list[str]:
        """The links and nodes that nothing passes."""
        return [name for name, kinds in self._of.items() if any(KINDS[kind].effect for kind in kinds)]
