"""Hypothesis strategies for messages and filters that often meet, by every operator and type."""

from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from nodes.model import Constraint, Filter, Op, Time, Type, allows

# Few names and values from a small pool, so that constraints hold about half the time; extremes in the pool.
NAMES = st.sampled_from(["a", "ab", "b", "price", "ünïcode", "n\0ul"])
VALUES = {
    Type.STRING: st.one_of(
        st.sampled_from(["", "a", "ab", "aba", "abab", "b\0", "ÿ", "ü", "\U0010ffff"]),
        st.text("ab", max_size=6),
    ),
    Type.INTEGER: st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1])),
    Type.FLOAT: st.sampled_from([-1.5, 0.0, -0.0, 1.0, 5e-324, float("inf"), float("-inf"), 3.0]),
    Type.BOOLEAN: st.booleans(),
    Type.TIME: st.builds(Time, st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))),
}
KINDS = st.sampled_from(list(Type))


@st.composite
def constraints(draw):
    kind = draw(KINDS)
    op = draw(st.sampled_from([op for op in Op if allows(op, kind)]))
    return Constraint(draw(NAMES), kind, op, None if op is Op.ANY else draw(VALUES[kind]))


@pytest.fixture(scope="session")
def strategies():
    values = KINDS.flatmap(VALUES.__getitem__)
    return SimpleNamespace(
        messages=st.dictionaries(NAMES, values, max_size=5),
        filters=st.lists(constraints(), max_size=4).map(Filter),
        interfaces=st.one_of(st.integers(0, 4), st.integers(60, 70), st.sampled_from([1000, 16_777_215])),
    )
