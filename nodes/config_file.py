"""Reads and writes the files a node is started with: `node.toml` and a client's script.

Here: TOML and JSON lines. What the keys mean stands in `config`, how strictly
they are read in `records`. Relative paths in a file count from the directory
the node is started in.
"""

from __future__ import annotations

import ipaddress
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from nodes.config import ACTIONS, MOST_DILATE, Action, InterfaceConfig, NodeConfig
from nodes.records import RecordError, from_plain, to_plain


class ConfigError(ValueError):
    """A file cannot be used; the message names file and key or line."""


def load_config(path: str | Path) -> NodeConfig:
    """The settings of a node.

    Raises:
        ConfigError: The file cannot be read or does not say it.
    """
    text = _read(path)
    try:
        config = from_plain(NodeConfig, tomllib.loads(text))
        _check(config)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    except RecordError as error:
        raise ConfigError(f"{path}: {error}") from None
    return config


def dump_config(config: NodeConfig) -> str:
    """The text of the file that `load_config` reads back as the same."""
    plain = to_plain(config)
    tables = {k: plain.pop(k) for k in ("scheme_options", "timers", "limits")}
    interfaces = plain.pop("interfaces")
    lines = ["# Written by the testbed; the keys are those of nodes/config.py.", *_pairs(plain)]
    lines += [] if interfaces else ["interfaces = []"]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_pairs(table)]
    for interface in interfaces:
        lines += ["", "[[interfaces]]", *_pairs(interface)]
    return "\n".join(lines) + "\n"


def load_script(path: str | Path) -> tuple[Action, ...]:
    """A client's script: one action a line.

    Raises:
        ConfigError: The file cannot be read or a line is not an action.
    """
    # Only \n ends a line: texts may hold the other characters that splitlines() cuts at.
    lines = _read(path).split("\n")
    return tuple(_action(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip())


def dump_script(actions: Iterable[Action]) -> str:
    """The text of the script that `load_script` reads back as the same."""
    return "".join(json.dumps(to_plain(a), ensure_ascii=False) + "\n" for a in actions)


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_bytes().decode()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from None


def _action(line: str, where: str) -> Action:
    try:
        action = from_plain(Action, json.loads(line))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not an action: {error}") from None
    if action.do not in ACTIONS:
        raise ConfigError(f"{where}: do: expected one of {', '.join(ACTIONS)}, found {action.do!r}")
    return action


def _check(config: NodeConfig) -> None:
    if [i.index for i in config.interfaces] != list(range(len(config.interfaces))):
        raise RecordError("interfaces: indexes count from 0 in order, without gaps")
    if not 0 < config.node_id < 2**32:
        raise RecordError(f"node_id: expected 1 to {2**32 - 1}, found {config.node_id}")
    if not 1 <= config.dilate <= MOST_DILATE:
        raise RecordError(f"dilate: expected 1 to {MOST_DILATE}, found {config.dilate}")
    for interface in config.interfaces:
        _check_interface(interface, f"interfaces[{interface.index}]")
    _check_positive(to_plain(config.timers), "timers", zero=("install_delay_ms",))
    _check_positive(to_plain(config.limits), "limits")


def _check_positive(table: Mapping[str, int], key: str, zero: tuple[str, ...] = ()) -> None:
    for name, value in table.items():
        if value < (0 if name in zero else 1):
            raise RecordError(f"{key}.{name}: expected a positive number, found {value}")


def _check_interface(interface: InterfaceConfig, key: str) -> None:
    for name in ("address", "peer_address"):
        try:
            ipaddress.ip_address(getattr(interface, name))
        except ValueError as error:
            raise RecordError(f"{key}.{name}: {error}") from None
    for name in ("port", "peer_port"):
        if not 0 < getattr(interface, name) < 2**16:
            raise RecordError(f"{key}.{name}: expected 1 to 65535, found {getattr(interface, name)}")


def _pairs(table: Mapping[str, object]) -> list[str]:
    return [f"{_key(key)} = {_scalar(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _quoted(key)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(value)  # Python writes floats, inf and nan among them, as TOML does
    return str(value) if isinstance(value, int) else _quoted(str(value))


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
