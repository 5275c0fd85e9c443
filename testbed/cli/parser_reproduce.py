"""The words of `cbn reproduce`. Imports no command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_REPRODUCE = """\
examples:
  cbn reproduce --list
  cbn reproduce fwd-fig8 --quick
      a small slice, in a few seconds
  cbn reproduce fwd-fig8
      the whole sweep of the paper: some minutes at most (fwd-fig11, rte-schemes: ten), 1 GB of memory
  cbn reproduce fwd-fig8 --page docs/experiments
      and write the page, its figure and its rows there, by the experiment's name

Writes rows.parquet, rows.json, the figures and page.md into DIR, in place of those
of an earlier run. docs/experiments has the pages of a run and says what reproduces.
"""


def add_reproduce(commands: Any, command: Callable[..., Any], json: Callable[..., Any]) -> None:
    """`cbn reproduce`; `command` makes a subcommand, `json` gives it --json."""
    made = command(commands, "reproduce", "carry out an experiment of a paper and compare", _REPRODUCE)
    made.add_argument("name", metavar="NAME", nargs="?", help="an experiment (cbn reproduce --list)")
    made.add_argument("--list", action="store_true", help="list the experiments")
    made.add_argument("--quick", action="store_true", help="a small slice of the sweep")
    made.add_argument("--out", type=Path, metavar="DIR", help="where to (default: runs/reproduce/NAME)")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="of the workloads (default: 1)")
    made.add_argument(
        "--page", type=Path, metavar="DIR", help="also write page, figures, rows there, by NAME"
    )
    made.add_argument(
        "--rows", type=Path, metavar="FILE", help="write the page of these rows, measure nothing"
    )
    made.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")
    json(made)
