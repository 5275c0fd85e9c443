"""A run of any size, made quickly: a run of one message in the simulator, and that message many times.

    python tests/benchmarks/large_run.py DIR PACKETS

A publisher, four routers in a row, a subscriber. Of what the simulator has written, all stays; the frames of
the message are repeated in every capture, and its events likewise, with numbers and times of their own. Every
latency is a draw of a seeded generator.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodes.wire.codec import split_datagram
from nodes.wire.packets import PacketType
from testbed.cli.progress import SilentProgress
from testbed.plan.load import plan_of
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld
from tests.benchmarks.chain_captures import CHUNK, FILE_HEADER, PACKET_AT

PLACES = (("r1", "pub"), ("r1", "r2"), ("r2", "r1"), ("r2", "r3"), ("r3", "r2"), ("r3", "r4"), ("r4", "r3"))
LAST_PLACE = ("r4", "sub")
LINK_NS = 100_000
"""What a link takes at least by the plan."""
MEAN_NS, GAP_NS, SEED = 30_000, 2_000, 1
RECORD = 16
Longs = NDArray[np.int64]


def scenario() -> dict[str, Any]:
    """Of the run of one message."""
    message = {"kind": "quote", "place": "x" * 90, "price": 395, "volume": 2.5}
    return {
        "name": "large",
        "seed": SEED,
        "topology": {"routers": ["r1", "r2", "r3", "r4"], "links": ["r1 - r2", "r2 - r3", "r3 - r4"]},
        "clients": {
            "pub": {"at": "r1", "publish": [{"message": message, "every": "1s", "count": 1}]},
            "sub": {"at": "r4", "subscribe": ["all"]},
        },
    }


def write_run(path: Path, packets: int) -> int:
    """Write a run of about so many packets, and never fewer; how many bytes of captures it has."""
    shutil.rmtree(path, ignore_errors=True)
    directory = RunDirectory.create(path, path.name)
    outcome = conduct(plan_of(scenario()), SimulatedWorld(), directory, SilentProgress(), scenario=None)
    assert outcome.outcome == "complete", outcome.message
    messages = -(-packets // (len(PLACES) + 1))
    end_ns = _multiply(path, messages)
    _correct_counts(path, messages, end_ns)
    return sum(file.stat().st_size for file in (path / "captures").glob("*.pcap"))


def _multiply(path: Path, messages: int) -> int:
    """Write packets and events of so many messages; when the last was delivered."""
    index = json.loads((path / "captures" / "index.json").read_text(encoding="utf-8"))
    names = {(row["node"], row["peer"]): row["file"] for row in index["interfaces"]}
    files = [path / "captures" / names[place] for place in (*PLACES, LAST_PLACE)]
    templates = [_message_of(file) for file in files]
    events = _events(path)
    opened = [file.open("ab") for file in files]
    end_ns = 0
    with (path / "events.jsonl").open("a", encoding="utf-8") as log:
        for numbers, times in _chunks(messages, events["publish"]["time_ns"]):
            for place, (template, file) in enumerate(zip(templates, opened, strict=True)):
                file.write(_records(template, numbers, times[0], times[place + 1]).tobytes())
            log.writelines(_lines(events, numbers, times))
            end_ns = max(end_ns, int(times[-1].max()))
    for file in opened:
        file.close()
    return end_ns


def _events(path: Path) -> dict[str, dict[str, Any]]:
    lines = (path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return {event["event"]: event for event in map(json.loads, lines)}


def _chunks(messages: int, start_ns: int) -> Iterator[tuple[Longs, list[Longs]]]:
    """Numbers of messages, and when each was published, was at each place, and was delivered."""
    rng = np.random.default_rng(SEED)
    for first in range(1, messages, CHUNK):
        numbers = np.arange(first + 1, min(first + CHUNK, messages) + 1, dtype=np.int64)
        times = [start_ns + numbers * GAP_NS]
        for place in range(len(PLACES) + 1):
            crossed = LINK_NS if place % 2 == 0 else 0
            times.append(times[-1] + crossed + rng.exponential(MEAN_NS, len(numbers)).astype(np.int64))
        yield numbers, [*times, times[-1] + LINK_NS]


def _message_of(file: Path) -> bytes:
    """The record of the message in a capture."""
    data, at = file.read_bytes(), len(FILE_HEADER)
    while at < len(data):
        end = at + RECORD + int.from_bytes(data[at + 8 : at + 12], "little")
        if any(kind == PacketType.MESSAGE for kind, _ in split_datagram(data[at + PACKET_AT : end])):
            return data[at : at + PACKET_AT - 2] + bytes(2) + data[at + PACKET_AT : end]  # no checksum
        at = end
    raise AssertionError(f"{file} has no message")


def _records(template: bytes, numbers: Longs, published: Longs, time: Longs) -> NDArray[np.uint8]:
    """In order of time, as captures are."""
    order = np.argsort(time)
    records = np.tile(np.frombuffer(template, np.uint8), (len(time), 1))

    def put(at: int, values: Longs, kind: str) -> None:
        size = np.dtype(kind).itemsize
        records[:, at : at + size] = values[order].astype(kind)[:, None].view(np.uint8)

    put(0, time // 10**9, "<u4")
    put(4, time % 10**9, "<u4")
    put(PACKET_AT + 16, numbers, ">u8")
    put(PACKET_AT + 24, published, ">u8")
    return records


def _lines(events: dict[str, dict[str, Any]], numbers: Longs, times: list[Longs]) -> Iterator[str]:
    publish, deliver = (_with_holes(events[name]) for name in ("publish", "deliver"))
    for number, published, delivered in zip(
        numbers.tolist(), times[0].tolist(), times[-1].tolist(), strict=True
    ):
        yield publish % (published, number, number)
        yield deliver % (delivered, number, number, delivered - published)


def _with_holes(event: dict[str, Any]) -> str:
    """An event as a line, with places for time, numbers and, of a delivery, latency."""
    holes = {"time_ns": "@", "n": "@", "sequence": "@"} | (
        {"latency_ns": "@"} if "latency_ns" in event else {}
    )
    return json.dumps(event | holes, separators=(",", ":")).replace("%", "%%").replace('"@"', "%d") + "\n"


def _correct_counts(path: Path, messages: int, end_ns: int) -> None:
    index_path, manifest_path = path / "captures" / "index.json", path / "manifest.json"
    index = json.loads(index_path.read_text(encoding="utf-8"))
    for row in index["interfaces"]:
        if (row["node"], row["peer"]) in (*PLACES, LAST_PLACE):
            row["frames"] += messages - 1
    index_path.write_text(json.dumps(index), encoding="utf-8")
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    frames = sum(row["frames"] for row in index["interfaces"])
    manifest |= {"end_ns": end_ns, "captures": {"frames": frames, "drops": 0}}
    manifest_path.write_text(json.dumps(manifest), encoding="utf-8")


if __name__ == "__main__":
    print(f"{write_run(Path(sys.argv[1]), int(sys.argv[2])) / 1e9:.2f} GB")
