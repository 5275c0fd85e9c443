"""The kinds of faults: what can fail in a scenario, what repairs it, and what has failed at a moment.

This is their only table; it imports little, since `cbn --help` loads it. The following are
made from it: the scenario's schema and the reference's table (a test writes them), the one-line
form, the rules of which fault may follow which, what both worlds apply, the words of
`cbn link` and `cbn node`, and when the analysis regards two nodes as connected.
CONTRIBUTING.md shows how to add a kind. Not here: how a world applies one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Target = Literal["link", "router", "client", "node"]
Argument = Literal["selection", "groups", "flag", "repeat", "impairment", "attack"]
"""The value of a fault in a scenario: its targets; groups of routers; `true`; how often it
happens; the new properties of a link; or how somebody attacks."""
Effect = Literal["", "stops", "holds"]
"""Of a failure on messages: none; nothing passes; nothing passes, but what arrives waits."""


class Repeat(NamedTuple):
    """The keys of a fault that happens repeatedly."""

    of: str
    """The key of the targets."""
    lasting: str
    """The key of the duration of each time."""
    anew: bool = False
    """Whether the targets are drawn anew each time."""


class Attacking(NamedTuple):
    """The ways of an attack (docs/decisions/0035)."""

    ways: tuple[str, ...]
    """What `by` of a scenario may name."""
    usual: tuple[str, ...]
    """What it is if a scenario names none."""
    counted: bool = True
    """Whether it is so many single acts, at equal distances (`times` and `every`); else it lasts."""
    compromised: bool = False
    """Whether its target is the attacker, with its keys; else somebody on the target is, without any."""


class FaultKind(NamedTuple):
    """Something that makes a link or node fail, or repairs it."""

    name: str
    target: Target
    description: str
    """One sentence, for editors and the reference."""
    state: str = ""
    """The state of the target after a failure: `is` or `has`, and a word."""
    repaired_by: str = ""
    """The kind that repairs it, also after a scenario's `for`."""
    not_while: tuple[str, ...] = ()
    """It cannot happen to a target with a failure of one of these kinds."""
    replaces: tuple[str, ...] = ()
    """It replaces failures of these kinds."""
    effect: Effect = ""
    applied_as: str = ""
    """For a kind that worlds do not apply: the kind of its single steps."""
    argument: Argument = "selection"
    repeat: Repeat | None = None
    control: str = ""
    """The word for it in `cbn link` or `cbn node`, if it has one."""
    programs: bool = False
    """Whether it happens to clients that are programs, too, if they are named."""
    example: str = ""
    """The one-line form, if it needs more than the name and the target."""
    harmless: bool = False
    """Whether nothing may be lost because of it."""
    needs_keys: bool = False
    """Whether it happens to links whose ends have keys of it, which programs read only when they start."""
    needs_signatures: bool = False
    """Whether it happens to routers that sign their records."""
    said: str = ""
    """Of a single step: what happened, in a few words; `{}` is the target."""
    attacking: Attacking | None = None
    """Of an attack, or what ends one: it disturbs nobody who does as they should, so all stays owed."""

    @property
    def is_attack(self) -> bool:
        """Whether it is an attack, or ends one."""
        return self.attacking is not None or (self.repairs is not None and self.repairs.attacking is not None)

    @property
    def disturbs(self) -> bool:
        """Whether messages may be lost because of it. If not they are owed as if it had not happened."""
        return not self.harmless and not self.is_attack

    @property
    def repairs(self) -> FaultKind | None:
        """The kind that this one repairs."""
        return _REPAIRS.get(self.name)


