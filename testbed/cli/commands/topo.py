"""`cbn topo`: topologies listed, shown, drawn, read and made.

Finding and describing them is `testbed.cli.topology`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.output import print_json, show
from topologies.quantities import how_many

if TYPE_CHECKING:
    from topologies.map import Map

SVG = ".svg"

_HELP = """\
examples:
  cbn topo list
  cbn topo show geant
  cbn topo draw geant -o geant.svg
  cbn topo generate fat-tree k=4 -o tree.map
  cbn topo import Cogentco.graphml --largest -o cogent.map

`cbn topo COMMAND --help` has more about each; docs/topologies.md has pictures.
"""

_SHOW_HELP = """\
examples:
  cbn topo show abilene
  cbn topo show waxman size=100 side_km=2000 --seed 4
  cbn topo show quickstart
      the network of a scenario, with its clients
  cbn topo show Cogentco.graphml --largest --json
"""

_DRAW_HELP = """\
examples:
  cbn topo draw geant -o geant.svg
  cbn topo draw transit-stub
      into transit-stub.svg
  cbn topo draw my.yaml -o - > my.svg
      the network of a scenario, on standard output
  cbn topo draw runs/quickstart-sim-20260101T120000Z-1a2b
      that of a run

Where routers have places on earth, the drawing is a map; else the shape decides where
they stand, or their distances from each other. Hovering shows names, delays and rates.
"""

_IMPORT_HELP = """\
examples:
  cbn topo import Cogentco.graphml --largest -o cogent.map
  cbn topo import as1239.edges --keep 200
      on standard output: 200 routers around the one with the most links
  cbn topo import Janetbackbone.gml --drop external -o janet.svg

formats, known by the end of the name or by the text:
  graphml   GraphML, as in the Internet Topology Zoo        .graphml .xml
  gml       GML, likewise                                   .gml
  minindn   mini-NDN                                        .conf
  edges     edge lists: a b [delay] [rate] [cost]           .edges .csv .tsv .txt
  map       the testbed's own                               .map
and FILE.py:CLASS, a class of Mininet topologies (docs/mininet.md): its routers.

Links from a router to itself are left out, parallel links are merged; notes say so.
"""

_GENERATE_HELP = """\
examples:
  cbn topo generate fat-tree k=4
  cbn topo generate waxman size=50 side_km=1000 --seed 7 -o wax.map
  cbn topo generate transit-stub stubs=2 -o stubs.svg
  cbn topo generate barabasi-albert size=500 -o big.graphml

`cbn topo list` has all shapes with their parameters. The same shape, parameters and
seed make the same topology everywhere; in a scenario they are keys of `topology`.
"""

_OUT = """\
where to; the end of the name gives the format: .map .graphml .gml .conf .edges .svg \
(default: standard output, as .map)"""


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument("--all", action="store_true", help="routers and links one by one, however many")
    add_json(parser)


def _draw_arguments(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="where to; - for standard output (default: NAME.svg)"
    )
    add_json(parser)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to read")
    _add_wishes(parser)
    _add_file(parser)
    add_json(parser)


def _generate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shape", metavar="SHAPE", help="one of those that `cbn topo list` has")
    _add_parameters(parser)
    _add_file(parser)
    add_json(parser)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="NAME|FILE", help="a map, a shape, a scenario, a file or a run directory"
    )
    _add_parameters(parser)
    _add_wishes(parser)


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parameters", nargs="*", metavar="KEY=VALUE", help="of a shape, such as size=20")
    parser.add_argument("--seed", type=int, metavar="N", help="of shapes that are drawn (default: 1)")


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--out", metavar="FILE", help=_OUT)


def _add_wishes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", metavar="FORMAT", help="of the file: graphml, gml, minindn, edges or map")
    parser.add_argument("--largest", action="store_true", help="of a map in pieces, take the largest")
    parser.add_argument(
        "--keep", type=int, metavar="N", help="so many routers, around the one with most links"
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="TAG",
        help="leave routers with this tag out; repeatable",
    )


def _list(args: argparse.Namespace) -> int:
    from testbed.cli import topology

    return show(args.json, topology.shapes_and_maps(), topology.listing())


def _show(args: argparse.Namespace) -> int:
    from testbed.cli import topology

    drawn = topology.target_map(args)
    if args.json:
        print_json(topology.summary(drawn, whole=True))
    else:
        print(topology.description(drawn, whole=args.all))
    return exits.OK


def _draw(args: argparse.Namespace) -> int:
    from testbed.cli.topology import target_map
    from topologies.drawing import draw_svg

    drawn = target_map(args)
    out = args.out or f"{Path(args.target).stem if Path(args.target).suffix else drawn.name}{SVG}"
    if out != "-" and Path(out).suffix.lower() != SVG:
        raise exits.CommandError(f"--out {out}: expected a name that ends with {SVG}, or -")
    return _put(drawn, out, args.json, draw_svg(drawn))


def _import(args: argparse.Namespace) -> int:
    from testbed.cli.topology import imported

    return _put_map(imported(args.file, args), args)


def _generate(args: argparse.Namespace) -> int:
    from testbed.cli.topology import generated

    return _put_map(generated(args.shape, args.parameters, args.seed), args)


def _put_map(drawn: Map, args: argparse.Namespace) -> int:
    out = args.out or "-"
    return _put(drawn, out, args.json, _in_format_of(out, drawn))


def _put(drawn: Map, out: str, as_json: bool, text: str) -> int:
    """The text into a file, or on standard output; `as_json`: a description is printed instead."""
    from testbed.cli.topology import summary

    if out != "-":
        _write(Path(out), text)
        text = f"{out}: {how_many(len(drawn.nodes), 'node')}, {how_many(len(drawn.links), 'link')}\n"
    if as_json:
        print_json(summary(drawn, whole=True) if out == "-" else summary(drawn) | {"file": out})
    else:
        print(text, end="")
    for note in drawn.notes:
        print(f"note: {note}", file=sys.stderr)
    return exits.OK


def _in_format_of(out: str, drawn: Map) -> str:
    from topologies.drawing import draw_svg
    from topologies.exporters import ENDINGS, exported

    ending = Path(out).suffix.lower()
    if out == "-":
        return exported(drawn, "map")
    if ending == SVG:
        return draw_svg(drawn)
    if ending not in ENDINGS:
        known = ", ".join([*ENDINGS, SVG])
        raise exits.CommandError(
            f"--out {out}: the end of the name is of no known format; expected one of {known}"
        )
    return exported(drawn, ENDINGS[ending])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise exits.CommandError(f"--out {path}: cannot be written: {error.strerror}") from error


COMMAND = Command(
    "list, show, draw, import and generate topologies",
    group=SCENARIOS,
    help=_HELP,
    commands={
        "list": Command("list shapes and the maps that come with the testbed", add_json, _list),
        "show": Command("say what is known of a topology", _show_arguments, _show, help=_SHOW_HELP),
        "draw": Command("draw a topology as SVG", _draw_arguments, _draw, help=_DRAW_HELP),
        "import": Command(
            "read a map from a file, and write it in another format",
            _import_arguments,
            _import,
            help=_IMPORT_HELP,
        ),
        "generate": Command(
            "make a topology of a shape", _generate_arguments, _generate, help=_GENERATE_HELP
        ),
    },
)
