"""Descriptors and matches of one router: the kernel does as `nodes.model.meeting` (MM 5.4; decision 31)."""

import struct
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from fastpath.meeting import OURS, Meeting, Outcome
from nodes.model import meeting as model
from nodes.model import parse_filter
from nodes.routing.digests import SetDigest
from nodes.wire.codec import decode_filter, encode_filter
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from tests.draws import draws

NODE = 3
NETWORKS = (
    # By router, the neighbour that is next on the way to it. Router 8 cannot be reached at first.
    {1: 1, 2: 2, 4: 4, 5: 1, 6: 2, 7: 4},
    {1: 1, 2: 2, 4: 4, 5: 4, 6: 1, 7: 4, 8: 2},
)
LINKS = {0: 1, 1: 2, 2: 4}
UNLIMITED = 1_000_000
FILTERS = tuple(
    encode_filter(parse_filter(text))
    for text in ("x = 1", "x > 0", "x < 0", "x > 5 and x < 9", "y any integer", "x = 7 and y = 2", "y = 2")
)

interfaces = st.sampled_from(sorted(LINKS))
routers = st.sampled_from((1, 2, 3, 3, 4, 5, 8))
numbers = st.integers(1, 2)
pcds = st.builds(lambda router, number: model.Key(router, number, 0, 0), routers, numbers)
scds = st.builds(lambda router, number: model.Key(0, 0, router, number), routers, numbers)
matches = st.builds(lambda pcd, scd: model.Key(*pcd[:2], *scd[2:]), pcds, scds)
keys = st.one_of(pcds, scds, matches)
filters = st.sampled_from(FILTERS)


class World:
    """A tree around one router, which the kernel and the model are shown alike."""

    node = NODE

    def __init__(self):
        self.next_hops = NETWORKS[0]
        self.joined = {}
        self.unused = frozenset()

    @property
    def ways(self):
        return {LINKS[interface]: interface for interface in self.joined}

    @property
    def links(self):
        return {interface: LINKS[interface] for interface in self.joined}

    # As the model asks.

    def towards(self, router):
        return self.ways.get(self.next_hops.get(router))

    def is_from(self, interface, router):
        return interface in self.joined and LINKS[interface] == self.next_hops.get(router)

    def is_between(self, publisher, subscriber):
        if publisher == NODE:
            return subscriber in self.next_hops
        if publisher not in self.next_hops:
            return False
        return subscriber == NODE or self.next_hops.get(subscriber, 0) not in (0, self.next_hops[publisher])

    def spread(self, key):
        found = self.onward(key.publisher, key.subscriber)
        marks = {i: self.joined[i] for i in found if i in self.joined}
        return {i for i, (published, wanted, *_) in marks.items() if (published if key.publisher else wanted)}

    # As the kernel asks.

    def onward(self, publisher, subscriber):
        owner = publisher or subscriber
        away = [i for i in self.joined if LINKS[i] != self.next_hops.get(owner)]
        return [i for i in away if (i, owner) not in self.unused]

    def groups(self):
        sources = sorted(self.next_hops)
        return [([s], [r for r in sources if self.next_hops[r] != self.next_hops[s]]) for s in sources]


