"""Single messages in the report: which are shown, and why a client got one or did not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import explorer
from analysis.explorer import Explored, distances_from, explore
from analysis.oracle import Claim, Clock
from analysis.report.messages import in_page
from analysis.rundir import load_run

START = 1_000_000_000_000
CLOCK = Clock(START, 0)
KINDS: dict[str, pa.DataType] = {
    **dict.fromkeys(("verdict", "reason", "message"), pa.string()),
    **dict.fromkeys(("owed", "wanted", "wasted", "access"), pa.bool_()),
    "attributes": pa.binary(),
}


class Tables:
    """Tables of a run of p, a (at r1) and c (at r2), row by row; the ids are 3, 4 and 5."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("publications", "crossings", "verdicts", "deliveries", "hops")
        }

    def publish(self, sequence: int, text: str, router: int | None = 1) -> None:
        at_ns = START + 1_000 * sequence
        self.rows["publications"].append(
            {
                "source": 3,
                "sequence": sequence,
                "time_ns": at_ns if router else None,
                "announced_ns": at_ns,
                "node_id": router,
                "attributes": None,
                "attribute_count": None,
                "message": text,
            }
        )

    def cross(self, sequence: int, from_id: int, to_id: int, hop: int, arrived: bool = True) -> None:
        sent = START + 1_000 * sequence + 10 * hop
        self.rows["crossings"].append(
            {
                "source": 3,
                "sequence": sequence,
                "from_id": from_id,
                "to_id": to_id,
                "hop_count": hop,
                "time_ns": sent,
                "received_ns": sent + 5 if arrived else None,
                "copies": 1,
                "wasted": False,
                "access": to_id > 2,
            }
        )

    def judge(
        self, sequence: int, client: int, verdict: str, copies: int = 0, reason: str | None = None
    ) -> None:
        pair = {"source": 3, "sequence": sequence, "subscriber": client}
        self.rows["verdicts"].append(
            {
                **pair,
                "verdict": verdict,
                "owed": reason is None,
                "wanted": True,
                "reason": reason,
                "copies": copies,
            }
        )
        if copies:
            self.rows["deliveries"].append({**pair, "latency_ns": 25})

    def write(self) -> None:
        columns = {
            "publications": explorer.PUBLICATION,
            "crossings": explorer.CROSSING,
            "verdicts": (*explorer.VERDICT, "wanted"),
            "deliveries": explorer.DELIVERY,
            "hops": explorer.HOP,
        }
        for name, rows in self.rows.items():
            kinds = pa.schema([(column, KINDS.get(column, pa.int64())) for column in columns[name]])
            folder = self.folder / f"{name}.parquet"
            folder.mkdir(parents=True)
            half = len(rows) // 2  # as Spark does, in several files
            for part, some in enumerate((rows[:half], rows[half:])):
                pq.write_table(pa.Table.from_pylist(some, kinds), folder / f"part-{part}.parquet")


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path / "tables")


def claim(client: int, predicate: str, from_ns: int = 0) -> Claim:
    return CLOCK.claim(client, predicate, from_ns, None)


def explored(tables: Tables, hand_made: Any, *claims: Claim) -> Explored:
    tables.write()
    return explore(load_run(hand_made.write()), tables.folder, claims)


def test_a_receiver_is_shown_with_the_subscriptions_that_matched(tables: Tables, hand_made: Any) -> None:
    tables.publish(1, "x = 1")
    tables.cross(1, 1, 4, 1)
    tables.judge(1, 4, "delivered", copies=1)
    found = explored(
        tables, hand_made, claim(4, "x = 1"), claim(4, "x > 5"), claim(4, "x any integer"), claim(5, "x = 1")
    )
    (message,) = found.messages
    (receiver,) = message.receivers
    assert [found.filters[at] for at in receiver.filters] == ["x = 1", "x any integer"]
    assert (receiver.latency_ns, receiver.last_seen) == (25, None)


