"""`policy`: which clients may subscribe to, publish and advertise what (decision 38).

Here: reading it. Not here: what it means, which routers decide (`nodes.routing.policy`), and the analysis for
itself (`analysis.policy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from nodes.config import PolicyConfig
from nodes.model import PredicateSyntaxError, parse_predicate
from nodes.policy import ANYTHING
from testbed.plan.groups import Groups
from testbed.plan.source import Source


def read_policy(source: Source, data: Mapping[str, Any], groups: Groups) -> dict[str, PolicyConfig]:
    """What clients may do, of those that may not do anything they like; later entries count more."""
    found: dict[str, PolicyConfig] = {}
    for selection, rule in (data.get("policy") or {}).items():
        rng = Random(f"{data.get('seed', 1)}/policy/{selection}")
        choice = groups.choice(selection, "client", ("policy", selection), rng)
        given = _predicates(source, selection, rule or {})
        for name in choice.draw() if choice is not None else ():
            found[name] = replace(found.get(name, ANYTHING), **given)
    return {name: policy for name, policy in found.items() if policy != ANYTHING}


def _predicates(source: Source, selection: str, rule: Mapping[str, str]) -> dict[str, str]:
    """Those of a rule that are predicates; the others are complained about."""
    good = {}
    for verb, text in rule.items():
        try:
            parse_predicate(text)
            good[verb] = text
        except PredicateSyntaxError as error:
            source.complain_text(("policy", selection, verb), error)
    return good
