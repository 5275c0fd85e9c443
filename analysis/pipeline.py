"""From a run directory to tables, verdict and report: the order of the work.

Captures become table `packets`; its rows about messages go to buckets, and each bucket is judged by itself
(`messages`), so no run is too big for memory. What tasks have counted is added up here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from analysis import AnalysisError, calm, clocks, logs, network
from analysis.catalog import course as of_course
from analysis.catalog import matchmaker as of_matchmaker
from analysis.catalog.network import CLOCKS, LINK_DELAYS, NODES
from analysis.checks import Found, to_checks
from analysis.clocks import Clocks, clock_columns, ways_of
from analysis.course.links import traffic_of
from analysis.course.records import staged
from analysis.course.sums import PacketSums
from analysis.course.tables import Course
from analysis.decoded import decoded_of
from analysis.drift.least import window_ns
from analysis.dues import deviations
from analysis.evidence import swapped_access
from analysis.explorer import explore
from analysis.findings import (
    Checks,
    CrossingCounts,
    Findings,
    Oddity,
    SchemeFindings,
    Scope,
    Slices,
    Stretch,
)
from analysis.ingest import ingest_captures
from analysis.known import Known, Read
from analysis.messages import counting
from analysis.messages.context import Context
from analysis.messages.counting import Timeline
from analysis.messages.delays import link_delays
from analysis.messages.events import pieces_of_events
from analysis.messages.published import published_in
from analysis.messages.run import Work, buckets_for, packet_files
from analysis.messages.scatter import Scatter
from analysis.messages.sums import Sums, all_oddities
from analysis.messages.tables import write_part
from analysis.messages.times import by_time
from analysis.pieces import captured_bytes, captures_of
from analysis.report.page import render
from analysis.rundir import Run, load_run
from analysis.scopes import parts_of, slices_of
from analysis.session import GIVEN_UP, parallelism, reason_of, record_of, start_session
from analysis.settings import Asked
from analysis.spark_tasks import on_spark
from analysis.status import told
from analysis.verdict import to_verdict
from analysis.workers import check_workers
from testbed.plan.recorded import REPORT, VERDICT

SPARK_LOG = "logs/analysis.log"
SPARK_RECORD = "logs/analysis.json"
"""The version, the master and the settings of the session."""
PACKETS = "packets.parquet"
STEPS = 4
"""Of phase `tables`."""


class Progress(Protocol):
    """Drawn as bars by the command line."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins: `spark`, `ingest`, `tables`, `report`."""

    def advance(self, done: int) -> None:
        """`done` of the phase's total are done."""

    def say(self, text: str) -> None:
        """A line worth a person's attention."""


