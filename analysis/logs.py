"""What the plan, the manifest and the captures list and `events.jsonl` lacks.

A subscription, pattern or advertisement, that a capture shows and the log does not is judged as if it were
logged: the network is not to blame for a damaged log. Plain Python over what clients subscribe to, which is
not many rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from analysis.history import NetworkChange
from analysis.oracle import SubscriptionChange, predicate_of
from analysis.patterns import PatternEvents, Sought
from analysis.payloads import Payload, Session
from analysis.rundir import Run
from fastpath.wire import codec
from nodes.model import PredicateSyntaxError, format_predicate, parse_pattern
from nodes.wire.codec import WireError, decode_predicate
from nodes.wire.packets import Kind

_NUMBER_BYTES = 4


SUBSCRIBED = Kind.SUBSCRIBE, Kind.UNSUBSCRIBE
ADVERTISED = Kind.ADVERTISE, Kind.UNADVERTISE
SOUGHT = Kind.SUBSCRIBE_PATTERN, Kind.UNSUBSCRIBE_PATTERN


def unlogged(
    run: Run,
    payloads: Iterable[Payload],
    changes: Sequence[SubscriptionChange],
    kinds: tuple[Kind, Kind] = SUBSCRIBED,
) -> list[SubscriptionChange]:
    """What clients were captured to subscribe to (or advertise), or withdraw, and their events lack.

    In order of time.
    """
    logged: dict[SubscriptionKey, list[int]] = {}
    for change in changes:
        logged.setdefault(_key(change), []).append(change.time_ns)
    most: dict[SubscriptionKey, list[SubscriptionChange]] = {}
    for of_session in _by_session(captured_changes(run, payloads, kinds)).values():
        for key, found in of_session.items():
            most[key] = max(most.get(key, []), found, key=len)
    surplus = [
        change
        for key, found in most.items()
        if len(found) > len(logged.get(key, ()))
        for change in _unmatched(found, logged.get(key, ()))
    ]
    return sorted(surplus, key=lambda change: change.time_ns)


def unlogged_patterns(
    run: Run, payloads: Iterable[Payload], sought: Iterable[Sought], changes: Iterable[SubscriptionChange]
) -> list[SubscriptionChange]:
    """The same of patterns that clients had routers seek, with the texts of patterns as predicates.

    Args:
        run: The run.
        payloads: What clients were captured to send.
        sought: What the events say of patterns.
        changes: What they say of subscriptions: their withdrawals are those of patterns, too.
    """
    logged = [
        SubscriptionChange(each.time_ns, each.client, each.subscription, each.pattern) for each in sought
    ]
    withdrawn = [change for change in changes if change.predicate is None]
    return unlogged(run, payloads, [*logged, *withdrawn], SOUGHT)


SubscriptionKey = tuple[str, int, str | None]


def _key(change: SubscriptionChange) -> SubscriptionKey:
    """A change but for its time; predicates that mean the same are the same text."""
    text = change.predicate
    if text is not None:
        with suppress(PredicateSyntaxError):  # named where claims are made
            text = format_predicate(predicate_of(text))
    return change.client, change.subscription, text


def _by_session(
    found: Iterable[tuple[Session, SubscriptionChange]],
) -> dict[Session, dict[SubscriptionKey, list[SubscriptionChange]]]:
    sessions: dict[Session, dict[SubscriptionKey, list[SubscriptionChange]]] = {}
    for session, change in found:
        sessions.setdefault(session, {}).setdefault(_key(change), []).append(change)
    return sessions


def _unmatched(found: Sequence[SubscriptionChange], logged_ns: Sequence[int]) -> Iterator[SubscriptionChange]:
    """Those that no event explains, if each event explains the first capture from its time on."""
    left = sorted(found, key=lambda change: change.time_ns)
    for time_ns in sorted(logged_ns):
        match = next((change for change in left if change.time_ns >= time_ns), left[-1] if left else None)
        if match is not None:
            left.remove(match)
    yield from left


def captured_changes(
    run: Run, payloads: Iterable[Payload], kinds: tuple[Kind, Kind] = SUBSCRIBED
) -> Iterator[tuple[Session, SubscriptionChange]]:
    """Each change of a client once in a session, at the time of its first capture."""
    clients = {c.interface.name: c.peer.name for c in run.captures if c.peer_is_client}
    for payload in payloads:
        client = clients.get(payload.session.interface)
        if not client or payload.kind not in kinds:
            continue
        change = _change(client, payload, withdrawn=payload.kind == kinds[1])
        if change:
            yield payload.session, change


def _change(client: str, payload: Payload, *, withdrawn: bool) -> SubscriptionChange | None:
    number = int.from_bytes(payload.data[:_NUMBER_BYTES], "big")
    if withdrawn:
        return SubscriptionChange(payload.time_ns, client, number, None)
    try:
        text = _pattern(payload.data) if payload.kind in SOUGHT else _predicate(payload.data)
    except (WireError, PredicateSyntaxError):
        return None  # the router refuses it, too
    return SubscriptionChange(payload.time_ns, client, number, text)


def _predicate(payload: bytes) -> str:
    return format_predicate(decode_predicate(payload[_NUMBER_BYTES:]))


def _pattern(payload: bytes) -> str:
    _, text = codec.decode_subscribe_pattern(payload)
    parse_pattern(text)
    return text


@dataclass(frozen=True, slots=True)
class Undone:
    """Planned actions of a client that left no trace."""

    client: str
    do: str
    count: int


def undone(
    run: Run,
    changes: Iterable[SubscriptionChange],
    advertised: Iterable[SubscriptionChange],
    patterns: PatternEvents,
    published: Mapping[int, int],
) -> tuple[list[Undone], list[str]]:
    """What the plan of a run that was carried out has and neither events nor captures nor logs have.

    Args:
        run: The run.
        changes: Subscriptions and withdrawals, logged or captured.
        advertised: The same of advertisements.
        patterns: What the events say of patterns.
        published: How many messages there are of each client, by id.

    Returns:
        What is lacking, and what was wrong with the logs that might have explained it.
    """
    traces: Counter[tuple[str, str]] = Counter()
    for verb, found in (("subscribe", changes), ("advertise", advertised)):
        for change in found:
            traces[change.client, f"un{verb}" if change.predicate is None else verb] += 1
    for sought in patterns.sought:
        traces[sought.client, "subscribe_pattern"] += 1
    for client in run.plan.clients:
        traces[client.name, "publish"] = published.get(client.node_id, 0)
    problems: list[str] = []
    return list(_undone(run, traces, problems)), problems


def _undone(run: Run, traces: Mapping[tuple[str, str], int], problems: list[str]) -> Iterator[Undone]:
    for client in run.plan.clients:
        planned = Counter(action.do for action in client.script)
        lacking = {do: n - traces.get((client.name, do), 0) for do, n in planned.items()}
        if any(n > 0 for n in lacking.values()):
            failed = _failed_actions(run, client.name, problems)
            for do, n in lacking.items():
                if n > failed[do]:
                    yield Undone(client.name, do, n - failed[do])


def _failed_actions(run: Run, client: str, problems: list[str]) -> Counter[str]:
    """What a client could not do, by its log; without one, nothing explains what is lacking."""
    failed: Counter[str] = Counter()
    path = run.path / "logs" / f"{client}.jsonl"
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            place = f"logs/{path.name}:{number}"
            if not line.endswith("}\n"):
                problems.append(f"{place}: damaged or cut off; the line was skipped")
            elif '"action_failed"' in line:
                try:
                    failed[str(json.loads(line)["do"])] += 1
                except (ValueError, KeyError, TypeError) as error:
                    problems.append(f"{place}: not a line of a log ({error}); the line was skipped")
    return failed


def lacking_events(run: Run, changes: Sequence[NetworkChange]) -> Iterator[str]:
    """Fixpoints of the manifest, and faults of a plan that was carried out, that are no event; one each."""
    reached = sum(entry.get("took_ns") is not None for entry in run.manifest.get("convergence", ()))
    logged = sum(not change.do for change in changes)
    for _ in range(reached - logged):
        yield "converged"
    if run.carried_out:
        planned = Counter(f"{fault.do} {fault.target}" for fault in run.plan.faults)
        planned.subtract(f"{change.do} {change.target}" for change in changes if change.do)
        for fault, count in planned.items():
            yield from [fault] * count