class Both(RuleBasedStateMachine):
    """Kernel and model are told the same; after each step they say the same."""

    few = 4096

    def __init__(self):
        super().__init__()
        self.world = World()
        self.kernel = Meeting(NODE, self.few)
        self.model = model.Meeting(self.world)
        self.forwarded = set()

    @initialize()
    def begin(self):
        for interface in LINKS:
            self.join(interface, (True, True, True, True))
        self.turn(0, frozenset())

    def join(self, interface, marks):
        self.kernel.join(interface)
        self.kernel.mark(interface, *marks)
        self.world.joined[interface] = marks

    @rule(number=numbers, is_pcd=st.booleans(), filter_=filters, anything=st.booleans())
    def come(self, number, is_pcd, filter_, anything):
        key = model.Key(NODE, number, 0, 0) if is_pcd else model.Key(0, 0, NODE, number)
        filter_ = None if anything and is_pcd else filter_
        assert self.kernel.put(key, filter_) == self.model.put(OURS, key, read(filter_))
        self.settle()

    @rule(number=numbers, is_pcd=st.booleans())
    def go(self, number, is_pcd):
        key = model.Key(NODE, number, 0, 0) if is_pcd else model.Key(0, 0, NODE, number)
        assert self.kernel.take_back(key) == self.model.take_back(OURS, key)
        self.settle()

    @rule(interface=interfaces, key=keys, filter_=filters, anything=st.booleans(), again=st.booleans())
    def told(self, interface, key, filter_, anything, again):
        if interface not in self.world.joined:
            return
        filter_ = None if anything and not key.subscriber else filter_
        payload = DescriptorUpdate(*key, filter_, again=again).encode()
        outcome = self.kernel.take(interface, payload, UNLIMITED)
        carried = self.world.joined[interface][2 if key.publisher else 3]
        if again and interface in self.model.held.get(key, {}):
            assert outcome == Outcome.AGAIN
            self.kernel.again(interface, key)
            self.model.again(interface, key)
        elif key.is_match or carried:
            assert outcome == Outcome.TAKEN
            self.model.put(interface, key, read(filter_))
        else:
            assert outcome == Outcome.REFUSED
        self.settle()

    @rule(interface=interfaces, key=keys, kept=st.booleans())
    def withdrawn(self, interface, key, kept):
        if interface not in self.world.joined:
            return
        payload = DescriptorUpdate(*key, None, withdrawn=True, kept=kept).encode()
        known = self.kernel.take(interface, payload, UNLIMITED) == Outcome.TAKEN
        assert known == self.model.take_back(interface, key, kept)
        self.settle()

    @rule(interface=interfaces, marks=st.tuples(*[st.booleans()] * 4))
    def mark(self, interface, marks):
        if interface not in self.world.joined:
            return
        self.kernel.mark(interface, *marks)
        self.world.joined[interface] = marks
        for published in (True, False):
            self.kernel.reconsider(published)
            self.model.reconsider(published)
        self.settle()

    @rule(interface=interfaces, published=st.booleans(), held=st.booleans())
    def forget(self, interface, published, held):
        if interface in self.world.joined:
            for each in (self.kernel, self.model):
                (each.forget_held if held else each.forget_told)(interface, published)
            self.settle()

    @rule(interface=interfaces, marks=st.tuples(*[st.booleans()] * 4))
    def flap(self, interface, marks):
        if interface in self.world.joined:
            del self.world.joined[interface]
            self.kernel.lose(interface)
            self.model.lose(interface)
        else:
            self.join(interface, marks)
        self.show()

    @rule(network=st.sampled_from(range(len(NETWORKS))), unused=st.frozensets(st.tuples(interfaces, routers)))
    def turn(self, network, unused):
        self.world.next_hops, self.world.unused = NETWORKS[network], unused
        self.show()

    def show(self):
        """The network is another now."""
        show(self.kernel, self.world)
        self.model.turn()
        self.settle()

    @rule()
    def tell_ours_again(self):
        """What is held in soft state is told again, and matches that are made no longer are dropped."""
        ours = [key for key, held in sorted(self.model.held.items()) if OURS in held]
        assert self.kernel.ours() == ours
        for key in ours:
            self.kernel.again(OURS, key)
            self.model.again(OURS, key)
            if key.is_match:
                makes = self.kernel.still_makes(key)
                assert makes == self.model.still_makes(key)
                if not makes:
                    self.kernel.unmake(key)
                    self.model.unmake(key)
        self.settle()

    def settle(self):
        told, changes = self.kernel.settle()
        expected = [each for each in self.model.settle() if each.interface in self.world.joined]
        assert [said(*each) for each in told] == expected
        for subscriber, filter_, came in changes:
            (self.forwarded.add if came else self.forwarded.remove)((subscriber, filter_))
        forwarded = {(key.subscriber, encode_filter(f)) for key, f in self.model.forwarded.items()}
        assert self.forwarded == forwarded
        held = {k: {i: read(f) for i, f in by.items()} for k, by in self.kernel.held().items()}
        assert held == self.model.held
        for interface in self.world.joined:
            came = [key for key, by in held.items() if interface in by]
            went = [key for key, to in self.model.told.items() if interface in to]
            assert self.kernel.count(interface) == len(came)
            assert self.kernel.digests(interface) == (digest(went), digest(came))
        sorts = Counter("match" if k.is_match else bool(k.publisher) for k in self.model.held)
        assert self.kernel.counts() == (sorts[True], sorts[False], sorts["match"])


