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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from analysis import AnalysisError, network, summary, transforms
from analysis.expected import to_expected
from analysis.findings import Findings, Ingested, SchemeFindings, ScopeCounts, SubscriberCounts
from analysis.history import History
from analysis.ingest import captured_bytes, ingest
from analysis.oracle import Claim, claims_of, readable_claims
from analysis.report.page import render
from analysis.rundir import Run, load_run, network_history, subscription_changes
from analysis.schemas import CLIENTS, ENDS, EVENTS, HOMES, KINDS, LINKS, NAMES
from analysis.session import start_session
from analysis.summary import count_by_scope, scopes_of
from analysis.transforms import to_hops, to_link_delays
from analysis.trees import to_stretches, to_trees
from analysis.verdict import to_verdict
from nodes.wire.packets import Kind, PacketType

SPARK_LOG = "logs/analysis.log"
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


def analyze(run_dir: Path, *, progress: Progress | None = None, master: str | None = None) -> dict[str, Any]:
    """Analyse a run: write `tables/`, `report.html` and `verdict.json` into its directory.

    Earlier results stay until the new ones are complete and are then replaced.

    Args:
        run_dir: what `cbn run` has written.
        progress: is shown how far the work is.
        master: Spark master URL; default: all local cores.

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
        spark = start_session(captured_bytes(run), master, log)
        try:
            findings = _find(spark, run, partial.absolute() / "tables", progress)
        except (PySparkException, Py4JError) as error:
            raise AnalysisError(
                f"{run.path}: Spark gave up: {_first_line(error)} (more in {SPARK_LOG})"
            ) from error
        progress.phase("report")
        verdict = to_verdict(findings)
        (partial / "report.html").write_text(render(findings, verdict), encoding="utf-8")
        (partial / "verdict.json").write_text(_json(verdict), encoding="utf-8")
        _publish(partial, run.path)
    return verdict


def _find(spark: SparkSession, run: Run, tables: Path, progress: Progress) -> Findings:
    changes, odd_lines = subscription_changes(run)
    claims, odd_claims = claims_of(changes, run.client_ids, run.clock)
    claims, unreadable = readable_claims(claims)
    progress.phase("ingest")
    packets, ingested = ingest(spark, run, tables / "packets.parquet")
    if wrong := ingested.splits.get("distrusted"):
        progress.say(f"The index beside {wrong:,} captures was wrong; their records were counted one by one")
    progress.phase("tables", STEPS)
    work = _Tables(spark, run, tables, progress, packets)
    history, odd_changes = network_history(run)
    notes = [*odd_lines, *odd_changes, *odd_claims, *unreadable]
    return work.findings(claims, history, ingested, notes)


@dataclass
class _Tables:
    """The tables of one run, each written once and then read back."""

    spark: SparkSession
    run: Run
    folder: Path
    progress: Progress
    packets: DataFrame
    _done: int = 0

    def findings(
        self, claims: Sequence[Claim], history: History, ingested: Ingested, notes: Sequence[str]
    ) -> Findings:
        """Write all tables and count what the verdict and the report show."""
        events = self.spark.read.schema(EVENTS).json(str(self.run.shared_path / "events.jsonl"))
        publications = self._stage("publications", transforms.to_publications(self.packets, events))
        expected = self._stage("expected", to_expected(publications, claims, history))
        deliveries = self._stage("deliveries", transforms.to_deliveries(self.packets, publications))
        crossings = self._stage("crossings", transforms.to_crossings(self.packets, deliveries))
        verdicts = self._stage(
            "verdicts", transforms.to_verdicts(expected, deliveries, events, self._clients())
        )
        edges = network.cost_edges(self.run)
        trees = self._stage("trees", to_trees(publications, verdicts, crossings, self._homes(), edges))
        hops = to_hops(
            crossings, publications, deliveries, events, clients=self._clients(), homes=self._homes()
        )
        self._stage("link_delays", to_link_delays(hops, self._ends()))
        traffic = transforms.to_traffic(self.packets)
        self._stage("control", transforms.to_control(traffic, self._links(), self._kinds()))
        subscribers = summary.count_by_subscriber(verdicts)
        self._step()
        found = Findings(
            self.run,
            ingested,
            len(claims),
            summary.count_publications(publications, history),
            subscribers,
            summary.latency_curves(deliveries),
            summary.count_crossings(crossings),
            summary.collect_traffic(traffic),
            summary.first_failures(verdicts) if any(_failed(s) for s in subscribers) else (),
            summary.first_disagreements(verdicts)
            if any(s.unreported or s.unseen for s in subscribers)
            else (),
            summary.delivered_digest(verdicts, self._names()),
            self._scheme(claims, trees, deliveries, publications),
            notes,
            self._scopes(history, publications, verdicts, deliveries),
        )
        self._step()
        return found

    def _scopes(
        self, history: History, publications: DataFrame, verdicts: DataFrame, deliveries: DataFrame
    ) -> list[ScopeCounts]:
        """The parts of the run, where it has any."""
        plan = self.run.plan
        if not (plan.phases or plan.expect or plan.faults):
            return []
        parts = scopes_of(self.run, history)
        return count_by_scope(self.spark, parts, publications, verdicts, deliveries) if parts else []

    def _scheme(
        self, claims: Sequence[Claim], trees: DataFrame, deliveries: DataFrame, publications: DataFrame
    ) -> SchemeFindings:
        """What the scheme took."""
        delays = network.delay_edges(self.run)
        stretches = to_stretches(deliveries, publications, delays)
        return SchemeFindings(
            summary.count_trees(trees),
            summary.measure_stretch(stretches) if delays else None,
            network.router_states(self.run),
            network.figures(self.run, claims, summary.first_routers(trees)),
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
        return self.spark.createDataFrame(list(rows), schema)

    def _clients(self) -> DataFrame:
        return self._rows(self.run.client_ids.items(), CLIENTS)

    def _names(self) -> DataFrame:
        return self._rows(self.run.names.items(), NAMES)

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


def _failed(counts: SubscriberCounts) -> bool:
    return bool(counts.missing or counts.duplicate or counts.spurious)


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
    with suppress(FileNotFoundError):
        (run_dir / "verdict.json").unlink()
    if (run_dir / "tables").exists():
        (run_dir / "tables").rename(partial / "earlier")
    for name in ("tables", "report.html", "verdict.json"):
        (partial / name).rename(run_dir / name)


def _json(verdict: dict[str, Any]) -> str:
    return json.dumps(verdict, indent=1, ensure_ascii=False) + "\n"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
