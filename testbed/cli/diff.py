"""`cbn diff`: what is different between two runs, and how sure that is."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.analyze import check_analysable
from testbed.cli.progress import progress
from testbed.plan.quantities import duration_ns

if TYPE_CHECKING:
    from analysis.compare.model import Comparison


def diff(args: argparse.Namespace) -> int:
    """Compare; exit code 1 if there is a difference."""
    shift_ns = None if args.threshold is None else _threshold(args.threshold)
    check_analysable()
    from analysis.compare.comparing import compare
    from analysis.errors import AnalysisError

    try:
        with progress(args.quiet) as shown:
            found = compare(args.before, args.after, shift_ns=shift_ns, progress=shown)
    except AnalysisError as error:
        raise exits.CommandError(str(error)) from error
    if args.out is not None:
        _write(args, found)
    if args.json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        from analysis.compare.text import to_text

        print(to_text(found))
    return exits.OK if found.same else exits.NOT_CLEAN


def _threshold(text: str) -> int:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(ns|us|ms|s)", text):
        raise exits.CommandError(f"--threshold {text}: expected a time with its unit, such as 500us or 2ms")
    return duration_ns(text)


def _write(args: argparse.Namespace, found: Comparison) -> None:
    from analysis.compare.page import to_page

    try:
        args.out.write_text(to_page(found), encoding="utf-8")
    except OSError as error:
        raise exits.CommandError(f"--out {args.out}: {error.strerror}", exits.FAILED) from error
