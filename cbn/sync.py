"""The library without asyncio: `cbn.sync.Client`, whose calls wait for what they ask."""

from nodes.client.sync import Client, Subscription

__all__ = ["Client", "Subscription"]
