"""What the matchmaker paper says of signals while entities walk about (MM 6.1), beside what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps

from analysis.figures.axes import count
from testbed.experiments.kind import Check, Checks, Finding
from testbed.experiments.results import grouped
from testbed.experiments.signalling.lines import Line, Measured, by_setting, lines

check = Checks()
ALL = ("bp", "bs", "amsp")
LEAST_TIMES = 2
"""By how much a scheme has to tell less than another for somebody to choose it for that."""
BROADCASTS = ALL[:2]
PAPERS_RATE, PAPERS_AMSP = 3000, 800
"""Signals a second in Fig. 11: both broadcasts above the one, AMSP below the other."""
PAPERS_MARKING = 0.03
MANY = 4
"""Of more settings only the first and the last are named."""
STEADY_SHARE, BEGINNING_S = 0.25, 60
"""How far a window may be from the mean, once the beginning is over."""


@check
def same_deliveries(results: Measured) -> Finding:
    """Every scheme delivers all that is owed, and nothing else."""
    runs = {row.case: row for row in results.rows}.values()
    owed, wrong = sum(row.owed for row in runs), sum(row.wrong for row in runs)
    return Finding(f"{count(owed)} deliveries owed in all, {count(wrong)} wrong", bool(owed) and not wrong)


@check
def who_signals_least(results: Measured) -> Finding:
    """The order of the schemes by packets, and by bytes."""
    parts = []
    for setting in by_setting(results):
        by_packets = sorted(setting, key=lambda line: line.rate)
        by_bytes = sorted(setting, key=lambda line: line.bytes_rate)
        parts.append(
            f"packets: {_ordered(by_packets)}; bytes: {', '.join(line.first.scheme for line in by_bytes)}"
        )
    return Finding("; ".join(parts), None)


def _ordered(of: Sequence[Line]) -> str:
    return ", ".join(f"{line.first.scheme} {count(round(line.rate))}/s" for line in of)


@check
def advertisements_save(results: Measured) -> Finding:
    """A scheme with advertisements against itself without, where both change all the time."""
    parts: list[tuple[str, bool]] = []
    for setting in by_setting(results):
        by_name = {line.first.scheme: line for line in setting}
        for name, line in by_name.items():
            told = by_name.get(f"{name}/adv")
            if told is not None:
                times = line.rate / max(told.rate, 1e-9)
                parts.append((f"{name}: {times:.1f} times fewer signals with them", times >= LEAST_TIMES))
    return Finding.each(parts) if parts else Finding("none of the schemes was run both ways", None)


@check
def wasted_data(results: Measured) -> Finding:
    """Messages that cross links for nothing."""
    parts = []
    for scheme, rows in grouped(results.rows, lambda row: row.scheme).items():
        crossed, wasted = sum(row.crossings for row in rows), sum(row.wasted for row in rows)
        parts.append(f"{scheme} {count(wasted)} of {count(crossed)}")
    return Finding("; ".join(parts), None)


def _beside_each_other(statement: Check) -> Check:
    """For what is said of both broadcasts and of AMSP: says nothing where some of them were not run."""

    @wraps(statement)
    def compared(results: Measured) -> Finding:
        missing = [name for name in ALL if name not in {row.scheme for row in results.rows}]
        if missing:
            return Finding(f"{', '.join(missing)} was not run", None)
        return statement(results)

    return compared


def after_the_beginning(results: Measured) -> Measured:
    """The rows once rates have come to be what they are; all, of runs that are shorter."""
    rows = tuple(row for row in results.rows if row.begin_s >= BEGINNING_S)
    return replace(results, rows=rows) if rows else results


@check
@_beside_each_other
def broadcast_rates(results: Measured) -> Finding:
    """Fig. 11: both broadcasts. Speeds were chosen so that the cheaper one comes near the paper (E20)."""
    found = [line for line in lines(after_the_beginning(results)) if line.first.scheme in BROADCASTS]
    return Finding("; ".join(map(_rate, found)), None)


@check
@_beside_each_other
def amsp_saves(results: Measured) -> Finding:
    """Fig. 11: AMSP beside the cheaper broadcast."""
    (setting, *_) = by_setting(after_the_beginning(results))
    least = _cheaper_broadcast(setting)
    parts: list[tuple[str, bool]] = []
    for line in setting:
        if line.first.scheme not in BROADCASTS:
            share = line.rate / max(least.rate, 1e-9)
            text = f"{_rate(line)}, {1 - share:.0%} less than {least.first.scheme}"
            parts.append((text, share <= PAPERS_AMSP / PAPERS_RATE))
    return Finding.each(parts)


@check
@_beside_each_other
def share_of_marking(results: Measured) -> Finding:
    """Fig. 11: what it takes to mark links, within a factor of two of the paper's share."""
    found = [k for k in lines(after_the_beginning(results)) if k.first.scheme not in BROADCASTS]
    shares = {line.first.scheme: line.marking_share for line in found}
    within = [PAPERS_MARKING / 2 <= share <= PAPERS_MARKING * 2 for share in shares.values()]
    return Finding("; ".join(f"{scheme} {share:.1%}" for scheme, share in shares.items()), all(within))


