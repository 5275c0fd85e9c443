"""When: phases, and moments that are said by them (`storm + 1s`).

Here: reading both. Not here: what happens then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.plan.model import Phase
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.quantities import duration_ns

RESERVED = ("converged", "end", "recovery", "start")
"""Words that mean something where a phase's name may stand."""

_MOMENT = re.compile(
    r"(?P<end>end of )?(?P<phase>[a-z][a-z0-9_-]*)(?: +(?P<sign>[+-]) +(?P<by>[0-9.]+[a-z]+))?"
)


@dataclass(frozen=True, slots=True)
class Times:
    """The phases of a scenario, and the way from words to times."""

    source: Source
    phases: tuple[Phase, ...] = ()

    def moment(self, spec: str, key: Key) -> int:
        """The time that is meant, from the start of the run; 0 and a complaint if there is none."""
        if spec[:1].isdigit():
            return duration_ns(spec)
        found = _MOMENT.fullmatch(spec.strip())
        phase = self.phase(found["phase"], key) if found else None
        if found is None or phase is None:
            return 0
        base_ns = phase.end_ns if found["end"] else phase.start_ns
        at_ns = (
            base_ns + duration_ns(found["by"]) * (-1 if found["sign"] == "-" else 1)
            if found["by"]
            else base_ns
        )
        if at_ns < 0:
            self.source.complain(key, f"{spec} is before the run starts", "a time from the start on")
            return 0
        return at_ns

    def phase(self, name: str, key: Key) -> Phase | None:
        """The phase of that name; None and a complaint if there is none."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        names = [phase.name for phase in self.phases]
        expected = f"one of {', '.join(names)}" if names else "a phase that `phases` names"
        self.source.complain(key, f"there is no phase {name}", expected, did_you_mean(name, names))
        return None


def read_times(source: Source, data: Mapping[str, Any]) -> Times:
    """The scenario's phases, one after the other from its start on."""
    phases: list[Phase] = []
    start_ns = 0
    for position, spec in enumerate(data.get("phases") or []):
        key: Key = ("phases", position)
        if spec is None or "name" not in spec or "lasts" not in spec:
            continue
        end_ns = start_ns + duration_ns(spec["lasts"])
        _check(source, spec, key, phases, end_ns - start_ns)
        phases.append(Phase(spec["name"], start_ns, end_ns))
        start_ns = end_ns
    return Times(source, tuple(phases))


def _check(source: Source, spec: Mapping[str, Any], key: Key, before: Sequence[Phase], lasts_ns: int) -> None:
    name = spec["name"]
    if name in RESERVED:
        source.complain((*key, "name"), f"{name} means something else already", "another name")
    if name in [phase.name for phase in before]:
        source.complain((*key, "name"), f"there is a phase {name} already", "names that are unique")
    if lasts_ns == 0:
        source.complain((*key, "lasts"), "the phase takes no time", "a duration above zero")
