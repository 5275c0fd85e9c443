"""The kinds of experiments there are."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.experiments.alpha_general.kind import ALPHA_GENERAL
from testbed.experiments.alpha_model.kind import ALPHA_MODEL
from testbed.experiments.emulated.kind import EMULATED
from testbed.experiments.forwarding.kind import FORWARDING
from testbed.experiments.kind import Kind
from testbed.experiments.schemes.kind import SCHEMES

KINDS: Mapping[str, Kind] = {
    "forwarding": FORWARDING,
    "alpha-general": ALPHA_GENERAL,
    "alpha-model": ALPHA_MODEL,
    "schemes": SCHEMES,
    "emulated": EMULATED,
}
"""By the word that an experiment's file has for it."""