def show(kernel, world):
    kernel.turn(world.next_hops, world.ways, world.links, world)


def read(filter_):
    return None if filter_ is None else decode_filter(filter_)


def said(interface, payload):
    update = DescriptorUpdate.decode(payload)
    key = model.Key(update.publisher, update.pcd, update.subscriber, update.scd)
    flags = {"withdrawn": update.withdrawn, "kept": update.kept, "again": update.again}
    return model.Update(interface, key, read(update.filter), **flags)


def digest(keys):
    found = SetDigest()
    for key in keys:
        found.toggle(0, struct.pack(">4Q", *key))
    return found.digest


@pytest.mark.parametrize("few", [0, 2, 4096])
def test_the_kernel_decides_as_the_model_does_whatever_comes(few):
    machine = type("Indexed", (Both,), {"few": few})
    run_state_machine_as_test(machine, settings=settings(max_examples=draws(400), stateful_step_count=40))


def joined(*interfaces_):
    world, meeting = World(), Meeting(NODE)
    for interface in interfaces_:
        meeting.join(interface)
        meeting.mark(interface, True, True, True, True)
        world.joined[interface] = (True, True, True, True)
    show(meeting, world)
    meeting.settle()
    return meeting


def test_a_neighbour_makes_it_hold_no_more_than_is_allowed():
    meeting = joined(0)
    for number in range(1, 4):
        payload = DescriptorUpdate(0, 0, 1, number, FILTERS[0]).encode()
        assert meeting.take(0, payload, 2) == (Outcome.TAKEN if number < 3 else Outcome.FULL)
    assert meeting.count(0) == 2
    assert meeting.hold(0, (0, 0, 1, 9), FILTERS[0], 2) == Outcome.FULL


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        DescriptorUpdate(0, 0, 1, 1, FILTERS[0]).encode()[:-1],
        DescriptorUpdate(0, 0, 1, 1, FILTERS[0]).encode() + b"\0",
        DescriptorUpdate(0, 0, 1, 1, None).encode(),
        b"\x08" + DescriptorUpdate(0, 0, 1, 1, FILTERS[0]).encode()[1:],
        b"\x01" + DescriptorUpdate(0, 0, 1, 1, FILTERS[0]).encode()[1:],
        DescriptorUpdate(0, 0, 1, 1, FILTERS[0]).encode()[:25] + b"\0\0\0\2" + FILTERS[0] + FILTERS[1],
    ],
)
def test_what_is_malformed_changes_nothing(payload):
    meeting = joined(0)
    assert meeting.take(0, payload, UNLIMITED) == Outcome.MALFORMED
    assert meeting.settle() == ([], [])
    assert meeting.held() == {}


def test_an_error_of_the_trees_is_raised_where_they_are_asked():
    class Fails(World):
        def onward(self, publisher, subscriber):
            raise LookupError(f"nothing is known of {publisher or subscriber}")

    meeting = Meeting(NODE)
    show(meeting, Fails())
    meeting.put((0, 0, NODE, 1), FILTERS[0])
    with pytest.raises(LookupError, match="nothing is known of 3"):
        meeting.settle()
