"""Every algorithm on every workload that has a target, as Markdown tables from one run.

    python tests/benchmarks/match_table.py [--quick] [--only WORKLOAD]... [--algorithm A]... [--repeat N]

Workloads are generated once, into build/bench-match/. Every measurement is a
process of its own. Judges nothing, but that the algorithms agree: if their
answers differ, it says where and ends with 1.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "bench-match"
GOLDEN = ROOT / "tests" / "fastpath" / "workload_golden.txt"
WANTED = ("fast", "selective", "counting")
QUICKER = 50
COLD_MESSAGES = 100
Figures = dict[str, float]


@dataclass(frozen=True)
class Workload:
    """One row of the targets: its size, and what is to be reached."""

    name: str
    title: str
    filters: int
    central: bool
    target_us: float
    target_bytes: float | None
    constraints: tuple[int, int] = (1, 9)


WORKLOADS = (
    Workload("i20-5m", "20 interfaces, 5 M constraints", 1_000_000, False, 0.4, 6),
    Workload("i20-500k", "20 interfaces, 500 k", 100_000, False, 0.4, 8),
    Workload("central-500k", "one filter an interface, 500 k", 100_000, True, 2, 10),
    Workload("central-5m", "one filter an interface, 5 M", 1_000_000, True, 15, 10),
    Workload("i20-5m-from3", "20 interfaces, 5 M, filters of 3 to 9", 833_333, False, 3, None, (3, 9)),
)
STRINGS = {"words": 0, "pieces": 3}


def say(text: str) -> None:
    """Progress goes to standard error: standard output is the page."""
    print(text, file=sys.stderr, flush=True)


def cbn(*arguments: object) -> str:
    """Run the command; what it printed."""
    command = [sys.executable, "-m", "testbed.cli", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"`cbn {' '.join(command[3:])}` ended with {done.returncode}")
    return done.stdout


def files_of(workload: Workload, piece: int, args: argparse.Namespace) -> Path:
    """The directory with the workload's files; they are made if they are not there yet."""
    filters = workload.filters // (QUICKER if args.quick else 1)
    options = ["--filters", filters, "--constraints", *workload.constraints, "--piece", piece]
    options += ["--messages", args.messages]
    # What the generator makes of a recipe is in the name by way of its golden file.
    key = hashlib.sha256(repr(options).encode() + GOLDEN.read_bytes()).hexdigest()[:12]
    folder = CACHE / key
    if not (folder / "recipe.json").exists():
        say(f"generating {workload.title}")
        cbn("workload", folder, *options, "--quiet", "--force")
    return folder


def measure(folder: Path, workload: Workload, algorithm: str, repeat: int, *more: object) -> Figures:
    """One measurement in a process of its own."""
    say(f"  {workload.name} {algorithm} {' '.join(map(str, more))}")
    central = ["--central"] if workload.central else []
    files = {"--filters": folder / "filters.txt", "--messages": folder / "messages.txt"}
    named = [part for pair in files.items() for part in pair]
    options = ["--algorithm", algorithm, "--repeat", repeat, "--quiet", "--json", *central, *more]
    return dict(json.loads(cbn("bench", "match", *named, *options)))


