"""What a run directory shows to be wrong with itself is named, in a real simulated run, and nothing else is.

pub - r1 --- r2 --- r3 - far, late
              |
             near
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from analysis.findings import CHECKS
from analysis.pipeline import analyze
from nodes.wire.codec import decode, encode, split_datagram
from nodes.wire.packets import Message, PacketType

pytestmark = [pytest.mark.sim, pytest.mark.spark]

SCENARIO = """
name: contradictions
seed: 5
scheme: pif
timing: {settle: 200ms}
timers: {hello_ms: 50, hold_ms: 200}
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, r2 - r3, r1 - r3]
  link_defaults: {delay: 1ms}
clients:
  pub:
    at: r1
    subscribe: [n < 0]
    publish: [{every: 20ms, count: 100, from: 0s, message: {n: {count: 0}, text: some text}}]
  near: {at: r2, subscribe: [n any integer]}
  far: {at: r3, subscribe: [{predicate: n >= 0, at: 500ms, until: 1500ms}]}
faults:
  - {at: 900ms, link_down: r1 - r3}
"""
NONE = dict.fromkeys(CHECKS, 0)


@pytest.fixture(scope="module")
def simulated(simulate) -> Path:
    return simulate("contradictions", SCENARIO)


@pytest.fixture
def run(simulated, tmp_path) -> Path:
    return Path(shutil.copytree(simulated, tmp_path / "run"))


class Capture:
    """The capture of the interface of a router towards a node, frame by frame."""

    FRAME = 16
    UDP = FRAME + 34
    DATAGRAM = UDP + 8

    def __init__(self, run: Path, node: str, peer: str) -> None:
        self.index = json.loads((run / "captures" / "index.json").read_text())
        rows = self.index["interfaces"]
        self.entry = next(row for row in rows if (row["node"], row["peer"]) == (node, peer))
        self.run, self.path = run, run / "captures" / self.entry["file"]
        data = self.path.read_bytes()
        self.header, self.records, at = data[:24], [], 24
        while at < len(data):
            end = at + self.FRAME + struct.unpack_from("<I", data, at + 8)[0]
            self.records.append(data[at:end])
            at = end

    def messages(self) -> list[int]:
        """Positions of the frames with messages."""
        return [n for n, r in enumerate(self.records) if self.types(r) == [PacketType.MESSAGE]]

    def types(self, record: bytes) -> list[PacketType]:
        return [kind for kind, _ in split_datagram(record[self.DATAGRAM :])]

    def change(self, at: int, message: Callable[[Message], Message]) -> None:
        """Another message in the place of one, with a right checksum (none)."""
        record = self.records[at]
        old = decode(record[self.DATAGRAM :])
        assert isinstance(old, Message)
        new = encode(message(old))
        assert len(new) == len(record) - self.DATAGRAM
        self.records[at] = record[: self.UDP + 6] + bytes(2) + new

    def shift(self, by_ns: int) -> None:
        """All times, as by another clock."""
        for at, record in enumerate(self.records):
            seconds, rest = struct.unpack_from("<II", record)
            seconds, rest = divmod(seconds * 10**9 + rest + by_ns, 10**9)
            self.records[at] = struct.pack("<II", seconds, rest) + record[8:]

    def save(self, *, index: bool = True) -> None:
        """With the index, as somebody does who hides it."""
        self.path.write_bytes(self.header + b"".join(self.records))
        if index:
            self.entry["frames"] = len(self.records)
            (self.run / "captures" / "index.json").write_text(json.dumps(self.index))


def events(run: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Keep some of the events."""
    path = run / "events.jsonl"
    lines = [line for line in path.read_text().splitlines(keepends=True) if keep(json.loads(line))]
    path.write_text("".join(lines))


def checks(verdict: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in verdict["checks"].items() if count}


def problem(verdict: dict[str, Any], *words: str) -> str:
    found = [each for each in verdict["problems"] if all(word in each for word in words)]
    assert found, verdict["problems"]
    return str(found[0])


def swap(run: Path, *ends: tuple[str, str]) -> None:
    """Exchange the captures of two interfaces, and what the index says of their sizes."""
    a, b = (Capture(run, *end) for end in ends)
    a.records, b.records = b.records, a.records
    a.save()
    b.index = json.loads((run / "captures" / "index.json").read_text())
    b.entry = next(row for row in b.index["interfaces"] if row["file"] == b.entry["file"])
    b.save()


def test_nothing_is_found_where_nothing_was_planted(spark, run):
    verdict = analyze(run)
    assert verdict["checks"] == NONE
    assert (verdict["verdict"], verdict["problems"]) == ("clean", [])
    assert verdict["latency_ns"]["trusted"]
    assert verdict["wanted"] > verdict["owed"] > 0


def test_a_delivered_copy_with_another_payload_is_altered(spark, run):
    capture = Capture(run, "r2", "near")
    capture.change(capture.messages()[7], lambda m: changed(m, text="same text"))
    capture.save()
    verdict = analyze(run)
    assert checks(verdict) == {"altered": 1}
    problem(verdict, "altered", "from r2 to near (r2-eth2)", "of pub")
    assert verdict["verdict"] == "doubtful"


