"""The keys of a run: those of its routers, and those that its links have at the moment, by their number.

Not here: where nodes read theirs (`nodes.config_file`), when a link gets another (the fault `rekey`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodes.config import LinkKey
from nodes.wire.seal import link_key
from nodes.wire.signature import Signer, signer_seed

FIRST_KEY = 1
"""The number of the key that a link has at first."""
NUMBERS = 2**16 - 1
"""Keys are numbered from 1 to this, and then from 1 again."""


class Keys:
    """Two ends must never both lack what the other uses, so a key is offered to both before it is used.

    Args:
        secret: Of the run: what routers' keys, and the first keys of its links, are made of.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._given: dict[int, tuple[LinkKey, ...]] = {}
        self._signers: dict[int, bytes] = {}
        self._seeds: dict[int, bytes] = {}
        """Of routers that were given another key."""
        self._publics: dict[int, bytes] = {}
        """The public half of each of these."""

    def of(self, link: int) -> tuple[LinkKey, ...]:
        """What both ends take; they use the first."""
        return self._given.get(link) or (LinkKey(FIRST_KEY, link_key(self._secret, link)),)

    def signing_seed(self, router: int) -> bytes:
        """What the key is made of with which a router signs its records."""
        return self._seeds.get(router) or signer_seed(self._secret, router)

    def replace_signer(self, router: int, public: bytes, seed: bytes = b"") -> None:
        """A router signs with another key; what that is made of is known where the router runs."""
        self._publics[router] = public
        self._signers = {}
        if seed:
            self._seeds[router] = seed

    def signers(self, routers: Iterable[int]) -> Mapping[int, bytes]:
        """The public keys of these routers, by id; the same object for the same routers."""
        wanted = tuple(routers)
        if wanted != tuple(self._signers):
            self._signers = {router: self._public(router) for router in wanted}
        return self._signers

    def _public(self, router: int) -> bytes:
        return self._publics.get(router) or Signer(self.signing_seed(router)).public

    def offer(self, link: int, key: LinkKey) -> None:
        """Take another key besides."""
        self._given[link] = (*self.of(link), key)

    def use(self, link: int, key: LinkKey) -> None:
        """Use a key, and no other from now on."""
        self._given[link] = (key,)


def number_after(changes: int) -> int:
    """The number of a link's key after so many changes."""
    return (FIRST_KEY - 1 + changes) % NUMBERS + 1
