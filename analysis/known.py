"""What a run directory says before messages are judged, with times as some clocks have them.

Read once (`Read`); what follows from it is put together again if clocks turn out to be off (`Known`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis import calm, logs, network
from analysis.advertising import Advertising, advertising_of
from analysis.attacked import Attacked, attacked
from analysis.drift.correction import HostClock, with_corrected_times
from analysis.evidence import Evidence, evidence_of
from analysis.findings import Ingested, RefusedByPolicy
from analysis.history import History, NetworkChange, history_of
from analysis.messages.counting import Excused
from analysis.oracle import Claim, SubscriptionChange, claims_of, readable_claims
from analysis.patterns import (
    PatternEvents,
    PatternJudge,
    carried_times,
    pattern_events,
    problems_of,
    with_unlogged,
)
from analysis.payloads import Payload, payloads_of
from analysis.policy import Permitted, Policy
from analysis.rundir import Run, advertisement_changes, network_changes, subscription_changes
from nodes.scheme_catalog import factors_patterns


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a run directory but for its captures, with the times that are in it."""

    run: Run
    logged: Sequence[SubscriptionChange]
    advertised: Sequence[SubscriptionChange]
    """The changes of advertisements, which have the form of those of subscriptions."""
    patterns: PatternEvents
    network_events: Sequence[NetworkChange]
    notes: Sequence[str]
    """What was odd about the run directory."""

    @classmethod
    def of(cls, run: Run) -> Read:
        """Read the events of a run.

        Raises:
            AnalysisError: They cannot be read, or have what this version does not know.
        """
        logged, odd_lines = subscription_changes(run)
        advertised, odd_advertised = advertisement_changes(run)
        patterns = pattern_events(run)
        network_events, odd_changes = network_changes(run)
        odd = [*odd_lines, *odd_advertised, *problems_of(patterns), *odd_changes]
        return cls(run, logged, advertised, patterns, network_events, odd)

    @property
    def fixpoints(self) -> Sequence[calm.Fixpoint]:
        """When the network said that it had converged, by the clock of the reference."""
        return calm.fixpoints_of(self.run, self.network_events)

    def known(self, ingested: Ingested, clocks: Mapping[int, HostClock]) -> Known:
        """What follows of this and the captures, with times corrected by these clocks, by node id."""
        run, ids = self.run, self.run.client_ids
        logged, advertised = (
            with_corrected_times(changes, lambda change: ids.get(change.client, 0), clocks)
            for changes in (self.logged, self.advertised)
        )
        routers = {c.interface.name: c.node.node_id for c in run.captures}
        kept = with_corrected_times(ingested.control, lambda packet: routers[packet.interface], clocks)
        payloads = list(payloads_of(kept))
        assailed = attacked(run, self.network_events)
        attackers = {*assailed.nodes} if assailed else set()
        unlogged = [c for c in logs.unlogged(run, payloads, logged) if c.client not in attackers]
        factored = factors_patterns(run.plan.scheme_options)
        unlogged_sought = (
            logs.unlogged_patterns(run, payloads, self.patterns.sought, logged) if factored else []
        )
        ends = [change for change in unlogged_sought if change.predicate is None]
        changes = sorted([*logged, *unlogged, *ends], key=lambda change: change.time_ns)
        unlogged_advertised = logs.unlogged(run, payloads, advertised, logs.ADVERTISED)
        offers = sorted([*advertised, *unlogged_advertised], key=lambda change: change.time_ns)
        policy = Policy(run.plan)
        permitted, permitted_offers = policy.subscriptions(changes), policy.advertisements(offers)
        claims, odd_claims = claims_of(permitted.changes, ids, run.clock)
        claims, unreadable = readable_claims(claims)
        history = history_of(run.plan, self.network_events, run.start_ns)
        advertising, odd_advertisements = advertising_of(
            run.plan, permitted_offers.changes, ids, run.clock, history
        )
        return Known(
            run,
            ingested,
            payloads,
            evidence_of(run, ingested),
            changes,
            permitted,
            unlogged,
            offers,
            permitted_offers,
            unlogged_advertised,
            unlogged_sought,
            self.network_events,
            claims,
            advertising,
            PatternJudge(
                with_unlogged(self.patterns, unlogged_sought),
                changes,
                ids,
                run.clock,
                run.end_ns,
                history,
                advertising,
                lossy=bool(network.lossy_links(run.plan)),
                carried_ns=carried_times(run) if clocks and self.patterns.sought else {},
                factored=factored,
                policy=policy if policy.there_is else None,
            ),
            policy,
            history,
            self.fixpoints,
            [*self.notes, *odd_claims, *unreadable, *odd_advertisements],
            assailed,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before messages are judged."""

    run: Run
    ingested: Ingested
    payloads: Sequence[Payload]
    """What clients subscribed to, and what routers announced of themselves."""
    evidence: Evidence
    changes: Sequence[SubscriptionChange]
    """Those that were logged, and those that were captured only."""
    permitted: Permitted
    """What the policy has left of them."""
    unlogged: Sequence[SubscriptionChange]
    advertised: Sequence[SubscriptionChange]
    """The changes of advertisements, likewise."""
    permitted_offers: Permitted
    unlogged_advertised: Sequence[SubscriptionChange]
    unlogged_sought: Sequence[SubscriptionChange]
    """Patterns that were captured only, with their texts as predicates."""
    network_events: Sequence[NetworkChange]
    claims: Sequence[Claim]
    advertising: Advertising | None
    patterns: PatternJudge
    policy: Policy
    history: History
    fixpoints: Sequence[calm.Fixpoint]
    notes: Sequence[str]
    """What was odd about the run directory."""
    attacked: Attacked | None
    """None: nobody attacked."""

    def seen(self, records: Mapping[str, NDArray[np.int64]]) -> calm.Seen:
        """What says whether the network had converged, with the records that routers were seen to have."""
        offers = self.permitted_offers.changes if self.advertising is not None else None
        partial = self.evidence.partial_routers
        sought = self.patterns.events.sought if self.patterns.factored else ()
        changes = self.permitted.changes
        return calm.Seen(self.run, records, self.payloads, changes, partial, offers, sought)

    @property
    def refused(self) -> RefusedByPolicy | None:
        """What the policy did not permit, but for messages; None: there is none."""
        if not self.policy.there_is:
            return None
        sought = [SubscriptionChange(*each) for each in self.patterns.events.sought]
        refused = [each for each in sought if not self.policy.may_seek(each.client, each.predicate or "")]
        return RefusedByPolicy(self.permitted.refused, self.permitted_offers.refused, refused)

    @property
    def excused(self) -> Excused:
        """Clients of which something need not be seen."""
        lossy = network.lossy_clients(self.run)
        return Excused(frozenset(self.evidence.unseen_clients), frozenset(lossy))
