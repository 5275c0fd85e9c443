"""What was published, message by message: what patterns are judged by. Few runs have patterns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.catalog.messages import PUBLICATIONS
from analysis.contents import content_of
from analysis.messages.numbering import UNKNOWN_NS, Messages
from analysis.messages.rows import numbers
from analysis.pattern_choice import Published
from nodes.model import Occurrence

_COLUMNS = (
    *("source", "sequence", "time_ns", "publish_time_ns", "attribute_count", "attributes"),
    *("announced_ns", "message"),
)


def published_of(messages: Messages) -> Iterator[Published]:
    """Of messages in memory."""
    which = np.flatnonzero(messages.published)
    said_ns = numbers(messages.entered["publish_time_ns"], UNKNOWN_NS)
    for at in which.tolist():
        content = messages.contents[at]
        if content is not None:
            time_ns, publish_ns = int(messages.time_ns[at]), int(said_ns[at])
            publish_ns = time_ns if publish_ns == UNKNOWN_NS else publish_ns
            identity = int(messages.source[at]), int(messages.sequence[at])
            yield Published(Occurrence(publish_ns, *identity), time_ns, content)


def published_in(folder: Path) -> Iterator[Published]:
    """Of table `publications`.

    Args:
        folder: Where the tables are.
    """
    table: pa.Table = pq.read_table(folder / f"{PUBLICATIONS.name}.parquet", columns=list(_COLUMNS))
    for row in table.to_pylist():
        content = content_of(row["attributes"], row["attribute_count"] or 0, row["message"])
        if content is not None:
            time_ns = row["announced_ns"] if row["time_ns"] is None else row["time_ns"]
            publish_ns = time_ns if row["publish_time_ns"] is None else row["publish_time_ns"]
            yield Published(Occurrence(publish_ns, row["source"], row["sequence"]), time_ns, content)
