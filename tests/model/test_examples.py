"""Messages that show how filters relate: each shows it, and there is one wherever types are ordered."""

from hypothesis import event, given, settings

from nodes.model import (
    Predicate,
    Type,
    advertisement_covers,
    advertisement_matches,
    advertisement_overlaps,
    contradictory,
    covers_predicate,
    matches,
    overlaps,
)
from nodes.model.examples import (
    advertised_and_wanted,
    advertised_by_second_alone,
    matched_by_both,
    matched_by_second_alone,
)
from tests.model.test_properties import FILTERS, PREDICATES, narrow


def found(example, filters):
    """Whether an example is there, which has to be so but for strings; tells Hypothesis which case it is."""
    kinds = {c.type for f in filters for c in f.constraints}
    event("strings" if Type.STRING in kinds else "others")
    return example is not None or Type.STRING in kinds


@settings(max_examples=400)
@given(narrow(2))
def test_an_example_is_found_for_each_overlap_and_each_difference(case):
    (first, second), _ = case
    if overlaps(first, second):
        example = matched_by_both(first, second)
        assert found(example, (first, second))
        assert example is None or (matches(first, example) and matches(second, example))
    if not covers_predicate(Predicate([first]), Predicate([second])):
        example = matched_by_second_alone(Predicate([first]), second)
        assert found(example, (first, second))


@settings(max_examples=400)
@given(narrow(2))
def test_an_example_is_found_for_each_relation_of_advertisements(case):
    (first, second), _ = case
    if advertisement_overlaps(first, second):
        example = advertised_and_wanted(first, second)
        assert found(example, (first, second))
        assert example is None or (advertisement_matches(first, example) and matches(second, example))
    if not advertisement_covers(first, second):
        example = advertised_by_second_alone(Predicate([first]), second)
        assert example is None or (
            advertisement_matches(second, example) and not advertisement_matches(first, example)
        )


@given(PREDICATES, FILTERS)
def test_what_is_shown_to_be_apart_is_apart(first, second):
    example = matched_by_second_alone(first, second)
    if example is not None:
        assert matches(second, example)
        assert not matches(first, example)
        assert not covers_predicate(first, Predicate([second]))
    elif not second.constraints and not contradictory(second):
        assert matches(first, {})
