"""`cbn report`: open the report of a run, or the page that compares the runs of a matrix."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json
from testbed.cli.output import print_json

_HELP = """\
examples:
  cbn report runs/quickstart-sim-20260101T120000Z-1a2b
  cbn report runs/schemes-sim-20260101T120000Z
      of a matrix: the page that compares its runs
  cbn report DIR --path
      print where it is and open nothing

Opens the page in your browser. Where there is none, as over ssh, it prints the
page's path: it is one file that needs no other, and can be copied.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run directory, or that of a matrix")
    parser.add_argument("--path", action="store_true", help="print where the page is and open nothing")
    add_json(parser)


def _report(args: argparse.Namespace) -> int:
    page = _page(args.directory)
    opened = not (args.path or args.json) and _open(page)
    if args.json:
        print_json({"page": str(page)})
    else:
        print(f"opened {page}" if opened else page)
    return exits.OK


def _page(directory: Path) -> Path:
    from testbed.cli.comparison import PAGE
    from testbed.cli.folder import MATRIX
    from testbed.plan.recorded import REPORT, RecordedRunError, read_manifest

    if (directory / MATRIX).is_file():
        page, made_by = directory / PAGE, f"cbn compare {directory}"
    else:
        with exits.explained(RecordedRunError):
            read_manifest(directory)
        page, made_by = directory / REPORT, f"cbn analyze {directory}"
    if not page.is_file():
        raise exits.CommandError(f"{page}: there is none yet; `{made_by}` makes it")
    return page


def _open(page: Path) -> bool:
    """Whether a browser was found that shows it."""
    import os
    import webbrowser

    shown = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return shown and webbrowser.open(page.resolve().as_uri())


COMMAND = Command("open the report of a run in your browser", _arguments, _report, RUNS, _HELP)
