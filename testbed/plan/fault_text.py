"""Faults in one line: `at 5s: crash one of core for 2s`, as the same fault in full.

Here: the words. Not here: what is meant by them (`faults`); whoever reads a
fault reads the full form alone.
"""

from __future__ import annotations

import re
from typing import Any

from testbed.plan.impairment import KEYS
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Place, Source
from testbed.plan.yaml_subset import read_scalar

VERBS = (
    "link_down", "link_up", "crash", "start", "pause", "resume", "leave", "return",
    "partition", "heal", "flap", "churn", "impair", "repair",
)  # fmt: skip
_WHEN = re.compile(r"(?P<word>at|when) +(?P<moment>.+)")
_FOR = re.compile(r"(?P<rest>.*\S) +for +(?P<for>\S+)")
_PERIOD = re.compile(
    r"(?P<what>.+?) +(?P<times>[0-9]+) +times +every +(?P<every>\S+)"
    r"(?: +(?P<word>down|away) +(?P<lasting>\S+))?"
)
_IMPAIRMENT = re.compile(rf" +(?P<key>{'|'.join(sorted(KEYS, key=len, reverse=True))})\b")
_SHAPES = {
    "flap": "flap r1 - r2 5 times every 200ms, and perhaps: down 50ms",
    "churn": "churn 20% of clients 4 times every 1s, and perhaps: away 300ms",
    "impair": "impair r1 - r2 delay 30ms loss 0.1",
}


def write_out(source: Source) -> None:
    """Put the full form in the place of each fault that is told in one line."""
    told = source.value.get("faults") if isinstance(source.value, dict) else None
    if not isinstance(told, list):
        return
    for position, fault in enumerate(told):
        if isinstance(fault, dict) and len(fault) == 1:
            [(when, what)] = fault.items()
            found = _WHEN.fullmatch(when) if isinstance(when, str) else None
            if found is not None:
                told[position] = _full(source, found, what, ("faults", position), when)


def _full(source: Source, when: re.Match[str], what: Any, key: Key, name: str) -> dict[str, Any] | None:
    fault = _moment(when)
    here: Key = (*key, name)
    if not isinstance(what, str):
        source.complain(here, "what happens is no text", f"a text that begins with one of {', '.join(VERBS)}")
        return None
    verb, _, rest = what.strip().partition(" ")
    if verb not in VERBS:
        expected = f"a text that begins with one of {', '.join(VERBS)}"
        source.complain(here, f"nothing is called {verb or 'nothing'}", expected, did_you_mean(verb, VERBS))
        return None
    lasting = _FOR.fullmatch(rest)
    if lasting is not None and verb not in ("flap", "churn"):
        fault["for"], rest = lasting["for"], lasting["rest"]
    argument = _argument(verb, rest.strip())
    if argument is None:
        expected = _SHAPES.get(verb, f"{verb} and who or what, as in {verb} one of core")
        source.complain(here, f"{what.strip()} does not say it all", expected)
        return None
    full = {**fault, verb: argument}
    for part, value in full.items():
        at_line = source.place(here, at_key=part in ("at", "when", "after"))
        _place(source, (*key, part), value, at_line)
    return full


def _moment(when: re.Match[str]) -> dict[str, Any]:
    if when["word"] == "at":
        return {"at": when["moment"]}
    word, _, after = when["moment"].partition("+")
    return {"when": word.strip(), "after": after.strip()} if after else {"when": word.strip()}


def _argument(verb: str, rest: str) -> Any:
    """What the key of the full form holds; None if the text does not say it."""
    if verb == "heal":
        return True if not rest else None
    if not rest:
        return None
    match verb:
        case "partition":
            return [side.strip() for side in rest.split("|")]
        case "flap" | "churn":
            return _period(verb, rest)
        case "impair":
            return _impairment(rest)
    return rest


def _period(verb: str, rest: str) -> dict[str, Any] | None:
    found = _PERIOD.fullmatch(rest)
    word = "down" if verb == "flap" else "away"
    if found is None or found["word"] not in (None, word):
        return None
    what = "link" if verb == "flap" else "clients"
    told = {what: found["what"], "times": int(found["times"]), "every": found["every"]}
    return told if found["lasting"] is None else {**told, word: found["lasting"]}


def _impairment(rest: str) -> dict[str, Any] | None:
    keys = list(_IMPAIRMENT.finditer(rest))
    if not keys:
        return None
    told: dict[str, Any] = {"link": rest[: keys[0].start()].strip()}
    ends = [found.start() for found in keys[1:]] + [len(rest)]
    for found, end in zip(keys, ends, strict=True):
        text = rest[found.end() : end].strip(" ,")
        try:
            told[found["key"]] = read_scalar(text)
        except ValueError:
            return None
    return told


def _place(source: Source, key: Key, value: Any, at: Place) -> None:
    """What was made stands where the line stands that it was made of."""
    source.values[key] = source.keys[key] = at
    for name in value if isinstance(value, dict) else ():
        _place(source, (*key, name), value[name], at)
