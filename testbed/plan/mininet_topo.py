"""Mininet topologies as scenarios: `file.py:MyTopo`, and what Mininet's users say of nodes and links.

Here is the one way from a Mininet topology to a plan, for `cbn run`, for `cbn topo` and for
networks that Mininet scripts build (`testbed.emu.script_network`). A topology is only looked at:
Mininet itself is imported by the file that defines the class, not here.

Which node is what: the class of a node says it, if it is `CbnRouter` or `CbnClient`.
Else a switch is a router, and a host is a client if it has one link and a router if it
has more.
"""

from __future__ import annotations

import hashlib
import io
import re
import runpy
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from testbed.plan.impairment import Ways, changed
from testbed.plan.model import Impairment
from testbed.plan.problems import Problem, ScenarioError, did_you_mean
from testbed.plan.source import Source

ROUTER, CLIENT = "router", "client"
CLIENT_WORDS = ("subscribe", "patterns", "advertise", "publish", "tags")
"""What a client's options say of it in the words of a scenario."""
NETWORK_WORDS = ("scheme", "seed")
"""What may be said of the network with any of its nodes."""
LINK_WORDS = (
    *("cost", "mtu", "back", "jitter_shape", "jitter_correlation", "loss_burst"),
    *("duplicate", "reorder", "corrupt", "queue_bytes"),
)
"""What may be said of a link in the words of a scenario, besides Mininet's own."""
ENDS = (
    *("node1", "node2", "port1", "port2", "intf", "intfName1", "intfName2", "addr1", "addr2", "cls", "fast"),
    *("cls1", "cls2", "params1", "params2"),
)
"""What Mininet says of the ends of a link; the plan decides these."""
_REFERENCE = re.compile(r"(.+\.py):([A-Za-z_][A-Za-z0-9_]*)")
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TopoNode:
    """A node of a Mininet topology."""

    name: str
    role: str | None = None
    """`router` or `client` if its class says so."""
    switch: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopoLink:
    """A link of a Mininet topology."""

    a: str
    b: str
    options: Mapping[str, Any] = field(default_factory=dict)


def is_reference(text: str | Path) -> bool:
    """Whether this means a class in a Python file: `file.py:MyTopo`, or the file alone, which is an error."""
    return _REFERENCE.fullmatch(str(text)) is not None or str(text).endswith(".py")


def topo_source(reference: str) -> Source:
    """The scenario that a Mininet topology makes, as if it had been read from a file.

    Raises:
        ScenarioError: there is none; the problem says why.
    """
    scenario = scenario_of_topo(read_topo(reference), reference)
    text = _yaml(scenario)
    return Source(reference, text, hashlib.sha256(text.encode()).hexdigest(), value=scenario)


def _yaml(scenario: Mapping[str, Any]) -> str:
    """A scenario as YAML."""
    written = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(scenario, written)
    return written.getvalue().decode()


def read_topo(reference: str) -> Any:
    """Run a file, and make the topology of its class.

    Raises:
        ScenarioError: the file cannot be run, there is no such class, or it cannot be made.
    """
    found = _REFERENCE.fullmatch(reference)
    path = Path(found[1] if found else reference)
    if not path.is_file():
        raise _error(str(path), f"there is no such file: {path}", "FILE.py:CLASS")
    names = _run(path)
    topos = {name: value for name, value in names.items() if _is_topo(value)}
    if found is None:
        raise _error(
            reference,
            "a Python file holds classes: say which one is the topology",
            f"{path}:CLASS with CLASS one of {', '.join(topos) or 'its subclasses of mininet.topo.Topo'}",
        )
    if found[2] not in names:
        expected = f"one of {', '.join(topos)}" if topos else "a subclass of mininet.topo.Topo"
        hint = did_you_mean(found[2], topos)
        raise _error(reference, f"there is no class {found[2]} in {path}", expected, hint)
    if found[2] not in topos:
        raise _error(reference, f"{found[2]} is no Mininet topology", "a subclass of mininet.topo.Topo")
    try:
        return topos[found[2]]()
    except Exception as error:
        raise _broken(path, error, f"{found[2]}() cannot be made") from error


