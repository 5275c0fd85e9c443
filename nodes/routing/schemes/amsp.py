"""`amsp`: links are marked by what is cheaper as descriptors change, by their upstream ends (MM 5).

Each router measures how often its own descriptors change and announces it. From what all have announced
follows what each link would cost as a p-link and as an s-link, and so its mark (`matchmaker_marks`). Changing
a mark moves descriptors and removes no match, so no delivery is lost by it (decision 31):

- a match stays when one of its descriptors no longer comes, until its router withdraws it;
- both ends hold both sorts of descriptors until the reply to a change.

Options: `interval_ms`, `alpha`, `restart_deviations`, `announce_share`, `announce_deviations` of the rates,
`hysteresis` between costs, `marking` of links when they have joined, `forcing`, `reply_timeout_ms`.

Not here: what `bp` and `bs` do too (`matchmaker`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from mypy_extensions import mypyc_attr

from fastpath.meeting import Telling
from nodes.config import MILLISECOND_NS
from nodes.matchmaker.problem import Link as Directed
from nodes.model.meeting import Key
from nodes.routing.effects import Reason
from nodes.routing.schemes.base import Options, Talk
from nodes.routing.schemes.matchmaker import Matchmaker
from nodes.routing.schemes.matchmaker_links import Link
from nodes.routing.schemes.matchmaker_marks import preference
from nodes.routing.schemes.matchmaker_rates import MILLION, Measuring, Rates
from nodes.wire.matchmaker_payloads import CostAnnounce, Descriptor, DescriptorUpdate, MarkingChange
from nodes.wire.packets import Kind

LIST_BYTES = 32 * 1024
"""A change carries descriptors up to this size; what is more comes after it, or before a reply."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Amsp(Matchmaker):
    """The adaptive scheme."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.begins_with_p = options["marking"] == "p"
        self._literal = options["forcing"] == "literal"
        self._hysteresis = round(float(options["hysteresis"]) * MILLION)
        self._timeout_ns = int(options["reply_timeout_ms"]) * MILLISECOND_NS
        self._measuring = Measuring.of(options)
        self._preferred: dict[Directed, bool] = {}
        """Of the links that we weigh: whether they are better as s-links."""
        self._decided: object = None
        """What the marks were decided by last."""
        self._forcing: tuple[object, set[Directed]] = None, set()
        """What the links that are forced were found by, and these."""
        self._handlers[Kind.CHANGE_MARKING] = self._take_change
        self._handlers[Kind.CHANGE_MARKING_REPLY] = self._take_reply

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """As `TalkingScheme` says."""
        super().attach(talk, rng)
        self._rates = Rates(self._measuring, rng)

    def next_deadline(self) -> int | None:
        """When an interval ends, or a reply or a change is overdue."""
        since = (at for link in self._links.values() for at in (link.asked_ns, link.doubted_ns))
        waiting = [at + self._timeout_ns for at in since if at is not None]
        times = (super().next_deadline(), self._rates.at, *(waiting if self._timeout_ns else ()))
        return min((at for at in times if at is not None), default=None)

    def handle_timer(self, now_ns: int) -> None:
        """Measure, announce, and ask again."""
        super().handle_timer(now_ns)
        for interface, link in sorted(self._links.items()):
            if self._is_overdue(now_ns, link.asked_ns):
                self._ask(now_ns, interface, link, link.is_p_out)
            if self._is_overdue(now_ns, link.doubted_ns):
                self._say_mark(now_ns, interface, link)
        if self._rates.take(now_ns):
            self._announce(now_ns)
            self._turn(now_ns)

    def _is_overdue(self, now_ns: int, since_ns: int | None) -> bool:
        return self._timeout_ns > 0 and since_ns is not None and now_ns >= since_ns + self._timeout_ns

    def _own_changed(self, now_ns: int, published: int, wanted: int) -> None:
        self._rates.count(now_ns, published, wanted)

    def _own_repeated(self, now_ns: int, published: int, wanted: int) -> None:
        self._rates.count(now_ns, published, wanted)

    def _record(self) -> CostAnnounce:
        record = super()._record()
        causes = sorted(int(to) for (_, to), is_s in self._preferred.items() if is_s and not self._literal)
        return CostAnnounce(
            record.origin, 0, record.publishes, record.subscribes, *self._rates.announced, tuple(causes)
        )

    # Which mark.

    def _decide(self, now_ns: int) -> None:
        basis = self._shape, self._costs.version, tuple(link.state() for link in self._links.values())
        if basis == self._decided:
            return
        self._decided = basis
        self._weigh()
        self._announce(now_ns)
        forced = self._forced()
        for interface, link in sorted(self._links.items()):
            directed = self._talk.node, link.neighbour
            is_p = directed not in forced
            if directed in self._shape.users and link.asked_ns is None and is_p != link.is_p_out:
                self._ask(now_ns, interface, link, is_p)
            towards = link.neighbour, self._talk.node
            is_wrong = towards in self._shape.users and link.is_p_in is (towards in forced)
            link.doubt(now_ns, is_wrong and not self._literal)

    def _weigh(self) -> None:
        """Which of our links are better as s-links, by what all have announced."""
        node, shape = self._talk.node, self._shape
        weighed: dict[Directed, bool] = {}
        for neighbour in sorted({link.neighbour for link in self._links.values()}):
            directed = (node, neighbour)
            if directed not in shape.users:
                continue
            together = (directed,) if self._literal else shape.component[directed]
            if together[0][0] == node:
                gain = sum(map(self._gain, together))
                before = self._preferred.get(together[0], not self.begins_with_p)
                weighed[together[0]] = preference(gain, self._hysteresis, before)
        self._preferred = weighed

    def _gain(self, directed: Directed) -> int:
        """What a link saves as an s-link, in millionths a second."""
        published = sum(self._rate(x)[0] for x in self._shape.users[directed])
        return published - sum(self._rate(y)[1] for y in self._shape.beyond[directed])

    def _rate(self, router: int) -> tuple[int, int]:
        record = self._costs.of(router)
        return (0, 0) if record is None else (record.publication_rate, record.subscription_rate)

    def _forced(self) -> set[Directed]:
        if self._literal:
            return self._forced_by_neighbours()
        basis = self._shape, self._costs.causes_version
        if self._forcing[0] != basis:
            self._forcing = basis, self._shape.forced(self._causes())
        return self._forcing[1]

    def _causes(self) -> Iterator[Directed]:
        nodes = () if self._view is None else self._view.topology.nodes
        for router in nodes:
            record = self._costs.of(router)
            yield from () if record is None else ((router, to) for to in record.causes)

    def _forced_by_neighbours(self) -> set[Directed]:
        """Fig. 9 as printed: an s-link directly upstream is enough, whatever made it one (E18)."""
        found = {directed for directed, is_s in self._preferred.items() if is_s}
        for link in self._links.values():
            if not link.is_p_in:
                found.update(self._shape.below.get((link.neighbour, self._talk.node), ()))
        return found

    # Changing it.

    def _ask(self, now_ns: int, interface: int, link: Link, is_p: bool) -> None:
        """Mark a link anew, or once more."""
        link.ask(now_ns, is_p)
        if is_p:
            self._meeting.reconsider(published=True)
        carried, rest = self._tell_all_but(now_ns, interface, published=True) if is_p else ([], [])
        payload = MarkingChange(link.number, int(is_p), tuple(carried)).encode()
        self._talk.send(now_ns, interface, Kind.CHANGE_MARKING, payload)
        self._send_all(now_ns, rest)  # The other end takes PCDs from the change on, and not before.

    def _say_mark(self, now_ns: int, interface: int, link: Link) -> None:
        """Repeat to who decides how we have marked its link, which it may have otherwise."""
        link.doubted_ns = now_ns
        reply = MarkingChange(link.answered, int(link.is_p_in), ())
        self._talk.send(now_ns, interface, Kind.CHANGE_MARKING_REPLY, reply.encode())

    def _take_change(self, now_ns: int, interface: int, payload: bytes) -> None:
        change, link = MarkingChange.decode(payload), self._links[interface]
        link.change(change.number, bool(change.marking))
        for each in change.descriptors if link.is_p_in else ():
            self._take_in(now_ns, interface, Key(each.router, each.number, 0, 0), each.filter)
        if link.is_p_in:
            self._settle(now_ns)
            self._meeting.forget_told(interface, published=False)
            carried, rest = list[Descriptor](), list[Telling]()
        else:
            self._meeting.forget_held(interface, published=True)
            # If this asks again, our reply to the first was too late, and what it told was not taken.
            self._meeting.forget_told(interface, published=False)
            self._meeting.reconsider(published=False)
            carried, rest = self._tell_all_but(now_ns, interface, published=False)
        self._send_all(now_ns, rest)  # The other end takes SCDs up to the reply.
        reply = MarkingChange(change.number, change.marking, tuple(carried)).encode()
        self._talk.send(now_ns, interface, Kind.CHANGE_MARKING_REPLY, reply)
        self._settle(now_ns)
        self._decide(now_ns)

    def _take_reply(self, now_ns: int, interface: int, payload: bytes) -> None:
        reply, link = MarkingChange.decode(payload), self._links[interface]
        if link.asked_ns is None and reply.marking != int(link.is_p_out):
            self._mark_again(now_ns, interface, link)
            return
        if link.asked_ns is None or (reply.number, reply.marking) != (link.number, int(link.is_p_out)):
            self._talk.drop(interface, Reason.STALE_PAYLOAD)
            return
        for each in reply.descriptors if not link.is_p_out else ():
            if each.filter is not None:
                self._take_in(now_ns, interface, Key(0, 0, each.router, each.number), each.filter)
        link.end_change()
        if link.is_p_out:
            self._meeting.forget_held(interface, published=False)
        else:
            self._settle(now_ns)
            self._meeting.forget_told(interface, published=True)
        self._settle(now_ns)
        self._decide(now_ns)

    def _refuse(self, now_ns: int, interface: int, key: Key) -> None:
        if key.subscriber:
            self._mark_again(now_ns, interface, self._links[interface])
        else:
            super()._refuse(now_ns, interface, key)

    def _mark_again(self, now_ns: int, interface: int, link: Link) -> None:
        """The other end has marked a link otherwise than we who decide, and all our changes are answered."""
        self._talk.drop(interface, Reason.MARKING_DISAGREES, marking=int(link.is_p_out))
        self._meeting.forget_held(interface, published=False)
        self._meeting.forget_told(interface, published=True)
        self._ask(now_ns, interface, link, link.is_p_out)

    def _tell_all_but(
        self, now_ns: int, interface: int, published: bool
    ) -> tuple[list[Descriptor], list[Telling]]:
        """Send what is to be told, but for the descriptors of one sort over one link.

        Returns those that go into the next payload, and those for which it has no room.
        """
        told, changes = self._meeting.settle()
        carried, rest, size = list[Descriptor](), list[Telling](), 0
        for to, payload in told:
            update = DescriptorUpdate.decode(payload) if to == interface else None
            if update is None or not _is_carried(update, published):
                self._send_all(now_ns, [(to, payload)])
                continue
            room = size + len(update.filter or b"") + 20
            if room > LIST_BYTES:
                rest.append((to, payload))
            else:
                router, number = update.publisher or update.subscriber, max(update.pcd, update.scd)
                carried.append(Descriptor(router, number, update.filter))
                size = room
        self._store(now_ns, changes)
        return sorted(carried, key=lambda each: (each.router, each.number)), rest


def _is_carried(update: DescriptorUpdate, published: bool) -> bool:
    """Whether it is a descriptor of one sort that comes."""
    is_match = update.publisher != 0 and update.subscriber != 0
    return not is_match and (update.publisher != 0) is published and not update.withdrawn
