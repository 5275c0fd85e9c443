"""How fast captures become tables, beside tshark, Scapy and DuckDB in the same run; prints Markdown.

    python tests/benchmarks/analysis_table.py [--packets N ...] [--large N]

Captures are generated into build/bench-analysis (237 bytes a packet) and kept for the next time, except
large ones. Files are in the page cache. A tool that is not installed is named and left out. With `--large`:
an ingest and an analysis, each in a process of its own, with the memory that all its processes took over time
in build/bench-analysis/memory-ingest.csv and memory-analyze.csv.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from analysis.captured import Document, files_of
from analysis.host_clocks import Times, Windows
from analysis.ingest import ingest_captures
from analysis.numbered_tasks import in_threads
from analysis.steps import Places, spans, take_steps
from tests.benchmarks.chain_captures import names, write
from tests.benchmarks.large_run import write_run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "bench-analysis"
CORES = os.cpu_count() or 1
REPEATS = 3
SCAPY_PACKETS = 10_000
TSHARK_PACKETS = 250_000
TARGETS = {2_000_000: 7.0, 8_000_000: 9.0}
"""Seconds from captures to latencies, in a new process."""


class Line(NamedTuple):
    """One line of the table."""

    what: str
    packets: int
    seconds: float
    note: str = ""

    def markdown(self) -> str:
        rate = self.packets / self.seconds / 1e6
        return f"| {self.what} | {self.packets:,} | {self.seconds:.2f} | {rate:.3g} | {self.note} |"


def captures(packets: int) -> list[Path]:
    """The captures of so many packets, made unless they are there, and read once: then they are in memory."""
    folder = FOLDER / f"{packets}"
    done = folder / "made"
    if not done.exists():
        write(folder, packets)
        done.touch()
    paths = sorted(folder.glob("*.pcap"))
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass
    return paths


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of a few repetitions."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is empty, and gone afterwards."""
    folder = FOLDER / "scratch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def measure(packets: int) -> list[Line]:
    """Ours, warm and cold, and DuckDB on what we have written."""
    paths = captures(packets)
    pieces = files_of(paths).pieces
    lines = []
    with scratch() as folder:
        rounds = iter(range(REPEATS))
        ingested = best(lambda: ingest_captures(pieces, folder / str(next(rounds)), in_threads(CORES), CORES))
        lines.append(Line("captures to Parquet, warm", packets, ingested))
        table = folder / "0"
        followed = best(lambda: _follow(table))
        lines.append(Line("latencies from that Parquet, warm", packets, followed))
        lines += _with_duckdb(table, packets, followed)
    cold = best(lambda: _cold(paths), 2)
    target = TARGETS.get(packets)
    lines.append(
        Line(
            "captures to latencies, cold (`cbn ingest`)",
            packets,
            cold,
            f"target {target:.0f} s" if target else "",
        )
    )
    return lines


def _follow(table: Path) -> list[Any]:
    places = Places.of(names(), _ends())
    parts = spans(table)
    times = Times(Windows.of(parts[0].from_ns, parts[-1].until_ns))
    return in_threads(CORES)(len(parts), lambda n: take_steps(table, parts[n], places, times, None), "steps")


