"""What section 5.4 says of one router and a network of them, beside what whole runs did."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from analysis.figures.axes import count, duration
from testbed.experiments.emulated.rows import Measured, Row, runs_of, scenarios_of, single_and_networks
from testbed.experiments.finding import Finding


def same_deliveries(results: Measured) -> Finding:
    """The same messages to the same clients, whatever the network; nothing missing, duplicate, spurious."""
    runs = runs_of(results)
    digests = {row.digest for row in runs}
    wrong = sum(row.wrong for row in results.rows)
    each = sum(row.expected for row in results.rows) // len(runs)
    sets = "1 set" if len(digests) == 1 else f"{len(digests)} different sets"
    said = f"{len(runs)} runs of {count(each)} deliveries each, {sets}; {count(wrong)} wrong"
    return Finding(said, len(digests) == 1 and not wrong)


def near_network_is_faster(results: Measured) -> Finding:
    """Over links that take no time, at the highest load: only work counts."""
    return _faster(results, scenarios_of(results)[0])


def far_network_is_faster(results: Measured) -> Finding:
    """Over links that take time, at the highest load: what stays near is not carried to the middle."""
    return _faster(results, scenarios_of(results)[-1])


def _faster(results: Measured, scenario: str) -> Finding:
    compared = single_and_networks(results, scenario)
    said = [f"{one.rate:.0f}/s: {_of(one)} alone, {', '.join(map(_sized, many))}" for one, many in compared]
    one, many = compared[-1]
    return Finding("; ".join(said), all(r.end_to_end_p50_us < one.end_to_end_p50_us for r in many))


def _of(row: Row) -> str:
    return duration(row.end_to_end_p50_us * 1000)


def _sized(row: Row) -> str:
    return f"{_of(row)} with {row.interfaces} interfaces"


def busiest_does_less(results: Measured) -> Finding:
    """What limits throughput where every router has a processor of its own."""
    return _work(results, lambda row: row.busiest_us and row.busiest_us * row.busiest_messages, True)


def all_do_more(results: Measured) -> Finding:
    """What limits throughput where all routers share the processors, as here."""
    return _work(results, lambda row: row.all_us, False)


def _work(results: Measured, value: Callable[[Row], float | None], less: bool) -> Finding:
    said, holds = [], []
    for scenario in scenarios_of(results):
        runs = [row for row in runs_of(results) if row.scenario == scenario]
        known = [(row, found) for row in runs if (found := value(row)) is not None]
        alone = next((found for row, found in known if row.routers == 1), None)
        if alone is None or len(known) < 2:
            return Finding("processor time of single nodes is not known of these runs", None)
        many = [(row, found) for row, found in known if row.routers > 1]
        told = ", ".join(f"{found / alone:.2f} x with {row.interfaces} interfaces" for row, found in many)
        said.append(f"{scenario}: {told}, of the single router's")
        holds += [(found < alone) == less for _, found in many]
    return Finding("; ".join(said), all(holds))


def load_does_not_slow(results: Measured) -> Finding:
    """Whether any of them saturates: the median at the highest load over the worst of the lower ones."""
    said, holds = [], []
    for scenario, routers in dict.fromkeys(row.run for row in results.rows):
        rows = [r for r in results.rows if r.run == (scenario, routers)]
        before = max(row.end_to_end_p50_us for row in rows[:-1])
        growth = rows[-1].end_to_end_p50_us / before if before else 0.0
        said.append(f"{scenario}, {rows[0].interfaces} interfaces: {growth:.2f} x")
        holds.append(growth < 2 and not rows[-1].missing)
    return Finding("; ".join(said), all(holds))


def trusted(rows: Iterable[Row]) -> list[str]:
    """Runs whose fidelity is not beyond doubt."""
    return [f"{r.scenario} with {r.routers}" for r in rows if r.fidelity not in ("trusted", "exact")]