def test_a_client_says_itself_when_a_message_arrived(tables: Tables, hand_made: Any) -> None:
    tables.publish(1, "x = 1")
    for client, sequence in ((4, 1), (5, 1)):
        tables.cross(sequence, 1, client, 1, arrived=False)
    sent_ns = tables.rows["crossings"][0]["time_ns"]
    hop = {"source": 3, "sequence": 1, "sent_ns": sent_ns}
    tables.rows["hops"] = [
        {**hop, "to_id": 4, "received_ns": sent_ns + 7}, {**hop, "to_id": 5, "received_ns": None},
    ]  # fmt: skip
    (message,) = explored(tables, hand_made).messages
    assert [(c.to_id, c.received_ns) for c in message.crossings] == [(4, sent_ns + 7), (5, None)]


def test_a_subscription_that_came_later_is_no_reason(tables: Tables, hand_made: Any) -> None:
    tables.publish(1, "x = 1")
    tables.judge(1, 4, "spurious", copies=1)
    found = explored(tables, hand_made, claim(4, "x = 1", from_ns=START + 10**9))
    assert found.messages[0].receivers[0].filters == ()


def test_what_did_not_come_was_last_seen_at_the_nearest_router_that_had_it(
    tables: Tables, hand_made: Any
) -> None:
    tables.publish(1, "x = 1")  # r1 does not send it on
    tables.judge(1, 5, "missing")
    tables.publish(2, "x = 1")  # r1 sends it, and it is lost on the link
    tables.cross(2, 1, 2, 1, arrived=False)
    tables.judge(2, 5, "lost", reason="network")
    tables.publish(3, "x = 1")  # r2 has it and does not deliver it
    tables.cross(3, 1, 2, 1)
    tables.judge(3, 5, "missing")
    tables.publish(4, "x = 1", router=None)  # it never reached a router
    tables.judge(4, 5, "lost", reason="network")
    found = explored(tables, hand_made, claim(5, "x = 1"))
    seen = {m.sequence: (m.receivers[0].last_seen, m.receivers[0].sent_on_to) for m in found.messages}
    assert seen == {1: (1, None), 2: (1, 2), 3: (2, None), 4: (None, None)}


def test_messages_of_which_something_is_wrong_are_shown_first(
    tables: Tables, hand_made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "MOST_MESSAGES", 20)
    for sequence in range(1, 201):
        tables.publish(sequence, "x = 1")
        if sequence % 2:
            tables.judge(sequence, 4, "delivered", copies=1)
    for sequence in (40, 80, 120):
        tables.judge(sequence, 5, "missing")
    found = explored(tables, hand_made)
    shown = {message.sequence for message in found.messages}
    assert (found.total, len(shown)) == (200, 20)
    assert {40, 80, 120} <= shown
    assert [m.word for m in found.messages].count("missing") == 3
    assert min(shown) < 20
    assert max(shown) > 180, "over all of the run"


def test_few_messages_are_all_shown_in_order(tables: Tables, hand_made: Any) -> None:
    for sequence in (3, 1, 2):
        tables.publish(sequence, f"x = {sequence}")
    found = explored(tables, hand_made)
    assert [(m.sequence, m.text, m.word) for m in found.messages] == [
        (1, "x = 1", ""), (2, "x = 2", ""), (3, "x = 3", ""),
    ]  # fmt: skip


def test_messages_with_many_crossings_are_fewer(
    tables: Tables, hand_made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "MOST_ROWS", 100)
    for sequence in range(1, 51):
        tables.publish(sequence, "x = 1")
        for hop in range(1, 21):
            tables.cross(sequence, 1, 2, hop)
    assert len(explored(tables, hand_made).messages) == 5


def test_distances_are_in_links() -> None:
    assert distances_from(1, {1: [2, 3], 2: [1, 4], 3: [1], 4: [2]}) == {1: 0, 2: 1, 3: 1, 4: 2}


def test_data_in_a_page_ends_no_element_and_stays_what_it_was() -> None:
    document = {"text": 'a </script> & ]]> "quoted" \u2028 ü'}
    text = in_page(document)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == document
