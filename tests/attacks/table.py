"""What attacks do under each mode of `security`, from runs: the tables of docs/security.md.

    python -m tests.attacks.table                    # every attack, in the simulator: minutes
    python -m tests.attacks.table --packets 1000000  # that many packets of an attacker on a link, with seals

The network is that of the scenario `attacks/forge`: a ring of six routers, with an attacker on the link
between r1 and r2, or in the place of r2, which has no client.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from analysis.oracle import judge_events, oracle_of
from nodes.routing.router import Router
from testbed.plan.load import plan_of
from testbed.sim.simulation import Simulation
from tests.attacks.played import ATTACKS, MESSAGES, REFUSED, Played, play

REQUIRED = {"neighbours": "required"}
MODES: Mapping[str, Mapping[str, object]] = {
    **{mode: {"security": {"neighbours": mode}} for mode in ("off", "permissive", "required")},
    "messages": {"security": {**REQUIRED, "messages": "required"}},
    "signed": {"security": {**REQUIRED, "records": "signed"}},
    "shares": {"security": REQUIRED, "limits": {"changes_per_second": 50}},
}
"""What a scenario has of security, by the mode's name."""
ON_LINK = "{do} r1 - r2 {times} times every {every} by {by}"
FLOOD = "{{do}} {} {{times}} times every {{every}} by {{by}}"
LASTING = "{do} r2 by {by} for 4s"
ROWS = (
    *((ON_LINK, "forge", by) for by in ("hello", "number", "links", "interest", "withdraw", "mutate")),
    *((ON_LINK, "replay", by) for by in ("hello", "control")),
    *(
        (ON_LINK, *attack)
        for attack in (("forge", "message"), ("forge", "mutate_message"), ("replay", "message"))
    ),
    *(
        (FLOOD.format(who), "flood", by)
        for who, by in (("r2", "records"), ("ben", "filters"), ("ben", "changes"))
    ),
    *((LASTING, "mute", by) for by in ("hello", "control, ack", "message")),
    *((LASTING, "lie", by) for by in ("drop", "duplicate", "rewrite", "attract", "slander")),
)
HEAD = (
    "attack",
    "security",
    "acts",
    "sessions ended",
    "FIBs more",
    "outdone",
    "honest",
    "through",
    "settles",
    "refused",
)


@dataclass(frozen=True, slots=True)
class Row:
    """What an attack came to in one mode."""

    attack: str
    mode: str
    acts: int
    ended: int
    """Sessions between neighbours."""
    installed: int
    """FIBs that routers made, more than without the attack."""
    outdone: int
    """Records in their own name that routers had to go above."""
    damage: Mapping[str, str]
    """By side, in words."""
    settled: bool
    """Whether the network settled again within a minute of the attack's end."""
    refused: int
    """Packets that were dropped for their seals or above a share, and records for their signatures."""

    def cells(self) -> list[str]:
        counts = (f"{n:,}" for n in (self.acts, self.ended, self.installed, self.outdone))
        return [
            self.attack,
            self.mode,
            *counts,
            *self.damage.values(),
            "yes" if self.settled else "no",
            f"{self.refused:,}",
        ]


def scenario(fault: str | None, mode: str, **more: Any) -> dict[str, Any]:
    """The scenario `attacks/forge` with another attack, or none."""
    read: dict[str, Any] = YAML(typ="safe").load((ATTACKS / "forge.yaml").read_text(encoding="utf-8"))
    faults = [] if fault is None else [{"at attack": fault}]
    return {**read, "faults": faults, **deepcopy(MODES[mode]), "expect": [], **more}


def row(folder: Path, fault: str | None, name: str, mode: str, without: int = 0) -> Row:
    """Run it, and count."""
    path = folder / "attack.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(scenario(fault, mode), file)
    with TemporaryDirectory(dir=folder) as out:
        found = play(path, Path(out) / "run")
        return _counted(found, name, mode, without)


def _counted(found: Played, name: str, mode: str, without: int) -> Row:
    installed = sum(status["core"]["fib_serial"] for status in found.statuses.values())
    attacks = (found.verdict["attacks"] or {}).get("attacks", ())
    refused = found.drops()
    taken = refused["no_seal"] if mode == "permissive" else 0  # counted, and taken nevertheless
    return Row(
        name,
        mode,
        sum(each["acts"] for each in attacks),
        found.logged("adjacency_down"),
        installed - without,
        sum(status["core"]["superseded"] for status in found.statuses.values()),
        {side: _damage((found.verdict["attacks"] or {}).get(side, {})) for side in ("honest", "through")},
        found.complete,
        sum(refused[reason] for reason in (*REFUSED, "over_share")) - taken,
    )


