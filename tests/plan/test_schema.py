"""The published schema: valid, complete, and in step with the code that it speaks of."""

import dataclasses
import json
import re

import jsonschema
import pytest

from nodes.config import LimitConfig, TimerConfig
from nodes.scheme_catalog import CATALOG
from testbed.plan.model import Plan, RecordPlan, TimingPlan
from topologies.generators import SHAPES
from topologies.library import SCENARIOS, SCHEMA, map_names
from topologies.quantities import duration_ns

SCHEME = json.loads(SCHEMA.read_text(encoding="utf-8"))
DEFS = SCHEME["$defs"]


def properties(schema, where=""):
    for name, about in schema.get("properties", {}).items():
        yield f"{where}.{name}", about
        yield from properties(about, f"{where}.{name}")
    for name, about in schema.get("$defs", {}).items():
        yield f"{where}${name}", about
        yield from properties(about, f"{where}${name}")


def resolved(about):
    return {**DEFS.get(about.get("$ref", "").rpartition("/")[2], {}), **about}


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEME)


@pytest.mark.parametrize(("key", "about"), list(properties(SCHEME)))
def test_every_key_has_a_title_and_a_description_for_editors(key, about):
    found = resolved(about)
    assert found.get("title"), key
    assert found.get("description"), key


@pytest.mark.parametrize(
    ("definition", "kind"), [("timers", TimerConfig), ("limits", LimitConfig), ("record", RecordPlan)]
)
def test_the_schema_has_the_fields_and_defaults_of_the_configuration(definition, kind):
    reported = {name: about["default"] for name, about in DEFS[definition]["properties"].items()}
    if reported.get("rotate") == "never":  # people say sizes with units
        del reported["rotate"]
        reported["rotate_bytes"] = 0
    assert reported == {f.name: f.default for f in dataclasses.fields(kind)}


def test_the_schema_has_the_defaults_of_timing():
    reported = {
        f"{name}_ns": duration_ns(re.search(r"Default: (\w+)\.", about["description"])[1])
        for name, about in DEFS["timing"]["properties"].items()
    }
    assert reported == {f.name: f.default for f in dataclasses.fields(TimingPlan)}


def test_the_schema_has_the_default_hop_limit():
    field = next(f for f in dataclasses.fields(Plan) if f.name == "hop_limit")
    assert SCHEME["properties"]["hop_limit"]["default"] == field.default


def test_the_schema_has_the_schemes_and_shapes():
    assert set(DEFS["scheme_name"]["enum"]) == set(CATALOG)
    assert set(DEFS["topology"]["properties"]["generate"]["enum"]) == set(SHAPES)
    assert DEFS["topology"]["properties"]["map"]["enum"] == map_names()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_schema_bounds_parameters_no_closer_than_their_shapes_and_has_their_defaults(shape):
    for parameter in SHAPES[shape].parameters:
        about = DEFS["topology"]["properties"][parameter.name]
        assert about["type"] == ("integer" if parameter.whole else "number")
        assert about["minimum"] <= parameter.least
        assert about["maximum"] >= parameter.most
        assert about.get("default") == parameter.default


@pytest.mark.parametrize("scenario", sorted(SCENARIOS.rglob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_scenarios_lead_editors_to_the_schema(scenario):
    first = scenario.read_text(encoding="utf-8").splitlines()[0]
    target = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)[1]
    assert (scenario.parent / target).resolve() == SCHEMA