_SORTS = ("hello", "control", "message")
_FORGED = ("hello", "number", "links", "interest", "withdraw", "mutate")
_FORGED_MESSAGES = ("message", "mutate_message")
_REPLAY = "Somebody on a link, without keys, puts packets on it again that were there before."
_FORGE = "Somebody on a link, without keys, puts packets on it in the name of its ends."
_FLOOD = "A node sends its neighbours more than anybody needs, over its own sessions."
_MUTE = "A router says nothing of some kinds any more, over its own sessions, and goes on otherwise."
_LIE = "A router forwards wrongly, or says what is untrue, over its own sessions."
# fmt: off
_TABLE = (
    FaultKind("link_down", "link", "A link carries nothing; packets on their way are lost.", state="is down",
              repaired_by="link_up", not_while=("link_down",), effect="stops", control="down",
              said="link {} down"),
    FaultKind("link_up", "link", "A link that is down carries again.", control="up",
              said="link {} up"),
    FaultKind("crash", "router", "A router, or the program of a client, stops without notice and loses "
              "everything it knew.", state="has crashed", repaired_by="start", not_while=("crash",),
              replaces=("pause",), effect="stops", control="crash", programs=True, said="crash of {}"),
    FaultKind("start", "router", "What has crashed starts again: it knows nothing, and a router has "
              "another random stream.", control="start", programs=True, said="start of {}"),
    FaultKind("pause", "node", "A node is stopped; packets that arrive wait, up to 8 MiB per link.",
              state="is paused", repaired_by="resume", not_while=("crash", "pause"), effect="holds",
              control="pause", said="pause of {}"),
    FaultKind("resume", "node", "A paused node continues.", control="resume",
              said="{} continues"),
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
    FaultKind("flap", "link", "A link goes down and up repeatedly.", applied_as="link_down",
              argument="repeat", repeat=Repeat("link", "down"),
              example="flap r1 - r2 5 times every 200ms, and perhaps: down 50ms"),
    FaultKind("churn", "client", "Some clients leave and return, repeatedly.", applied_as="leave",
              argument="repeat", repeat=Repeat("clients", "away", anew=True),
              example="churn 20% of clients 4 times every 1s, and perhaps: away 300ms"),
    FaultKind("impair", "link", "Links get these properties; all others stay unchanged.",
              state="is impaired", repaired_by="repair", argument="impairment",
              example="impair r1 - r2 delay 30ms loss 0.1",
              said="link {} changed"),
    FaultKind("repair", "link", "A link that was impaired gets the properties of the topology again.",
              applied_as="impair"),
    FaultKind("rekey", "link", "Links get new keys, while they carry (`security`). No message may be lost by "
              "it.", control="rekey", harmless=True, needs_keys=True, said="new key for link {}"),
    FaultKind("rekey_router", "router", "A router stops, and starts again with a new key to sign with; all "
              "others are told its public half (`security`).", not_while=("crash", "pause"), control="rekey",
              needs_signatures=True, said="new key for {}"),
    FaultKind("replay", "link", _REPLAY, argument="attack", said="replay on link {}",
              example="replay r1 - r2 500 times every 2ms, and perhaps: by hello, message",
              attacking=Attacking(_SORTS, _SORTS)),
    FaultKind("forge", "link", _FORGE, argument="attack", said="forging on link {}",
              example="forge r1 - r2 500 times every 2ms, and perhaps: by hello, links",
              attacking=Attacking(_FORGED + _FORGED_MESSAGES, _FORGED)),
    FaultKind("flood", "node", _FLOOD, argument="attack", said="flood by {}",
              example="flood alice 1000 times every 1ms, and perhaps: by filters",
              attacking=Attacking(("filters", "changes", "messages", "records"), ("filters", "records"),
                                  compromised=True)),
    FaultKind("mute", "router", _MUTE, state="is mute", repaired_by="speak", not_while=("crash", "mute"),
              argument="attack", said="{} mute", example="mute r2, and perhaps: by hello, message share 0.5",
              attacking=Attacking(("hello", "control", "ack", "message"), ("control", "ack"), counted=False,
                                  compromised=True)),
    FaultKind("speak", "router", "A router that was mute says all again.", said="{} speaks again"),
    FaultKind("lie", "router", _LIE, state="is lying", repaired_by="behave", not_while=("crash", "lie"),
              argument="attack", said="{} lies", example="lie r2, and perhaps: by drop, rewrite share 0.5",
              attacking=Attacking(("attract", "drop", "duplicate", "rewrite", "slander"), ("attract", "drop"),
                                  counted=False, compromised=True)),
    FaultKind("behave", "router", "A router that lied is honest again.", said="{} is honest again"),
)
# fmt: on
KINDS: Mapping[str, FaultKind] = MappingProxyType({kind.name: kind for kind in _TABLE})
"""All kinds that a scenario can have."""
ATTACKS = tuple(kind.name for kind in _TABLE if kind.attacking)
"""The kinds of attacks."""
APPLIED = tuple(kind.name for kind in _TABLE if not kind.applied_as)
"""The kinds of the single steps of a plan, which worlds apply."""
LINK_CONTROL = {kind.control: kind.name for kind in _TABLE if kind.control and kind.target == "link"}
NODE_CONTROL = {kind.control: kind.name for kind in _TABLE if kind.control and kind.target != "link"}
"""Word of the command line -> kind."""
_REPAIRS = {kind.repaired_by: kind for kind in _TABLE if kind.repaired_by}


def in_words(kind: str, target: str) -> str:
    """What a single step of a plan did: as in "link r1 - r2 down"."""
    return KINDS[kind].said.format(target.replace("--", " \N{EN DASH} "))


class Failures:
    """What has failed at a moment, while faults happen in order. No link has the name of a node."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, Any]] = {}

    def note(self, kind: str, target: str, since: Any = None) -> None:
        """A fault has happened; `since` is kept with the failure."""
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
        """The kinds of failures of a target, each with its `since`."""
        return self._of.get(target, {})

    def obstacle(self, kind: str, target: str) -> FaultKind | None:
        """What prevents a fault: a failure, or for a repair the failure that does not exist."""
        about, failures = KINDS[kind], self.of(target)
        if about.repairs is not None:
            return None if about.repairs.name in failures else about.repairs
        return next((KINDS[name] for name in about.not_while if name in failures), None)

    def stopped(self) -> list[str]:
        """The links and nodes that nothing passes."""
        return [name for name, kinds in self._of.items() if any(KINDS[kind].effect for kind in kinds)]
