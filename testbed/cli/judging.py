"""The quick verdict over a run that has just ended: whether it can be had, having it, and showing it.

Not here: the analysis in Spark (`execution.analyse`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis.expectations import measured_text, needing_analysis
from testbed.cli import exits
from testbed.plan.model import Plan
from testbed.runs.world import Progress

_PACKAGES = ("pyarrow", "numpy")


def needs_analysis(asked: bool | None, plan: Plan) -> bool:
    """Whether a run is to be analysed: as asked, or else if something is expected that only tables show."""
    return bool(needing_analysis(plan.expect)) if asked is None else asked


def check_judgeable(plan: Plan) -> None:
    """Find out before any work that what a scenario expects cannot be judged here.

    Raises:
        CommandError: A package is missing; the text names how to get it.
    """
    if plan.expect and _missing():
        raise exits.CommandError(f"what the scenario expects cannot be judged: {_missing()}", exits.MACHINE)


def _missing() -> str:
    """What to do about packages that are not there; empty: all are."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    how = "run `make build`, or `pip install 'cbn-testbed[analysis]'`"
    return f"{' and '.join(missing)} not installed: {how}" if missing else ""


def judge(directory: Path, plan: Plan | None, shown: Progress) -> dict[str, Any] | None:
    """The quick verdict over a complete run; None, and said why: there is none.

    Args:
        directory: Of the run.
        plan: Of the run; None: as it is recorded, and nobody waits for what it expects.
        shown: Is told that it is being judged.

    Raises:
        CommandError: There is none, and the scenario expects something.
    """
    why = _missing()
    if not why:
        from analysis import AnalysisError
        from analysis.quick.judge import judge as judge_quickly

        shown.phase("judge")
        try:
            return judge_quickly(directory, plan)
        except AnalysisError as error:
            why = str(error)
    if plan is not None and plan.expect:
        raise exits.CommandError(f"what the scenario expects cannot be judged: {why}", exits.FAILED)
    shown.say(f"no verdict: {why}")
    return None


def print_judged(verdict: dict[str, Any]) -> None:
    """A quick verdict for people."""
    word = str(verdict["verdict"])
    print(f"{word if verdict['ok'] else word.upper()}: {verdict['headline']}")
    for line in (*verdict["notes"], *expectation_lines(verdict)):
        print(line)
    for problem in verdict["problems"]:
        print(f"! {problem}")


def expectation_lines(verdict: dict[str, Any]) -> Iterator[str]:
    """A line each: what was expected, what was measured, and whether it holds."""
    for expectation in verdict.get("expectations") or ():
        so = "holds" if expectation["holds"] else "DOES NOT HOLD"
        why = f" ({expectation['why']})" if expectation["why"] and not expectation["holds"] else ""
        yield f"{so}: {expectation['text']}: measured {measured_text(expectation)}{why}"
