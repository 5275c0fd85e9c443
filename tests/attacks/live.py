"""Plays attacks against routers in network namespaces, and counts: `make test-attacks`. Needs root.

The network is that of `tests.attacks.campaign`. A publisher sends 50 messages a second all the
time. r5 is killed, and a process that attacks takes its place (`tests.attacks.node`). What is
counted is what the clients' logs say: everything published must arrive once.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodes.convergence import unconverged
from tests.attacks.attacker import ATTACKS, TICK_NS, Attack
from tests.attacks.node import DELAY_NS
from tests.emu.terminals import Terminal

ROUTERS = ("r1", "r2", "r3", "r4")
CLIENTS = {"publisher": "r1", "s2": "r2", "s3": "r3", "s4": "r4"}
EVERY_MS = 20
HEAD = ("attack", "item", "owed", "lost", "twice", "exits", "grown by", "log lines", "well after")
PATIENCE_S = 30.0


class Played:
    """One attack on one network."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.attack = name, ATTACKS[name]
        self.terminal = Terminal(folder, f"attack-{os.getpid()}")

    def play(self) -> tuple[str, ...]:
        """A row of the table."""
        terminal = self.terminal
        terminal.up(scenario=scenario(self.attack))
        try:
            return self._attack()
        finally:
            terminal.type("down", "-q", self.terminal.found().run_id)

    def _attack(self) -> tuple[str, ...]:
        terminal, seconds = self.terminal, self.attack.ticks * TICK_NS / 1e9
        terminal.on("node", "r5", "crash")
        config = str(terminal.out / "config" / "r5.toml")
        command = [sys.executable, "-m", "tests.attacks.node", "--config", config, "--attack", self.name]
        attacker = terminal.start("attach", "--run", terminal.name, "r5", "--", *command)
        assert attacker.stdout is not None
        ends = int(attacker.stdout.readline()) / 1e9 + seconds
        time.sleep(DELAY_NS / 2e9)  # its adjacencies come up before anything is counted
        before = self._memory()
        count = str(int((seconds + 4 + (20 if self.name.startswith("climb") else 0)) * 1000 / EVERY_MS))
        publishing = ["pub", "--run", terminal.name, "publisher", "a = 2", "--count", count]
        publisher = terminal.start(*publishing, "--every", f"{EVERY_MS}ms")
        grown = self._watch(ends, before)
        well = self._wait_until_well(ends)
        publisher.communicate(timeout=120)
        attacker.terminate()
        attacker.communicate(timeout=30)
        time.sleep(1)  # what is on its way arrives
        owed, lost, twice = self._deliveries()
        figures = (owed, lost, twice, self._exits(), grown, self._log_lines())
        return (self.name, str(self.attack.item), *(f"{each:,}" for each in figures), well)

    def _watch(self, ends: float, before: Mapping[str, int]) -> int:
        """The most that a router's memory grows."""
        grown = 0
        while time.time() < ends:
            memory = self._memory()
            grown = max([grown, *(memory[name] - before[name] for name in memory if name in before)])
            time.sleep(0.5)
        return grown

    def _wait_until_well(self, since: float) -> str:
        while time.time() < since + PATIENCE_S:
            if not self._reasons():
                return f"{max(0.0, time.time() - since):.1f} s"
            time.sleep(0.2)
        return "never"

    def _reasons(self) -> list[str]:
        statuses = {name: self._status(name) for name in (*ROUTERS, *CLIENTS)}
        gone = [f"{name} is not there" for name, status in statuses.items() if status is None]
        return gone or unconverged({name: status for name, status in statuses.items() if status is not None})

    def _status(self, name: str) -> dict[str, Any] | None:
        run = self.terminal.found()
        try:
            with socket.socket(socket.AF_UNIX) as asked:
                asked.settimeout(5)
                asked.connect(str(run.folder / f"{run.record['nodes'][name]['id']}.sock"))
                asked.sendall(b'{"do": "status"}\n')
                answer = asked.makefile().readline()
        except OSError:
            return None
        return dict(json.loads(answer)["result"]["core"])

    def _memory(self) -> dict[str, int]:
        """Resident bytes of every router."""
        found = {}
        for pid in self.terminal.processes(self.terminal.found().run_id):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            name = next((Path(w.decode()).stem for w in words if w.endswith(b".toml")), "")
            if name in ROUTERS:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                found[name] = pages * os.sysconf("SC_PAGESIZE")
        return found

    def _deliveries(self) -> tuple[int, int, int]:
        events = [json.loads(line) for p in self._files("*events*") for line in p.read_text().splitlines()]
        sent = {e["sequence"] for e in events if e.get("event") == "publish"}
        arrived = Counter((e["node"], e["sequence"]) for e in events if e.get("event") == "deliver")
        owed = [(name, number) for name in CLIENTS if name != "publisher" for number in sent]
        lost = sum(each not in arrived for each in owed)
        return len(owed), lost, sum(count - 1 for count in arrived.values())

    def _exits(self) -> int:
        return sum('"defect"' in p.read_text() for name in ROUTERS for p in self._files(f"{name}.jsonl"))

    def _log_lines(self) -> int:
        return sum(len(p.read_text().splitlines()) for name in ROUTERS for p in self._files(f"{name}.jsonl"))

    def _files(self, pattern: str) -> list[Path]:
        return [path for path in self.terminal.out.rglob(pattern) if path.is_file()]


def scenario(attack: Attack) -> str:
    """The network of the campaign, as a scenario."""
    clients = "".join(
        f"  {name}: {{at: {at}" + ("" if name == "publisher" else ", subscribe: ['a > 1']") + "}\n"
        for name, at in CLIENTS.items()
    )
    return f"""
name: attacked
scheme: {attack.scheme}
topology:
  routers: [r1, r2, r3, r4, r5]
  links: [r1 - r2, r2 - r3, r3 - r4, r4 - r5, {{between: [r5, r1], cost: 5}}]
clients:
{clients}"""


def play(name: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return Played(name, Path(folder)).play()


def main() -> None:
    parser = argparse.ArgumentParser(description="Play attacks against routers in network namespaces.")
    parser.add_argument("--only", choices=sorted(ATTACKS), action="append")
    names = parser.parse_args().only or list(ATTACKS)
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    for name in names:
        print("| " + " | ".join(play(name)) + " |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.TimeoutExpired as error:
        raise SystemExit(f"a command did not end: {error.cmd}") from None
