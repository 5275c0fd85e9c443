"""The words of `cbn topo`. Imports no command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_TOPO = """\
examples:
  cbn topo list
  cbn topo show geant
  cbn topo draw geant -o geant.svg
  cbn topo generate fat-tree k=4 -o tree.map
  cbn topo import Cogentco.graphml --largest -o cogent.map

`cbn topo COMMAND --help` says more of each; docs/topologies.md has pictures.
"""

_SHOW = """\
examples:
  cbn topo show abilene
  cbn topo show waxman size=100 side_km=2000 --seed 4
  cbn topo show quickstart
      the network of a scenario, with its clients
  cbn topo show Cogentco.graphml --largest --json
"""

_DRAW = """\
examples:
  cbn topo draw geant -o geant.svg
  cbn topo draw transit-stub
      into transit-stub.svg
  cbn topo draw my.yaml -o - > my.svg
      the network of a scenario, on standard output
  cbn topo draw runs/quickstart-sim-20260101T120000Z-1a2b
      that of a run

Where routers have places on earth, the drawing is a map; else the shape says where
they stand, or their distances from each other. Hovering shows names, delays and rates.
"""

_IMPORT = """\
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

Links from a router to itself are left out, parallel links are merged; notes say so.
"""

_GENERATE = """\
examples:
  cbn topo generate fat-tree k=4
  cbn topo generate waxman size=50 side_km=1000 --seed 7 -o wax.map
  cbn topo generate transit-stub stubs=2 -o stubs.svg
  cbn topo generate barabasi-albert size=500 -o big.graphml

`cbn topo list` has all shapes with their parameters. The same shape, parameters and
seed make the same topology everywhere; in a scenario they are keys of `topology`.
"""

_OUT = "where to; the end of the name says the format: .map .graphml .gml .conf .edges .svg (default: {})"


def add_topo(commands: Any, command: Callable[..., Any], json: Callable[..., Any]) -> None:
    """`cbn topo` and its commands; `command` makes a subcommand, `json` gives it --json."""
    topo = command(commands, "topo", "list, show, draw, import and generate topologies", _TOPO)
    inner = topo.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listed = _made(inner, command, "list", "list shapes and the maps that come with the testbed")
    shown = _made(inner, command, "show", "say what is known of a topology", _SHOW)
    drawn = _made(inner, command, "draw", "draw a topology as SVG", _DRAW)
    read = _made(inner, command, "import", "read a map from a file, and write it in another format", _IMPORT)
    made = _made(inner, command, "generate", "make a topology of a shape", _GENERATE)
    for each in (shown, drawn):
        each.add_argument(
            "target", metavar="NAME|FILE", help="a map, a shape, a scenario, a file or a run directory"
        )
    _parameters(shown, drawn)
    read.add_argument("file", type=Path, metavar="FILE", help="the file to read")
    made.add_argument("shape", metavar="SHAPE", help="one of those that `cbn topo list` has")
    _parameters(made)
    for each in (shown, drawn, read):
        _wishes(each)
    for each in (shown, drawn, made):
        each.add_argument("--seed", type=int, metavar="N", help="of shapes that are drawn (default: 1)")
    shown.add_argument("--all", action="store_true", help="routers and links one by one, however many")
    drawn.add_argument(
        "-o", "--out", metavar="FILE", help="where to; - for standard output (default: NAME.svg)"
    )
    for each in (read, made):
        each.add_argument("-o", "--out", metavar="FILE", help=_OUT.format("standard output, as .map"))
    for each in (listed, shown, drawn, read, made):
        json(each)


def _made(inner: Any, command: Callable[..., Any], name: str, summary: str, epilog: str = "") -> Any:
    made = command(inner, name, summary, epilog, module="topo")
    made.set_defaults(function=f"topo_{name}")
    return made


def _parameters(*made: Any) -> None:
    for each in made:
        each.add_argument("parameters", nargs="*", metavar="KEY=VALUE", help="of a shape, such as size=20")


def _wishes(made: Any) -> None:
    made.add_argument("--format", metavar="FORMAT", help="of the file: graphml, gml, minindn, edges or map")
    made.add_argument("--largest", action="store_true", help="of a map in pieces, take the largest")
    made.add_argument("--keep", type=int, metavar="N", help="so many routers, around the one with most links")
    made.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="TAG",
        help="leave routers with this tag out; repeatable",
    )
