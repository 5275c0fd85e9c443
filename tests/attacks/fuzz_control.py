"""Feeds a router control payloads with extreme numbers over live sessions: `make fuzz-control COUNT=...`.

Payloads look valid: kinds, origins and bodies are those of real ones, and numbers lie
around the ends of every range. Meanwhile neighbours restart, links are cut, clients
change their minds. Of the router it is asked that

- it stays alive: no input raises anything;
- it does not claim to be settled, with its neighbour, while the two differ;
- when the forger stops, everything converges within the router's timers, clients get
  what they want, and the router's own records say what is true.

A failure names the seed of its episode; `--seed SEED --count 1` replays that episode.
"""

from __future__ import annotations

import argparse
import random
import struct
import time
from collections import Counter

from nodes.model import parse_predicate
from nodes.routing.identity import LONGEST_NS
from nodes.routing.schemes.base import of_router
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind, Role
from tests.attacks.bench import R1, R2, TIMERS, Bench, Forger
from tests.routing.fabric import MS, SECOND

EPISODE = 5_000
"""Payloads from one calm to the next."""
SCHEMES: list[tuple[str, dict[str, str]]] = [
    ("pif", {}),
    ("cbcb", {}),
    ("siena", {}),
    ("drp", {}),
    ("psf", {}),
    ("siena", {"tree": "source"}),
]
CALM_NS = (4 * TIMERS.renumber_ms + TIMERS.hold_ms) * MS + LONGEST_NS + SECOND
"""Within this all must be well: the last class held and left, a session lost and regained, a name refused."""
EDGES = (0, 1, 2, 3, 1 << 31, 1 << 32, 1 << 61, 1 << 62, 1 << 63, (1 << 64) - 2)
ORIGINS = (R1, R1, R1, R2, R2, 3, 9, 10, 11, (1 << 32) - 1)
PREDICATES = [
    encode_predicate(parse_predicate(text)) for text in ("none", "a > 1", "b > 1", "z = 1 or y = 2", "all")
]


