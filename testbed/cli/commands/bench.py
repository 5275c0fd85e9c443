"""`cbn bench match`: time matching on a workload, and print one line of figures."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from testbed.cli import exits
from testbed.cli.command import MEASURING, Command, add_json, add_quiet
from testbed.cli.output import show
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastpath.bench import Bench, BenchTable, Memory
    from fastpath.workload import FilterList, MessageList
    from testbed.runs.world import Progress

Figures = dict[str, str | int | float | None]

KEYS = (
    "algorithm",
    "filters",
    "constraints",
    "interfaces",
    "messages",
    "build_s",
    "bytes_per_constraint",
    "mean_us",
    "p50_us",
    "p99_us",
    "max_us",
    "matches",
)
"""What stands in the line, in this order; --json has more."""

_MEMORY_JUDGED_BYTES = 16_000_000
"""Below, the resident set is too coarse: it grows by pages and by what the allocator keeps."""
_MEMORY_TOLERANCE = 0.25

T = TypeVar("T")


_HELP = """\
examples:
  cbn bench match --filters w/filters.txt --messages w/messages.txt
"""

_MATCH_HELP = """\
examples:
  cbn bench match --filters w/filters.txt --messages w/messages.txt --answers out.txt
  cbn bench match --filters w/filters.txt --messages w/messages.txt --central --repeat 20
  cbn bench match --filters w/filters.txt --messages w/messages.txt --fresh 50 --json

Prints one line: RESULT key=value ... docs/benchmarks.md has what is timed and
how, and the format of the two files.
"""


def _match_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--filters", type=Path, required=True, metavar="FILE", help="as cbn workload writes them"
    )
    parser.add_argument(
        "--messages", type=Path, required=True, metavar="FILE", help="as cbn workload writes them"
    )
    parser.add_argument("--central", action="store_true", help="every filter is an interface, its line")
    parser.add_argument("--algorithm", default="fast", metavar="A", help="by name (default: fast)")
    parser.add_argument(
        "--rounds", type=int, metavar="R", help="of preselection, for the algorithm selective"
    )
    parser.add_argument("--repeat", type=int, default=10, metavar="N", help="the best counts (default: 10)")
    parser.add_argument("--threads", type=int, default=1, metavar="T", help="that match at once (default: 1)")
    parser.add_argument(
        "--fresh", type=int, default=0, metavar="P", help="percent of string values the table has never seen"
    )
    parser.add_argument("--cold", action="store_true", help="flush the caches before each message")
    parser.add_argument("--answers", type=Path, metavar="OUT", help="write what matched, a line a message")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for --fresh (default: 1)")
    add_json(parser)
    add_quiet(parser)


def _match(args: argparse.Namespace) -> int:
    if args.repeat < 1:
        raise exits.CommandError(f"--repeat is {args.repeat}; expected 1 or more")
    with _explained_errors(), progress(args.quiet) as shown:
        figures = _measure(args, shown)
    warn_of_memory(figures)
    return show(args.json, figures, result_line(figures))


@contextmanager
def _explained_errors() -> Iterator[None]:
    from fastpath.bench import UsageError
    from fastpath.workload import WorkloadError

    try:
        yield
    except (UsageError, WorkloadError) as error:
        raise exits.CommandError(str(error)) from error
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}") from error
    except MemoryError as error:
        raise exits.CommandError("this machine has not enough memory for that", exits.MACHINE) from error


def result_line(figures: Figures) -> str:
    """The line `RESULT key=value ...`."""
    return "RESULT " + " ".join(f"{key}={_as_text(figures[key])}" for key in KEYS)


def _as_text(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _measure(args: argparse.Namespace, shown: Progress) -> Figures:
    from fastpath.bench import Bench, BenchTable, Memory

    table = BenchTable(args.algorithm, args.rounds)
    filters, messages, read_s = _read(args, shown)
    shown.phase("building the table", len(filters))
    memory = Memory()
    build_s = table.build(filters, args.central, shown.advance)
    figures = _of_table(table, filters, memory) | {"build_s": build_s, "read_s": read_s}
    bench = Bench(
        table,
        filters,
        messages,
        threads=args.threads,
        fresh=args.fresh,
        cold=args.cold,
        seed=args.seed,
    )
    figures |= {"messages": len(messages), "matches": _answer(bench, args.answers)}
    return figures | _repeat(bench, args.repeat, shown)


def _read(args: argparse.Namespace, shown: Progress) -> tuple[FilterList, MessageList, float]:
    from fastpath.workload import FilterList, MessageList

    started = time.perf_counter()
    filters = _read_file(FilterList, args.filters, "reading the filters", shown)
    messages = _read_file(MessageList, args.messages, "reading the messages", shown)
    return filters, messages, time.perf_counter() - started


def _read_file(
    reader: Callable[[Path, Callable[[int], None]], T], path: Path, title: str, shown: Progress
) -> T:
    shown.phase(title, path.stat().st_size or None)
    return reader(path, shown.advance)


def _of_table(table: BenchTable, filters: FilterList, memory: Memory) -> Figures:
    stats = table.stats()
    return {
        "algorithm": table.algorithm,
        "filters": len(filters),
        "constraints": filters.constraints,
        "interfaces": stats["interfaces"],
        "bytes_per_constraint": stats["bytes"] / max(1, filters.constraints),
        "table_bytes": stats["bytes"],
        "resident_bytes": memory.growth(),
        "peak_resident_bytes": memory.peak_growth(),
    }


def _answer(bench: Bench, out: Path | None) -> int:
    """The matches of one pass; what they are goes into a file if one is asked for."""
    answers = bench.answers()
    if out is not None:
        out.write_text("".join(f"{count} {digest:016x}\n" for count, digest in answers), encoding="ascii")
    return sum(count for count, _ in answers)


def _repeat(bench: Bench, times: int, shown: Progress) -> dict[str, float]:
    shown.phase("measuring", times)
    for done in range(times):
        bench.repeat()
        shown.advance(done + 1)
    return bench.result()


def warn_of_memory(figures: Figures) -> None:
    """What a table reports of its size has to agree with what the system gave it."""
    counted, resident = figures["table_bytes"], figures["resident_bytes"]
    assert isinstance(counted, int)
    assert isinstance(resident, int)
    if max(counted, resident) < _MEMORY_JUDGED_BYTES:
        return
    if abs(counted - resident) > _MEMORY_TOLERANCE * min(counted, resident):
        print(
            f"cbn: WARNING: the table counts {counted:,} bytes, but the resident memory of the process grew "
            f"by {resident:,} bytes: bytes_per_constraint is not to be trusted",
            file=sys.stderr,
        )


_MATCH = Command("time matching against a table", _match_arguments, _match, help=_MATCH_HELP)
COMMAND = Command("measure this machine", group=MEASURING, help=_HELP, commands={"match": _MATCH})
