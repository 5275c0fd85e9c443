"""`python -m analysis DIR`: analyse a run without the `cbn` command."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from analysis import AnalysisError
from analysis.expectations import passed
from analysis.pipeline import analyze
from analysis.settings import MASTER_VARIABLE, Asked


class _Lines:
    """Progress as lines on standard error."""

    def phase(self, name: str, total: int | None = None) -> None:
        steps = f" ({total} steps)" if total else ""
        print(f"analysis: {name}{steps}", file=sys.stderr, flush=True)

    def advance(self, done: int) -> None:
        del done

    def say(self, text: str) -> None:
        print(f"analysis: {text}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code: 0 well, 1 not as it should be, 2 not analysed."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Turn the captures of a run into tables/, verdict.json and report.html in its directory.",
        epilog="Exit code: 0 if all is well, 1 if the verdict finds fault, 2 if the run cannot be analysed.",
    )
    parser.add_argument("run", type=Path, metavar="DIR", help="a run directory, as `cbn run` writes it")
    parser.add_argument(
        "--master", help=f"Spark master URL (default: ${MASTER_VARIABLE}, else all local cores)"
    )
    chosen = parser.parse_args(arguments)
    try:
        verdict = analyze(chosen.run, progress=_Lines(), asked=Asked(chosen.master or ""))
    except AnalysisError as error:
        print(f"analysis: {error}", file=sys.stderr)
        return 2
    print(json.dumps(verdict, indent=1, ensure_ascii=False))
    return 0 if passed(verdict) else 1


if __name__ == "__main__":
    sys.exit(main())
