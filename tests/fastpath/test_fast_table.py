"""The forwarding table's default algorithm against the model: changes in any order, the edges of things."""

import itertools
import string

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fastpath.fib import ALGORITHMS, ForwardingTable, UsageError, WireError
from nodes.model import Constraint, Filter, Op, matches_filter, parse_filter
from nodes.wire.codec import encode, encode_filter
from nodes.wire.packets import Message
from tests.draws import draws


def packet(attributes):
    return encode(Message(source=1, sequence=1, publish_time_ns=0, attributes=attributes))


def table_of(*filed):
    table = ForwardingTable()
    for interface, text in filed:
        table.add(interface, encode_filter(parse_filter(text)))
    table.commit()
    return table


def machine_of(strategies):
    class AnyOrderOfChanges(RuleBasedStateMachine):
        """Adds, removes and commits as they come; after each step, what is committed is what is matched."""

        ids = Bundle("ids")

        def __init__(self):
            super().__init__()
            self.table = ForwardingTable()
            self.filed, self.committed = {}, {}

        @rule(target=ids, interface=strategies.interfaces, filter_=strategies.filters)
        def add(self, interface, filter_):
            filter_id = self.table.add(interface, encode_filter(filter_))
            assert filter_id not in self.filed
            self.filed[filter_id] = (interface, filter_)
            return filter_id

        @rule(filter_id=consumes(ids))
        def remove(self, filter_id):
            self.table.remove(filter_id)
            del self.filed[filter_id]
            with pytest.raises(KeyError):
                self.table.remove(filter_id)

        @rule()
        def commit(self):
            self.table.commit()
            self.committed = dict(self.filed)

        @rule(attributes=strategies.messages, allowed=st.one_of(st.none(), st.integers(0, 2**80 - 1)))
        def match(self, attributes, allowed):
            wanted = {
                interface
                for interface, filter_ in self.committed.values()
                if (allowed is None or allowed >> interface & 1) and matches_filter(filter_, attributes)
            }
            assert self.table.match(packet(attributes), allowed) == tuple(sorted(wanted))

        @invariant()
        def the_figures_are_those_of_the_last_commit(self):
            stats = self.table.stats()
            assert stats["filters"] == len(self.committed)
            assert stats["constraints"] == sum(len(f.constraints) for _, f in self.committed.values())
            assert stats["interfaces"] == len({interface for interface, _ in self.committed.values()})

    return AnyOrderOfChanges


