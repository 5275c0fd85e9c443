"""The descriptors of a router's own clients: their filters, under numbers that are used once (MM 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from nodes.model.meeting import Key
from nodes.routing.schemes.siena_relations import Clients


class Own:
    """PCDs or SCDs of our own.

    Args:
        clients: What they hold.
        key: The key of a number.
    """

    def __init__(self, clients: Clients, key: Callable[[int], Key]) -> None:
        self._clients = clients
        self._key = key
        self._uses: Counter[bytes] = Counter()
        self._keys: dict[bytes, Key] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._keys)

    def take_changes(self, now_ns: int) -> tuple[list[tuple[Key, bytes]], list[Key]]:
        """(Descriptors that came, with their filters; those that went) since last asked."""
        came, went = list[bytes](), list[bytes]()
        for _, new, old in self._clients.take_changes():
            came += new
            went += old
        if not came and not went:
            return [], []
        self._uses.update(came)
        self._uses.subtract(went)
        new_keys = [(self._make(now_ns, f), f) for f in dict.fromkeys(came) if f not in self._keys]
        gone = [self._keys.pop(f) for f in dict.fromkeys(went) if self._uses[f] <= 0 and f in self._keys]
        for filter_ in went:
            if self._uses[filter_] <= 0:
                del self._uses[filter_]
        return [(key, f) for key, f in new_keys if f in self._keys], gone

    def _make(self, now_ns: int, filter_: bytes) -> Key:
        # A router that has restarted must not use a number again: its clock tells it where to go on.
        self._last = max(self._last + 1, now_ns)
        self._keys[filter_] = self._key(self._last)
        return self._keys[filter_]
