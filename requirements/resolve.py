"""Write the pinned requirement files from what pyproject.toml asks for (`make pins`).

Each layer is resolved together with those under it, so that all the files can
be installed into one environment. What build tools and running need stands with
what running needs, which goes to the machines of clusters. Only pip decides on
versions; a file of constraints can hold them where they are.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
LAYERS = {
    "build": "what the package build needs",
    "runtime": "what running a network needs",
    "tables": "what decoding captures into tables needs",
    "analysis": "what analysing a run needs",
    "dev": "what tests and lint need",
    "fuzz": "what fuzzing Python needs",
}


def wanted(project: dict, layer: str) -> list[str]:
    """The requirements that pyproject.toml states for a layer."""
    extras = project["project"]["optional-dependencies"]
    return {
        # Sdists among the dependencies are built with this layer too, and pip asks for wheel then.
        "build": [*project["build-system"]["requires"], "wheel"],
        "runtime": project["project"]["dependencies"] + extras["emu"],
        "tables": extras["tables"],
        # Its first entry names the layer below.
        "analysis": extras["analysis"][1:] + extras["connect"],
        "dev": extras["cluster"] + extras["dev"],
        "fuzz": extras["fuzz"],
    }[layer]


def resolve(requirements: list[str], constraints: list[Path]) -> dict[str, str]:
    """Ask pip for name -> version of everything these requirements need."""
    options = [part for path in constraints for part in ("--constraint", str(path))]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    done = subprocess.run(
        [*command, "--report", "-", *options, *requirements], check=True, stdout=subprocess.PIPE
    )
    packages = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {normal(p["name"]): p["version"] for p in packages}


def names(requirements: list[str]) -> set[str]:
    """The packages that these requirements are of."""
    return {normal(re.split(r"[^\w.-]", text)[0]) for text in requirements}


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Resolve layer by layer and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraint", type=Path, action="append", default=[], help="keep these versions")
    constraints = parser.parse_args().constraint
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    asked: list[str] = []
    below: dict[str, str] = {}
    shipped = resolve(wanted(project, "runtime"), constraints)
    for layer, purpose in LAYERS.items():
        asked += wanted(project, layer)
        pins = resolve(asked, constraints)
        constraints.append(HERE / f"{layer}.txt")
        lines = [f"# Pinned by `make pins`: {purpose}."]
        later = shipped.keys() - names(wanted(project, "build")) if layer == "build" else ()
        listed = {name: pins[name] for name in sorted(pins) if name not in below and name not in later}
        lines += [f"{name}=={version}" for name, version in listed.items()]
        (HERE / f"{layer}.txt").write_text("\n".join(lines) + "\n")
        below |= listed
        print(f"{layer}: {len(lines) - 1} packages")


if __name__ == "__main__":
    main()