@check
@_beside_each_other
def saved_without_marking(results: Measured) -> Finding:
    """What AMSP tells of descriptors and matches alone, beside the cheaper broadcast."""
    settings = by_setting(after_the_beginning(results))
    parts: list[tuple[str, bool]] = []
    for setting in settings if len(settings) <= MANY else [settings[0], settings[-1]]:
        least = _cheaper_broadcast(setting)
        for line in setting:
            if line.first.scheme not in BROADCASTS:
                share = line.rate * (1 - line.marking_share) / max(least.rate, 1e-9)
                first = line.first
                about = f"{first.publishers}/{first.subscribers}, {first.squares} squares, {first.scheme}"
                parts.append((f"{about}: {1 - share:.0%} less", share <= PAPERS_AMSP / PAPERS_RATE))
    return Finding.each(parts)


@check
def steady(results: Measured) -> Finding:
    """Fig. 11: but for the beginning, rates stay what they are."""
    parts: list[tuple[str, bool]] = []
    for scheme, rows in grouped(results.rows, lambda row: row.scheme).items():
        rates = [row.signals / row.seconds for row in rows if row.begin_s >= BEGINNING_S]
        if rates:
            mean = sum(rates) / len(rates)
            most = max(abs(rate - mean) for rate in rates) / mean
            parts.append((f"{scheme} within {most:.0%} of its mean", most <= STEADY_SHARE))
    text = f"shorter than {BEGINNING_S} s"
    return Finding.each(parts) if parts else Finding(text, None)


@check
@_beside_each_other
def cheaper_broadcast(results: Measured) -> Finding:
    """Fig. 12: fewer subscribers than publishers, and BS is cheaper; more, and BP is."""
    uneven = [s for s in by_setting(results) if s[0].first.publishers != s[0].first.subscribers]
    wrong = [setting for setting in uneven if not _is_cheaper_as_printed(setting)]
    of = ", ".join(f"{s[0].first.publishers}/{s[0].first.subscribers}" for s in wrong)
    but = f", but not with {of}" if wrong else ""
    return Finding(f"in {len(uneven) - len(wrong)} of {len(uneven)} settings{but}", not wrong)


def _is_cheaper_as_printed(setting: Sequence[Line]) -> bool:
    by_name = {line.first.scheme: line for line in setting}
    first, bp, bs = setting[0].first, by_name["bp"].rate, by_name["bs"].rate
    return bs < bp if first.subscribers < first.publishers else bp < bs


