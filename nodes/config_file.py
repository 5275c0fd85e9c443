"""Reads and writes the files a node is started with: `node.toml` and a client's script.

Here: TOML and JSON lines. What the keys mean stands in `config`, how strictly
they are read in `records`. Relative paths in a file count from the directory
the node is started in.
"""

from __future__ import annotations

import ipaddress
import json
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from nodes.config import ACTIONS, MOST_DILATE, Action, InterfaceConfig, LinkKey, NodeConfig, PolicyConfig
from nodes.model import PredicateSyntaxError, parse_predicate
from nodes.records import RecordError, from_plain, to_plain
from nodes.wire.packets import Role
from nodes.wire.seal import KEY_BYTES

T = TypeVar("T")


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
        config = with_keys(config)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    except RecordError as error:
        raise ConfigError(f"{path}: {error}") from None
    return config


def dump_config(config: NodeConfig) -> str:
    """The text of the file that `load_config` reads back as the same, if `dump_keys` is where it says."""
    plain = to_plain(config)
    tables = {k: plain.pop(k) for k in ("scheme_options", "timers", "limits", "security")}
    interfaces = plain.pop("interfaces")
    del plain["signing_seed"], plain["signers"]
    for interface in interfaces:
        del interface["keys"]
    lines = ["# Written by the testbed; the keys are those of nodes/config.py.", *_pairs(plain)]
    lines += [] if interfaces else ["interfaces = []"]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_pairs(table)]
    for interface in interfaces:
        policy = interface.pop("policy")
        lines += ["", "[[interfaces]]", *_pairs(interface)]
        lines += ["", "[interfaces.policy]", *_pairs(policy)] if policy else []
    return "\n".join(lines) + "\n"


class NodeKeys(NamedTuple):
    """What only one node may know."""

    links: Mapping[str, tuple[LinkKey, ...]]
    """By the name of the interface."""
    signing_seed: bytes
    """What its own key is made of; empty: it has none."""


def load_keys(path: str | Path) -> NodeKeys:
    """The keys of a node.

    Raises:
        ConfigError: The file cannot be read, others may read it, or it does not hold keys.
    """
    text = _read(path)
    if (mode := stat.S_IMODE(Path(path).stat().st_mode)) & 0o077:
        raise ConfigError(f"{path}: others may read the keys: its mode is {mode:04o}, not 0600")
    found = _parsed(_Keys, text, path)
    try:
        links = {name: tuple(_key_of(text, f"keys.{name}") for text in of) for name, of in found.keys.items()}
        return NodeKeys(links, _bytes_of(found.signing_seed, "signing_seed") if found.signing_seed else b"")
    except RecordError as error:
        raise ConfigError(f"{path}: {error}") from None


def load_signers(path: str | Path) -> dict[int, bytes]:
    """The public keys of routers, by id.

    Raises:
        ConfigError: The file cannot be read, or does not hold keys.
    """
    found = _parsed(_Signers, _read(path), path).signers
    try:
        return {_id_of(name): _bytes_of(text, f"signers.{name}") for name, text in found.items()}
    except RecordError as error:
        raise ConfigError(f"{path}: {error}") from None


def dump_signers(config: NodeConfig) -> str:
    """The text of the file that `load_signers` reads."""
    lines = ["# The id of each router, and its public key in hexadecimal digits.", "[signers]"]
    return "\n".join([*lines, *(f'{node} = "{key.hex()}"' for node, key in config.signers.items())]) + "\n"


def dump_keys(config: NodeConfig) -> str:
    """The text of the file that `load_keys` reads."""
    lines = []
    if config.signing_seed:
        lines += [
            "# What the router signs its records with, in hexadecimal digits.",
            f'signing_seed = "{config.signing_seed.hex()}"',
        ]
    if not config.security.seals and not any(interface.keys for interface in config.interfaces):
        return "\n".join(lines) + "\n"
    lines += ["# NUMBER:KEY, the key in hexadecimal digits; what is sent is sealed with the first.", "[keys]"]
    for interface in config.interfaces:
        keys = ", ".join(_quoted(f"{key.key_id}:{key.secret.hex()}") for key in interface.keys)
        lines.append(f"{_key(interface.name)} = [{keys}]")
    return "\n".join(lines) + "\n"


