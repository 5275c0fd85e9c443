"""The delivery oracle: every subscription against every publication, by the reference model.

Truth is `nodes.model`, in the plainest Python; nothing fast is asked. Runs in
Spark's Python workers, where the claims travel as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from analysis.schemas import EXPECTED
from analysis.windows import Claim
from nodes.model import Predicate, PredicateSyntaxError, Value, matches, parse_message, parse_predicate
from nodes.wire.codec import WireError, decode_attributes

Publication = tuple[int, int, int, Mapping[str, Value]]
"""source, sequence, time_ns, attributes"""
EXPECTED_ARROW = pa.schema(
    [("source", pa.int64()), ("sequence", pa.int64()), ("subscriber", pa.int32()), ("owed", pa.bool_())]
)


class Oracle:
    """Says who is owed, and who may get, a message."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._claims: dict[str, list[Claim]] = {}
        for claim in claims:
            self._claims.setdefault(claim.predicate, []).append(claim)
        self._predicates: list[tuple[Predicate, list[Claim]]] = [
            (parse_predicate(text), held) for text, held in self._claims.items()
        ]

    def expected(self, source: int, time_ns: int, attributes: Mapping[str, Value]) -> dict[int, bool]:
        """Owed (true) or allowed (false) by subscriber; nobody else may get it, nor the publisher."""
        verdict: dict[int, bool] = {}
        for predicate, claims in self._predicates:
            live = [c for c in claims if c.allows(time_ns) and c.subscriber != source]
            if live and matches(predicate, attributes):
                for claim in live:
                    verdict[claim.subscriber] = verdict.get(claim.subscriber, False) or claim.owes(time_ns)
        return dict(sorted(verdict.items()))


def readable_claims(claims: Iterable[Claim]) -> tuple[list[Claim], list[str]]:
    """The claims whose predicates parse, and what is wrong with the others."""
    readable: list[Claim] = []
    problems: list[str] = []
    for claim in claims:
        try:
            parse_predicate(claim.predicate)
            readable.append(claim)
        except PredicateSyntaxError as error:
            problems.append(
                f"events.jsonl: node {claim.subscriber} subscribes to what is no predicate: {error}"
            )
    return readable, problems


def to_expected(publications: DataFrame, claims: Sequence[Claim]) -> DataFrame:
    """Who is owed and who may get each publication: table `expected`."""
    needed = publications.select(
        "source", "sequence", "time_ns", "announced_ns", "attribute_count", "attributes", "message"
    )
    return needed.mapInArrow(_judge(tuple(claims)), EXPECTED)


def _judge(
    claims: tuple[Claim, ...],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        oracle = Oracle(claims)
        for batch in batches:
            yield expected_batch(oracle, batch)

    return judge


def expected_batch(oracle: Oracle, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The expectations of one batch of publications."""
    rows = [
        (source, sequence, subscriber, owed)
        for source, sequence, time_ns, attributes in _publications(batch)
        for subscriber, owed in oracle.expected(source, time_ns, attributes).items()
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    arrays = [pa.array(values, field.type) for values, field in zip(columns, EXPECTED_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=EXPECTED_ARROW)


def _publications(batch: pa.RecordBatch) -> Iterator[Publication]:
    for row in batch.to_pylist():
        attributes = _content(row)
        if attributes is not None:
            time_ns = row["announced_ns"] if row["time_ns"] is None else row["time_ns"]
            yield row["source"], row["sequence"], time_ns, attributes


def _content(row: Mapping[str, Any]) -> Mapping[str, Value] | None:
    """What was published; None if neither capture nor client tells.

    Nobody is owed what cannot be read, and a delivery of it is spurious.
    """
    try:
        if row["attributes"] is not None:
            return decode_attributes(row["attributes"], row["attribute_count"])
        return None if row["message"] is None else parse_message(row["message"])
    except (WireError, PredicateSyntaxError):
        return None
