"""Which messages the policy of a plan permits their publishers (decision 38), by the model alone.

Not here: what else it permits (`policy`), what was advertised (`advertising`).
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.advertising import Standing
from analysis.oracle import predicate_of
from nodes.model import Value, matches
from testbed.plan.model import Plan


class Publishing:
    """What the clients of a plan may publish.

    Args:
        plan: Of the run.
    """

    def __init__(self, plan: Plan) -> None:
        limited = {n.node_id: predicate_of(n.policy.publish) for n in plan.clients if n.policy is not None}
        self._allowed = {n: p for n, p in limited.items() if all(each.constraints for each in p.filters)}

    @property
    def is_limited(self) -> bool:
        """Whether some client may not publish anything it likes."""
        return bool(self._allowed)

    def standing(self, source: int, content: Mapping[str, Value] | None) -> Standing:
        """Of a message of this publisher, as far as the policy goes; content None: it is not known."""
        allowed = self._allowed.get(source)
        permitted = allowed is None or content is None or matches(allowed, content)
        return Standing.ADVERTISED if permitted else Standing.FORBIDDEN
