"""Names of routers made of labels."""

from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.importers.cleaning import NAME, names_of, room


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=30), max_size=40), st.integers(0, 2000))
@settings(max_examples=200, deadline=None)
def test_names_are_unique_and_fit_whatever_the_labels(labels, degree):
    found = names_of(labels, dict.fromkeys(labels, degree))
    assert list(found) == list(labels)
    assert len(set(found.values())) == len(labels)
    for name in found.values():
        assert NAME.fullmatch(name)
        assert len(name) <= room(degree)
        assert len(f"{name}-eth{degree + 40}") <= 15


def test_who_has_a_good_name_keeps_it():
    labels = {
        "0": "New York",
        "1": "newyork",
        "2": "Newark",
        "3": "New York 2",
        "4": "x" * 9,
        "5": "\u6771\u4eac",
    }
    assert list(names_of(labels, {}).values()) == ["new", "newyork", "newark", "newyork2", "x" * 9, "n"]
