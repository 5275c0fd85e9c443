"""`cbn topo`: topologies listed, shown, drawn, read and made."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from testbed.cli import exits
from testbed.cli.topo_target import generated, imported, target_map
from testbed.cli.topo_text import description, shapes_and_maps, summary
from topologies.drawing import draw_svg
from topologies.exporters import ENDINGS, exported
from topologies.map import Map

SVG = ".svg"


def topo_list(args: argparse.Namespace) -> int:
    """List shapes and maps."""
    print(shapes_and_maps(as_json=args.json), end="")
    return exits.OK


def topo_show(args: argparse.Namespace) -> int:
    """Show what is known of a topology."""
    drawn = target_map(args)
    if args.json:
        print(json.dumps(summary(drawn, whole=True), indent=1, ensure_ascii=False))
    else:
        print(description(drawn, whole=args.all), end="")
    return exits.OK


def topo_draw(args: argparse.Namespace) -> int:
    """Draw a topology."""
    drawn = target_map(args)
    out = args.out or f"{Path(args.target).stem if Path(args.target).suffix else drawn.name}{SVG}"
    if out != "-" and Path(out).suffix.lower() != SVG:
        raise exits.CommandError(f"--out {out}: expected a name that ends with {SVG}, or -")
    return _put(drawn, out, args)


def topo_import(args: argparse.Namespace) -> int:
    """Read a map and write it anew."""
    drawn = imported(args.file, args)
    return _put(drawn, args.out or "-", args)


def topo_generate(args: argparse.Namespace) -> int:
    """Make a topology."""
    return _put(generated(args.shape, args.parameters, args.seed), args.out or "-", args)


def _put(drawn: Map, out: str, args: argparse.Namespace) -> int:
    if out == "-":
        text = draw_svg(drawn) if args.function == "topo_draw" else exported(drawn, "map")
        print(
            json.dumps(summary(drawn, whole=True), indent=1, ensure_ascii=False) if args.json else text,
            end="",
        )
        print("\n" * args.json, end="")
    else:
        _write(Path(out), _in_format_of(Path(out), drawn))
        told = summary(drawn) | {"file": out}
        print(json.dumps(told, indent=1, ensure_ascii=False) if args.json else _said(drawn, out))
    for note in drawn.notes:
        print(f"note: {note}", file=sys.stderr)
    return exits.OK


def _said(drawn: Map, out: str) -> str:
    return f"{out}: {len(drawn.nodes)} nodes, {len(drawn.links)} links"


def _in_format_of(path: Path, drawn: Map) -> str:
    ending = path.suffix.lower()
    if ending == SVG:
        return draw_svg(drawn)
    if ending not in ENDINGS:
        known = ", ".join([*ENDINGS, SVG])
        raise exits.CommandError(f"--out {path}: the end of the name says no format; expected one of {known}")
    return exported(drawn, ENDINGS[ending])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise exits.CommandError(f"--out {path}: cannot be written: {error.strerror}") from error
