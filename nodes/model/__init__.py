"""The model: what messages and predicates are, what matches, what covers (M1-M7).

Plain Python on the standard library alone. Every faster implementation is compared with
it, and the oracle of deliveries uses it.
"""

from nodes.model.constraints import Constraint, Op, allows
from nodes.model.covering import (
    advertisement_covers,
    advertisement_overlaps,
    contradictory,
    covers,
    covers_predicate,
    implies,
    overlaps,
    reduce,
)
from nodes.model.filters import (
    EVERYTHING,
    NOTHING,
    Filter,
    Predicate,
    advertised,
    advertisement_matches,
    matches,
    matches_filter,
)
from nodes.model.syntax import (
    PredicateSyntaxError,
    format_filter,
    format_message,
    format_predicate,
    format_value,
    parse_filter,
    parse_message,
    parse_predicate,
)
from nodes.model.values import (
    INTEGER_MAX,
    INTEGER_MIN,
    NAME_BYTES_MAX,
    STRING_BYTES_MAX,
    Time,
    Type,
    UsageError,
    Value,
    check_message,
    check_name,
    check_value,
    type_of,
)

__all__ = [
    "EVERYTHING",
    "INTEGER_MAX",
    "INTEGER_MIN",
    "NAME_BYTES_MAX",
    "NOTHING",
    "STRING_BYTES_MAX",
    "Constraint",
    "Filter",
    "Op",
    "Predicate",
    "PredicateSyntaxError",
    "Time",
    "Type",
    "UsageError",
    "Value",
    "advertised",
    "advertisement_covers",
    "advertisement_matches",
    "advertisement_overlaps",
    "allows",
    "check_message",
    "check_name",
    "check_value",
    "contradictory",
    "covers",
    "covers_predicate",
    "format_filter",
    "format_message",
    "format_predicate",
    "format_value",
    "implies",
    "matches",
    "matches_filter",
    "overlaps",
    "parse_filter",
    "parse_message",
    "parse_predicate",
    "reduce",
    "type_of",
]
