"""The program `python -m nodes --config node.toml`: one router or client until it is asked to stop.

Exit codes: 0 stopped as asked; 2 the configuration is wrong; 3 an address or
socket cannot be had; 70 a defect, with its traceback in the log.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from random import Random

from nodes.config import NodeConfig
from nodes.config_file import ConfigError, load_config, load_script
from nodes.daemon.admin import AdminServer, Command, Request, RequestError
from nodes.daemon.clock import Clock
from nodes.daemon.journal import Journal
from nodes.daemon.loop import Loop
from nodes.daemon.shell import Node, status_of, write_status
from nodes.daemon.sockets import BindError
from nodes.model import UsageError
from nodes.records import RecordError
from nodes.wire.packets import Role

EXIT_CONFIG = 2
EXIT_BIND = 3
EXIT_DEFECT = 70


MakeNode = Callable[[NodeConfig, Clock, Journal], Node]


def main(arguments: Sequence[str] | None = None, make: MakeNode | None = None) -> int:
    """Run one node; returns the exit code.

    Args:
        arguments: Of the command line; by default this process's.
        make: Makes the node; by default one that is honest.
    """
    parser = argparse.ArgumentParser(prog="python -m nodes", description="Run one router or client.")
    parser.add_argument("--config", required=True, metavar="NODE.TOML", help="what this node is to be")
    path = parser.parse_args(arguments).config
    try:
        return run(load_config(path), make)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CONFIG
    except UsageError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return EXIT_CONFIG
    except BindError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return EXIT_BIND


def run(config: NodeConfig, make: MakeNode | None = None) -> int:
    """Run a node until SIGTERM, SIGINT or the admin's `stop`; returns the exit code."""
    clock = Clock(config.dilate, config.dilate_from_ns)
    log = Journal(config.log_path)
    node = (make or make_node)(config, clock, log)
    loop = Loop(clock)
    loop.stop_on(signal.SIGTERM, signal.SIGINT)
    try:
        serve(node, loop)
    except Exception as error:
        node.shell.log("defect", error=repr(error), traceback=traceback.format_exc())
        print(f"{config.name}: defect: {error!r}; the traceback is in {config.log_path}", file=sys.stderr)
        return EXIT_DEFECT
    finally:
        log.close()
    return 0


def serve(node: Node, loop: Loop) -> None:
    """Attach the node and loop until stopped, then take down in order."""
    path = node.shell.config.admin_socket
    admin = AdminServer(path, loop, commands(node, loop)) if path else None
    try:
        node.attach(loop)
        loop.run(node.tick)
        node.shell.log("stopped")
        write_status(node, loop)
    finally:
        if admin is not None:
            admin.close()
        node.close()
        loop.close()


def make_node(config: NodeConfig, clock: Clock, log: Journal) -> Node:
    """The router or client that the configuration asks for. Each imports only what it needs."""
    rng = Random(f"{config.seed}/node/{config.name}/{clock.now_ns()}")
    if config.role is Role.ROUTER:
        from nodes.daemon.router import RouterNode

        return RouterNode(config, rng, clock, log)
    from nodes.client.core import ClientCore
    from nodes.daemon.client import ClientNode

    actions = load_script(config.script_path) if config.script_path else ()
    return ClientNode(config, actions, ClientCore(config, rng), clock, log)


def commands(node: Node, loop: Loop) -> dict[str, Command]:
    """What the admin socket can be asked."""

    def stop(_: Request) -> object:
        loop.stop()
        return {}

    def keys(_: Request) -> object:
        security = node.shell.config.security
        if not security.seals and not security.signs:
            raise RequestError("there are no keys, as security.neighbours and security.records are off")
        try:
            node.shell.take_keys()
        except (ConfigError, RecordError) as error:
            raise RequestError(f"the keys stay as they were: {error}") from None
        return {}

    return {
        "keys": keys,
        "status": lambda _: status_of(node, loop),
        "tables": lambda _: node.tables(),
        "stop": stop,
        **node.commands(),
    }
