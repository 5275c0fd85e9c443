"""`cbn reproduce`: a paper's experiment, measured here, beside what the paper printed."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import MEASURING, Command, add_json, add_quiet
from testbed.cli.output import print_json
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from testbed.experiments.experiment import Experiment
    from testbed.experiments.results import Results

OUT = Path("runs", "reproduce")
SUFFIX = ".yaml"
"""By this a file of one's own is told from the name of an experiment."""


_HELP = """\
examples:
  cbn reproduce --list
  cbn reproduce fwd-fig8 --quick
      a small slice, in a few seconds
  cbn reproduce fwd-fig8
      the whole sweep of the paper: some minutes at most (fwd-fig11, rte-schemes: ten), 1 GB of memory
  cbn reproduce fwd-fig8 --page docs/experiments
      and write the page, its figure and its rows there, by the experiment's name
  cbn reproduce ./longer.yaml
      a copy of a file of topologies/experiments, whose sweep was changed

Writes rows.parquet, rows.json, the figures and page.md into DIR, in place of those
of an earlier run. docs/experiments has the pages of a run, with what reproduces.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = "an experiment (cbn reproduce --list), or a file of one's own, FILE.yaml"
    parser.add_argument("name", metavar="NAME", nargs="?", help=what)
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--quick", action="store_true", help="a small slice of the sweep")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to (default: runs/reproduce/NAME)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the workloads (default: 1)")
    parser.add_argument(
        "--page", type=Path, metavar="DIR", help="also write page, figures, rows there, by NAME"
    )
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="write the page of these rows, measure nothing"
    )
    add_quiet(parser)
    add_json(parser)


def _reproduce(args: argparse.Namespace) -> int:
    """List the experiments, or execute one and write its files."""
    from topologies.library import experiment_names

    if args.list:
        return _list(args)
    if args.name is None:
        raise exits.CommandError(f"which experiment? One of {', '.join(experiment_names())}")
    experiment = _load(args.name, args.quick)
    _check_machine()
    results = _results(args, experiment)
    folder = args.out or OUT / (experiment.name + ("-quick" if args.quick else ""))
    try:
        written = _write(folder, args.page, experiment, results)
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error
    _report(args, experiment, results, written)
    return exits.OK


def _check_machine() -> None:
    """Before minutes of measuring, not after."""
    if find_spec("pyarrow") is None:
        text = "rows are written as Parquet, which needs pyarrow: run `make build`"
        raise exits.CommandError(text, exits.MACHINE)


def _list(args: argparse.Namespace) -> int:
    from topologies.library import experiment_names

    found = [_load(name, quick=False) for name in experiment_names()]
    if args.json:
        print_json([{"name": e.name, "paper": e.paper, "title": e.title} for e in found])
        return exits.OK
    for each in found:
        print(f"{each.name:<18} {each.paper:<24} {each.title}")
    return exits.OK


def _load(name: str, quick: bool) -> Experiment:
    from testbed.experiments.experiment import load_experiment
    from testbed.plan.problems import ScenarioError, did_you_mean
    from topologies.library import experiment_file, experiment_names

    try:
        path = Path(name) if name.endswith(SUFFIX) else experiment_file(name)
    except KeyError:
        hint = did_you_mean(name, experiment_names()) or f"expected one of {', '.join(experiment_names())}"
        raise exits.CommandError(f"there is no experiment {name!r}; {hint}") from None
    with exits.explained(ScenarioError):
        return load_experiment(path, quick)


def _results(args: argparse.Namespace, experiment: Experiment) -> Results[Any]:
    """Measured, or read where --rows names the rows of an earlier run."""
    if args.rows is not None:
        return _read(args.rows, experiment)
    from testbed.experiments.kind import DisagreementError
    from testbed.experiments.results import measure

    try:
        with progress(args.quiet) as shown:
            return measure(experiment, args.seed, shown)
    except DisagreementError as error:
        raise exits.CommandError(str(error), exits.FAILED) from error
    except MemoryError as error:
        raise exits.CommandError("this machine has not enough memory; try --quick", exits.MACHINE) from error


def _read(path: Path, experiment: Experiment) -> Results[Any]:
    from testbed.experiments.results import from_json

    try:
        results: Results[Any] = from_json(path.read_text(encoding="utf-8"), experiment.of_kind.row)
    except OSError as error:
        raise exits.CommandError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise exits.CommandError(f"{path}: {error}") from error
    if results.experiment != experiment.name:
        raise exits.CommandError(f"{path}: these are rows of {results.experiment}, not of {experiment.name}")
    return results


def _write(folder: Path, page: Path | None, experiment: Experiment, results: Results[Any]) -> list[Path]:
    from testbed.experiments.page import write_all, write_page_files

    written = write_all(folder, experiment, results)
    return written + (write_page_files(page, experiment, results) if page is not None else [])


def _report(
    args: argparse.Namespace, experiment: Experiment, results: Results[Any], written: list[Path]
) -> None:
    from dataclasses import asdict

    from testbed.experiments.page import TOO_SMALL, found

    statements = found(experiment, results)
    if args.json:
        claims = [{"claim": claim, "ours": f.ours, "holds": f.holds} for claim, f in statements]
        rows = [asdict(row) for row in results.rows]
        files = [str(path) for path in written]
        print_json({"experiment": experiment.name, "statements": claims, "rows": rows, "files": files})
        return
    if results.quick:
        print(f"the quick slice: {TOO_SMALL}")
    words = {True: "reproduces", False: "does not", None: "not comparable"}
    for claim, finding in statements:
        print(f"[{words[finding.holds]}] {claim}\n    here: {finding.ours}")
    print("\n".join(str(path) for path in written))


COMMAND = Command("run an experiment of a paper and compare", _arguments, _reproduce, MEASURING, _HELP)
