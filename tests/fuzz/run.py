"""Fuzzes whatever reads bytes of others, guided by what is reached: `make fuzz MINUTES=1 KEEP=1`.

Kernels in C++ are built with libFuzzer, ASan and UBSan, and Python runs under Atheris. Each harness begins
with its seeds and what was kept, and goes on for so many minutes of one processor. What ends a harness is
in `build/fuzz/NAME/found` and named; the exit code is then 1. With KEEP=1, the least set of inputs that
reaches the same is kept in `tests/fuzz/kept`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.seeds import HARNESSES, KERNELS, LIBRARIES, NAMES, keep, kept, seeds
from tests.native_build import WARNINGS

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "fuzz"
FLAGS = [
    "-std=c++20",
    "-O1",
    "-g",
    *WARNINGS,
    "-fno-omit-frame-pointer",
    "-fno-sanitize-recover=all",
    "-pthread",
]
SANITIZERS = "-fsanitize=fuzzer,address,undefined"
LARGEST = {
    "router": 400,
    "reassembly": 400,
    "guard": 600,
    "message-guard": 1200,
    "records": 600,
    "seal": 1200,
}
"""Bytes of an input, where they are not 4,096."""
KEPT_BYTES = 2048
SECONDS_AN_INPUT = 25
"""An input that takes longer is a finding."""
ENVIRONMENT = {**os.environ, "CBN_CONTROL_PLANE": "interpreted"}
_DONE = re.compile(r"^#(\d+)\s+DONE\s+cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)
_EDGES = re.compile(r"Loaded \d+ modules\s+\((\d+) inline 8-bit counters\)")


@dataclass(frozen=True)
class Harness:
    """One thing that is fuzzed, and where its files are."""

    name: str

    @property
    def folder(self) -> Path:
        """All its files."""
        return BUILD / self.name

    @property
    def corpus(self) -> Path:
        """The inputs it begins with, and what it adds to them."""
        return self.folder / "corpus"

    @property
    def found(self) -> Path:
        """The inputs that ended it."""
        return self.folder / "found"

    @property
    def program(self) -> Path:
        """What is run, by libFuzzer too: a kernel, or a line that starts Python."""
        return self.folder / "program"

    def prepare(self) -> None:
        """Build it, and write what it begins with."""
        for folder in (self.corpus, self.found):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for each in (*seeds(self.name), *kept(self.name)):
            (self.corpus / hashlib.sha256(each).hexdigest()[:16]).write_bytes(each)
        if self.name not in KERNELS:
            start = [sys.executable, "-m", "tests.fuzz.python_harness"]
            self.program.write_text(
                f'#!/bin/sh\nexec {shlex.join(start)} "$0" {self.name} "$@"\n', encoding="utf-8"
            )
            self.program.chmod(0o755)
        else:
            source = str(HARNESSES / f"{self.name}.cpp")
            include, program = f"-I{ROOT / 'fastpath'}", str(self.program)
            linked = [f"-l{name}" for name in LIBRARIES]
            command = ["clang++", *FLAGS, SANITIZERS, include, source, "-o", program, *linked]
            subprocess.run(command, check=True)

    def command(self, *options: str) -> list[str]:
        """What runs it."""
        size = LARGEST.get(self.name, 4096)
        rules = [
            f"-max_len={size}",
            f"-timeout={SECONDS_AN_INPUT}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
        ]
        return [str(self.program), *rules, f"-artifact_prefix={self.found}/", *options]

    def run(self, seconds: int, seed: int) -> Result:
        """Fuzz for so long."""
        options = (f"-max_total_time={seconds}", f"-seed={seed}", str(self.corpus))
        began = time.monotonic()
        log = self.folder / "log"
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(
                self.command(*options),
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=ENVIRONMENT,
                check=False,
            )
        return Result.of(self, log, done.returncode, time.monotonic() - began)

    def minimise(self) -> int:
        """Keep the least set of small inputs that reaches the same; how many they are."""
        least = self.folder / "least"
        shutil.rmtree(least, ignore_errors=True)
        least.mkdir()
        with (self.folder / "merge.log").open("w", encoding="utf-8") as log:
            subprocess.run(
                self.command("-merge=1", str(least), str(self.corpus)),
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=ENVIRONMENT,
                check=True,
            )
        known = {*seeds(self.name)}
        inputs = [path.read_bytes() for path in least.iterdir()]
        small = [each for each in inputs if len(each) <= KEPT_BYTES and each not in known]
        keep(self.name, small)
        return len(small)


@dataclass(frozen=True)
class Result:
    """What came of it."""

    harness: Harness
    ended_by_itself: bool
    seconds: float
    inputs: int
    reached: int
    edges: int
    corpus: int

    @classmethod
    def of(cls, harness: Harness, log: Path, code: int, seconds: float) -> Result:
        """Read libFuzzer's log."""
        text = log.read_text(encoding="utf-8", errors="replace")
        done, edges = _DONE.search(text), _EDGES.search(text)
        inputs, reached, _, corpus = (int(group) for group in done.groups()) if done else (0, 0, 0, 0)
        return cls(harness, code == 0, seconds, inputs, reached, int(edges[1]) if edges else 0, corpus)

    @property
    def findings(self) -> list[Path]:
        """The inputs that ended it."""
        return sorted(self.harness.found.iterdir())

    def row(self) -> str:
        """For the table."""
        share = f"{self.reached:,} of {self.edges:,}" if self.edges else f"{self.reached:,}"
        rate = self.inputs / max(self.seconds, 1)
        name = self.harness.name
        return (
            f"| {name} | {self.inputs:,} | {rate:,.0f} | {share} | {self.corpus:,} | {len(self.findings)} |"
        )


def fuzz(names: Sequence[str], minutes: float, seed: int, jobs: int) -> list[Result]:
    """Fuzz all of them, as many at a time as there are processors."""
    harnesses = [Harness(name) for name in names]
    for harness in harnesses:
        print(f"preparing {harness.name}", file=sys.stderr, flush=True)
        harness.prepare()
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(harness.run, round(minutes * 60), seed) for harness in harnesses]
        results = []
        for future in running:
            results.append(future.result())
            print(f"{results[-1].harness.name} has ended", file=sys.stderr, flush=True)
    return results


def main() -> int:
    """Print the table, and what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1, help="of one processor, for each (default 1)")
    parser.add_argument("--only", choices=NAMES, action="append", help="this one; may be given several times")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="repeats what one processor did")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--keep", action="store_true", help="keep what reaches most in tests/fuzz/kept")
    options = parser.parse_args()
    results = fuzz(options.only or NAMES, options.minutes, options.seed, options.jobs)
    print(f"seed {options.seed}, {options.minutes:g} minutes of one processor each\n")
    print("| harness | inputs | a second | places reached | corpus | found |\n|---|---:|---:|---:|---:|---:|")
    print("\n".join(result.row() for result in results))
    for result in results:
        for path in result.findings:
            print(f"{result.harness.name}: {path} ends it; the log is {result.harness.folder / 'log'}")
        if not result.ended_by_itself and not result.findings:
            print(
                f"{result.harness.name} has ended with an error; the log is {result.harness.folder / 'log'}"
            )
    if options.keep:
        print(
            "\n".join(
                f"kept {result.harness.minimise()} inputs of {result.harness.name}" for result in results
            )
        )
    return 0 if all(result.ended_by_itself for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
