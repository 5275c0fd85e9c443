"""From a run directory to tables, verdict and report: the order of the work.

Each table is written once as Parquet and read back by those that follow, so
nothing is computed twice and no run is too big for memory.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from analysis import AnalysisError, calm, clocks, logs, network, summary, transforms
from analysis.by_time import by_time
from analysis.checks import Found, to_checks
from analysis.clocks import Way
from analysis.counts import ARRIVED
from analysis.digest import delivered_digest
from analysis.dues import deviations
from analysis.evidence import Evidence, evidence_of, swapped_access
from analysis.expected import denied_pairs, to_expected, with_agreement
from analysis.explorer import explore
from analysis.findings import (
    Findings,
    Ingested,
    PublicationCounts,
    SchemeFindings,
    SubscriberCounts,
)
from analysis.history import History, NetworkChange, history_of
from analysis.ingest import ingest
from analysis.oracle import Claim, SubscriptionChange, claims_of, readable_claims
from analysis.payloads import Payload, payloads_of
from analysis.pieces import captured_bytes
from analysis.report.page import render
from analysis.rundir import Run, load_run, network_changes, subscription_changes
from analysis.schemas import CLIENTS, ENDS, EVENTS, HOMES, KINDS, LINKS
from analysis.scopes import parts_of
from analysis.session import GIVEN_UP, reason_of, record_of, start_session
from analysis.settings import Asked
from analysis.status import told
from analysis.summary import count_by_scope, slices_of
from analysis.transforms import PAIR, local, to_control_hops, to_hops, to_last_records, to_link_delays
from analysis.trees import to_stretches, to_trees
from analysis.verdict import to_verdict
from analysis.workers import check_workers
from nodes.wire.packets import Kind, PacketType
from testbed.plan.recorded import REPORT, VERDICT

SPARK_LOG = "logs/analysis.log"
SPARK_RECORD = "logs/analysis.json"
"""The version, the master and the settings of the session."""
STEPS = 11
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
                findings = _find(spark, run, partial.absolute() / "tables", progress)
        except GIVEN_UP as error:
            raise AnalysisError(
                f"{run.path}: Spark gave up: {reason_of(error)} (more in {SPARK_LOG})"
            ) from error
        _write_nodes(run, partial / "tables")
        progress.phase("report")
        verdict = to_verdict(findings)
        (partial / REPORT).write_text(render(findings, verdict), encoding="utf-8")
        (partial / VERDICT).write_text(_json(verdict), encoding="utf-8")
        _publish(partial, run.path)
    return verdict


def _note(record: dict[str, Any], path: Path) -> None:
    path.write_text(_json(record), encoding="utf-8")


def _find(spark: SparkSession, run: Run, tables: Path, progress: Progress) -> Findings:
    logged, odd_lines = subscription_changes(run)
    network_events, odd_changes = network_changes(run)
    progress.phase("ingest")
    earlier = run.path / "tables" / "packets.parquet"
    packets, ingested = ingest(spark, run, tables / "packets.parquet", earlier=earlier)
    if wrong := ingested.splits.get("distrusted"):
        progress.say(f"The index beside {wrong:,} captures was wrong; their records were counted one by one")
    payloads = list(payloads_of(ingested.control))
    unlogged = logs.unlogged(run, payloads, logged)
    changes = sorted([*logged, *unlogged], key=lambda change: change.time_ns) if unlogged else logged
    claims, odd_claims = claims_of(changes, run.client_ids, run.clock)
    claims, unreadable = readable_claims(claims)
    progress.phase("tables", STEPS)
    work = _Tables(spark, run, tables, progress, packets)
    known = Known(
        ingested,
        payloads,
        evidence_of(run, ingested),
        changes,
        unlogged,
        network_events,
        claims,
        [*odd_lines, *odd_changes, *odd_claims, *unreadable],
    )
    try:
        return work.findings(known)
    finally:
        work.forget()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before the tables are made."""

    ingested: Ingested
    payloads: Sequence[Payload]
    """What clients subscribed to, and what routers announced of themselves."""
    evidence: Evidence
    changes: Sequence[SubscriptionChange]
    """Those that were logged, and those that were captured only."""
    unlogged: Sequence[SubscriptionChange]
    network_events: Sequence[NetworkChange]
    claims: Sequence[Claim]
    notes: Sequence[str]
    """What was odd about the run directory."""


