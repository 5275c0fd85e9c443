"""Searches all that can happen in small networks of three schemes, on a channel, and between neighbours.

`make test-models` runs it:

    python -m tests.models [--only NAME ...] [--limit STATES]
    python -m tests.models --replay FILE

Prints a line for each model: how many changes happen at once, the states of single routers (or ends of the
link) that the real code came to, the states of the whole and the steps between them, and how many of them
are quiet. If something is wrong in any of them, the shortest way there is printed and written to
build/models, from where --replay takes it step by step. The exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.models.adjacencies import ADJACENCIES, AdjacencyScenario
from tests.models.cbcb import CBCB
from tests.models.channels import CHANNELS, ChannelScenario
from tests.models.scenario import Scenario
from tests.models.scenarios import SCENARIOS
from tests.models.search import Counterexample, Found, Search, SearchTooLargeError, replay
from tests.models.siena import SIENA

AnyScenario = Scenario[Any, Any] | ChannelScenario | AdjacencyScenario
MODELS: Mapping[str, AnyScenario] = {**SCENARIOS, **SIENA, **CBCB, **CHANNELS, **ADJACENCIES}
COLUMNS = (
    ("model", 17), ("changes", 7), ("router states", 13), ("states", 11), ("transitions", 12), ("quiet", 9),
    ("depth", 6), ("s", 7),
)  # fmt: skip


def line(cells: tuple[object, ...]) -> str:
    """A line of the table."""
    texts = [
        f"{cell:<{width}}" if isinstance(cell, str) and name == "model" else f"{cell:>{width}}"
        for cell, (name, width) in zip(cells, COLUMNS, strict=True)
    ]
    return " ".join(texts)


def _progress(states: int, expanded: int) -> None:
    print(f"  {states:,} states, {expanded:,} of them expanded", file=sys.stderr, flush=True)


def _search(name: str, scenario: AnyScenario, limit: int) -> Found:
    began = time.monotonic()
    model, machines = scenario.model()
    try:
        found = Search(model, limit, _progress).run()
    except SearchTooLargeError as error:
        raise SystemExit(f"{name}: {error}; --limit allows more, at some 1 GB a million") from error
    figures = (len(machines.looks), found.states, found.transitions, found.quiet, found.depth)
    shown = [f"{figure:,}" for figure in figures]
    print(line((name, scenario.changes, *shown, f"{time.monotonic() - began:.1f}")), flush=True)
    return found


def report(name: str, wrong: Counterexample, folder: Path) -> None:
    """Print a counterexample, and keep it."""
    print(f"\n{name}: {wrong.wrong}, after {len(wrong.steps)} steps:")
    print("\n".join(f"  {number:>3}. {step}" for number, step in enumerate(wrong.steps, 1)))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"model": name, "wrong": wrong.wrong, "steps": wrong.steps}, indent=2) + "\n")
    print(f"  replay: python -m tests.models --replay {file}\n")


def _replay(file: Path) -> int:
    """Take the steps of a counterexample; 1 if something is wrong on the way."""
    recorded = json.loads(file.read_text())
    model, machines = MODELS[recorded["model"]].model()
    found = []
    for number, (step, state, wrong) in enumerate(replay(model, recorded["steps"])):
        print(f"{number:>3}. {step}")
        for machine in state.machines:
            print(f"       {machines.looks[machine]}")
        print("".join(f"     WRONG: {each}\n" for each in wrong), end="")
        found += wrong
    return 1 if found else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="tests.models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(MODELS), metavar="NAME")
    parser.add_argument("--limit", type=int, default=5_000_000, help="more states than this are an error")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="a counterexample")
    parser.add_argument("--out", type=Path, default=Path("build/models"))
    args = parser.parse_args(arguments)
    if args.replay:
        return _replay(args.replay)
    print(line(tuple(name for name, _ in COLUMNS)))
    wrong = 0
    for name in args.only or MODELS:
        found = _search(name, MODELS[name], args.limit)
        if found.counterexample is not None:
            wrong += 1
            report(name, found.counterexample, args.out)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
