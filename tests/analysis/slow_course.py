"""The tables about what happened when, a second time, slowly: from Scapy's packets and plain Python.

Shares no code with `analysis.course`: docs/tables.md says what a column is. What became of messages is what
the second judge says (`tests.judge.judging`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.pieces import captures_of
from nodes.wire.packets import Kind, PacketType
from tests.analysis.slow_packets import frames_of
from tests.judge.judging.tables import Tables

Row = dict[str, Any]
SLICES = 60
MESSAGE, CONTROL = PacketType.MESSAGE, PacketType.CONTROL
FILLING = (PacketType.PAD, PacketType.SEAL)
RECORDS = {1: "links", 2: "interest", 5: "interest", 10: "offers", 11: "offers"}
TELLING = (16, 18, 20, 21, 22, 23, 27)


class SlowRun:
    """A run directory, read again."""

    def __init__(self, path: Path, run: Any, tables: Tables) -> None:
        """`run` says only where the captures are and whose; `tables` are those of the second judge."""
        self.manifest = json.loads((path / "manifest.json").read_text())
        self.plan = json.loads((path / "plan.json").read_text())
        lines = (path / "events.jsonl").read_text().splitlines()
        self.events = [json.loads(line) for line in lines]
        self.tables = tables
        self.ids = {node["name"]: node["node_id"] for node in self.plan["nodes"]}
        self.frames = [frame for whole in captures_of(run) for frame in _frames(whole)]
        self.start_ns, self.end_ns = self.manifest["start_ns"], self.manifest["end_ns"]
        self.width_ns = -(-(self.end_ns - self.start_ns) // SLICES)
        self.packets = sorted((row for frame in self.frames for row in frame), key=lambda row: row["time_ns"])

    def slice(self, time_ns: int) -> int:
        """The number of the slice."""
        return max(-1, min(SLICES, (time_ns - self.start_ns) // self.width_ns))

    def links(self) -> dict[tuple[int, int, int], Counter[str]]:
        """By the nodes from and to which packets went, and slice."""
        found: dict[tuple[int, int, int], Counter[str]] = defaultdict(Counter)
        for frame in self.frames:
            for at, row in enumerate(frame):
                ends = (row["node_id"], row["peer_id"])
                key = (*(ends if row["sent"] else ends[::-1]), self.slice(row["time_ns"]))
                what = "messages" if row["type"] == MESSAGE else "control"
                if not row["sent"] and not row["peer_is_client"]:
                    found[key][f"arrived_{what}"] += row["type"] not in FILLING
                    continue
                if row["type"] not in FILLING:
                    found[key][{"messages": "messages", "control": "control_packets"}[what]] += 1
                    found[key][{"messages": "message_bytes", "control": "control_bytes"}[what]] += row[
                        "packet_bytes"
                    ]
                if at == 0:
                    found[key] += Counter(frames=1, frame_bytes=row["frame_bytes"])
                else:
                    found[key] += Counter()
        for (_, _, a, b, _), passage in self.tables.crossings.items():
            if not passage.access and passage.copies > passage.arrived:
                found[a, b, self.slice(passage.time_ns)]["lost_messages"] += passage.copies - passage.arrived
        return found

    def control(self) -> dict[tuple[str, str, int], tuple[int, int]]:
        """Packets and bytes by link, kind and slice."""
        names = {frozenset((self.ids[k["a"]], self.ids[k["b"]])): k["name"] for k in self.plan["links"]}
        found: Counter[tuple[str, str, int, str]] = Counter()
        for row in self.packets:
            if row["type"] in (MESSAGE, *FILLING) or not (row["sent"] or row["peer_is_client"]):
                continue
            kind = PacketType(row["type"]).name if row["kind"] is None else Kind(row["kind"]).name
            key = names[frozenset((row["node_id"], row["peer_id"]))], kind, self.slice(row["time_ns"])
            found[*key, "packets"] += 1
            found[*key, "bytes"] += row["packet_bytes"]
        keys = {key[:3] for key in found}
        return {key: (found[*key, "packets"], found[*key, "bytes"]) for key in keys}

    def episodes(self) -> list[list[Row]]:
        """The faults that no fixpoint separates, each list with the fixpoint that ends it, if any."""
        found: list[list[Row]] = []
        begun = False
        for event in self.events:
            if event["event"] == "fault" and event["do"] != "rekey":
                found += [] if begun else [[]]
                begun = True
                found[-1].append(event)
            elif event["event"] == "converged" and begun:
                found[-1].append(event)
                begun = False
        return found

    def convergence(self) -> Iterator[Row]:
        """What each episode of the table has that is counted from packets."""
        yield self._episode(self.manifest["convergence"][0]["since_ns"], self.start_ns, [])
        for events in self.episodes():
            settled = events[-1]["time_ns"] if events[-1]["event"] == "converged" else None
            yield self._episode(events[0]["time_ns"], settled, [e for e in events if e["event"] == "fault"])

    def _episode(self, from_ns: int, settled_ns: int | None, faults: list[Row]) -> Row:
        last_ns = faults[-1]["time_ns"] if faults else from_ns
        until_ns = 1 << 62 if settled_ns is None else settled_ns
        control = [
            row
            for row in self.packets
            if from_ns <= row["time_ns"] <= until_ns
            and row["type"] not in (MESSAGE, *FILLING)
            and (row["sent"] or row["peer_is_client"])
        ]
        news = self._news(from_ns, until_ns, faults)
        last = max((time_ns for time_ns, _ in news), default=None)
        return {
            "from_ns": from_ns,
            "last_fault_ns": last_ns,
            "settled_ns": settled_ns,
            "control_packets": len(control),
            "control_bytes": sum(row["packet_bytes"] for row in control),
            "payload_packets": sum(row["type"] == CONTROL for row in control),
            "payload_bytes": sum(row["packet_bytes"] for row in control if row["type"] == CONTROL),
            "records": len(news),
            "last_record_ns": last,
            "records_took_ns": last - last_ns if last is not None and last >= last_ns else None,
        }

    def _news(self, from_ns: int, until_ns: int, faults: list[Row]) -> list[tuple[int, tuple[Any, ...]]]:
        """When a router had a newer record than before; of several between two faults, the newest counts."""
        broken = {e["time_ns"] for e in self.events if e["event"] == "fault" and e["do"] != "rekey"}
        cuts = sorted(broken | {from_ns, until_ns + 1})
        restarts = [(self.ids[f["target"]], f["time_ns"]) for f in self._starts()]
        held: dict[tuple[Any, ...], int] = {}
        news: dict[tuple[Any, ...], tuple[int, int]] = {}
        found: list[tuple[int, tuple[Any, ...]]] = []
        part = -1
        for row in self.packets:
            now_ns = row["time_ns"]
            at = sum(cut <= now_ns for cut in cuts)
            if at != part:
                held |= {key: sequence for key, (sequence, _) in news.items()}
                found += [(first_ns, key) for key, (_, first_ns) in news.items()]
                news, part = {}, at
            while restarts and restarts[0][1] <= now_ns:
                router = restarts.pop(0)[0]
                held = {key: sequence for key, sequence in held.items() if key[0] != router}
            if row["type"] == CONTROL and row["kind"] in TELLING and not row["sent"]:
                news[row["node_id"], None, "told"] = now_ns, now_ns
            if row["type"] != CONTROL or row["sequence"] is None or row["sequence"] >= 1 << 62:
                continue
            key = row["node_id"], row["source"], RECORDS[row["kind"]]
            if row["sequence"] > max(held.get(key, -1), news.get(key, (-1, 0))[0]):
                news[key] = row["sequence"], now_ns
        found += [(first_ns, key) for key, (_, first_ns) in news.items()]
        return [each for each in found if from_ns <= each[0] <= until_ns]

    def _starts(self) -> list[Row]:
        return [e for e in self.events if e["event"] == "fault" and e["do"] == "start"]

    def faults(self) -> list[Row]:
        """What failed, when, and until when."""
        repairs = {"link_down": ("link_up",), "crash": ("start",), "pause": ("resume", "crash")}
        faults, found = [e for e in self.events if e["event"] == "fault"], []
        for at, event in enumerate(faults):
            later = [e for e in faults[at + 1 :] if e["target"] == event["target"]]
            if event["do"] == "impair":
                if sum(e["do"] == "impair" and e["target"] == event["target"] for e in faults[:at]) % 2:
                    continue  # scenarios that are drawn impair a link and then repair it
                later = [e for e in later if e["do"] == "impair"]
            elif event["do"] == "rekey":
                later = [event]
            elif event["do"] in repairs:
                later = [e for e in later if e["do"] in repairs[event["do"]]]
            else:
                continue
            until_ns = later[0]["time_ns"] if later else None
            found.append(
                {
                    "kind": event["do"],
                    "target": event["target"],
                    "time_ns": event["time_ns"],
                    "until_ns": until_ns,
                }
            )
        return found

    def outcomes(self, from_ns: int, until_ns: int | None) -> dict[str, int]:
        """What became of what was published from one moment until before another."""
        end_ns = 1 << 63 if until_ns is None else until_ns
        times = {key: p.published_ns for key, p in self.tables.publications.items()}
        within = {key for key, time_ns in times.items() if from_ns <= time_ns < end_ns}
        rows = {pair: row for pair, row in self.tables.verdicts.items() if pair[:2] in within}
        settle_ns = self.plan["timing"]["settle_ns"]
        late = [
            pair
            for pair, row in rows.items()
            if row.verdict in ("delivered", "duplicate")
            and (self.tables.deliveries[pair].latency_ns or 0) > settle_ns
        ]
        of = Counter(row.verdict for row in rows.values())
        wanted = sum(row.wanted for row in rows.values())
        return {
            "published": len(within),
            "wanted": wanted,
            "owed": sum(row.owed is True for row in rows.values()),
            "arrived": wanted - of["missing"] - of["lost"] - of["unknown"],
            "missing": of["missing"],
            "lost": of["lost"],
            "cut_off": sum(r.verdict == "lost" and r.reason == "cut_off" for r in rows.values()),
            "unknown": of["unknown"],
            "duplicate": sum(max(row.copies - 1, 0) for row in rows.values()),
            "late": len(late),
        }

    def routers(self) -> dict[int, Row]:
        """What each router received and sent, and how long messages stayed in it, shortest first."""
        found: dict[int, Row] = {n: Counter() for name, n in self.ids.items() if self._is_router(name)}
        for row in self.packets:
            of, way = found[row["node_id"]], "sent" if row["sent"] else "received"
            if row["type"] == MESSAGE:
                towards = {"sent": ("forwarded", "delivered"), "received": ("received", "entered")}[way]
                of[towards[row["peer_is_client"]]] += 1
            elif row["type"] not in FILLING:
                of[f"control_{way}"] += 1
                of[f"control_{way}_bytes"] += row["packet_bytes"]
        for (_, _, _, b, _), passage in self.tables.crossings.items():
            if passage.wasted:
                found[b]["wasted"] += passage.copies
        stayed = self._stayed()
        return {router: {**of, "stayed": sorted(stayed[router])} for router, of in found.items()}

    def _is_router(self, name: str) -> bool:
        return next(n for n in self.plan["nodes"] if n["name"] == name)["role"] == "router"

    def _stayed(self) -> dict[int, list[int]]:
        came: dict[tuple[int, int, int, int], int] = {}
        for (source, sequence, _, b, hop), passage in self.tables.crossings.items():
            if passage.received_ns is not None:
                place = source, sequence, b, hop
                came[place] = min(passage.received_ns, came.get(place, 1 << 63))
        for (source, sequence), p in self.tables.publications.items():
            if p.time_ns is not None:
                place = source, sequence, p.node, 0
                came[place] = min(p.time_ns, came.get(place, 1 << 63))
        found: dict[int, list[int]] = defaultdict(list)
        for source, sequence, a, hop, left_ns in self._departures():
            arrived_ns = came.get((source, sequence, a, hop - 1))
            if arrived_ns is not None:
                found[a].append(left_ns - arrived_ns)
        return found

    def _departures(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Every sending to another router, and the first to each client: message, router, hop count, when."""
        for (source, sequence, a, _, hop), passage in self.tables.crossings.items():
            if passage.time_ns is not None and not passage.access:
                yield source, sequence, a, hop, passage.time_ns
        for (source, sequence, _), delivery in self.tables.deliveries.items():
            yield source, sequence, delivery.node, delivery.hop_count, delivery.time_ns


def _frames(whole: Any) -> Iterator[list[Row]]:
    about = {name: getattr(whole, name) for name in ("interface", "node_id", "peer_id", "peer_is_client")}
    return (rows for rows in frames_of(Path(whole.path), about, whole.mac, whole.peer_mac) if rows)
