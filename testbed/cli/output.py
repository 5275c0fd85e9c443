"""What commands print: JSON for scripts, columns for people."""

from __future__ import annotations

import json
from collections.abc import Sequence

from testbed.cli import exits


def print_json(value: object) -> None:
    """The one document that `--json` prints."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def show(as_json: bool, value: object, text: str) -> int:
    """The document with `--json`, else the text; the exit code of a command that has done its work."""
    if as_json:
        print_json(value)
    else:
        print(text)
    return exits.OK


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]], *, every: bool = False) -> list[str]:
    """Lines of columns as wide as what is in them, without columns that have no value, unless `every`."""
    kept = [i for i in range(len(heads)) if every or any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in (heads, *rows)) for i in kept}
    return ["  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in (heads, *rows)]