def scenario_of_topo(topo: Any, what: str) -> dict[str, Any]:
    """The scenario of a Mininet topology object.

    Besides nodes and links, a topology may have an attribute `scenario`: a mapping with what
    else scenarios hold (`scheme`, `seed`, `timing`, `faults`, ...).

    Raises:
        ScenarioError: it makes no network.
    """
    switches = set(topo.switches())
    order = [*(n for n in topo.nodes(sort=False) if n in switches), *topo.hosts(sort=False)]
    nodes = [
        TopoNode(name, getattr(topo.nodeInfo(name).get("cls"), "role", None), name in switches, info)
        for name in order
        if (info := topo.nodeInfo(name)) is not None
    ]
    links = [
        TopoLink(info["node1"], info["node2"], info) for _, _, info in topo.links(sort=False, withInfo=True)
    ]
    more = getattr(topo, "scenario", {})
    if not isinstance(more, Mapping):
        raise _error(what, f"its attribute `scenario` is {more!r}", "a mapping such as {'scheme': 'spf'}")
    return scenario_of(type(topo).__name__, nodes, links, what, more)


def scenario_of(
    name: str,
    nodes: Sequence[TopoNode],
    links: Sequence[TopoLink],
    what: str,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The scenario of nodes and links.

    Args:
        name: of the scenario.
        nodes: routers, and clients with what they do.
        links: between routers, and from each client to its router.
        what: what problems call the topology.
        more: what else the scenario holds.

    Raises:
        ScenarioError: with everything that is wrong.
    """
    problems: list[Problem] = []
    roles = _roles(nodes, links, what, problems)
    clients = {n.name: {w: n.options[w] for w in CLIENT_WORDS if w in n.options} for n in nodes
               if roles[n.name] == CLIENT}  # fmt: skip
    between = []
    for link in links:
        try:
            words = link_words(link.options, f"{what}: link {link.a} - {link.b}")
        except ScenarioError as error:
            problems += error.problems
            continue
        ends = [end for end in (link.a, link.b) if roles.get(end) == CLIENT]
        if not ends:
            between.append({"between": [link.a, link.b], **words})
        else:
            client = ends[0]
            router = link.a if client == link.b else link.b
            clients[client] |= {"at": router} | ({"access": words} if words else {})
    network = _of_network(nodes, what, problems)
    if problems:
        raise ScenarioError(problems)
    routers = [n.name for n in nodes if roles[n.name] == ROUTER]
    scenario = {"name": _name(name), **network, **(more or {})}
    return scenario | {"topology": {"routers": routers, "links": between}, "clients": clients}


def link_words(options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """What Mininet's users say of a link, in the words of a scenario.

    `bw` is in Mbit/s, `loss` in percent, `delay` and `jitter` have units (`5ms`) or count
    microseconds, as for `TCLink`.

    Raises:
        ScenarioError: a word is not known, or a value is none.
    """
    words: dict[str, Any] = {}
    problems = []
    for option, value in options.items():
        if value is None or option in ENDS:
            continue
        try:
            words |= _word(option, value)
        except (TypeError, ValueError):
            problems.append(_problem(what, f"{option}={value!r}", _EXPECTED.get(option, "another value")))
        except KeyError:
            known = [*_EXPECTED, *LINK_WORDS]
            expected = f"one of {', '.join(known)}"
            problems.append(
                _problem(what, f"a link has no option {option}", expected, did_you_mean(option, known))
            )
    if problems:
        raise ScenarioError(problems)
    return words


def impairment_of(options: Mapping[str, Any], what: str) -> Impairment:
    """What a link with these options does to packets, both ways.

    Raises:
        ScenarioError: they make no sense.
    """
    words = {word: value for word, value in link_words(options, what).items() if word not in ("cost", "mtu")}
    return changed(Ways(), words, what).there


_EXPECTED = {
    "bw": "megabits a second, above zero",
    "delay": "a time such as 5ms",
    "jitter": "a time such as 1ms",
    "loss": "percent, from 0 to 100",
    "max_queue_size": "a number of packets",
}


def _word(option: str, value: Any) -> dict[str, Any]:
    match option:
        case "bw":
            if not float(value) > 0:
                raise ValueError(value)
            return {"rate": f"{round(float(value) * 1_000_000)}bit"}
        case "delay" | "jitter":
            text = str(value)
            return {option: f"{text}us" if _AMOUNT.fullmatch(text) else text}
        case "loss":
            if not 0 <= float(value) <= 100:
                raise ValueError(value)
            return {"loss": float(value) / 100}
        case "max_queue_size":
            return {"queue_packets": int(value)}
        case _ if option in LINK_WORDS:
            return {option: value}
    raise KeyError(option)


def _roles(
    nodes: Sequence[TopoNode], links: Sequence[TopoLink], what: str, problems: list[Problem]
) -> dict[str, str]:
    """Router or client, for each node."""
    degree = Counter(end for link in links for end in (link.a, link.b))
    roles = {}
    for node in nodes:
        role = node.role or (ROUTER if node.switch or degree[node.name] > 1 else CLIENT)
        roles[node.name] = role
        if role == CLIENT and degree[node.name] != 1:
            problems.append(
                _problem(
                    what,
                    f"{node.name} is a client and has {degree[node.name]} links",
                    "one link, to a router; a host with several links is a router (cls=CbnRouter)",
                )
            )
    for link in links:
        if roles.get(link.a) == roles.get(link.b) == CLIENT:
            problems.append(
                _problem(
                    what,
                    f"the link {link.a} - {link.b} joins two clients (hosts with one link are clients)",
                    "a router at one end: a switch, or a host with cls=CbnRouter",
                )
            )
    return roles


def _of_network(nodes: Iterable[TopoNode], what: str, problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in nodes:
        for word in NETWORK_WORDS:
            value = node.options.get(word)
            if value is not None and found.setdefault(word, value) != value:
                problems.append(
                    _problem(
                        what,
                        f"{node.name} has {word}={value!r}, and another node {found[word]!r}",
                        f"one {word} for the network",
                    )
                )
    return found


def _name(text: str) -> str:
    name = re.sub(r"[^a-z0-9-]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text).lower()).strip("-")
    return name if name[:1].isalpha() else f"topo-{name}".rstrip("-")


def _run(path: Path) -> dict[str, Any]:
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(path), run_name="cbn_topology")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "mininet":
            raise _error(
                str(path), "it needs the package mininet", "`pip install 'cbn-testbed[emu]'`"
            ) from error
        raise _broken(path, error, "the file cannot be run") from error
    except (Exception, SystemExit) as error:
        raise _broken(path, error, "the file cannot be run") from error
    finally:
        sys.path.remove(folder)


def _is_topo(value: object) -> bool:
    """Whether it is a subclass of Mininet's `Topo`, whichever installation it is from."""
    if not isinstance(value, type):
        return False
    bases = [(base.__module__, base.__name__) for base in value.__mro__[1:]]
    return ("mininet.topo", "Topo") in bases


def _broken(path: Path, error: BaseException, message: str) -> ScenarioError:
    """What a file raised, with the last of its own lines that led to it."""
    lines = [f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    line = (error.lineno or 0) if isinstance(error, SyntaxError) else lines[-1] if lines else 0
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    why = f"{message}: {type(error).__name__}{f': {said}' if said else ''}"
    return ScenarioError([Problem(str(path), line, 1, "", why)])


def _error(path: str, message: str, expected: str = "", hint: str = "") -> ScenarioError:
    return ScenarioError([_problem(path, message, expected, hint)])


def _problem(path: str, message: str, expected: str = "", hint: str = "") -> Problem:
    return Problem(path, 0, 0, "", message, expected, hint)
