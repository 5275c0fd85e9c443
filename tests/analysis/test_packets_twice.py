"""Table `packets` of random runs equals, row by row, what Scapy and plain Python make of the captures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analysis.decode import SCHEMA, decode_piece, empty_report
from analysis.pieces import captures_of, pieces_of
from analysis.rundir import load_run
from tests.analysis.slow_packets import rows_of
from tests.judge.runs import carry_out
from tests.judge.scenarios import SCHEMES, draw, scheme_of

SEEDS = range(700, 720)
SPLIT_BYTES = 10_000


def fast(run: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The rows as tasks make them, of captures in many pieces, and what was skipped."""
    pieces, work = pieces_of(run, SPLIT_BYTES, ())
    report = empty_report()
    work.reports.append(report)
    table = pa.Table.from_batches([decode_piece(piece, report) for piece in pieces], SCHEMA)
    assert not work.wrongly_split
    return table.to_pylist(), work.summary().skipped


def slow(run: Any) -> list[dict[str, Any]]:
    """The same, file by file."""
    rows = []
    for whole in captures_of(run):
        about = {name: getattr(whole, name) for name in ("interface", "node_id", "peer_id", "peer_is_client")}
        rows += rows_of(Path(whole.path), about, whole.mac, whole.peer_mac)
    return rows


@pytest.mark.sim
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rows_of_a_random_run_are_those_of_a_reader_that_shares_nothing(seed, tmp_path):
    """Under every scheme, with faults and links that lose, duplicate, reorder and damage."""
    run = load_run(carry_out(draw(seed), tmp_path))
    ours, skipped = fast(run)
    theirs = slow(run)
    assert not {"ip_fragments", "malformed", "truncated"} & set(skipped), skipped
    assert len(ours) == len(theirs) > 50
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == {name: other[name] for name in SCHEMA.names}


def test_the_random_runs_are_of_every_scheme():
    assert {scheme_of(draw(seed)) for seed in SEEDS} == set(SCHEMES)
