"""The library for applications: `import cbn` has all that a client of a content-based network needs.

    import asyncio
    import cbn

    async def main():
        async with cbn.Client.from_environment() as client:
            flights = await client.subscribe('dest = "ORD" and price < 400')
            async for delivery in flights:
                print(delivery.attributes)

    asyncio.run(main())

`cbn.sync` has the same without asyncio; `docs/writing-applications.md` explains both. Here are
names alone; what they stand for is in `nodes.client` and `nodes.model`.
"""

from nodes.client.aio import Client
from nodes.client.core import NotAttached
from nodes.client.delivery import Delivery, Subscription
from nodes.client.refused import LimitReached, NotPermitted, PatternRefused
from nodes.client.seeking import Match, PatternSubscription
from nodes.config_file import ConfigError, load_config
from nodes.daemon.sockets import BindError
from nodes.model import (
    EVERYTHING,
    Constraint,
    Filter,
    Op,
    Pattern,
    Predicate,
    PredicateSyntaxError,
    Time,
    Type,
    UsageError,
    Value,
    format_message,
    format_pattern,
    format_predicate,
    matches,
    parse_message,
    parse_pattern,
    parse_predicate,
)

__all__ = [
    "EVERYTHING",
    "BindError",
    "Client",
    "ConfigError",
    "Constraint",
    "Delivery",
    "Filter",
    "LimitReached",
    "Match",
    "NotAttached",
    "NotPermitted",
    "Op",
    "Pattern",
    "PatternRefused",
    "PatternSubscription",
    "Predicate",
    "PredicateSyntaxError",
    "Subscription",
    "Time",
    "Type",
    "UsageError",
    "Value",
    "format_message",
    "format_pattern",
    "format_predicate",
    "load_config",
    "matches",
    "parse_message",
    "parse_pattern",
    "parse_predicate",
]
