"""The examples of the reference pages are run, and the pages leave nothing out."""

import json
import re
from pathlib import Path

import pytest

from nodes.model import (
    Op,
    PredicateSyntaxError,
    Type,
    matches,
    parse_filter,
    parse_message,
    parse_predicate,
)
from testbed.plan.load import load_plan
from topologies.library import SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
SCENARIOS = (DOCS / "scenario-reference.md").read_text(encoding="utf-8")
PREDICATES = (DOCS / "predicate-syntax.md").read_text(encoding="utf-8")
BASE = {
    "name": "name: example",
    "topology": "topology: {routers: [r1, r2], links: [r1 - r2]}",
}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def lines(language):
    return [line for block in blocks(PREDICATES, language) for line in block.splitlines()]


@pytest.mark.parametrize("example", blocks(SCENARIOS, "yaml"))
def test_examples_of_the_scenario_reference_load(example, tmp_path):
    missing = [text for key, text in BASE.items() if not re.search(rf"^{key}:", example, re.MULTILINE)]
    path = tmp_path / "example.yaml"
    path.write_text("\n".join([*missing, example]), encoding="utf-8")
    load_plan(path)


def keys(schema):
    for name, about in schema.get("properties", {}).items():
        yield name
        yield from keys(about)
    for about in schema.get("$defs", {}).values():
        yield from keys(about)


@pytest.mark.parametrize("key", sorted(set(keys(json.loads(SCHEMA.read_text(encoding="utf-8"))))))
def test_the_scenario_reference_has_every_key_of_the_schema(key):
    assert f"`{key}`" in SCENARIOS


def test_the_defaults_in_the_scenario_reference_are_the_schema_s():
    defs = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    for table in ("timers", "limits", "record"):
        for key, about in defs[table]["properties"].items():
            assert f"| `{key}` | {json.dumps(about['default'])} |" in SCENARIOS


@pytest.mark.parametrize(
    ("language", "parse"),
    [("predicate", parse_predicate), ("message", parse_message)],
)
def test_examples_of_the_predicate_syntax_are_read(language, parse):
    assert lines(language)
    for line in lines(language):
        parse(line)


def test_the_table_of_matches_is_true():
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (match|no match) \|$", PREDICATES, re.MULTILINE)
    assert len(rows) > 5
    for predicate, message, verdict in rows:
        assert matches(parse_predicate(predicate), parse_message(message)) is (verdict == "match"), predicate


def test_the_examples_of_values_have_the_types_they_are_shown_for():
    rows = re.findall(r"^\| (\w+) \| (`.+?`) \| [^|]*\|$", PREDICATES, re.MULTILINE)
    assert [kind for kind, _ in rows] == [kind.text for kind in Type]
    for kind, examples in rows:
        for example in re.findall(r"`(.+?)`", examples):
            assert parse_filter(f"x = {example}").constraints[0].type.text == kind


def test_every_operator_and_type_is_listed():
    for op in Op:
        assert f"`{op.text}`" in PREDICATES
    for kind in Type:
        assert kind.text in PREDICATES


@pytest.mark.parametrize("example", blocks(PREDICATES, "error"))
def test_the_errors_shown_are_the_errors_made(example):
    text, _, reported = example.rstrip("\n").partition("\n")
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_predicate(text)
    assert str(caught.value) == reported