@dataclass
class _Tables:
    """The tables of one run, each written once and then read back."""

    spark: SparkSession
    run: Run
    folder: Path
    progress: Progress
    packets: DataFrame
    _done: int = 0
    _held: list[DataFrame] = field(default_factory=list)

    def findings(self, known: Known) -> Findings:
        """Write all tables and count what the verdict and the report show."""
        claims, unseen = known.claims, known.evidence.unseen_clients
        history = history_of(self.run.plan, known.network_events, self.run.start_ns)
        events = self._kept(self._events())
        published = with_agreement(transforms.to_publications(self.packets, events))
        publications = self._stage("publications", published)
        expected = self._stage("expected", to_expected(publications, claims, history))
        deliveries = self._stage("deliveries", transforms.to_deliveries(self.packets, publications))
        crossings = self._stage("crossings", transforms.to_crossings(self.packets, deliveries, publications))
        verdicts = self._stage(
            "verdicts", transforms.to_verdicts(expected, deliveries, events, self._clients(), unseen)
        )
        edges = network.cost_edges(self.run)
        trees = self._stage("trees", to_trees(publications, verdicts, crossings, self._homes(), edges))
        hops = to_hops(
            crossings, publications, deliveries, events, clients=self._clients(), homes=self._homes()
        )
        delays = to_link_delays(hops, to_control_hops(self.packets), self._ends())
        ways = self._ways(self._stage("link_delays", delays))
        traffic = self._kept(transforms.to_traffic(self.packets))
        self._stage("control", transforms.to_control(traffic, self._links(), self._kinds()))
        lossy = network.lossy_clients(self.run)
        subscribers = summary.count_by_subscriber(verdicts, lossy)
        self._step()
        publishers = summary.count_publications(publications, history, [*unseen, *lossy])
        counted, oddities = summary.count_crossings(crossings)
        swapped, offsets_ns = self._clocks(ways)
        undone, odd_logs = self._undone(known, publishers)
        checks = to_checks(
            Found(
                known.evidence,
                oddities,
                publishers,
                offsets_ns,
                [*swapped, *swapped_access(self.run, known.ingested)],
                known.unlogged,
                undone,
                list(logs.lacking_events(self.run, known.network_events)),
                self._contradictions(known, history) if not (swapped or offsets_ns) else [],
            ),
            calm.busiest(self.run, history, known.payloads),
        )
        parts = parts_of(self.run, history)
        slices = slices_of(self.run)
        scopes = count_by_scope(self.spark, parts, publications, verdicts, slices=slices)
        found = Findings(
            self.run,
            known.ingested,
            len(claims),
            publishers,
            subscribers,
            summary.latency_curves(deliveries),
            counted,
            summary.collect_traffic(traffic),
            summary.first_failures(verdicts) if any(map(_failed, subscribers)) else (),
            summary.first_disagreements(verdicts, lossy)
            if any(s.unreported or s.unseen for s in subscribers)
            else (),
            self._digest(),
            self._scheme(claims, trees, deliveries, publications),
            [*known.notes, *odd_logs, *self._deviations()],
            scopes[: len(parts)],
            checks,
            explored=explore(self.run, self.folder, claims),
            by_time=by_time(self.folder, slices),
            course=scopes[len(parts) :],
        )
        self._step()
        return found

    def _events(self) -> DataFrame:
        """What clients published and got."""
        events = self.spark.read.schema(EVENTS).json(str(self.run.shared_path / "events.jsonl"))
        return events.where("event in ('publish', 'deliver')")

    def _kept(self, table: DataFrame) -> DataFrame:
        """What several steps need, and is no table of its own: computed once."""
        self._held.append(table.persist())
        return table

    def forget(self) -> None:
        """Give back what was kept."""
        for table in self._held:
            table.unpersist()

    def _ways(self, link_delays: DataFrame) -> list[Way]:
        rows = link_delays.where(F.col("least_ns").isNotNull()).orderBy("from_id", "to_id").collect()
        return [Way(r.link or "", r.from_id, r.to_id, r.least_ns, r.most_ns) for r in rows]

    def _clocks(self, ways: Sequence[Way]) -> tuple[list[tuple[str, str]], dict[int, int]]:
        """Which captures of links between routers were exchanged, and by how much whose clock is off."""
        swapped = clocks.swapped_ends(ways)
        links = {link.name: (link.a_interface, link.b_interface) for link in self.run.plan.links}
        certificate = self.run.certificate or {"links": ()}
        backends = {str(row["source"]): str(row["backend"]) for row in certificate["links"]}
        good = [way for way in ways if way.link not in swapped]
        offsets_ns = clocks.offsets_ns(good, self.run.plan, str(self.run.manifest["world"]), backends)
        return [links[name] for name in swapped], offsets_ns

    def _undone(
        self, known: Known, publishers: Sequence[PublicationCounts]
    ) -> tuple[list[logs.Undone], list[str]]:
        if not self.run.carried_out:
            return [], []
        return logs.undone(self.run, known.changes, {client.source: client.total for client in publishers})

    def _contradictions(self, known: Known, history: History) -> list[calm.Contradiction]:
        """The fixpoints that the captures deny; their times must be right for that."""
        fixpoints = calm.fixpoints_of(self.run, known.network_events)
        ends = [fixpoint.time_ns for fixpoint in fixpoints]
        if not ends:
            return []
        records = to_last_records(self.packets, ends).toArrow()
        columns = {name: records.column(name).to_numpy().astype("int64") for name in records.schema.names}
        partial_routers = known.evidence.partial_routers
        seen = calm.Seen(self.run, columns, known.payloads, known.changes, partial_routers)
        return calm.all_contradictions(seen, fixpoints, history)

    def _digest(self) -> str:
        """Of what was delivered."""
        arrived = [("verdict", "in", ARRIVED)]
        rows = pq.read_table(self.folder / "verdicts.parquet", columns=[*PAIR], filters=arrived)
        source, sequence, client = (rows[name].combine_chunks() for name in PAIR)
        return delivered_digest(source, sequence, client, self.run.names)

    def _deviations(self) -> list[str]:
        """Where the reference model denied what the oracle found."""
        return deviations(denied_pairs(self.folder / "expected.parquet"), self.run.names)

    def _scheme(
        self, claims: Sequence[Claim], trees: DataFrame, deliveries: DataFrame, publications: DataFrame
    ) -> SchemeFindings:
        """What the scheme took."""
        delays = network.delay_edges(self.run)
        stretches = to_stretches(deliveries, publications, delays)
        counts, routers = summary.count_trees(trees)
        return SchemeFindings(
            counts,
            summary.measure_stretch(stretches) if delays else None,
            network.router_states(self.run),
            network.figures(self.run, claims, routers),
        )

    def _stage(self, name: str, table: DataFrame) -> DataFrame:
        path = str(self.folder / f"{name}.parquet")
        table.write.parquet(path)
        self._step()
        return self.spark.read.schema(table.schema).parquet(path)

    def _step(self) -> None:
        self._done += 1
        self.progress.advance(self._done)

    def _rows(self, rows: Iterable[tuple[Any, ...]], schema: StructType) -> DataFrame:
        return local(self.spark, rows, schema)

    def _clients(self) -> DataFrame:
        return self._rows(self.run.client_ids.items(), CLIENTS)

    def _homes(self) -> DataFrame:
        return self._rows(network.homes(self.run).items(), HOMES)

    def _links(self) -> DataFrame:
        links = self.run.plan.links
        return self._rows(
            ((c.interface.name, links[c.interface.link].name) for c in self.run.captures), LINKS
        )

    def _ends(self) -> DataFrame:
        ids = {n.name: n.node_id for n in self.run.plan.nodes}
        ways = ((a, b, k.name) for k in self.run.plan.links for a, b in ((k.a, k.b), (k.b, k.a)))
        return self._rows(((ids[a], ids[b], name) for a, b, name in ways), ENDS)

    def _kinds(self) -> DataFrame:
        kinds = [(int(PacketType.CONTROL), int(k), k.name) for k in Kind]
        plain = [(int(t), None, t.name) for t in PacketType if t is not PacketType.CONTROL]
        return self._rows([*plain, *kinds], KINDS)


def _failed(subscriber: SubscriberCounts) -> bool:
    return bool(subscriber.counts.wrong or subscriber.counts.unknown)


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


def _write_nodes(run: Run, tables: Path) -> None:
    """Table `nodes`: the names of the ids that the other tables have."""
    nodes = run.plan.nodes
    columns = {
        "node_id": pa.array([node.node_id for node in nodes], pa.int32()),
        "name": pa.array([node.name for node in nodes], pa.string()),
        "role": pa.array([node.role.name.lower() for node in nodes], pa.string()),
        "tags": pa.array([list(node.tags) for node in nodes], pa.list_(pa.string())),
    }
    folder = tables / "nodes.parquet"
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "part-00000.parquet", compression="zstd")


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