def test_M3_M4_E5_any_order_of_changes_agrees_with_the_model(strategies):
    run_state_machine_as_test(
        machine_of(strategies),
        settings=settings(max_examples=draws(150), stateful_step_count=40, deadline=None),
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_go_by_name(algorithm):
    table = ForwardingTable(algorithm, rounds=3)
    table.add(7, encode_filter(parse_filter("a = 1")))
    table.commit()
    assert table.match(packet({"a": 1})) == (7,)


def test_an_unknown_algorithm_is_refused_by_name():
    with pytest.raises(UsageError, match=r"'quick'; expected one of fast, selective, counting"):
        ForwardingTable("quick")


def test_many_packets_are_matched_in_one_call_and_the_bad_one_is_named():
    table = table_of((3, "a = 1"), (300, "a > 0"))
    packets = [packet({"a": 1}), packet({"a": 2}), packet({})]
    assert table.match_many(packets) == [(3, 300), (300,), ()]
    assert table.match_many(iter(packets), allowed=1 << 3) == [(3,), (), ()]
    with pytest.raises(WireError, match=r"packet 1: "):
        table.match_many([packets[0], b"", packets[1]])
    with pytest.raises(TypeError):
        table.match_many(["text"])


def test_removing_a_cover_restores_what_it_hid():
    """M7, M10: of one interface, `a > 1` makes `a > 2 and b = 1` needless; alone it must be asked again."""
    table = table_of((4, "a > 1"), (4, "a > 2 and b = 1"))
    assert table.match(packet({"a": 5})) == (4,)
    table.remove(0)
    table.commit()
    assert table.match(packet({"a": 5})) == ()
    assert table.match(packet({"a": 5, "b": 1})) == (4,)


def test_a_filter_that_hides_elsewhere_in_the_same_commit_is_found_again():
    """Bared under one attribute, hidden under the next one while that is looked through, then bared there."""
    table = table_of((1, "a >= 0"), (1, "b any integer"), (1, "b > 0"), (1, "a = 1 and b = 1"))
    table.remove(0)
    table.remove(2)
    table.commit()
    assert table.match(packet({"b": 0})) == (1,)
    table.remove(1)
    table.commit()
    assert table.match(packet({"a": 1, "b": 0})) == ()
    assert table.match(packet({"a": 1, "b": 1})) == (1,)


def test_two_halves_that_cover_together_hide_until_one_goes():
    """Below 5 or above 3 is everything; what that hid comes back, whichever half goes."""
    table = table_of((1, "a < 5"), (1, "a > 3"), (1, "a = 4 and b = 1"), (1, "a = 9 and b = 1"))
    table.remove(1)
    table.commit()
    assert table.match(packet({"a": 9})) == ()
    assert table.match(packet({"a": 9, "b": 1})) == (1,)
    assert table.match(packet({"a": 4})) == (1,)
    table.remove(0)
    table.commit()
    assert table.match(packet({"a": 4})) == ()
    assert table.match(packet({"a": 4, "b": 1})) == (1,)


def test_a_table_larger_than_any_mask_decides_each_interface_once():
    """Interfaces on both sides of where masks end, with several filters that hold for the same message."""
    table = ForwardingTable()
    for interface in range(0, 2_000, 7):
        for text in ("a > 1", "a > 2", "a = 5 and b = 1", 's * "x" and a > 0'):
            table.add(interface, encode_filter(parse_filter(text)))
    table.commit()
    every = tuple(range(0, 2_000, 7))
    assert table.match(packet({"a": 5, "b": 1, "s": "axbxc"})) == every
    assert table.match(packet({"a": 1, "s": "x"})) == every
    assert table.match(packet({"a": 1, "s": "x"}), 1 << 7 | 1 << 1400 | 1 << 1401) == (7, 1400)
    assert table.match(packet({"a": 1})) == ()


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("a < -9223372036854775808", [], [-(2**63), 0]),
        ("a <= 9223372036854775807", [-(2**63), 2**63 - 1], []),
        ("a > 9223372036854775807", [], [2**63 - 1]),
        ("a >= -9223372036854775808", [-(2**63), 0], []),
        ("a != 9223372036854775807", [0, 2**63 - 2], [2**63 - 1]),
        ('a = ""', [""], ["\0", "a"]),
        ('a >* ""', ["", "a"], [0]),
        ('a * ""', ["", "\0"], [0.0]),
        ('a > ""', ["\0", "a"], [""]),
        ('a <= "b"', ["", "b", "azz"], ["b\0", "c"]),
        ('a > "b"', ["b\0", "c"], ["b", ""]),
        ("a = true", [True], [False, 1]),
        ("a != true", [False], [True, 0]),
        ("a any float", [float("inf"), -0.0], [0]),
        ("a < 1.5", [float("-inf"), 1.0], [1.5, float("inf")]),
    ],
)
@pytest.mark.parametrize("interface", [0, 255, 256, 70_000])
def test_M2_M3_the_ends_of_every_order(text, matching, other, interface):
    """Alone, where it is folded or filed, and beside another constraint, where it is checked."""
    table = table_of((interface, text), (interface + 1, f"{text} and b = 1"))
    for value in matching:
        assert table.match(packet({"a": value})) == (interface,)
        assert table.match(packet({"a": value, "b": 1})) == (interface, interface + 1)
    for value in other:
        assert table.match(packet({"a": value, "b": 1})) == ()


def test_M4_filters_that_contradict_themselves_match_nothing():
    table = table_of(
        (1, "a < 1 and a > 1"), (2, 'a = 1 and a = "x"'), (3, 's = "a" and s = "b"'), (300, "a = 1 and a = 2")
    )
    for attributes in ({"a": 1}, {"a": "x"}, {"s": "a"}, {"a": 2, "s": "b"}):
        assert table.match(packet(attributes)) == ()