def _ends() -> dict[str, tuple[str, str]]:
    """Which interfaces share a link, in place of the addresses that ingest has seen."""
    return {name: (str((place + 1) // 2), "") for place, name in enumerate(names())}


def _cold(paths: Sequence[Path]) -> Document:
    command = [sys.executable, "-m", "testbed.cli", "ingest", *map(str, paths), "--quiet", "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    document: Document = json.loads(done.stdout)
    assert len(document["steps"]) == len(names()) - 1
    return document


def _with_duckdb(table: Path, packets: int, ours: float) -> list[Line]:
    if importlib.util.find_spec("duckdb") is None:
        return []
    import duckdb

    pairs = ", ".join(f"('{a}', '{b}')" for a, b in zip(names(), names()[1:], strict=False))
    question = f"""
        WITH pairs(a, b) AS (VALUES {pairs}), seen AS (FROM '{table}/*.parquet' WHERE type = 1)
        SELECT a, b, count(*), min(latency), approx_quantile(latency, [0.5, 0.99]), max(latency)
        FROM (SELECT a, b, later.time_ns - earlier.time_ns AS latency
              FROM seen AS earlier JOIN pairs ON interface = a
              JOIN seen AS later USING (source, sequence, publish_time_ns, content) WHERE later.interface = b)
        GROUP BY a, b"""
    connection = duckdb.connect(config={"threads": CORES})
    assert len(connection.execute(question).fetchall()) == len(names()) - 1
    theirs = best(lambda: connection.execute(question).fetchall())
    return [Line("latencies from that Parquet, DuckDB", packets, theirs, f"ours takes {ours / theirs:.1f} x")]


def others(paths: Sequence[Path]) -> list[Line]:
    """Tools that read captures."""
    lines = []
    if shutil.which("tshark"):
        fields = ["frame.time_epoch", "ip.src", "ip.dst", "udp.srcport", "frame.len", "udp.payload"]
        command = ["tshark", "-n", "-r", str(paths[0]), "-c", str(TSHARK_PACKETS), "-T", "fields"]
        command += [word for name in fields for word in ("-e", name)]
        with Path(os.devnull).open("w") as nowhere:
            seconds = best(lambda: subprocess.run(command, check=True, stdout=nowhere, stderr=nowhere), 1)
        lines.append(Line("tshark -T fields, without our dissector", TSHARK_PACKETS, seconds))
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapReader

    def scapy() -> None:
        for number, (data, _) in enumerate(RawPcapReader(str(paths[0]))):
            if number == SCAPY_PACKETS:
                break
            Ether(data)

    lines.append(Line("Scapy, with our layers", SCAPY_PACKETS, best(scapy, 1)))
    return lines


def missing() -> list[str]:
    """What would be compared with if it were there."""
    found = [] if shutil.which("tshark") else ["tshark"]
    return found + ([] if importlib.util.find_spec("duckdb") else ["duckdb"])


def large(packets: int) -> Iterator[Line]:
    """One ingest and one analysis, each in a process of its own, and what memory they take."""
    folder = FOLDER / f"{packets}"
    paths = write(folder / "captures", packets)
    yield _large("ingest", packets, paths, [*paths, "--out", folder / "out"], folder / "out")
    shutil.rmtree(folder)
    write_run(folder, packets)
    paths = sorted((folder / "captures").glob("*.pcap"))
    yield _large("analyze", packets, [*paths, folder / "events.jsonl"], [folder], folder / "tables")
    shutil.rmtree(folder)


def _large(
    command: str, packets: int, files: Sequence[Path], arguments: Sequence[object], tables: Path
) -> Line:
    size = sum(path.stat().st_size for path in files)
    words = [sys.executable, "-m", "testbed.cli", command, *map(str, arguments), "--quiet", "--json"]
    began = time.perf_counter()
    summary = FOLDER / f"{command}.json"
    with summary.open("w") as out, (FOLDER / f"memory-{command}.csv").open("w") as curve:
        process = subprocess.Popen(words, cwd=ROOT, stdout=out)
        most, used = _watch(process, curve, began)
    seconds = time.perf_counter() - began
    assert process.returncode == 0
    found = json.loads(summary.read_text())
    if command == "ingest":
        assert found["packets"] == packets
    else:
        assert found["verdict"] == "clean"
        assert found["captures"]["packets"] >= packets
        assert found["delivered"] == found["publications"]
    written = sum(path.stat().st_size for path in tables.rglob("*") if path.is_file())
    note = (
        f"{size / 1e9:.1f} GB read, {written / 1e9:.1f} GB written, {most / 1e9:.2f} GB of memory at most, "
        f"{used:.0f} s of processor time"
    )
    return Line(f"captures to all tables, cold (`cbn {command}`)", packets, seconds, note)


def _watch(process: subprocess.Popen[bytes], curve: Any, began: float) -> tuple[int, float]:
    """Notes seconds and bytes, twice a second; the most bytes, and the processor time of all processes."""
    most = 0
    used: dict[int, float] = {}
    print("seconds,bytes", file=curve)
    while process.poll() is None:
        family = _family(process.pid)
        held = sum(_held(pid) for pid in family)
        used |= {pid: seconds for pid in family if (seconds := _used(pid))}
        most = max(most, held)
        print(f"{time.perf_counter() - began:.1f},{held}", file=curve)
        time.sleep(0.5)
    return most, sum(used.values())


def _family(pid: int) -> list[int]:
    """A process and all that it has started, by any of its threads."""
    children: list[str] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # it has just ended
            children += thread.read_text(encoding="ascii").split()
    return [pid, *(each for child in children for each in _family(int(child)))]


def _held(pid: int) -> int:
    """Bytes of memory; a page that several processes share counts in part for each of them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0  # it has just ended
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _used(pid: int) -> float:
    """Seconds of processor time so far."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has just ended
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, nargs="*", default=list(TARGETS))
    parser.add_argument("--large", type=int, metavar="N")
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"{CORES} cores, load {os.getloadavg()[0]:.1f} before\n")
    print("| | packets | seconds | M packets/s | |\n|---|---:|---:|---:|---|", flush=True)
    if args.large:
        for line in large(args.large):
            print(line.markdown(), flush=True)
        return
    for packets in args.packets:
        for line in measure(packets):
            print(line.markdown(), flush=True)
    for line in others(captures(args.packets[0])):
        print(line.markdown(), flush=True)
    for name in missing():
        print(f"\n{name} is not installed: it was left out.")


if __name__ == "__main__":
    main()