def _damage(counts: Mapping[str, int]) -> str:
    wrong = [f"{counts[k]:,} {k}" for k in ("missing", "duplicate", "spurious") if counts.get(k)]
    return f"{', '.join(wrong) or '0'} of {counts['owed']:,}" if counts.get("owed") else "none owed"


def rows(
    folder: Path, times: int, every: str, chosen: Iterable[tuple[str, str, str]] = ROWS
) -> Iterator[Row]:
    """Every attack in every mode; floods alone have to do with shares."""
    without = {mode: row(folder, None, "", mode).installed for mode in MODES}
    for form, do, by in chosen:
        fault = form.format(do=do, times=times, every=every, by=by)
        for mode in [mode for mode in MODES if do == "flood" or mode != "shares"]:
            yield row(folder, fault, f"{do}: {by}", mode, without[mode])


def _shown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True, slots=True)
class Endured:
    """What came of very many packets of an attacker on a link whose ends have seals."""

    acts: int
    changed: int
    """Routers that know, or forward by, anything else than before the attack."""
    owed: int
    wrong: int
    refused: Mapping[str, int]
    processor_us: float
    """For each packet, with all that the simulator does for it."""
    grown_bytes: int
    """By how much the process has grown meanwhile."""


def endure(packets: int, every: str = "20us") -> Endured:
    """Forge, change, cut short and repeat so many packets, in a network where nothing else changes."""
    half, lasts = packets // 2, f"{packets * 10 // 1_000_000 + 4}s"
    phases = [{"name": name, "lasts": each} for name, each in (("before", "2s"), ("attack", lasts))]
    ways = {
        "forge": "hello, number, links, interest, withdraw, mutate, message",
        "replay": "hello, control, message",
    }
    faults = [{"at attack": f"{do} r1 - r2 {half} times every {every} by {by}"} for do, by in ways.items()]
    made = scenario(None, "messages", faults=faults, phases=phases, record={"captures": False})
    return _endured(made)


def _endured(made: dict[str, Any]) -> Endured:
    plan, events = plan_of(made, "endured"), list[dict[str, Any]]()
    simulation = Simulation(plan, "endured", events.append)
    simulation.get_ready()
    before, began, held = _known(simulation), time.process_time(), _resident_bytes()
    simulation.work()
    simulation.drain()
    took, grown = time.process_time() - began, _resident_bytes() - held
    after = _known(simulation)
    ids = {node.name: node.node_id for node in plan.nodes}
    judged = judge_events(oracle_of(plan, events, simulation.start_ns), events, ids).counts
    acts = sum(event["acts"] for event in events if event["event"] == "attacked")
    drops: Counter[str] = Counter()
    for router in simulation.network.routers:
        dropped: Any = router.final_status()["drops"]
        drops.update(dropped["control"])
        for reason in ("MALFORMED", *MESSAGES):
            drops[reason] += dropped["forwarding"][reason]
    changed = sum(before[name] != after[name] for name in before)
    return Endured(acts, changed, judged.owed, judged.wrong, dict(drops), took / acts * 1e6, grown)


def _known(simulation: Simulation) -> dict[str, tuple[object, ...]]:
    """All that routing depends on, by router, and which sessions it has."""
    keys = ("link_state_digest", "interest_digest", "routers_known", "fib_serial", "settled")
    return {name: _of(core, keys) for name, core in simulation.network.cores.items()}


def _of(core: Router, keys: Iterable[str]) -> tuple[object, ...]:
    status = core.status()
    sessions = [(link.up, link.incarnation) for link in core.links]
    return (*(status[key] for key in keys), core.tables(), sessions)


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def main() -> None:
    parser = argparse.ArgumentParser(description="Attack a network, and print what came of it.")
    parser.add_argument("--packets", type=int, help="so many packets of an attacker on a link, with seals")
    parser.add_argument("--times", type=int, default=2000, help="acts of each attack of the table")
    arguments = parser.parse_args()
    if arguments.packets:
        print(json.dumps(asdict(endure(arguments.packets))))
        return
    print(_shown(HEAD), _shown("---" for _ in HEAD), sep="\n")
    with TemporaryDirectory() as folder:
        for each in rows(Path(folder), arguments.times, "2ms"):
            print(_shown(each.cells()), flush=True)


if __name__ == "__main__":
    main()
