"""What can be asked of a client process over its admin socket beyond what every node answers.

Here: requests into calls, and mistakes into replies. Not here: what publishing
and subscribing mean (`nodes.client.script`).
"""

from __future__ import annotations

from collections.abc import Callable

from nodes.client.core import NotAttached
from nodes.client.script import ScriptedClient
from nodes.daemon.admin import Command, Request, RequestError
from nodes.model import PredicateSyntaxError, UsageError

MOST_AT_ONCE = 1000
"""Messages that one request may publish, and deliveries that one reply may hold."""


def commands(
    client: ScriptedClient, now_ns: Callable[[], int], done: Callable[[], None]
) -> dict[str, Command]:
    """`publish`, `subscribe`, `unsubscribe`, `advertise`, `unadvertise`, `deliveries`, `latency`.

    Args:
        client: who does it.
        now_ns: the node's time.
        done: called after each, so that what the client wants to send is sent.
    """

    def publish(request: Request) -> object:
        text, count = _text(request, "message"), _number(request, "count", 1, MOST_AT_ONCE)
        events = [client.publish(now_ns(), text) for _ in range(count)]
        last = events[-1]
        identity = {key: last[key] for key in ("source", "sequence", "time_ns")}
        return {**identity, "advertised": client.advertises(text)}

    def subscribe(request: Request) -> object:
        if "pattern" in request:
            event = client.seek(now_ns(), _text(request, "pattern"), _number(request, "keep", 1000))
            return {key: event[key] for key in ("subscription", "pattern", "time_ns")}
        event = client.subscribe(now_ns(), _text(request, "predicate"), _number(request, "keep", 1000))
        return {key: event[key] for key in ("subscription", "predicate", "time_ns")}

    def unsubscribe(request: Request) -> object:
        event = client.unsubscribe(now_ns(), _number(request, "subscription"))
        return {key: event[key] for key in ("subscription", "time_ns")}

    def advertise(request: Request) -> object:
        event = client.advertise(now_ns(), _text(request, "predicate"))
        return {key: event[key] for key in ("advertisement", "predicate", "time_ns")}

    def unadvertise(request: Request) -> object:
        event = client.unadvertise(now_ns(), _number(request, "advertisement"))
        return {key: event[key] for key in ("advertisement", "time_ns")}

    def deliveries(request: Request) -> object:
        most, number = _number(request, "most", MOST_AT_ONCE, MOST_AT_ONCE), _number(request, "subscription")
        return {**client.deliveries.take(number, most), "refused": client.why_refused(number)}

    def latency(_: Request) -> object:
        return client.deliveries.latency()

    made = (publish, subscribe, unsubscribe, advertise, unadvertise, deliveries, latency)
    return {command.__name__: _carried_out(command, done) for command in made}


def _carried_out(command: Command, done: Callable[[], None]) -> Command:
    def carry_out(request: Request) -> object:
        try:
            return command(request)
        except (PredicateSyntaxError, UsageError, NotAttached) as error:
            raise RequestError(str(error)) from error
        finally:
            done()

    return carry_out


def _text(request: Request, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise RequestError(f'expected "{key}", a text; got {value!r}')
    return value


def _number(request: Request, key: str, default: int | None = None, most: int = 2**32) -> int:
    value = request.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
        raise RequestError(f'expected "{key}", a number from 1 to {most}; got {value!r}')
    return value