def by_algorithm(folder: Path, workload: Workload, args: argparse.Namespace) -> dict[str, Figures]:
    """Each algorithm's figures; ends the program if their answers differ."""
    found, answers = {}, {}
    for algorithm in args.algorithm:
        out = folder / f"answers-{algorithm}{'-central' if workload.central else ''}.txt"
        repeat = args.repeat if algorithm == "fast" else max(1, args.repeat // 4)
        found[algorithm] = measure(folder, workload, algorithm, repeat, "--answers", out)
        answers[algorithm] = out.read_text().splitlines()
    first, *others = answers
    for other in others:
        pairs = zip(answers[first], answers[other], strict=True)
        wrong = [line for line, (one, two) in enumerate(pairs) if one != two]
        if wrong:
            sys.exit(
                f"{first} and {other} differ in message {wrong[0]} and {len(wrong) - 1} more of {folder}"
            )
    return found


def variants(folder: Path, workload: Workload, args: argparse.Namespace) -> dict[str, Figures]:
    """The default algorithm under other conditions."""
    few = folder / "few.txt"
    with (folder / "messages.txt").open() as lines:
        few.write_text("".join(line for _, line in zip(range(COLD_MESSAGES), lines, strict=False)))
    return {
        "fresh": measure(folder, workload, "fast", args.repeat, "--fresh", 50),
        "threads": measure(folder, workload, "fast", args.repeat, "--threads", 2),
        "cold": measure(folder, workload, "fast", 2, "--cold", "--messages", few),
    }


def judged(value: float, target: float | None, args: argparse.Namespace) -> str:
    """A value beside its target; small sizes have none."""
    if target is None or args.quick:
        return f"{value:.2f}"
    return f"{value:.2f} ({'within' if value <= target else 'MISSES'} {target:g})"


def rows(
    workload: Workload, strings: str, found: dict[str, Figures], args: argparse.Namespace
) -> Iterator[str]:
    """One row an algorithm."""
    for algorithm, f in found.items():
        ours = algorithm == "fast"
        mean = judged(f["mean_us"], workload.target_us if ours else None, args)
        size = judged(f["bytes_per_constraint"], workload.target_bytes if ours else None, args)
        quiet, tail = f["undisturbed_us"], f["p99_us"] / f["mean_us"]
        faster = f"{found['selective']['undisturbed_us'] / quiet:.1f} x" if "selective" in found else "-"
        times = f"{quiet:.2f} | {faster} | {f['p50_us']:.2f} | {f['p99_us']:.2f} | {f['max_us']:.2f}"
        peak = f"{(f['peak_resident_bytes'] or 0) / f['table_bytes']:.1f}"
        yield (
            f"| {workload.title} | {strings} | {algorithm} | {mean} | {times} | {tail:.1f} | {size} "
            f"| {f['resident_bytes'] / f['table_bytes']:.2f} | {f['build_s']:.2f} | {peak} |"
        )


def variant_row(workload: Workload, strings: str, plain: Figures, found: dict[str, Figures]) -> str:
    """What other conditions cost, as ratios to the plain measurement."""
    fresh = found["fresh"]["undisturbed_us"] / plain["undisturbed_us"]
    threads = plain["mean_us"] / found["threads"]["mean_us"]
    return f"| {workload.title} | {strings} | {fresh:.2f} | {threads:.2f} | {found['cold']['mean_us']:.2f} |"


HEAD = """\
| workload | strings | algorithm | mean us | undisturbed us | faster than selective | p50 us | p99 us \
| max us | p99 / mean | bytes a constraint | RSS / bytes | build s | peak RSS / bytes |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""

VARIANT_HEAD = """\
| workload | strings | --fresh 50: slower by | --threads 2: faster by | --cold: mean us |
|---|---|---:|---:|---:|"""


def machine() -> str:
    """What this was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    busy = os.getloadavg()[0]
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, load {busy:.1f} at the start"
    )


def chosen() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"a {QUICKER}th of the sizes")
    parser.add_argument("--only", action="append", choices=[w.name for w in WORKLOADS], help="repeatable")
    parser.add_argument("--algorithm", action="append", choices=WANTED, help="repeatable")
    parser.add_argument("--repeat", type=int, default=12, help="of the fast one; a quarter for the others")
    parser.add_argument("--messages", type=int, default=1000)
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    from fastpath.bench import ALGORITHMS

    args = chosen()
    wanted = args.algorithm or list(WANTED)
    args.algorithm = [name for name in wanted if name in ALGORITHMS]
    missing = [name for name in wanted if name not in ALGORITHMS]
    sizes = f" Quick: all sizes are a {QUICKER}th of what is said." if args.quick else ""
    print(f"Matching, {args.messages} messages; {machine()}.{sizes}\n\n{HEAD}", flush=True)
    others = []
    for workload in (w for w in WORKLOADS if not args.only or w.name in args.only):
        for strings, piece in STRINGS.items():
            folder = files_of(workload, piece, args)
            found = by_algorithm(folder, workload, args)
            print(*rows(workload, strings, found, args), sep="\n", flush=True)
            if "fast" in found:
                others.append(variant_row(workload, strings, found["fast"], variants(folder, workload, args)))
    print("", VARIANT_HEAD, *others, sep="\n")
    if missing:
        print(f"\nNot in this build, and left out: {', '.join(missing)}.")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
