"""Short names for routers, made of what they are called: readable, unique, fit for an interface.

Interfaces are called <router>-eth<number> and Linux gives them 15 characters: a
router of many links gets a shorter name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

NAME = re.compile(r"[a-z][a-z0-9-]{0,8}")
_SPECIAL = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})


def names_of(labels: Mapping[str, str], degrees: Mapping[str, int]) -> dict[str, str]:
    """A name for each key, made of its label, or of the key if it has none.

    Who is called as a router may be called keeps its name.
    """
    longest = {key: room(degrees.get(key, 0)) for key in labels}
    fitting = {key: label for key, label in labels.items() if _fits(label, longest[key])}
    taken: dict[str, str] = {}
    for key, label in fitting.items():
        taken.setdefault(label, key)
    chosen = {key: label for label, key in taken.items()}
    for key, label in labels.items():
        if key not in chosen:
            name = next(n for n in _candidates(label or key, longest[key]) if n not in taken)
            taken[name], chosen[key] = key, name
    return {key: chosen[key] for key in labels}


def room(degree: int) -> int:
    """How long a router's name may be; leaves room for clients beside its links."""
    # 15 characters, of which "-eth" takes 4 and the number its digits.
    return 11 - max(2, len(str(degree + 50)))


def _fits(label: str, longest: int) -> bool:
    return bool(NAME.fullmatch(label)) and len(label) <= longest


def _candidates(label: str, longest: int) -> Iterator[str]:
    words = _words(label)
    whole = "".join(words)
    if len(whole) <= longest:
        yield whole
    # "Frankfurt" says enough of "Frankfurt am Main", "los" too little of "Los Angeles".
    if len(words[0]) >= 4:
        yield words[0][:longest]
    yield whole[:longest]
    yield words[0][:longest]
    if len(words) > 1:
        yield (words[0][: longest - 1] + words[1][0])[:longest]
    number = 2
    while True:
        yield f"{words[0][: longest - len(str(number))]}{number}"
        number += 1


def _words(label: str) -> list[str]:
    bare = (
        unicodedata.normalize("NFKD", label.casefold().translate(_SPECIAL)).encode("ascii", "ignore").decode()
    )
    words = re.findall(r"[a-z0-9]+", bare)
    if not words:
        return ["n"]
    return words if words[0][0].isalpha() else [f"n{words[0]}", *words[1:]]