def test_names_and_strings_with_nul_are_like_any_other():
    table = ForwardingTable()
    filed = [
        ("n\0", Op.EQ, 1),
        ("n", Op.EQ, 1),
        ("s", Op.EQ, "a"),
        ("s", Op.EQ, "a\0"),
        ("s", Op.SUBSTRING, "\0"),
    ]
    for interface, (name, op, value) in enumerate(filed, 1):
        table.add(interface, encode_filter(Filter([Constraint.on(name, op, value)])))
    table.commit()
    assert table.match(packet({"n\0": 1})) == (1,)
    assert table.match(packet({"n": 1})) == (2,)
    assert table.match(packet({"s": "a"})) == (3,)
    assert table.match(packet({"s": "a\0"})) == (4, 5)


def test_the_longest_strings_are_found_whole_at_both_ends_and_in_the_middle():
    long = "ab" * 30_000
    table = table_of(
        (1, f's = "{long}"'),
        (2, f's >* "{long}"'),
        (3, f's *< "{long}"'),
        (4, f's * "{long}"'),
        (5, 's * "ba"'),
    )
    assert table.match(packet({"s": long})) == (1, 2, 3, 4, 5)
    assert table.match(packet({"s": long + "c"})) == (2, 4, 5)
    assert table.match(packet({"s": "c" + long})) == (3, 4, 5)
    assert table.match(packet({"s": "c" + long + "c"})) == (4, 5)
    assert table.match(packet({"s": long[:-1] + "c"})) == (5,)


def test_E5_dozens_of_operands_in_one_string_keep_their_ends():
    """Each occurs twice: at the start or the end once, and once in the middle."""
    pieces = [f"<{at:02}>" for at in range(40)]
    table = ForwardingTable()
    for at, piece in enumerate(pieces):
        for interface, op in (
            (at, Op.PREFIX),
            (40 + at, Op.SUFFIX),
            (400 + at, Op.SUFFIX),
            (500 + at, Op.SUBSTRING),
        ):
            table.add(interface, encode_filter(Filter([Constraint.on("s", op, piece)])))
    table.commit()
    middle = "".join(pieces)
    for first, last in ((0, 39), (39, 0), (17, 23)):
        found = table.match(packet({"s": pieces[first] + middle + pieces[last]}))
        assert found == (first, 40 + last, 400 + last, *range(500, 540))


def test_ten_thousand_attributes_in_one_message():
    # Names of three letters, so that so many of them fit into 64 KiB.
    names = [
        "".join(letters)
        for letters in itertools.islice(itertools.product(string.ascii_lowercase, repeat=3), 10_000)
    ]
    attributes = {name: at % 2 == 0 for at, name in enumerate(names)}
    table = table_of((1, f"{names[0]} = true and {names[9_998]} = true"), (2, f"{names[9_999]} = false"))
    assert table.match(packet(attributes)) == (1, 2)
    assert table.match(packet({**attributes, names[9_998]: False})) == (2,)


def test_a_message_damaged_anywhere_is_a_wire_error_or_matches():
    """E5: it never reads beyond its bytes (the sanitizers watch that), and says what is wrong."""
    table = table_of((1, 'a = "x"'), (2, "b > 1"), (300, "c any boolean"))
    good = packet({"a": "x", "b": 2, "c": True})
    assert table.match(good) == (1, 2, 300)
    refused = 0
    for at in range(36, len(good)):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            try:
                assert set(table.match(good[:at] + bytes([value]) + good[at + 1 :])) <= {1, 2, 300}
            except WireError:
                refused += 1
    assert refused > 50
    with pytest.raises(WireError, match="UTF-8"):
        table.match(good.replace(b"x", b"\xff"))


def test_emptied_tables_hold_nothing_and_can_be_filled_again():
    table = ForwardingTable()
    empty = table.stats()["bytes"]
    for turn in range(3):
        ids = [
            table.add(at % 300, encode_filter(parse_filter(f's{at} = "{turn} {at}"'))) for at in range(3_000)
        ]
        table.commit()
        assert table.match(packet({"s7": f"{turn} 7"})) == (7,)
        for filter_id in ids:
            table.remove(filter_id)
        table.commit()
        assert table.match(packet({"s7": f"{turn} 7"})) == ()
    table.remove(table.add(0, encode_filter(Filter())))
    table.commit()
    assert {key: table.stats()[key] for key in ("filters", "constraints", "interfaces", "names")} == {
        "filters": 0,
        "constraints": 0,
        "interfaces": 0,
        "names": 0,
    }
    assert table.stats()["bytes"] < empty + 1_000_000