def changed(message: Message, **attributes: Any) -> Message:
    from dataclasses import replace

    return replace(message, attributes={**message.attributes, **attributes})


def test_what_a_router_was_given_is_compared_with_what_the_client_announced(spark, run):
    path = run / "events.jsonl"
    path.write_text(path.read_text().replace('n = 40, text = \\"some text\\"', 'n = 40, text = \\"other\\"'))
    verdict = analyze(run)
    assert checks(verdict) == {"altered": 1}
    problem(verdict, "altered", "pub reports", "message 41 of pub")


@pytest.mark.parametrize("by_ns", [50_000_000, -50_000_000])
def test_a_clock_that_is_off_is_named_with_its_size(spark, run, by_ns):
    for peer in ("r1", "r3", "near"):
        capture = Capture(run, "r2", peer)
        capture.shift(by_ns)
        capture.save()
    verdict = analyze(run)
    assert checks(verdict) == {"clock_offsets": 1}
    offset_ns = verdict["clocks"]["offsets_ns"]["r2"]
    assert offset_ns == pytest.approx(by_ns, abs=100_000)
    (note,) = [note for note in verdict["notes"] if "clock of r2" in note]
    assert all(word in note for word in ("50 ms", "ahead" if by_ns > 0 else "behind", "times were corrected"))
    assert verdict["clocks"]["corrected"] == ["r2"]
    assert verdict["latency_ns"]["trusted"]


def test_exchanged_captures_of_the_two_ends_of_a_link_are_named(spark, run):
    swap(run, ("r1", "r2"), ("r2", "r1"))
    verdict = analyze(run)
    assert checks(verdict)["swapped_captures"] == 1
    assert checks(verdict).get("clock_offsets") is None
    problem(verdict, "r1-eth0", "r2-eth0", "exchanged")


def test_exchanged_captures_of_two_clients_are_named_and_prove_nothing_missing(spark, run):
    swap(run, ("r2", "near"), ("r3", "far"))
    verdict = analyze(run)
    assert checks(verdict)["swapped_captures"] == 1
    assert checks(verdict)["incomplete_captures"] == 2
    assert verdict["missing"] == 0
    assert verdict["unknown"] > 0
    problem(verdict, "exchanged", "r2-eth", "r3-eth")


def test_a_delivery_whose_crossings_are_all_gone_has_no_path(spark, run):
    for node, peer in (("r1", "r2"), ("r2", "r1")):
        capture = Capture(run, node, peer)
        gone = set(capture.messages())
        capture.records = [r for n, r in enumerate(capture.records) if n not in gone]
        capture.save()
    verdict = analyze(run)
    assert checks(verdict)["pathless"] > 50
    problem(verdict, "without a path", "r2")


