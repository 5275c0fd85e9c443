"""What is wrong with a run directory: the findings of all checks, as counts and sentences (docs/analysis.md).

Here: what is said of it. Not here: how it is found (`messages`, `clocks`, `logs`, `calm`, `evidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from analysis.calm import Contradiction
from analysis.clocks import CONTROLLER
from analysis.drift.correction import HostClock
from analysis.evidence import Evidence
from analysis.figures import axes
from analysis.findings import Checks, Oddity, PublicationCounts
from analysis.logs import Undone
from analysis.oracle import SubscriptionChange
from analysis.rundir import Run

SHOWN = 5
"""How many findings of one kind are named."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """What all checks found."""

    evidence: Evidence
    oddities: Sequence[Oddity] = ()
    publications: Sequence[PublicationCounts] = ()
    clocks: Mapping[int, HostClock] = field(default_factory=dict)
    """Those that are off, by node."""
    swapped: Sequence[tuple[str, str]] = ()
    unlogged: Sequence[SubscriptionChange] = ()
    unlogged_advertised: Sequence[SubscriptionChange] = ()
    unlogged_sought: Sequence[SubscriptionChange] = ()
    undone: Sequence[Undone] = ()
    lacking_events: Sequence[str] = ()
    contradictions: Sequence[Contradiction] = ()


def to_checks(found: Found, busiest: str = "") -> Checks:
    """The counts, and a line for each thing that is wrong.

    Args:
        found: By the checks.
        busiest: What kept the network from settling at the end, if something did.
    """
    altered = [oddity for oddity in found.oddities if oddity.name == "altered"]
    pathless = _pathless(found)
    otherwise = [client for client in found.publications if client.otherwise_announced]
    names = found.evidence.run.names
    hosts = {clock.host: clock for clock in found.clocks.values()}
    usable = {host: clock for host, clock in hosts.items() if clock.correctable and not found.swapped}
    return Checks(
        counts={
            "altered": sum(o.count for o in altered) + sum(c.otherwise_announced for c in otherwise),
            "clock_offsets": len(hosts),
            "swapped_captures": len(found.swapped),
            "pathless": sum(o.count for o in pathless),
            "unlogged": sum(map(len, (found.unlogged, found.unlogged_advertised, found.unlogged_sought))),
            "undone": sum(each.count for each in found.undone),
            "convergence_events": len(found.lacking_events),
            "incomplete_captures": len(found.evidence.gaps),
            "calm": len(found.contradictions),
        },
        problems=[
            *_some(found.evidence.problems(), str),
            *_some(found.swapped, _swapped),
            *_some(
                (clock for host, clock in hosts.items() if host not in usable),
                lambda clock: f"{_off(clock, found.evidence.run)}: {_UNTRUSTED}",
            ),
            *_some(altered, lambda oddity: _altered(oddity, found.evidence.run)),
            *_some(otherwise, lambda client: _otherwise(client, names)),
            *_some(pathless, lambda oddity: _flaw(oddity, names)),
            *_some(found.unlogged, lambda change: _unlogged(change, "subscription")),
            *_some(found.unlogged_advertised, lambda change: _unlogged(change, "advertisement")),
            *_some(found.unlogged_sought, lambda change: _unlogged(change, "pattern")),
            *_some(found.undone, _undone),
            *_some(Counter(found.lacking_events).items(), lambda item: _lacking(*item)),
            *_some(found.contradictions, lambda each: _denied(each, found.evidence.run.start_ns)),
        ],
        corrections=[*_some(usable.values(), lambda clock: _corrected(clock, found.evidence.run))],
        busiest=busiest,
        clocks={names[node]: clock for node, clock in found.clocks.items()},
        corrected=not found.swapped,
    )


def _some(found: Iterable[T], text: Callable[[T], str]) -> Iterator[str]:
    """A sentence for each of the first, and how many more there are."""
    everything = list(found)
    yield from map(text, everything[:SHOWN])
    if len(everything) > SHOWN:
        yield f"... and {len(everything) - SHOWN:,} more like the last."


def _pathless(found: Found) -> list[Oddity]:
    """Copies without a path, where the captures that would show one are complete."""
    evidence = found.evidence
    if not evidence.run.complete:
        return []
    routers, ways = {*evidence.partial_routers}, {*evidence.partial_ways}
    return [
        oddity
        for oddity in found.oddities
        if (oddity.name == "unsent" and (oddity.from_id, oddity.to_id) not in ways)
        or (oddity.name in {"hops", "pathless"} and oddity.from_id not in routers)
    ]


def _swapped(pair: tuple[str, str]) -> str:
    return f"The captures of {pair[0]} and {pair[1]} were exchanged: what is in one belongs into the other."


_UNTRUSTED = "latencies are not to be trusted, nor is what was owed around changes."


def _off(clock: HostClock, run: Run) -> str:
    machine = clock.host in run.machines
    whose = f"The clock of {'the machine ' if machine else ''}{clock.host}"
    if not clock.even:
        return (
            f"{whose} was set while the run went on, or did not run evenly (packets arrive "
            f"{axes.duration(clock.residual_ns)} too early however it is corrected)"
        )
    ahead = f"{'ahead of' if clock.offset_ns > 0 else 'behind'} {CONTROLLER if machine else 'the others'}"
    drift = f" and drifts by {clock.drift_ppm:+.1f} ppm" if clock.drift else ""
    return f"{whose} is about {axes.duration(abs(clock.offset_ns))} {ahead}{drift}"


def _corrected(clock: HostClock, run: Run) -> str:
    return (
        f"{_off(clock, run)}: times were corrected, and are right to within "
        f"{axes.duration(clock.uncertainty_ns or 0)} (residual {axes.duration(clock.residual_ns)})."
    )


def _message(oddity: Oddity, names: Mapping[int, str]) -> str:
    return f"message {oddity.sequence} of {names.get(oddity.source, oddity.source)}"


def _way(oddity: Oddity, names: Mapping[int, str]) -> str:
    return f"from {names.get(oddity.from_id, oddity.from_id)} to {names.get(oddity.to_id, oddity.to_id)}"


def _altered(oddity: Oddity, run: Run) -> str:
    names = run.names
    ends = (names[oddity.from_id], names[oddity.to_id])
    interface = next(c.interface.name for c in run.captures if (c.node.name, c.peer.name) == ends)
    return (
        f"{_messages(oddity.count)} altered: the content on the way {_way(oddity, names)} ({interface}) is "
        f"not that of the publication (first: {_message(oddity, names)})."
    )


def _otherwise(client: PublicationCounts, names: Mapping[int, str]) -> str:
    name = names.get(client.source, str(client.source))
    return (
        f"{_messages(client.otherwise_announced)} altered: what {name} reports as published is not what was "
        f"captured at its router (first: message {client.first_otherwise} of {name})."
    )


def _messages(count: int) -> str:
    return "One message was" if count == 1 else f"{count:,} messages were"


def _flaw(oddity: Oddity, names: Mapping[int, str]) -> str:
    router = names.get(oddity.from_id, oddity.from_id)
    first = f"(first: {_message(oddity, names)}, hop count {oddity.hop_count})"
    if oddity.name == "unsent":
        arrived = f"{_messages(oddity.count)} captured as arriving {_way(oddity, names)}"
        return f"{arrived} and not as sent {first}."
    left = f"{_messages(oddity.count)} captured leaving {_way(oddity, names)}"
    if oddity.name == "hops":
        return f"{left} with a hop count that contradicts how it came to {router} {first}."
    return f"{left} without a path: nothing brought it to {router} {first}."


def _unlogged(change: SubscriptionChange, what_held: str) -> str:
    did = "withdrew" if change.predicate is None else "made"
    what = "" if change.predicate is None else f" ({change.predicate})"
    return (
        f"events.jsonl lacks an event: by the capture at its router, {change.client} {did} {what_held} "
        f"{change.subscription}{what}. It was judged as if it were there."
    )


_TRACES = {
    "publish": "publication",
    "subscribe_pattern": "pattern",
    "subscribe": "subscription",
    "unsubscribe": "withdrawal",
    "advertise": "advertisement",
    "unadvertise": "withdrawal",
}


def _undone(undone: Undone) -> str:
    what = f"{undone.count:,} planned {_TRACES[undone.do]}{'s' if undone.count > 1 else ''}"
    return (
        f"The workload is incomplete: {what} of {undone.client} left no trace in events, captures and logs."
    )


def _lacking(event: str, count: int) -> str:
    where = "manifest.json lists" if event == "converged" else "the plan lists"
    events = f"{count:,} events" if count > 1 else "an event"
    return f"events.jsonl lacks {events} that {where}: {event}."


def _denied(found: Contradiction, start_ns: int) -> str:
    at = axes.duration(abs(found.time_ns - start_ns))
    when = f"{at} {'after' if found.time_ns >= start_ns else 'before'} the start"
    if found.later:
        return f"The network did not stay converged from {when} on: {found.why}."
    return f"The network had not converged when it said so, {when}: {found.why}."
