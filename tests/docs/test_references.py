"""What the documentation points at exists: pages, headings, files, `make` targets."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
ROOMS = (
    "analysis",
    "docs",
    "fastpath",
    "nodes",
    "playbooks",
    "requirements",
    "testbed",
    "tests",
    "topologies",
)
MADE_LATER = re.compile(r"[*<>{}]|\.\.\.")


def listed(*patterns: str) -> list[Path]:
    """Tracked files that match."""
    done = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [path for name in done.stdout.split() if (path := ROOT / name).is_file()]


PAGES = listed("*.md")


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The headings of a page as the fragments that links name."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


def links(page: Path) -> Iterator[tuple[str, str]]:
    """(file, fragment) of the links that stay within the project."""
    for target in LINK.findall(prose(page).replace("\n", " ")):
        if "://" not in target and not target.startswith("mailto:"):
            file, _, fragment = target.partition("#")
            yield file, fragment


def targets() -> set[str]:
    """The targets of the Makefile that people may call."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for file, fragment in links(page):
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (fragment and fragment not in anchors(there)):
            broken.append(f"{file}#{fragment}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    spans = [span.partition("::")[0] for span in CODE.findall(prose(page))]
    named = [n for n in spans if n.split("/")[0] in ROOMS and "/" in n and " " not in n]
    missing = [n for n in named if not MADE_LATER.search(n) and not (ROOT / n).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_targets_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`|&& |\$ )make ([a-z-]+)", text, re.MULTILINE)
    assert [t for t in named if t not in targets()] == []


def test_every_page_in_docs_is_reached_from_its_contents() -> None:
    indexes = [ROOT / "docs" / name for name in ("README.md", "decisions/README.md", "experiments/README.md")]
    contents = {(index.parent / file).resolve() for index in indexes for file, _ in links(index)}
    owed = {page for page in PAGES if page.is_relative_to(ROOT / "docs") and page != ROOT / "docs/README.md"}
    assert sorted(str(p.relative_to(ROOT)) for p in owed - contents) == []


def test_pictures_are_well_formed_and_say_in_words_what_they_show() -> None:
    svg = "{http://www.w3.org/2000/svg}"
    for picture in listed("*.svg"):
        root = ET.parse(picture).getroot()
        assert root.tag == f"{svg}svg", picture
        assert root.find(f"{svg}title") is not None, picture
        assert root.find(f"{svg}desc") is not None, picture
