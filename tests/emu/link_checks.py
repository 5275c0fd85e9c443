"""What a link is asked to do and what it then does: one row a property, the same for every carrier.

Only what must hold on any machine is demanded: nothing comes earlier than asked,
shares lie within their interval, and nothing is later than a loaded machine may
make it. How exact a carrier is on an idle machine, its benchmark tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import correlation, fmean, median, pstdev

from testbed.plan.model import Impairment
from tests.emu.link_lines import Line

MS = 1_000_000
US = 1_000
SLACK_MS = 5.0
"""How late the middle of all frames may be on a machine that has other things to do."""
WIDE = 3.3
"""Standard deviations: one in a thousand true shares lies outside."""
FRAME = 100
PAYLOAD = 58


@dataclass(frozen=True, slots=True)
class Row:
    """One property."""

    name: str
    asked: str
    measured: str
    holds: bool


DOUBLES = Impairment(delay_ns=MS, duplicate=0.1)
"""netem must do so from the start, or not at all."""

Check = Callable[[Line], list[Row]]


def check_delay(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=10 * MS))
    took = _took(line, 200, 500 * US, 20 * MS)
    return [_not_before("delay, the least", 10, min(took)), _about("delay, the middle", 10, median(took))]


def check_jitter(shape: str, deviation: float, least: float, most: float) -> Check:
    def check(line: Line) -> list[Row]:
        line.impair(Impairment(delay_ns=40 * MS, jitter_ns=8 * MS, jitter_shape=shape))
        took = _took(line, 1500, 200 * US, 100 * MS)
        spread, low, high = pstdev(took), 40 + 8 * least, 40 + 8 * most
        return [
            _not_before(f"{shape} jitter, the least", low, min(took)),
            _about(f"{shape} jitter, the mean", 40, fmean(took)),
            _row(f"{shape} jitter, the deviation", f"{8 * deviation:.2f} ms", f"{spread:.2f} ms",
                 abs(spread / (8 * deviation) - 1) < 0.2),
            _row(f"{shape} jitter, 99 % of all", f"up to {high:.1f} ms", f"{sorted(took)[-15]:.1f} ms",
                 sorted(took)[-15] < high + SLACK_MS),
        ]  # fmt: skip

    return check


def check_correlation(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=40 * MS, jitter_ns=8 * MS, jitter_correlation=0.8))
    line.send(range(2000), 200 * US)
    took = {a.number: a.took_ns for a in line.collect(100 * MS)}
    found = correlation(*zip(*pairwise(took[n] for n in sorted(took)), strict=True))
    return [_row("correlation of jitter", "0.80", f"{found:.2f}", abs(found - 0.8) < 0.1)]


def check_loss(line: Line) -> list[Row]:
    line.impair(Impairment(loss=0.1))
    line.send(range(2000))
    return [_share("loss", 0.1, 2000 - len(line.collect()), 2000)]


def check_bursts(line: Line) -> list[Row]:
    line.impair(Impairment(loss=0.2, loss_burst=5))
    line.send(range(5000))
    there = {a.number for a in line.collect()}
    gone = [number not in there for number in range(5000)]
    runs = sum(now and not before for before, now in pairwise([False, *gone]))
    length = sum(gone) / max(runs, 1)
    return [
        # Losses come in runs: the interval is wider by the square root of (1 + r) / (1 - r).
        _share("loss in bursts", 0.2, sum(gone), 5000, 2.7),
        _row("length of bursts", "5.0", f"{length:.1f}", 4 < length < 6),
    ]


def check_duplication(line: Line) -> list[Row]:
    line.impair(DOUBLES)
    line.send(range(2000))
    seen = Counter(a.number for a in line.collect())
    rows = [_share("duplication", 0.1, sum(n - 1 for n in seen.values()), 2000)]
    return [*rows, _row("each arrives", "1 or 2 times", f"{min(seen.values())} to {max(seen.values())}",
                        {*seen.values()} == {1, 2} and len(seen) == 2000)]  # fmt: skip


def check_reordering(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=400 * MS, reorder=0.1))
    line.send(range(1000))
    arrived = line.collect(450 * MS)
    early = [a for a in arrived if a.took_ns < 400 * MS]
    # Where sending takes longer than the delay, those sent later cannot be first.
    among = [a.number for a in early if a.sent_ns < arrived[0].sent_ns + 300 * MS]
    first = [a.number for a in arrived[: len(among)]]
    return [
        _share("reordering", 0.1, len(early), 1000),
        _row("what overtakes", "is first", "is first" if first == among else "is not", first == among),
    ]


def check_corruption(line: Line) -> list[Row]:
    line.impair(Impairment(corrupt=0.1))
    before = line.checksum_errors()
    line.send(range(2000))
    missing = 2000 - len(line.collect())
    found = line.checksum_errors() - before
    # netem hits headers as well: of 100 bytes 58 are under the checksum of UDP.
    return [
        _share("corruption", 0.1, missing, 2000),
        _row("dropped for its checksum", f"up to {missing}", str(found), 0.4 * missing <= found <= missing),
    ]


def check_rate(line: Line) -> list[Row]:
    line.impair(Impairment(rate_bps=2_000_000))
    line.send(range(60), payload=1000 - 42)
    arrived = line.collect(500 * MS)
    times = [a.arrived_ns for a in arrived]
    found = (len(times) - 1) * 1000 * 8 * 1000 / (max(times) - min(times))
    took = (max(times) - arrived[0].sent_ns) / MS
    return [
        _row("rate", "2.00 Mbit/s", f"{found:.2f} Mbit/s", 1.8 < found < 2.1 and len(arrived) == 60),
        _not_before("60 frames of 1000 bytes", 240, took),
    ]


def check_queue(**limit: int) -> Check:
    def check(line: Line) -> list[Row]:
        line.impair(Impairment(rate_bps=16_000, **limit))  # 50 ms a frame
        line.send(range(12))
        got = [a.number for a in line.collect(400 * MS)]
        name = next(iter(limit)).replace("_", " in ")
        return [_row(f"{name}: room for 3", "0 to 3", f"{got[0]} to {got[-1]}", got == [0, 1, 2, 3])]

    return check


def check_asymmetry(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=5 * MS), Impairment(delay_ns=15 * MS))
    there = _took(line, 50, 500 * US, 20 * MS)
    line.send(range(50), 500 * US, source=1)
    back = [a.took_ns / MS for a in line.collect(20 * MS, sink=0)]
    return [
        _not_before("delay there", 5, min(there)),
        _about("delay there, the middle", 5, median(there)),
        _not_before("delay back", 15, min(back)),
        _about("delay back, the middle", 15, median(back)),
    ]


def check_change(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=300 * MS))
    line.send([1])
    line.impair(Impairment(delay_ns=5 * MS))
    line.send([2])
    arrived = {a.number: a for a in line.collect(350 * MS)}
    if {*arrived} != {1, 2}:
        return [_row("change under way", "both arrive", str(sorted(arrived)), False)]
    overtook = arrived[2].arrived_ns < arrived[1].arrived_ns
    # Where the change itself takes as long as the delay, nothing can overtake.
    too_late = arrived[2].sent_ns > arrived[1].sent_ns + 250 * MS
    return [
        _not_before("before a change", 300, arrived[1].took_ns / MS),
        _not_before("after it", 5, arrived[2].took_ns / MS),
        _row("which is first", "the later", "the later" if overtook else "the earlier", overtook or too_late),
    ]


def check_cut(line: Line) -> list[Row]:
    line.impair(Impairment(delay_ns=300 * MS))
    line.send([1, 2])
    line.take_down()
    line.send([3])
    line.bring_up()
    line.send([4])
    arrived = {a.number: a for a in line.collect(350 * MS)}
    # Where cutting itself takes as long as the delay, the first two were there already.
    too_late = 1 in arrived and 4 in arrived and arrived[4].sent_ns > arrived[1].sent_ns + 250 * MS
    got = sorted(arrived)
    return [
        _row("taken down, then brought up", "[4]", str(got), got == [4] or (too_late and got == [1, 2, 4]))
    ]


CHECKS: Mapping[str, Check] = {
    "delay": check_delay,
    "uniform jitter": check_jitter("uniform", 0.577, -1, 1),
    "normal jitter": check_jitter("normal", 1, -4, 4),
    "pareto jitter": check_jitter("pareto", 0.82, -2 / 3, 4),
    "correlation": check_correlation,
    "loss": check_loss,
    "bursts": check_bursts,
    "duplication": check_duplication,
    "reordering": check_reordering,
    "corruption": check_corruption,
    "rate": check_rate,
    "queue in packets": check_queue(queue_packets=3),
    "queue in bytes": check_queue(queue_bytes=3 * FRAME),
    "asymmetry": check_asymmetry,
    "change under way": check_change,
    "taken down and brought up": check_cut,
}
NOT_BY_NETEM = {
    "correlation": "netem blends ranks, which is another shape",
    "queue in bytes": "netem knows no limit in bytes",
}


def check_mtu(line: Line) -> list[Row]:
    """Of a link whose MTU is 600."""
    line.send([1], payload=600 - 28)
    arrived = len(line.collect())
    try:
        line.send([2], payload=601 - 28)
        larger = "sent"
    except AssertionError:
        larger = "refused"
    return [
        _row("a packet of the MTU", "1 arrives", f"{arrived} arrives", arrived == 1),
        _row("one byte more", "refused", larger, larger == "refused"),
    ]


def _took(line: Line, count: int, every_ns: int, within_ns: int) -> list[float]:
    """In milliseconds; nothing may be missing."""
    line.send(range(count), every_ns)
    arrived = line.collect(within_ns)
    assert sorted(a.number for a in arrived) == [*range(count)], f"{count} sent, {len(arrived)} arrived"
    return [a.took_ns / MS for a in arrived]


def _row(name: str, asked: str, measured: str, holds: bool) -> Row:
    return Row(name, asked, measured, holds)


def _not_before(name: str, asked_ms: float, measured_ms: float) -> Row:
    # A microsecond for rounding by tc, which counts in ticks.
    return Row(name, f"at least {asked_ms:g} ms", f"{measured_ms:.3f} ms", measured_ms >= asked_ms - 0.001)


def _about(name: str, asked_ms: float, measured_ms: float) -> Row:
    holds = asked_ms - 1 < measured_ms < asked_ms + SLACK_MS
    return Row(name, f"{asked_ms:g} ms", f"{measured_ms:.3f} ms", holds)


def _share(name: str, asked: float, found: int, count: int, wider: float = 1.0) -> Row:
    reach = WIDE * wider * (asked * (1 - asked) / count) ** 0.5
    text = f"{asked:.1%} ± {reach:.1%}"
    return Row(name, text, f"{found / count:.2%}", abs(found / count - asked) < reach)
