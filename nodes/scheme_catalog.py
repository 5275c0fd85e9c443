"""The routing schemes by name: where each is implemented, and what it lets a scenario choose.

The only registration of a scheme. It is data alone, so that a scenario can be
checked and documented without loading the schemes, which are in
`nodes.routing.schemes`, one module each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OptionValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a scheme. Its type is that of its default."""

    name: str
    default: OptionValue
    meaning: str
    choices: tuple[OptionValue, ...] = ()
    least: float | None = None
    most: float | None = None
    needs: tuple[tuple[OptionValue, str], ...] = ()
    """(Value, option): with this value, that option must be true."""
    twice: str = ""
    """It must be at least twice that other option."""

    def problem(self, value: OptionValue) -> str:
        """What was expected instead of this value; empty if it may be."""
        if not isinstance(value, type(self.default)) or isinstance(value, bool) != isinstance(
            self.default, bool
        ):
            return f"{_KINDS[type(self.default)]}"
        if self.choices and value not in self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        if self.least is not None and not isinstance(value, str) and value < self.least:
            return f"at least {self.least:g}"
        if self.most is not None and not isinstance(value, str) and value > self.most:
            return f"at most {self.most:g}"
        return ""


_KINDS = {str: "a text", int: "a whole number", float: "a number with a decimal point", bool: "true or false"}

_BROADCAST = Option(
    "broadcast",
    "tree",
    "along which links messages may go: the `tree` of shortest paths from their source, or all but the one "
    "they came by (`reverse-path`; a copy that comes by another than the shortest way is dropped)",
    choices=("tree", "reverse-path"),
)

_ADVERTISEMENTS = Option(
    "advertisements",
    False,
    "whether clients have to advertise what they publish: the first router refuses what is outside of it",
)

_PATTERNS = Option(
    "patterns",
    "union",
    "who recognises what clients seek: they themselves, subscribed to all parts of a pattern (`union`); or "
    "routers, close to where its messages come from (`factored`; needs `advertisements: true`)",
    choices=("union", "factored"),
    needs=(("factored", "advertisements"),),
)

_CBCB = (
    _ADVERTISEMENTS,
    _PATTERNS,
    Option(
        "mode",
        "safe",
        "where an advertisement stops: where it adds nothing to what its issuer advertised before (`safe`), "
        "or to the whole predicate of the interface (`literal`, as published: loses messages where there are "
        "cycles, until the next request)",
        choices=("safe", "literal"),
    ),
    Option(
        "ra_period_ms",
        0,
        "how often a router repeats its advertisement; 0: on change only",
        least=0,
    ),
    Option("sr_period_ms", 60_000, "how often a router asks for no other cause; 0: on change only", least=0),
    Option(
        "sr_on_change",
        True,
        "whether routers also ask when one wants less than before; if not, tables narrow at the next period",
    ),
    Option("sr_timeout_ms", 5_000, "when a request that is not answered is sent again; 0: never", least=0),
)

_SIENA = (
    _ADVERTISEMENTS,
    _PATTERNS,
    Option(
        "tree",
        "shared",
        "along what subscriptions and messages travel: one tree of the network (`shared`), or the "
        "shortest-path tree of whoever subscribes or publishes (`source`)",
        choices=("shared", "source"),
    ),
    Option(
        "mode",
        "safe",
        "on source trees, which filters make a covered one superfluous: those of the same original "
        "subscriber (`safe`), or all (`literal`, as published: loses messages where there are cycles)",
        choices=("safe", "literal"),
    ),
)


_MATCHMAKER = (
    _ADVERTISEMENTS,
    Option(
        "tree",
        "source",
        "along what advertisements, subscriptions and messages travel: the shortest-path tree of whoever "
        "publishes (`source`), or one tree of the network (`shared`)",
        choices=("source", "shared"),
    ),
    Option(
        "state",
        "hard",
        "how long a descriptor lives: until it is withdrawn or the link it came over is lost (`hard`), or no "
        "longer than it is told again, either (`soft`)",
        choices=("hard", "soft"),
    ),
    Option(
        "refresh_ms", 10_000, "with `state: soft`, how often descriptors and matches are told again", least=1
    ),
    Option(
        "lifetime_ms",
        35_000,
        "with `state: soft`, how long they live without that; at least twice `refresh_ms`",
        least=2,
        twice="refresh_ms",
    ),
)


