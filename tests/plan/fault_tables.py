"""What the table of fault kinds makes of the scenario's schema and of the reference."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from topologies.fault_kinds import KINDS, FaultKind

REFERENCE = Path(__file__).parents[2] / "docs" / "scenario-reference.md"
_BEGIN, _END = "<!-- fault kinds, from topologies/fault_kinds.py -->\n\n", "\n<!-- end of fault kinds -->"
_CONDITIONS = ("at", "when", "after", "for")
_SELECTION = {"$ref": "#/$defs/selection"}


def schema_text(text: str) -> str:
    """The schema's text with the definitions of faults by the table."""
    definitions = json.loads(text)["$defs"]
    fault = definitions["fault"]
    conditions = {key: fault["properties"][key] for key in _CONDITIONS}
    fault["properties"] = {**conditions, **{kind.name: _property(kind) for kind in KINDS.values()}}
    made = {"fault": fault}
    for kind in KINDS.values():
        if kind.argument in ("repeat", "impairment"):
            made[kind.name] = {**definitions[kind.name], "description": kind.description}
        if kind.argument == "attack":
            made[kind.name] = _attack(kind)
    for name, definition in made.items():
        old = re.compile(rf'^    "{name}": \{{$.*?^    \}}', re.MULTILINE | re.DOTALL)
        new = f'    "{name}": {_json(definition)}'
        text = old.sub(lambda _, new=new: new, text, count=1)  # type: ignore[misc]
    return text


def reference_text(text: str) -> str:
    """The reference's text with the table of kinds."""
    before, _, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert end, f"{REFERENCE} has no place for the table"
    rows = (_row(kind) for kind in KINDS.values())
    table = "| key | of | what happens | repaired by |\n|---|---|---|---|\n" + "".join(rows)
    return f"{before}{_BEGIN}{table}{_END}{after}"


def _property(kind: FaultKind) -> dict[str, Any]:
    about = {"title": kind.name.replace("_", " ").capitalize(), "description": kind.description}
    match kind.argument:
        case "selection":
            return {**about, **_SELECTION}
        case "flag":
            return {**about, "type": "boolean"}
        case "groups":
            several = {"type": ["string", "array"], "minItems": 1, "items": _SELECTION}
            return {**about, **several, "errorMessage": f"a group of {kind.target}s, or a list of groups"}
        case _:
            return {"$ref": f"#/$defs/{kind.name}"}


def _attack(kind: FaultKind) -> dict[str, Any]:
    """The definition of an attack."""
    about = kind.attacking
    assert about is not None
    target = kind.target.capitalize()
    words = ", ".join(about.ways)
    usual = "all" if about.usual == about.ways else ", ".join(about.usual)
    properties: dict[str, Any] = {
        kind.target: {"title": target, "description": f"The {kind.target}s: a selection.", **_SELECTION},
        "by": {
            "title": "Ways",
            "description": f"How: one or several of {words}. Default: {usual}.",
            "type": ["string", "array"],
            "minItems": 1,
            "items": {"title": "Way", "description": f"One of {words}.", "type": "string"},
            "errorMessage": f"one of {words}, or a list of these",
        },
    }
    if about.counted:
        properties["times"] = {
            "title": "How often",
            "description": "How many single acts there are.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000000,
        }
        properties["every"] = {
            "title": "Period",
            "description": "The time from one act to the next.",
            "$ref": "#/$defs/duration",
        }
    else:
        properties["share"] = {
            "title": "Share",
            "description": "Of how many packets something becomes; the others pass. Default: 1, of all.",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
        }
    return {
        "title": kind.name.capitalize(),
        "description": kind.description,
        "type": "object",
        "required": [kind.target, *(["times", "every"] if about.counted else [])],
        "additionalProperties": False,
        "properties": properties,
    }


def _row(kind: FaultKind) -> str:
    repaired_by = f"`{kind.repaired_by}`" if kind.repaired_by else ""
    return f"| `{kind.name}` | {kind.target}s | {kind.description} | {repaired_by} |\n"


def _json(definition: dict[str, Any]) -> str:
    """A definition as it stands in the schema: references and short lists take one line."""
    text = json.dumps(definition, indent=2, ensure_ascii=False)
    text = re.sub(r'\{\s*("\$ref": "[^"]*")\s*\}', r"{\1}", text)
    text = re.sub(r'\[\s*("[^][{}]*")\s*\]', lambda found: f"[{' '.join(found[1].split())}]", text)
    return text.replace("\n", "\n    ")
