"""What schemes tell while entities walk about (MM 6): tables of it, and how it was measured."""

from __future__ import annotations

from statistics import fmean

from analysis.figures.axes import count, volume
from testbed.experiments.kind import MM, Column, Kind, table
from testbed.experiments.signalling.claims import check
from testbed.experiments.signalling.drawings import figures
from testbed.experiments.signalling.lines import Line, Measured, by_setting
from testbed.experiments.signalling.measure import Row, Sweep, measure

HOW = (
    "Every run is in the simulator, in a process of its own and without captures on disk: a recorder at each "
    "router interface counts what is sent. Nothing here depends on the machine. The same seed gives all "
    "schemes the same network, walks and messages. Entities come a second after the network is ready, and "
    "counting begins four seconds later, or after the warm-up. *Changes* are descriptors that clients told "
    "their routers anew or withdrew. *Signals* are packets that tell of interest and advertisements over "
    "links between routers, without acknowledgements and link states; one of `bp`, `bs` and `amsp` tells "
    "of one descriptor that comes or goes, one of the others of all that has changed since the last. "
    "*Marking* is the share of the signals that decides how links are marked. *Entries* are filters at "
    "interfaces to other routers in all tables at the end; *wasted* are crossings of messages from which no "
    "delivery descends. *Wrong* deliveries are missing, duplicate or spurious ones."
)


def tables(results: Measured) -> str:
    """One for each setting; a single one if there are many settings."""
    settings = by_setting(results)
    if len(settings) > SINGLY:
        lines = [line for setting in settings for line in setting]
        return "\n\n".join(["## Every scheme", HOW, table((*OF_SETTING, *COLUMNS), lines)])
    parts = ["## Every scheme", HOW]
    for setting in settings:
        first = setting[0].first
        squares = count(first.squares)
        about = (
            f"### {first.publishers} publishers, {first.subscribers} subscribers, {squares} x {squares} "
            f"squares\n\n{first.routers} routers, {first.links} links; in the first run "
            f"{count(first.descriptors)} descriptors at first, {count(first.owed)} deliveries owed."
        )
        parts += [about, table(COLUMNS, setting)]
    return "\n\n".join(parts)


SINGLY = 2
"""So many settings have a table of their own each."""
OF_SETTING: tuple[Column[Line], ...] = (
    Column("publishers", lambda k: str(k.first.publishers)),
    Column("subscribers", lambda k: str(k.first.subscribers)),
    Column("squares a side", lambda k: count(k.first.squares)),
)
COLUMNS: tuple[Column[Line], ...] = (
    Column("scheme", lambda k: k.first.scheme, is_text=True),
    Column("runs", lambda k: str(len(k.rates))),
    Column("changes/s", lambda k: f"{k.changes_rate:.1f}"),
    Column("signals/s", lambda k: count(round(k.rate)) + (f" ± {k.spread:.0f}" if k.spread else "")),
    Column("marking", lambda k: f"{k.marking_share:.1%}"),
    Column("bytes/s", lambda k: volume(round(k.bytes_rate))),
    Column("entries", lambda k: count(round(fmean(row.entries for row in k.runs)))),
    Column("crossings", lambda k: count(sum(row.crossings for row in k.rows))),
    Column("wasted", lambda k: count(sum(row.wasted for row in k.rows))),
    Column("wrong", lambda k: str(sum(row.wrong for row in k.runs))),
)

KIND = Kind(
    publication=MM,
    comparable=(
        "The paper measures two broadcasts and its own protocol; the statements about other schemes are ours."
    ),
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len({row.case for row in results.rows})} runs, each once",
)