@check
@_beside_each_other
def amsp_is_lowest_and_grows_least(results: Measured) -> Finding:
    """Figs. 12 and 13: in every setting, and from the first to the last of each sweep."""
    settings = by_setting(results)
    lowest = [_adaptive(setting).rate < _cheaper_broadcast(setting).rate for setting in settings]
    parts = [(f"lowest in {sum(lowest)} of {len(lowest)} settings", all(lowest))]
    for name, along in sweeps(results).items():
        growth = {scheme: line[-1].rate - line[0].rate for scheme, line in along.items() if len(line) > 1}
        if growth:
            told = ", ".join(f"{scheme} {round(more):+d}/s" for scheme, more in growth.items())
            parts.append((f"over {name}: {told}", growth["amsp"] == min(growth.values())))
    return Finding.each(parts)


@check
@_beside_each_other
def slopes_of_broadcasts(results: Measured) -> Finding:
    """Fig. 12: which broadcast rises less with subscribers."""
    along = sweeps(results).get("subscribers", {})
    found = {scheme: along[scheme] for scheme in BROADCASTS if scheme in along}
    rise = {scheme: line[-1].rate - line[0].rate for scheme, line in found.items()}
    if len(rise) < len(BROADCASTS):
        return Finding("subscribers were not varied", None)
    told = ", ".join(f"{scheme} {round(more):+d}/s" for scheme, more in rise.items())
    return Finding(told, rise["bp"] < rise["bs"])


@check
def rises_with_squares(results: Measured) -> Finding:
    """Fig. 13: a finer grid makes all tell more."""
    parts = []
    for scheme, along in sweeps(results).get("squares", {}).items():
        rates = [line.rate for line in along]
        text = f"{scheme} from {count(round(rates[0]))} to {count(round(rates[-1]))}/s"
        parts.append((text, rates == sorted(rates)))
    return Finding.each(parts) if parts else Finding("squares were not varied", None)


@check
@_beside_each_other
def a_finer_grid(results: Measured) -> Finding:
    """Fig. 13: with what the cheaper broadcast tells on the coarsest grid, AMSP manages a finer one."""
    along = sweeps(results).get("squares", {})
    if not along:
        return Finding("squares were not varied", None)
    least = min((along[scheme][0] for scheme in BROADCASTS), key=lambda line: line.rate)
    enough = [line.first.squares for line in along["amsp"] if line.rate <= least.rate]
    at, finest = least.first.squares, max(enough, default=0)
    text = f"with {_rate(least)} for {at} x {at} squares: amsp {finest} x {finest}"
    return Finding(text, finest > at)


def sweeps(results: Measured) -> dict[str, dict[str, list[Line]]]:
    """By what is varied, while all else is as it is in most settings, and scheme: its lines, ascending."""
    keys: dict[str, Callable[[Line], int]] = {
        "subscribers": lambda line: line.first.subscribers,
        "publishers": lambda line: line.first.publishers,
        "squares": lambda line: line.first.squares,
    }
    every, found = lines(results), dict[str, dict[str, list[Line]]]()
    usual = {name: _most_common(map(key, every)) for name, key in keys.items()}
    for name, key in keys.items():
        others = [(k, usual[other]) for other, k in keys.items() if other != name]
        along = [line for line in every if all(k(line) == value for k, value in others)]
        if len({key(line) for line in along}) > 1:
            found[name] = grouped(sorted(along, key=key), lambda line: line.first.scheme)
    return found


def _most_common(values: Iterable[int]) -> int:
    seen = [*values]
    return max(dict.fromkeys(seen), key=seen.count)


def _adaptive(setting: Iterable[Line]) -> Line:
    return next(line for line in setting if line.first.scheme == "amsp")


def _cheaper_broadcast(setting: Iterable[Line]) -> Line:
    return min((line for line in setting if line.first.scheme in BROADCASTS), key=lambda line: line.rate)


def _rate(line: Line) -> str:
    return f"{line.first.scheme} {count(round(line.rate))}/s"