def test_a_capture_that_ends_early_with_its_index_right_is_found_by_what_arrived(spark, run):
    capture = Capture(run, "r1", "r2")
    capture.records = capture.records[: len(capture.records) // 2]
    capture.save()
    verdict = analyze(run)
    assert checks(verdict)["pathless"] > 10
    problem(verdict, "arriving from r1 to r2", "not as sent")


def test_a_hop_count_that_contradicts_the_path_is_named(spark, run):
    from dataclasses import replace

    capture = Capture(run, "r2", "near")
    capture.change(capture.messages()[3], lambda m: replace(m, hop_count=40))
    capture.save()
    verdict = analyze(run)
    assert checks(verdict) == {"pathless": 1}
    problem(verdict, "from r2 to near", "hop count 40")


def test_a_subscription_that_the_log_lacks_is_blamed_on_the_log(spark, run):
    before = analyze(run)
    events(run, lambda e: not (e["event"] == "subscribe" and e["node"] == "far"))
    verdict = analyze(run)
    assert checks(verdict) == {"unlogged": 1}
    assert verdict["spurious"] == 0
    assert verdict["verdict"] == "doubtful"
    assert abs(verdict["owed"] - before["owed"]) <= 1
    problem(verdict, "events.jsonl lacks", "far made subscription 1", "n >= 0")


def test_a_withdrawal_that_the_log_lacks_is_blamed_on_the_log(spark, run):
    events(run, lambda e: e["event"] != "unsubscribe")
    verdict = analyze(run)
    assert checks(verdict) == {"unlogged": 1}
    assert verdict["missing"] == 0
    problem(verdict, "far withdrew subscription 1")


def edit_plan(run: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """As if the run had been made from another plan."""
    plan = json.loads((run / "plan.json").read_text())
    edit(plan)
    text = json.dumps(plan)
    (run / "plan.json").write_text(text)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["plan_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_planned_actions_without_a_trace_are_named(spark, run):
    def add(plan: dict[str, Any]) -> None:
        near = next(node for node in plan["nodes"] if node["name"] == "near")
        near["script"] += [
            {"at_ns": 10, "do": "publish", "subscription": 0, "text": "n = 1"},
            {"at_ns": 11, "do": "subscribe", "subscription": 9, "text": "n = 1"},
        ]

    edit_plan(run, add)
    verdict = analyze(run)
    assert checks(verdict) == {"undone": 2}
    problem(verdict, "1 planned publication of near")
    problem(verdict, "1 planned subscription of near")


def test_a_planned_action_that_failed_by_the_clients_log_was_done(spark, run):
    edit_plan(run, lambda plan: plan["nodes"][-1]["script"].append(
        {"at_ns": 10, "do": "publish", "subscription": 0, "text": "n = 1"}
    ))  # fmt: skip
    with (run / "logs" / "far.jsonl").open("a") as log:
        log.write('{"time_ns":1,"node":"far","event":"action_failed","do":"publish","why":"not attached"}\n')
    assert checks(analyze(run)) == {}


def test_a_damaged_line_in_a_clients_log_is_named_and_the_lines_behind_it_are_read(spark, run):
    edit_plan(run, lambda plan: plan["nodes"][-1]["script"].append(
        {"at_ns": 10, "do": "publish", "subscription": 0, "text": "n = 1"}
    ))  # fmt: skip
    with (run / "logs" / "far.jsonl").open("a") as log:
        log.write('{"event":"action_failed","do":\n{"event":"action_failed",]}\n')
        log.write('{"time_ns":1,"node":"far","event":"action_failed","do":"publish","why":"not attached"}\n')
    verdict = analyze(run)
    assert checks(verdict) == {}
    problem(verdict, "logs/far.jsonl:", "damaged or cut off")
    problem(verdict, "logs/far.jsonl:", "not a line of a log")


def test_fixpoints_and_faults_that_the_log_lacks_are_named(spark, run):
    events(run, lambda e: e["event"] != "converged")
    verdict = analyze(run)
    assert checks(verdict) == {"convergence_events": 2}
    problem(verdict, "2 events", "manifest.json lists", "converged")
    events(run, lambda e: e["event"] != "fault")
    verdict = analyze(run)
    assert checks(verdict) == {"convergence_events": 3}
    problem(verdict, "the plan lists", "link_down r1--r3")


@pytest.mark.parametrize("how", ["deleted", "cut", "dropped", "in part"])
def test_what_an_incomplete_capture_would_show_is_unknown(spark, run, how):
    capture = Capture(run, "r2", "near")
    if how == "deleted":
        capture.path.unlink()
    elif how == "cut":
        capture.path.write_bytes(capture.path.read_bytes()[:-9000])
    elif how == "dropped":
        gone = capture.messages()[5]
        del capture.records[gone]
        capture.entry["drops"] = 1
        capture.save()
    else:
        capture.records = [cut(record, 100) for record in capture.records]
        capture.save()
    verdict = analyze(run)
    assert checks(verdict) == {"incomplete_captures": 1}
    assert verdict["missing"] == 0
    assert verdict["unknown"] > 0
    assert verdict["owed"] == verdict["delivered"] - verdict["allowed"] + verdict["unknown"]
    assert verdict["verdict"] == "doubtful"
    problem(verdict, "r2-eth", "incomplete")


def cut(record: bytes, most: int) -> bytes:
    """As captured with a small `snap_bytes`."""
    return (
        record[:8] + struct.pack("<I", min(most, len(record) - 16)) + record[12:16] + record[16 : 16 + most]
    )


def insert_event(run: Path, event: dict[str, Any]) -> None:
    path = run / "events.jsonl"
    lines: Iterable[dict[str, Any]] = [*map(json.loads, path.read_text().splitlines()), event]
    ordered = sorted(lines, key=lambda e: (e["time_ns"], e["node"], e["n"]))
    path.write_text("".join(json.dumps(e, separators=(",", ":")) + "\n" for e in ordered))


def test_a_fixpoint_that_the_control_traffic_contradicts_is_named(spark, run):
    """Just after the link has failed nobody has announced that, so nobody can have found it out."""
    fault = next(json.loads(e) for e in (run / "events.jsonl").read_text().splitlines() if '"fault"' in e)
    insert_event(run, {
        "time_ns": fault["time_ns"] + 1, "node": "", "n": 99, "event": "converged", "after_ns": 1,
    })  # fmt: skip
    verdict = analyze(run)
    assert checks(verdict) == {"calm": 1}
    problem(verdict, "had not converged", "announced links to")


def test_a_router_that_never_heard_what_others_knew_contradicts_the_fixpoint(spark, run):
    """All that r3 sent or received of r1's links is gone, and its index is right."""
    for peer in ("r1", "r2"):
        capture = Capture(run, "r3", peer)
        capture.records = [r for r in capture.records if not announces(r[Capture.DATAGRAM :], 1)]
        capture.save()
    verdict = analyze(run)
    assert checks(verdict)["calm"] == 2
    problem(verdict, "r3 had seen no announcement of the links of r1")


def announces(datagram: bytes, origin: int) -> bool:
    packets = [data for kind, data in split_datagram(datagram) if kind is PacketType.CONTROL]
    return any(data[5] == 1 and data[32:36] == origin.to_bytes(4, "big") for data in packets)
