"""Draws the pictures of real output that the README shows: `make pictures`, as root, with Chromium.

The report of the scenario `outage`, a single message in it, the comparison of some schemes and the marks of
links under `amsp`, in light and in dark, and a page of `cbn top` of a running network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from analysis.figures.svg import Figure, element, text
from tests.browser import Browser, Page, installed

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
CBN = [sys.executable, "-m", "testbed.cli"]
SCHEMES = ("light", "dark")
WIDTH = 1180
REPORT_HEIGHT, COMPARISON_HEIGHT = 1250, 1600
CHARACTER, LINE, MARGIN, BAR = 7.25, 17.0, 16.0, 30.0
LINES = 24
STYLE = """
 .window { fill: #16181b; } .bar { fill: #2b3036; } .dot { fill: #5b626b; }
 text { font: 12px ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; fill: #e9e6e0; white-space: pre; }
 .head { fill: #7fb2ea; font-weight: 600; } .title { fill: #a19c94; }
"""


def main() -> int:
    """Draw all."""
    if installed() is None or os.geteuid() != 0:
        print("Drawing the pictures needs root and Chromium: apt install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        draw_report(Path(folder))
        draw_comparison(Path(folder))
        draw_marks(Path(folder))
        draw_top(Path(folder))
    return 0


def draw_report(folder: Path) -> None:
    """The first screen of a report."""
    run(*CBN, "run", "outage", "--world", "sim", "--analyze", "--quiet", "--out", str(folder / "outage"))
    with Browser() as browser:
        for scheme in SCHEMES:
            page = browser.open(folder / "outage" / "report.html", width=WIDTH, height=REPORT_HEIGHT)
            page.prefer(scheme)
            save(page, f"report-{scheme}.png")
            page.value("document.getElementById('message-kind').value = 'lost'")
            page.value("document.getElementById('message-kind').dispatchEvent(new Event('change'))")
            page.click("#message-list button")
            save(page, f"message-{scheme}.png", "#messages")


def draw_comparison(folder: Path) -> None:
    """The page over the runs of a matrix with several seeds."""
    shipped = (ROOT / "topologies" / "scenarios" / "schemes.yaml").read_text(encoding="utf-8")
    scenario, out = folder / "schemes.yaml", folder / "schemes"
    about = "The same network and workload under four routing schemes"
    text = shipped.replace("size: [10, 20]", "repeat: 5").replace(
        f"{about}, at two sizes: one file, eight runs", about
    )
    scenario.write_text(text.replace(", one table.", ", five seeds each."), encoding="utf-8")
    run(*CBN, "run", str(scenario), "--world", "sim", "--analyze", "--quiet", "--out", str(out))
    with Browser() as browser:
        for scheme in SCHEMES:
            page = browser.open(out / "compare.html", width=WIDTH, height=COMPARISON_HEIGHT)
            page.prefer(scheme)
            save(page, f"compare-{scheme}.png")


def draw_marks(folder: Path) -> None:
    """Which links are marked how in the scenario `dis` under `amsp`, and what that takes."""
    options = ["--set", "scheme.name=amsp", "--set", "scheme.interval_ms=1000"]
    out = folder / "dis"
    run(*CBN, "run", "dis", "--world", "sim", *options, "--analyze", "--quiet", "--out", str(out))
    with Browser() as browser:
        for scheme in SCHEMES:
            page = browser.open(out / "report.html", width=WIDTH)
            page.prefer(scheme)
            tables = "document.querySelectorAll('#matchmaker table')"
            page.value(f"{tables}.forEach(e => e.closest('.scroll').parentElement.remove())")
            save(page, f"marks-{scheme}.png", "#matchmaker")


def save(page: Page, name: str, selector: str | None = None) -> None:
    """What a page shows, as a picture of the README or the docs."""
    page.screenshot(PICTURES / name, selector)
    print((PICTURES / name).relative_to(ROOT))


def draw_top(folder: Path) -> None:
    """What `cbn top` shows of a network in which messages are published."""
    out = ["--out", str(folder / "top"), "--name", "geant-storm"]
    run(*CBN, "up", "geant-storm", "--set", "scheme=cbcb", "--workload", "--quiet", *out)
    try:
        time.sleep(8)  # the storm has begun
        page = run(*CBN, "top", "--once", "--sort", "deliveries", "--run", "geant-storm")
    finally:
        run(*CBN, "down", "geant-storm")
    picture = PICTURES / "top.svg"
    picture.write_text(terminal("cbn top --sort deliveries", page.splitlines()[:LINES]), encoding="utf-8")
    print(picture.relative_to(ROOT))


def terminal(command: str, lines: list[str]) -> str:
    """Lines of text as a picture of a terminal."""
    width = 2 * MARGIN + CHARACTER * max(map(len, lines))
    height = BAR + 2 * MARGIN + LINE * len(lines)
    dots = [element("circle", cx=18.0 + 16 * i, cy=BAR / 2, r=5, class_="dot") for i in range(3)]
    body = [
        element("style", STYLE),
        element("rect", width=width, height=height, rx=8, class_="window"),
        element("rect", width=width, height=BAR, rx=8, class_="bar"),
        *dots,
        element("text", text(command), x=76.0, y=BAR / 2 + 4, class_="title"),
    ]
    for number, line in enumerate(lines):
        style = "head" if line.startswith(("ROUTER", "CLIENT")) else None
        y = BAR + MARGIN + LINE * (number + 0.75)
        body.append(element("text", text(line), x=MARGIN, y=y, class_=style))
    figure = Figure(
        "terminal", command, "A page of cbn top of a running network.", width, height, "".join(body)
    )
    return figure.to_svg() + "\n"


def run(*command: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
