"""The words of `cbn replay` and `cbn diff`. Imports no command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbed.cli.parser_emulation import add_emulation

_REPLAY = """\
examples:
  cbn replay runs/quickstart-emu-20260101T120000Z-1a2b
      the same plan, in the same world
  cbn replay DIR --world sim --out /tmp/again --analyze
      in the simulator, then the verdict
  cbn replay DIR --out again && cbn diff DIR again
      run it again and see whether anything is different

What is run is DIR/plan.yaml, to the letter; the scenario file is not needed. Of a
simulated run, events.jsonl and the captures come out byte for byte as they were.
The manifest of the new run names the old one as replay_of.
"""

_DIFF = """\
examples:
  cbn diff runs/before runs/after
      what is different in the second, and how sure that is
  cbn diff emulated simulated
      between worlds; what their clocks and links differ by is told apart
  cbn diff before after --threshold 2ms --out diff.html
      latencies that moved by less than 2 ms do not count; a page to look at

A difference of latencies counts if it is significant (Mann-Whitney, corrected for
the number of comparisons by Holm) and large: the median moved by more than the
threshold, and Cliff's delta is at least 0.33. docs/comparing.md says more.
Runs that are not analysed yet are analysed first.

Exit code 0: no difference; 1: there is one, and it is named.
"""


def add_replay(commands: Any, command: Callable[..., Any], json: Callable[..., Any]) -> None:
    """`cbn replay`; `command` makes a subcommand, `json` gives it --json."""
    made = command(commands, "replay", "run the plan of an earlier run again", _REPLAY)
    made.add_argument("directory", type=Path, metavar="DIR", help="the run directory of the earlier run")
    made.add_argument(
        "--world", choices=("sim", "emu", "auto"), help="where (default: where the earlier run was)"
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/<run id>)")
    made.add_argument("--force", action="store_true", help="replace a previous run in the --out directory")
    made.add_argument("--analyze", action="store_true", help="analyse the run when it is complete")
    add_emulation(made)
    made.set_defaults(dilate=None)
    json(made)
    made.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")


def add_diff(commands: Any, command: Callable[..., Any], json: Callable[..., Any]) -> None:
    """`cbn diff`; `command` makes a subcommand, `json` gives it --json."""
    made = command(commands, "diff", "say what is different between two runs", _DIFF)
    made.add_argument("before", type=Path, metavar="DIR", help="a run directory")
    made.add_argument("after", type=Path, metavar="DIR", help="another one")
    made.add_argument(
        "--threshold",
        metavar="TIME",
        help="a latency moved if its median did by more than this, such as 500us "
        "(default: 100us in the simulator, 1ms elsewhere, and 10 %% in either)",
    )
    made.add_argument("--out", type=Path, metavar="FILE", help="also write an HTML page")
    json(made)
    made.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")
