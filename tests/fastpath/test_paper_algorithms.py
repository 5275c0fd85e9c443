"""The algorithms of FWD against the reference model, its figures, and where E1 and E5 correct them."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.fib import ForwardingTable, UsageError, WireError
from nodes.model import Filter, matches_filter, parse_filter
from nodes.wire.codec import encode, encode_filter
from nodes.wire.packets import Message
from tests.draws import draws

SETTINGS = [("counting", 10), ("selective", 0), ("selective", 1), ("selective", 10)]

# FWD Fig. 2: interface -> its filters.
FIGURE_2 = {
    1: ['dest = "ORD" and price < 500', 'stock = "DYS" and quantity > 1000 and price < 500'],
    2: [
        'airline = "UA" and orig = "Chicago" and dest = "Atlanta"',
        'dest = "New York" and price < 200',
        'orig = "Chicago"',
        'airline = "UA" and upgradeable = true',
    ],
    3: ['stock = "MSFT" and price < 200'],
}
# FWD 2: the message of the paper.
MESSAGE = {"carrier": "UA", "dest": "ORD", "price": 300, "upgradeable": True}


def packet(attributes):
    return encode(Message(source=1, sequence=1, publish_time_ns=0, attributes=attributes))


def table_of(predicates, algorithm="selective", rounds=10):
    """A committed table of interface -> texts of filters."""
    table = ForwardingTable(algorithm=algorithm, rounds=rounds)
    for interface, texts in predicates.items():
        for text in texts:
            table.add(interface, encode_filter(parse_filter(text)))
    table.commit()
    return table


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


@pytest.mark.parametrize(("algorithm", "rounds"), SETTINGS)
def test_F1_F2_any_table_agrees_with_the_model_through_adds_and_removes(strategies, algorithm, rounds):
    """M2, M3, M4 and E5: all types and operators, empty strings, filters that interfaces share."""
    places = st.lists(strategies.interfaces, min_size=1, max_size=3)
    changes = st.lists(st.tuples(st.booleans(), places, strategies.filters, st.integers(0, 30)), max_size=10)
    masks = st.one_of(st.none(), st.integers(0, 2**80 - 1))

    @settings(max_examples=draws(150), deadline=None)
    @given(st.lists(st.tuples(changes, st.lists(strategies.messages, max_size=3), masks), max_size=3))
    def check(turns):
        table, filed = ForwardingTable(algorithm=algorithm, rounds=rounds), {}
        for changed, messages, allowed in turns:
            for remove, interfaces, filter_, pick in changed:
                if remove and filed:
                    victim = list(filed)[pick % len(filed)]
                    table.remove(victim)
                    del filed[victim]
                else:
                    for interface in interfaces:
                        filed[table.add(interface, encode_filter(filter_))] = (interface, filter_)
            table.commit()
            for attributes in messages:
                assert table.match(packet(attributes), allowed) == expected(
                    filed.values(), attributes, allowed
                )

    check()


@pytest.mark.parametrize(("algorithm", "rounds"), SETTINGS)
def test_F4_F5_a_large_random_table_agrees_with_the_model(rng, algorithm, rounds):
    """Hundreds of values a name: long chains, tries that branch, runs of filters that are passed over."""
    names = [f"n{i}" for i in range(8)]
    ops = {int: ["=", "<", ">", "!=", "<=", ">="], str: ["=", ">*", "*<", "*", "<", ">", "<=", ">=", "!="]}
    words = ["".join(rng.choice("abc") for _ in range(rng.randint(0, 5))) for _ in range(80)]

    def value():
        return rng.choice(words) if rng.random() < 0.6 else rng.randint(0, 40)

    def text():
        parts = []
        for _ in range(rng.choice([1, 1, 2, 3, 4])):
            operand = value()
            shown = f'"{operand}"' if isinstance(operand, str) else operand
            parts.append(f"{rng.choice(names)} {rng.choice(ops[type(operand)])} {shown}")
        return " and ".join(parts)

    for interfaces in (5, 900):
        filed = [(rng.randrange(interfaces), parse_filter(text())) for _ in range(1_000)]
        table = ForwardingTable(algorithm=algorithm, rounds=rounds)
        for interface, filter_ in filed:
            table.add(interface, encode_filter(filter_))
        table.commit()
        for _ in range(25):
            attributes = {name: value() for name in rng.sample(names, rng.randint(0, 5))}
            allowed = rng.getrandbits(interfaces) if rng.random() < 0.5 else None
            assert table.match(packet(attributes), allowed) == expected(filed, attributes, allowed), (
                f"{attributes} {allowed}"
            )


def test_F6_price_determines_I1_and_I3_stock_determines_I3_and_nothing_else_does_in_figure_2():
    """Golden. Sorted by how many interfaces a name excludes."""
    assert table_of(FIGURE_2).determinants() == [("price", (1, 3)), ("stock", (3,))]


def test_F6_only_as_many_rows_are_kept_as_there_are_rounds():
    assert table_of(FIGURE_2, rounds=1).determinants() == [("price", (1, 3))]
    assert table_of(FIGURE_2, rounds=0).determinants() == []
    assert table_of(FIGURE_2, "counting").determinants() == []


def test_F6_an_interface_with_an_empty_filter_has_no_determinants():
    table = table_of({**FIGURE_2, 3: [*FIGURE_2[3], "all"]})
    assert table.determinants() == [("price", (1,))]
    assert table.match(packet({})) == (3,)


def test_F6_a_name_is_a_determinant_whatever_the_types_and_however_often_a_filter_has_it():
    table = table_of({5: ['a > 1 and a < 9 and a != 4 and b = "x"', 'a = "x"', "a any boolean"]})
    assert table.determinants() == [("a", (5,))]


@pytest.mark.parametrize(
    ("attributes", "rounds", "eliminated", "matched"),
    [
        (MESSAGE, 10, 1, (1,)),  # stock is missing: I3
        (MESSAGE, 1, 0, (1,)),  # price alone is looked up, and there
        ({"airline": "UA", "upgradeable": True}, 1, 2, (2,)),  # price is missing: I1, I3
        ({"airline": "UA", "upgradeable": True}, 10, 2, (2,)),  # stock adds nothing to that
        ({"stock": "MSFT", "price": 199, "orig": "Chicago"}, 10, 0, (2, 3)),
        ({"stock": "DYS", "price": 199, "quantity": 1001, "orig": "Chicago"}, 10, 0, (1, 2)),
        ({"dest": "New York", "price": 199}, 10, 1, (2,)),
        ({}, 10, 2, ()),
    ],
)
def test_F3_F6_E1_figures_4_and_7_walked_through_with_figure_2(attributes, rounds, eliminated, matched):
    """Golden: what the table rules out, and what counting finds with it and without."""
    table = table_of(FIGURE_2, rounds=rounds)
    assert table.eliminated(packet(attributes)) == eliminated
    assert table.match(packet(attributes)) == matched
    assert table_of(FIGURE_2, "counting").match(packet(attributes)) == matched


def test_E1_a_message_that_excludes_every_interface_is_not_counted_at_all():
    table = table_of({1: ["a > 0"], 2: ["a > 0 and b > 0"]})
    assert table.eliminated(packet({"b": 1})) == 2
    assert table.match(packet({"b": 1})) == ()


def test_F3_interfaces_that_are_not_allowed_are_ignored_from_the_start():
    """FWD Fig. 7: ifs_to_ignore := all_ifs - B."""
    table = table_of({1: ["a > 0"], 2: ["a > 0"], 3: ["a > 0", "all"]})
    assert table.match(packet({"a": 1}), 0b1010) == (1, 3)
    assert table.match(packet({"a": 1}), 0) == ()


def test_E5_a_substring_found_at_many_places_counts_once():
    table = table_of({1: ['s * "aa" and s * "ab" and s *< "b"'], 2: ['s * "a" and s * "c"']}, "counting")
    assert table.match(packet({"s": "aaaaab"})) == (1,)
    assert table.match(packet({"s": "aaaaaa"})) == ()


def test_E5_marks_of_one_message_do_not_outlive_it():
    table = table_of({1: ['s * "a" and t * "a"']}, "counting")
    for _ in range(3):
        assert table.match(packet({"s": "aa"})) == ()
        assert table.match(packet({"s": "aa", "t": "ba"})) == (1,)


@pytest.mark.parametrize("op", ["=", "!=", "<", ">", "<=", ">=", ">*", "*<", "*"])
@pytest.mark.parametrize("operand", ["", "a", "ab", "b"])
def test_E5_F5_every_operator_holds_for_empty_and_short_strings_as_in_the_model(op, operand):
    text = f's {op} "{operand}"'
    table = table_of({7: [text, 's * "zz"', 's < "aa"', 's > "x"']}, "counting")
    alone = table_of({7: [text]}, "counting")
    for value in ("", "a", "aa", "ab", "abab", "b", "ba", "\0", "\U0010ffff"):
        wanted = (7,) if matches_filter(parse_filter(text), {"s": value}) else ()
        assert alone.match(packet({"s": value})) == wanted, value
        others = any(matches_filter(parse_filter(f), {"s": value}) for f in ['s < "aa"', 's > "x"'])
        assert table.match(packet({"s": value})) == ((7,) if others else wanted), value


def test_F5_backtracking_passes_over_prefixes_and_substrings_which_are_no_complete_matches():
    """The nearest leaves are far from where the lookup of `m` ends, with partial matches between."""
    partials = [f's >* "{prefix}"' for prefix in ("l", "lz", "mb", "mbb", "n", "na")]
    table = table_of(
        {1: ['s > "k"'], 2: ['s < "o"'], 3: ['s > "o"'], 4: ['s < "k"'], 5: partials}, "counting"
    )
    for value, matched in [("m", (1, 2)), ("ma", (1, 2)), ("mbc", (1, 2, 5)), ("mz", (1, 2)), ("k", (2,))]:
        assert table.match(packet({"s": value})) == matched, value


def test_F2_equal_constraints_and_filters_are_stored_once():
    """A thousand interfaces with one filter take a fraction of what as many filters do."""
    one = table_of({i: ['a = "some long string 9999" and b > 1'] for i in range(1_000)}, "counting").stats()
    many = table_of({i: [f'a = "{i} some long string" and b > 1'] for i in range(1_000, 2_000)}).stats()
    assert one["bytes"] < many["bytes"] / 3
    assert (one["filters"], one["constraints"], one["interfaces"]) == (1_000, 2_000, 1_000)


def test_counters_start_anew_for_each_of_more_messages_than_their_numbers_last():
    """Message numbers come round after 65,535."""
    table = table_of({1: ["a = 1 and b = 1"], 2: ["c = 1"]}, "counting")
    halves = [packet({"a": 1}), packet({"b": 1})]
    assert table.match(halves[0]) == ()
    for turn in range(65_536 + 5):
        assert table.match(halves[turn % 2]) == ()


def test_many_threads_match_one_index(rng):
    filed = [
        (rng.randrange(40), parse_filter(f"n{rng.randrange(6)} > {rng.randrange(9)}")) for _ in range(200)
    ]
    table = ForwardingTable(algorithm="selective", rounds=3)
    for interface, filter_ in filed:
        table.add(interface, encode_filter(filter_))
    table.commit()
    messages = [{f"n{rng.randrange(6)}": rng.randrange(10) for _ in range(3)} for _ in range(50)]
    cases = [(packet(each), expected(filed, each)) for each in messages]
    wrong = []

    def read(order):
        for sent, matched in order:
            if table.match(sent) != matched:
                wrong.append(sent)

    readers = [threading.Thread(target=read, args=(rng.sample(cases * 20, 1_000),)) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_other_algorithms_have_no_selectivity_table_to_show():
    table = ForwardingTable()
    with pytest.raises(UsageError, match="selective"):
        table.determinants()
    with pytest.raises(UsageError, match="selective"):
        table.eliminated(packet({}))


def test_malformed_packets_are_wire_errors_and_match_nothing():
    table = table_of({1: ["a any integer"], 2: ["all"]})
    good = packet({"a": 1})
    for bad in (b"", good[:-1], good + b"\0", good[:1] + b"\2" + good[2:]):
        with pytest.raises(WireError):
            table.match(bad)
        with pytest.raises(WireError):
            table.eliminated(bad)
    assert table.match(good) == (1, 2)


def test_an_empty_table_matches_nothing():
    for algorithm, rounds in SETTINGS:
        table = ForwardingTable(algorithm=algorithm, rounds=rounds)
        assert table.match(packet({"a": 1})) == ()
        table.add(3, encode_filter(Filter()))
        assert table.match(packet({"a": 1})) == ()
        table.commit()
        assert table.match(packet({"a": 1})) == (3,)