def write_keys(config: NodeConfig, path: Path) -> None:
    """Write the keys of a node where nobody else reads them."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(dump_keys(config))


@dataclass(frozen=True, slots=True)
class _Keys:
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signing_seed: str = ""


@dataclass(frozen=True, slots=True)
class _Signers:
    signers: Mapping[str, str]


def _parsed(kind: type[T], text: str, path: str | Path) -> T:
    try:
        return from_plain(kind, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    except RecordError as error:
        raise ConfigError(f"{path}: {error}") from None


def _id_of(name: str) -> int:
    if not name.isascii() or not name.isdecimal() or not 0 < int(name) < 2**32:
        raise RecordError(f"signers.{name}: expected the id of a router, 1 to {2**32 - 1}")
    return int(name)


def _bytes_of(digits: str, key: str) -> bytes:
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        found = b""
    if len(found) != KEY_BYTES:
        raise RecordError(f"{key}: expected {2 * KEY_BYTES} hexadecimal digits")
    return found


def _key_of(text: str, key: str) -> LinkKey:
    number, _, digits = text.partition(":")
    try:
        found = LinkKey(int(number), bytes.fromhex(digits))
    except ValueError:
        raise RecordError(f"{key}: expected NUMBER:HEXADECIMAL DIGITS") from None
    if not 0 <= found.key_id < 2**16 or len(found.secret) != KEY_BYTES:
        raise RecordError(f"{key}: expected a number below 65536 and {KEY_BYTES} bytes")
    return found


def with_keys(config: NodeConfig) -> NodeConfig:
    """The settings with the keys that stand in their files now, if links or routers have keys.

    Raises:
        ConfigError: A file cannot be used.
        RecordError: It, or one of the keys, is not there.
    """
    security = config.security
    signs = security.signs and config.role is Role.ROUTER
    if why := security.contradiction:
        raise RecordError(f"security: {why}; expected neighbours to be at least as strict")
    if not security.seals and not signs:
        return config
    if not config.keys_path:
        asks = "records is signed" if signs else f"neighbours is {security.neighbours.name.lower()}"
        raise RecordError(f"keys_path: missing, as security.{asks}")
    keys = load_keys(config.keys_path)
    if security.seals:
        config = _with_link_keys(config, keys.links)
    return _with_signing_keys(config, keys.signing_seed) if signs else config


def _with_link_keys(config: NodeConfig, keys: Mapping[str, tuple[LinkKey, ...]]) -> NodeConfig:
    without = [i.name for i in config.interfaces if not keys.get(i.name)]
    if without:
        raise RecordError(f"{config.keys_path}: no key for {', '.join(without)}")
    return replace(config, interfaces=tuple(replace(i, keys=keys[i.name]) for i in config.interfaces))


def _with_signing_keys(config: NodeConfig, seed: bytes) -> NodeConfig:
    from nodes.wire.signature import Signer  # clients need none of it, and start sooner without

    if not seed:
        raise RecordError(f"{config.keys_path}: signing_seed: missing, as security.records is signed")
    if not config.signers_path:
        raise RecordError("signers_path: missing, as security.records is signed")
    signers = load_signers(config.signers_path)
    if signers.get(config.node_id) != Signer(seed).public:
        raise RecordError(
            f"{config.signers_path}: the key of router {config.node_id} is not the one in {config.keys_path}"
        )
    return replace(config, signing_seed=seed, signers=signers)


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
    rates = ("control_packets_per_second", "changes_per_second")
    _check_positive(to_plain(config.limits), "limits", zero=rates)


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
    if interface.policy is not None:
        _check_policy(interface, interface.policy, f"{key}.policy")


def _check_policy(interface: InterfaceConfig, policy: PolicyConfig, key: str) -> None:
    if interface.peer_role is not Role.CLIENT:
        raise RecordError(f"{key}: a policy is for clients; {interface.peer_name} is a router")
    for verb, text in to_plain(policy).items():
        try:
            parse_predicate(text)
        except PredicateSyntaxError as error:
            raise RecordError(f"{key}.{verb}: {error}") from None


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