_AMSP = (
    *_MATCHMAKER,
    Option("interval_ms", 5_000, "over how long a router counts how often its descriptors change", least=1),
    Option("alpha", 0.125, "the weight of the latest interval in the smoothed rates", least=0.001, most=1),
    Option("announce_share", 0.2, "by what share a rate has to change to be announced", least=0),
    Option(
        "announce_deviations",
        2.0,
        "by how many standard deviations, besides: by more than chance makes of it; 0: that is announced too",
        least=0,
    ),
    Option(
        "restart_deviations",
        3.5,
        "by how many the latest intervals have to differ from the rate smoothed before them to begin "
        "smoothing anew; 0: never",
        least=0,
    ),
    Option(
        "hysteresis",
        0.0,
        "by how many changes a second the other mark must be cheaper for a link to be marked anew",
        least=0,
    ),
    Option("marking", "s", "the mark of links that have joined", choices=("s", "p")),
    Option(
        "forcing",
        "cause",
        "what makes a link an s-link that is cheaper as a p-link: a link upstream that is cheaper as an "
        "s-link (`cause`), or any s-link directly upstream (`literal`, as published: in a ring they keep "
        "each other)",
        choices=("cause", "literal"),
    ),
    Option(
        "reply_timeout_ms", 5_000, "when a change that is not answered is asked for again; 0: never", least=0
    ),
)


@dataclass(frozen=True, slots=True)
class SchemeEntry:
    """One scheme."""

    code: str
    """`module:Class` below `nodes.routing.schemes`."""
    options: tuple[Option, ...] = ()
    routed: bool = False
    """Whether messages carry their destinations, so that they grow in the network."""


CATALOG: Mapping[str, SchemeEntry] = {
    "amsp": SchemeEntry("amsp:Amsp", _AMSP),
    "bp": SchemeEntry("matchmaker:BroadcastPublications", _MATCHMAKER),
    "bs": SchemeEntry("matchmaker:BroadcastSubscriptions", _MATCHMAKER),
    "cbcb": SchemeEntry("cbcb:Cbcb", _CBCB),
    "drp": SchemeEntry("drp:Drp", routed=True),
    "flood": SchemeEntry("flood:Flood", (_BROADCAST,)),
    "ipsf": SchemeEntry("ipsf:Ipsf"),
    "multicast": SchemeEntry("multicast:Multicast"),
    "pif": SchemeEntry("pif:Pif", (_BROADCAST, _ADVERTISEMENTS, _PATTERNS)),
    "psf": SchemeEntry("psf:Psf", (_ADVERTISEMENTS, _PATTERNS)),
    "siena": SchemeEntry("siena:Siena", _SIENA),
    "unicast": SchemeEntry("unicast:Unicast", routed=True),
}
"""Every scheme there is."""


def option_problem(scheme: str, name: str, value: OptionValue) -> str:
    """What was expected instead of this option or value; empty if all is well."""
    options = {option.name: option for option in CATALOG[scheme].options}
    if name not in options:
        return f"one of {', '.join(options)}" if options else "no options"
    return options[name].problem(value)


def lacking(scheme: str, options: Mapping[str, OptionValue]) -> dict[str, str]:
    """What else has to be said, by the option whose value needs it; of options without problems."""
    whole = complete(scheme, options)
    found = {
        option.name: f"{other}: true beside it"
        for option in CATALOG[scheme].options
        for value, other in option.needs
        if whole[option.name] == value and not whole[other]
    }
    for option in CATALOG[scheme].options:
        if option.twice and float(whole[option.name]) < 2 * float(whole[option.twice]):
            given = option.name if option.name in options else option.twice
            found[given] = (
                f"{option.name} ({whole[option.name]}) at least twice {option.twice} ({whole[option.twice]})"
            )
    return found


def factors_patterns(options: Mapping[str, OptionValue]) -> bool:
    """Whether routers recognise patterns, by the options of a scheme."""
    return options.get("patterns") == "factored"


def complete(scheme: str, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """All options of a scheme: those given, and the defaults of the others."""
    return {option.name: given.get(option.name, option.default) for option in CATALOG[scheme].options}