class Fuzzer:
    """One episode: a bench, payloads, disturbances, a calm."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        scheme, options = self.rng.choice(SCHEMES)
        self.bench = Bench(seed, scheme, options)
        self._taken = tuple(map(Kind, self.bench.router("r1")._handlers[Role.ROUTER]))
        self.sent: Counter[str] = Counter()
        self.slowest_ns = 0
        assert self.bench.reasons() == [], "the bench works before anybody attacks"

    def run(self, count: int) -> None:
        """Send so many payloads, then see that all becomes well."""
        for number in range(count):
            kind, payload = self.payload()
            if self.bench.forge(kind, payload):
                self.sent[Kind(kind).name] += 1
            if number % 8 == 0:
                self.bench.wait(self.rng.choice((0, MS, 5 * MS, 20 * MS)))
            if number % 64 == 0:
                self.check_claims()
            if self.rng.random() < 0.002:
                self.disturb()
        self.calm()

    def calm(self) -> None:
        """The forger stops, or goes away; whoever else is away comes back."""
        self.bench.cut = False
        if self.bench.configs["r1"].scheme == "cbcb" or self.rng.random() < 0.5:
            self.bench.remove_forger()  # under cbcb, a router that is there and does not answer is waited for
        self.slowest_ns = self.bench.converge(CALM_NS)
        for name in ("r1", "r2"):
            router = self.bench.router(name)
            wanted = router.store.predicate(of_router(router.config.node_id))
            assert wanted == PREDICATES[1 if name == "r1" else 2], f"{name} knows what its client wants"

    def check_claims(self) -> None:
        """Two routers that say they are settled agree, unless the link between them is broken."""
        a, b = self.bench.router("r1"), self.bench.router("r2")
        if self.bench.cut or not (a.settled and b.settled and a.links[0].up and b.links[0].up):
            return
        for digest in ("link_state_digest", "interest_digest"):
            assert a.status()[digest] == b.status()[digest], f"both are settled, and differ in {digest}"

    def disturb(self) -> None:
        """Something else happens to the network."""
        bench = self.bench
        match self.rng.randrange(5):
            case 0:
                bench.start(self.rng.choice(("r1", "r2", "r3")))
            case 1:
                bench.cut = not bench.cut
            case 2:
                bench.wait(self.rng.choice((SECOND, 3 * SECOND)))
            case _:
                client = self.rng.choice(("c1", "c2"))
                core = bench.cores[client]
                assert not isinstance(core, Forger)
                core.subscribe(bench.now_ns, parse_predicate("k > 1"), 7)  # type: ignore[union-attr]
                bench.deliver(client)
                bench.wait(self.rng.choice((0, 30 * MS)))
                core.unsubscribe(bench.now_ns, 7)  # type: ignore[union-attr]
                bench.deliver(client)

    def number(self, bits: int) -> int:
        """Near an end of a range, or near what is in use."""
        edge = self.rng.choice(EDGES) + self.rng.randrange(-3, 4)
        return edge % (1 << bits)

    def origin(self) -> int:
        return self.rng.choice(ORIGINS) if self.rng.random() < 0.9 else self.rng.randrange(1, 1 << 32)

    def payload(self) -> tuple[int, bytes]:
        """A kind and what looks like a payload of it."""
        kind = self.rng.choice(self._taken if self.rng.random() < 0.95 else tuple(Kind))
        make = getattr(self, f"_{kind.name.lower()}", None)
        return kind, make() if make else self.rng.randbytes(self.rng.randrange(24))

    def _head(self) -> bytes:
        return struct.pack(">IQ", self.origin(), self.number(64))

    def _link_state(self) -> bytes:
        others = sorted({self.origin() for _ in range(self.rng.randrange(4))})
        links = b"".join(struct.pack(">II", other, max(1, self.number(32))) for other in others)
        return self._head() + struct.pack(">H", len(others)) + links

    def _interest(self) -> bytes:
        return self._head() + self.rng.choice(PREDICATES)

    def _interest_change(self) -> bytes:
        digest = self.rng.choice((bytes(16), b"\xff" * 16, self.rng.randbytes(16)))
        return self._head() + digest + self.rng.choice(PREDICATES) + self.rng.choice(PREDICATES)

    def _record_request(self) -> bytes:
        return struct.pack(">I", self.origin())

    def _cbcb_era(self) -> bytes:
        routers = sorted({self.origin() for _ in range(self.rng.randrange(1, 4))})
        return b"".join(
            struct.pack(">IQQ", each, self.number(64), self.rng.getrandbits(64)) for each in routers
        )

    def _era(self) -> int:
        eras = getattr(self.bench.router("r1")._scheme, "_eras", None)
        return eras.id if eras is not None and self.rng.random() < 0.8 else self.number(64)

    def _cbcb_ra(self) -> bytes:
        head = struct.pack(">IQIB", self.origin(), self._era(), self.number(32), self.rng.randrange(2))
        return head + self.rng.choice(PREDICATES)

    def _cbcb_sr(self) -> bytes:
        return struct.pack(">IQIB", self.origin(), self._era(), self.number(32), self.rng.randrange(2))

    def _cbcb_ur(self) -> bytes:
        return struct.pack(">IQI", self.origin(), self._era(), self.number(32)) + self.rng.choice(PREDICATES)

    def _siena_subscribe(self) -> bytes:
        return struct.pack(">I", self.rng.choice((0, self.origin()))) + self.rng.choice(PREDICATES)

    _siena_unsubscribe = _siena_subscribe
    _subscribe = _siena_subscribe


def episode(seed: str, count: int) -> Fuzzer:
    """Run one; a failure says how to repeat it."""
    fuzzer = Fuzzer(seed)
    try:
        fuzzer.run(count)
    except BaseException as error:
        error.add_note(f"python -m tests.attacks.fuzz_control --seed {seed} --count {count}")
        raise
    return fuzzer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="of the first episode; the others follow")
    parser.add_argument("--count", type=int, default=10_000_000, help="control payloads to send")
    arguments = parser.parse_args()
    began, left, number, slowest_ns = time.monotonic(), arguments.count, 0, 0
    sent: Counter[str] = Counter()
    while left > 0:
        seed = arguments.seed if not number else f"{arguments.seed}/{number}"
        done = episode(seed, min(left, EPISODE))
        sent += done.sent
        slowest_ns = max(slowest_ns, done.slowest_ns)
        left, number = left - EPISODE, number + 1
        if number % 100 == 0:
            print(f"{sum(sent.values()):,} payloads in {time.monotonic() - began:.0f} s", flush=True)
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(sent.items()))
    print(f"{sum(sent.values()):,} payloads in {number} episodes: {kinds}")
    print(
        f"alive, honest, and converged again within {slowest_ns / SECOND:.1f} s of {CALM_NS / SECOND:.0f} s"
    )


if __name__ == "__main__":
    main()