class Silence:
    """Progress for programs."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, done: int) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


def analyze(run_dir: Path, *, progress: Progress | None = None, asked: Asked | None = None) -> dict[str, Any]:
    """Analyse a run: write `tables/`, `report.html` and `verdict.json` into its directory.

    Earlier results stay until the new ones are complete and are then replaced.

    Args:
        run_dir: what `cbn run` has written.
        progress: is shown how far the work is.
        asked: what a person asks of Spark; default: all local cores.

    Returns:
        The verdict, as in `verdict.json`.

    Raises:
        AnalysisError: the directory is no run, cannot be written, or Spark cannot start.
    """
    progress = progress or Silence()
    run = load_run(Path(run_dir))
    with _workspace(run.path) as partial:
        progress.phase("spark")
        log = run.path / SPARK_LOG
        log.parent.mkdir(exist_ok=True)
        spark = start_session(captured_bytes(run), asked, log)
        _note(record_of(spark), run.path / SPARK_RECORD)
        try:
            check_workers(spark)
            with told(spark, progress.say):
                findings = _find(spark, run, partial.absolute(), progress)
        except GIVEN_UP as error:
            raise AnalysisError(
                f"{run.path}: Spark gave up: {reason_of(error)} (more in {SPARK_LOG})"
            ) from error
        progress.phase("report")
        verdict = to_verdict(findings)
        (partial / REPORT).write_text(render(findings, verdict), encoding="utf-8")
        (partial / VERDICT).write_text(_json(verdict), encoding="utf-8")
        _publish(partial, run.path)
    return verdict


def _note(record: dict[str, Any], path: Path) -> None:
    path.write_text(_json(record), encoding="utf-8")


def _find(spark: SparkSession, run: Run, workspace: Path, progress: Progress) -> Findings:
    read = Read.of(run)
    progress.phase("ingest")
    tables = workspace / "tables"
    tasks, cores = on_spark(spark), parallelism(spark)
    captures, packets = captures_of(run), tables / PACKETS
    decoded = decoded_of(run)
    work = ingest_captures(
        captures, packets, tasks, cores, earlier=run.path / "tables" / PACKETS, parts=decoded.parts
    )
    work.problems += decoded.problems
    work.unread += decoded.unread
    ingested = work.summary()
    if wrong := ingested.splits.get("distrusted"):
        progress.say(f"The index beside {wrong:,} captures was wrong; their records were counted one by one")
    known = read.known(ingested, {})
    course = Course.of(run, slices_of(run), read.network_events, known.history, known.evidence.gaps)
    progress.phase("tables", STEPS)
    events = run.shared_path / "events.jsonl"
    scatter = Scatter(
        folder=str(workspace / "messages"),
        buckets=buckets_for(ingested.packets, cores),
        packets=packet_files(packets),
        events=str(events),
        event_pieces=pieces_of_events(events),
        clients=run.client_ids,
        times=course.times,
    )
    return _Tables(read, known, course, tables, progress, Work(scatter, tasks, tables)).findings()


@dataclass
class _Tables:
    """The tables of one run, and what is found out of them."""

    read: Read
    known: Known
    course: Course
    folder: Path
    progress: Progress
    work: Work
    _done: int = 0

    def findings(self) -> Findings:
        """Write all tables and count what the verdict and the report show."""
        run = self.read.run
        parts, slices = parts_of(run, self.known.history), self.course.slices
        context = self._context(parts, slices)
        passed, sums = self._judged(context)
        clocks = self._clocks(sums)
        if clocks.to_correct:
            context, passed, sums = self._judged_again(clocks, parts, slices)
        known = self.known
        over_time = self.course.tables(passed, sums, context.timeline)
        for table in (*of_course.TABLES, *of_matchmaker.TABLES):
            write_part(self.folder, table, {name: over_time[table.name][name] for name in table.schema.names})
        delays = link_delays(sums.delays, _links(run))
        write_part(self.folder, LINK_DELAYS, delays)
        self._write_nodes()
        self._step()
        write_part(self.folder, CLOCKS, clock_columns(clocks.by_node))
        checks, odd_logs = self._checks(sums, passed, clocks)
        subscribers = counting.by_subscriber(sums.clients)
        scopes = counting.count_by_scope(context.timeline, sums.published, sums.intervals, sums.in_interval)
        found = Findings(
            run,
            known.ingested,
            len(known.claims),
            sums.publishers,
            subscribers,
            counting.latency_curves(sums.deliveries, sums.latencies),
            [CrossingCounts(*way, *sums.crossings[way]) for way in sorted(sums.crossings)],
            traffic_of(run, passed.loads),
            sums.failures,
            sums.disagreements,
            self.work.digest(),
            self._scheme(sums, bool(context.delays)),
            [*known.notes, *odd_logs, *deviations(sums.denied, run.names)],
            scopes[: len(parts)],
            checks,
            explored=explore(run, self.folder, known.claims),
            by_time=by_time(sums.times, slices),
            over_time=over_time,
            course=scopes[len(parts) :],
            advertised=None if known.advertising is None else known.advertised,
            patterns=known.patterns.counts(lambda: published_in(self.folder)),
            attacked=known.attacked,
            refused=known.refused,
            sides=counting.by_side(sums.sides),
        )
        self._step()
        return found

    def _judged(self, context: Context) -> tuple[PacketSums, Sums]:
        passed = self.work.sort_out()
        self._step()
        sums = self.work.judge(context)
        self._step()
        return passed, sums

    def _judged_again(
        self, clocks: Clocks, parts: Sequence[Scope], slices: Slices
    ) -> tuple[Context, PacketSums, Sums]:
        """With times as they are by the clock of the reference."""
        self.progress.say("Clocks are off: all is judged once more, with corrected times")
        self.progress.phase("tables", STEPS)
        self._done = 0
        self.known = self.read.known(self.known.ingested, clocks.to_correct)
        self.work = self.work.with_clocks(clocks.to_correct)
        context = self._context(parts, slices)
        return context, *self._judged(context)

    def _clocks(self, sums: Sums) -> Clocks:
        run = self.read.run
        swapped = clocks.swapped_ends(ways_of(link_delays(sums.delays, _links(run))))
        certificate = run.certificate or {"links": ()}
        rows = certificate["links"]
        backends = {str(row["source"]): str(row["backend"]) for row in rows}
        crossing_ns = {str(row["source"]): int(row.get("crossing_ns") or 0) for row in rows}
        world = str(run.manifest["world"])
        by_node = clocks.clocks_of(
            sums.least,
            run.plan,
            world,
            backends,
            crossing_ns=crossing_ns,
            exchanged=swapped,
            hosts=run.hosts,
            readings=run.readings,
        )
        return Clocks(swapped, by_node)

    def _context(self, parts: Sequence[Scope], slices: Slices) -> Context:
        run = self.known.run
        return Context(
            tuple(self.known.claims),
            self.known.history,
            self.known.excused,
            Timeline.of([*parts, *slices.scopes()], self.course.moments),
            slices,
            network.homes(run),
            network.cost_edges(run),
            network.delay_edges(run),
            window_ns(run.end_ns - run.start_ns),
            run.names,
            self.known.advertising,
            self.known.attacked,
            self.known.policy.publishing,
        )

    def _checks(self, sums: Sums, passed: PacketSums, clocks: Clocks) -> tuple[Checks, list[str]]:
        """What is wrong with the run directory, and what was odd about its logs."""
        known, run = self.known, self.known.run
        links = {link.name: (link.a_interface, link.b_interface) for link in run.plan.links}
        swapped = [links[name] for name in clocks.swapped]
        published = {client.source: client.total for client in sums.publishers}
        undone, odd_logs = (
            logs.undone(run, known.changes, known.advertised, known.patterns.events, published)
            if run.carried_out
            else ([], [])
        )
        found = Found(
            known.evidence,
            _oddities(known, sums),
            sums.publishers,
            clocks.off,
            [*swapped, *swapped_access(run, known.ingested)],
            known.unlogged,
            known.unlogged_advertised,
            known.unlogged_sought,
            undone,
            list(logs.lacking_events(run, known.network_events)),
            self._contradictions(passed) if clocks.trusted and not known.attacked else [],
        )
        return to_checks(found, calm.busiest(run, known.history, known.payloads)), odd_logs

    def _contradictions(self, passed: PacketSums) -> list[calm.Contradiction]:
        """The fixpoints that the captures deny; their times must be right for that."""
        known = self.known
        fixpoints_ns = [fixpoint.time_ns for fixpoint in known.fixpoints]
        records = staged(passed.records, self.course.disturbed.intervals, fixpoints_ns)
        return calm.all_contradictions(known.seen(records), known.fixpoints, known.history)

    def _scheme(self, sums: Sums, delays_known: bool) -> SchemeFindings:
        """What the scheme took."""
        run = self.known.run
        stretch = None
        if delays_known and sums.stretches.count:
            quantiles = map(float, sums.stretches.quantiles((0.5, 0.99, 1.0)))
            stretch = Stretch(sums.stretches.count, sums.stretches.mean, *quantiles)
        routers = sorted(sums.routers)
        figures = network.figures(run, self.known.claims, routers)
        return SchemeFindings(sums.trees, stretch, network.router_states(run), figures)

    def _write_nodes(self) -> None:
        """Table `nodes`: the names of the ids that the other tables have."""
        nodes = self.known.run.plan.nodes
        columns = {
            "node_id": [node.node_id for node in nodes],
            "name": [node.name for node in nodes],
            "role": [node.role.name.lower() for node in nodes],
            "tags": [list(node.tags) for node in nodes],
        }
        write_part(self.folder, NODES, columns)

    def _step(self) -> None:
        self._done += 1
        self.progress.advance(self._done)


def _oddities(known: Known, sums: Sums) -> list[Oddity]:
    """What is odd about messages on links; what attackers put there has no path, as nothing brought it."""
    found = all_oddities(sums)
    return [each for each in found if each.name == "altered"] if known.attacked else found


def _links(run: Run) -> dict[tuple[int, int], str]:
    """The name of the link from each node to each of its neighbours."""
    ids = {n.name: n.node_id for n in run.plan.nodes}
    return {(ids[a], ids[b]): k.name for k in run.plan.links for a, b in ((k.a, k.b), (k.b, k.a))}


@contextmanager
def _workspace(run_dir: Path) -> Iterator[Path]:
    """A folder within the run directory for results in the making; gone afterwards."""
    path = run_dir / f".analysis-{os.getpid()}"
    try:
        for left in run_dir.glob(".analysis-*"):  # by an analysis that was killed
            if not Path("/proc", left.name.rpartition("-")[2]).exists():
                shutil.rmtree(left)
        path.mkdir()
        yield path
    except OSError as error:
        where = error.filename or run_dir
        raise AnalysisError(
            f"{where}: cannot write results: {error.strerror}; check its owner and the free space"
        ) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _publish(partial: Path, run_dir: Path) -> None:
    """Put complete results in the place of earlier ones; the verdict goes first and comes last."""
    for checksum in (partial / "tables").rglob(".*.crc"):  # of Hadoop; nobody else knows what they are
        checksum.unlink()
    with suppress(FileNotFoundError):
        (run_dir / VERDICT).unlink()
    if (run_dir / "tables").exists():
        (run_dir / "tables").rename(partial / "earlier")
    for name in ("tables", REPORT, VERDICT):
        (partial / name).rename(run_dir / name)


def _json(verdict: dict[str, Any]) -> str:
    return json.dumps(verdict, indent=1, ensure_ascii=False) + "\n"
