"""The forwarding table against the reference model."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.fib import ForwardingTable, UsageError, WireError
from nodes.model import Filter, matches_filter, parse_filter
from nodes.wire.codec import encode, encode_filter
from nodes.wire.packets import Message
from tests.draws import draws


def packet(attributes, source=1):
    return encode(Message(source=source, sequence=1, publish_time_ns=0, attributes=attributes))


def expected(filed, attributes, allowed=None):
    """By the model: `filed` is (interface, filter) pairs."""
    return tuple(
        sorted(
            {
                interface
                for interface, filter_ in filed
                if (allowed is None or allowed >> interface & 1) and matches_filter(filter_, attributes)
            }
        )
    )


def table_of(*filed):
    table = ForwardingTable()
    for interface, text in filed:
        table.add(interface, encode_filter(parse_filter(text)))
    table.commit()
    return table


def test_F1_M3_M4_any_table_agrees_with_the_model_through_adds_and_removes(strategies):
    """Also E5: filters come twice, strings are empty, operators overlap on one attribute."""
    changes = st.lists(
        st.tuples(st.booleans(), strategies.interfaces, strategies.filters, st.integers(0, 30)), max_size=12
    )
    masks = st.one_of(st.none(), st.integers(0, 2**80 - 1))

    @settings(max_examples=draws(400), deadline=None)
    @given(st.lists(st.tuples(changes, strategies.messages, masks), min_size=1, max_size=4))
    def check(rounds):
        table, filed = ForwardingTable(), {}
        for changed, attributes, allowed in rounds:
            for remove, interface, filter_, pick in changed:
                if remove and filed:
                    victim = list(filed)[pick % len(filed)]
                    table.remove(victim)
                    del filed[victim]
                else:
                    filed[table.add(interface, encode_filter(filter_))] = (interface, filter_)
            table.commit()
            assert table.match(packet(attributes), allowed) == expected(filed.values(), attributes, allowed)

    check()


def test_changes_are_seen_only_after_commit_and_then_all_at_once():
    """FWD 4.1: updates are buffered."""
    table = ForwardingTable()
    first = table.add(1, encode_filter(parse_filter('a = "x"')))
    message = packet({"a": "x"})
    assert table.match(message) == ()
    table.commit()
    table.remove(first)
    table.add(2, encode_filter(parse_filter('a = "x"')))
    assert table.match(message) == (1,)
    table.commit()
    assert table.match(message) == (2,)


def test_ids_count_from_zero_and_are_never_given_twice():
    table = ForwardingTable()
    everything = encode_filter(Filter())
    assert [table.add(0, everything) for _ in range(3)] == [0, 1, 2]
    table.remove(1)
    assert table.add(0, everything) == 3


def test_F2_a_filter_filed_twice_matches_until_both_are_removed():
    table = table_of((4, "price < 3"), (4, "price < 3"))
    assert table.stats()["constraints"] == 2
    table.remove(0)
    table.commit()
    assert table.match(packet({"price": 1})) == (4,)
    table.remove(1)
    table.commit()
    assert table.match(packet({"price": 1})) == ()


@pytest.mark.parametrize("unknown", [0, 7, -1, 2**64, "0", None])
def test_removing_what_is_not_there_is_a_key_error(unknown):
    with pytest.raises(KeyError, match="no filter has the id"):
        ForwardingTable().remove(unknown)


def test_removing_twice_is_a_key_error():
    table = table_of((0, "a = 1"))
    table.remove(0)
    with pytest.raises(KeyError):
        table.remove(0)


@pytest.mark.parametrize("interface", [-1, 2**24, 2**70, 1.0, True, "0"])
def test_an_interface_that_cannot_be_is_refused(interface):
    with pytest.raises(UsageError, match="interface"):
        ForwardingTable().add(interface, encode_filter(Filter()))


def test_allowed_masks_may_be_wide_and_must_not_be_negative():
    table = ForwardingTable()
    for interface in (3, 64, 200):
        table.add(interface, encode_filter(Filter()))
    table.commit()
    message = packet({})
    assert table.match(message) == (3, 64, 200)
    assert table.match(message, 1 << 64 | 1 << 200 | 1 << 4) == (64, 200)
    assert table.match(message, 0) == ()
    assert table.match(message, (1 << 3000) - 1) == (3, 64, 200)
    with pytest.raises(UsageError, match="not negative"):
        table.match(message, -1)


def test_malformed_filters_and_packets_are_wire_errors():
    table = ForwardingTable()
    good = encode_filter(parse_filter("a = 1"))
    for bad in (b"", good + b"\0", good[:-1], b"\0\1\7\1\1a", bytes(40)):
        with pytest.raises(WireError):
            table.add(0, bad)
    message = packet({"a": 1})
    for bad in (b"", message[:-1], message + b"\0", message[:1] + b"\2" + message[2:], bytes(36)):
        with pytest.raises(WireError):
            table.match(bad)


def test_E5_a_substring_found_at_many_places_counts_once():
    table = table_of((1, 's * "aa" and s >* "aaaa" and s *< "b"'))
    assert table.match(packet({"s": "aaaaab"})) == (1,)
    assert table.match(packet({"s": "aaaaa"})) == ()


def test_a_hostile_substring_does_not_take_quadratic_time():
    """30,000 a's and a b in 60,000 a's: two thousand times, at once if the search is linear."""
    table = table_of((1, f's * "{"a" * 30_000}b"'))
    message = packet({"s": "a" * 60_000})
    assert all(table.match(message) == () for _ in range(2_000))


def test_thousands_of_attributes_and_constraints_are_matched():
    attributes = {f"name{i}": i for i in range(3_000)}
    filter_ = parse_filter(" and ".join(f"name{i} >= {i}" for i in range(2_000)))
    table = ForwardingTable()
    table.add(5, encode_filter(filter_))
    table.commit()
    assert table.match(packet(attributes)) == (5,)
    assert table.match(packet({**attributes, "name1999": 1_998})) == ()


def test_no_match_sees_half_of_a_commit():
    """Readers run while both of two interfaces are swapped for two others at each commit."""
    table, everything = ForwardingTable(), encode_filter(Filter())
    ids = [table.add(0, everything), table.add(1, everything)]
    table.commit()
    message, seen, stop = packet({}), set(), threading.Event()

    def read():
        while not stop.is_set():
            seen.add(table.match(message))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(2_000):
        for filter_id in ids:
            table.remove(filter_id)
        pair = (0, 1) if turn % 2 else (2, 3)
        ids = [table.add(interface, everything) for interface in pair]
        table.commit()
    stop.set()
    for reader in readers:
        reader.join()
    assert seen <= {(0, 1), (2, 3)}


def test_a_large_random_table_agrees_with_the_model(rng):
    """Thousands of filters, so that postings grow long and interfaces are decided early."""
    names = [f"n{i}" for i in range(12)]
    ops = {int: ["=", "<", ">", "!=", "<=", ">="], str: ["=", ">*", "*<", "*", "<", ">"]}
    words = ["".join(rng.choice("abc") for _ in range(rng.randint(1, 4))) for _ in range(60)]

    def value():
        return rng.choice(words) if rng.random() < 0.5 else rng.randint(0, 20)

    def text():
        parts = []
        for _ in range(rng.randint(1, 4)):
            operand = value()
            shown = f'"{operand}"' if isinstance(operand, str) else operand
            parts.append(f"{rng.choice(names)} {rng.choice(ops[type(operand)])} {shown}")
        return " and ".join(parts)

    filed = [(rng.randrange(300), parse_filter(text())) for _ in range(2_000)]
    table = ForwardingTable()
    for interface, filter_ in filed:
        table.add(interface, encode_filter(filter_))
    table.commit()
    for _ in range(40):
        attributes = {name: value() for name in rng.sample(names, rng.randint(0, 6))}
        allowed = rng.getrandbits(300) if rng.random() < 0.5 else None
        wanted = expected(filed, attributes, allowed)
        assert table.match(packet(attributes), allowed) == wanted, f"{attributes} {allowed}"


def test_stats_count_what_was_committed():
    table = table_of((0, 'a = "x" and b > 1'), (9, "b > 1"))
    stats = table.stats()
    assert {key: stats[key] for key in ("filters", "constraints", "interfaces", "names")} == {
        "filters": 2,
        "constraints": 3,
        "interfaces": 2,
        "names": 2,
    }
    assert stats["bytes"] > 0


def test_the_table_can_be_had_from_the_package_by_itself():
    import fastpath

    assert fastpath.ForwardingTable is ForwardingTable
    with pytest.raises(AttributeError, match="no attribute 'Table'"):
        _ = fastpath.Table
