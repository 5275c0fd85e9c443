"""Takes a router's place and attacks: `python -m tests.attacks.node --config NODE.TOML --attack NAME`.

It is what `python -m nodes` is, with another core. Start it in the router's namespace
when the router itself is not there any more.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace

from nodes.config import NodeConfig
from nodes.config_file import load_config
from nodes.daemon import main as program
from nodes.daemon import router as daemon
from nodes.daemon.clock import Clock
from nodes.routing.router import Router
from tests.attacks.attacker import ATTACKS, Attacker

DELAY_NS = 3_000_000_000
"""From its start to the attack: its adjacencies come first."""
ROUTERS = (1, 2, 3, 4, 5)


def main() -> int:
    parser = argparse.ArgumentParser(description="Take a router's place, and attack.")
    parser.add_argument("--config", required=True)
    parser.add_argument("--attack", required=True, choices=sorted(ATTACKS))
    arguments = parser.parse_args()

    def attacker(config: NodeConfig, rng: random.Random) -> Router:
        begins_ns = Clock(config.dilate, config.dilate_from_ns).now_ns() + DELAY_NS
        print(begins_ns, flush=True)  # for whoever measures from then on
        return Attacker(config, rng, ATTACKS[arguments.attack], begins_ns, ROUTERS)

    daemon.Router = attacker  # type: ignore[assignment,misc]
    config = load_config(arguments.config)
    return program.run(replace(config, admin_socket="", log_path=f"{config.log_path}.attacker"))


if __name__ == "__main__":
    raise SystemExit(main())
