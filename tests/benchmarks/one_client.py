"""What 100,000 descriptors of one client cost under `bp`, `bs` and `amsp`, as Markdown: time and memory.

Two routers, a publisher at one and a subscriber at the other. One of them has all descriptors: as a
subscription of so many filters, as so many subscriptions, or as so many advertisements. One in a thousand
matches. Each case is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

from nodes.model import parse_predicate
from testbed.cli.progress import SilentProgress
from testbed.experiments import side_by_side
from tests.routing.fabric import SECOND, Network, configure, line
from tests.routing.matchmaker_cases import of_scheme

SCHEMES = ("bp", "bs", "amsp")
WITHIN_NS = 3600 * SECOND
Case = tuple[str, str, int]


def _one_subscription(net: Network, count: int) -> None:
    either = parse_predicate(" or ".join(f"x = {number}" for number in range(count)))
    net.client("s").core.subscribe(net.now_ns, either, 1)


def _subscriptions(net: Network, count: int) -> None:
    for number in range(count):
        net.client("s").core.subscribe(net.now_ns, parse_predicate(f"x = {number}"), number)


def _advertisements(net: Network, count: int) -> None:
    for number in range(count):
        net.client("p").core.advertise(net.now_ns, parse_predicate(f"x = {number}"), number)


HOLDERS = {
    "one subscription": ("s", _one_subscription),
    "subscriptions": ("s", _subscriptions),
    "advertisements": ("p", _advertisements),
}


def measured(case: Case) -> list[str]:
    """A row of the table."""
    scheme, what, count = case
    net = Network(of_scheme(configure(line(2), {"p": 1, "s": 2}), scheme, {"advertisements": True}), 1)
    net.converge(within_ns=WITHIN_NS)
    holder, hold = HOLDERS[what]
    other, some = "p" if holder == "s" else "s", parse_predicate(f"x < {count // 1000}")
    meet = net.client(other).core.advertise if other == "p" else net.client(other).core.subscribe
    meet(net.now_ns, some, 1)
    net.after(other)
    seconds = []
    for turn in (lambda: hold(net, count), lambda: _withdraw(net, what)):
        began = time.monotonic()
        turn()
        net.after(holder)
        net.converge(within_ns=WITHIN_NS)
        seconds.append(round(time.monotonic() - began))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    cells = scheme, what, count, *seconds
    return [f"| {' | '.join(map(str, cells))} | {peak:.2f} |"]


def _withdraw(net: Network, what: str) -> None:
    core = net.client(HOLDERS[what][0]).core
    for number in core.advertised if what == "advertisements" else core.held:
        (core.unadvertise if what == "advertisements" else core.unsubscribe)(net.now_ns, number)


def _cases(count: int) -> Iterator[Case]:
    for what in HOLDERS:
        for scheme in SCHEMES:
            yield scheme, what, count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--descriptors", type=int, default=100_000)
    args = parser.parse_args()
    print("| scheme | what one client has | descriptors | s until all agree | s to withdraw all | GB |")
    print("|---|---|---:|---:|---:|---:|")
    for row in side_by_side.measured(list(_cases(args.descriptors)), measured, SilentProgress()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
