"""The goldens of the papers on what matches and what covers: ADR Fig. 1, Tables 2 and 3 (M4, M5), M7."""

import pytest

from nodes.model import (
    Filter,
    advertisement_covers,
    advertisement_matches,
    covers,
    matches,
    parse_filter,
    parse_message,
)

ALARM = 'what = "alarm", date = @1970-01-01T02:40:03Z'
LOGINS = Filter(
    c
    for text in ('what = "alarm"', 'what = "login"', "user any string")
    for c in parse_filter(text).constraints
)


@pytest.mark.parametrize(
    ("subscription", "message", "expected"),
    [
        ('what = "alarm"', ALARM, True),
        ('what = "alarm" and level > 3', ALARM, False),
        ('what = "alarm" and level > 3 and level < 7', 'what = "alarm", level = 10', False),
        ('what = "alarm" and level > 3 and level < 7', 'what = "alarm", level = 5', True),
    ],
)
def test_M4_subscriptions_match_as_in_ADR_table_2(subscription, message, expected):
    assert matches(parse_filter(subscription), parse_message(message)) is expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('what = "alarm"', True),
        (ALARM, False),
        ('what = "login", user = "ingmar"', True),
        ('what = "logout", user = "ingmar"', False),
    ],
)
def test_M5_advertisements_match_as_in_ADR_table_3(message, expected):
    assert advertisement_matches(LOGINS, parse_message(message)) is expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'class = "finance/exchanges/stock", exchange = "NYSE", symbol = "DIS", change = -0.5, volume = 9',
            True,
        ),
        ('class = "finance/exchanges/stock", exchange = "NYSE", symbol = "DIS", change = 0.5', False),
        ('class = "finance/bonds", exchange = "NYSE", symbol = "DIS", change = -0.5', False),
        ('class = "finance/exchanges/stock", exchange = "NYSE", symbol = "DIS"', False),
    ],
)
def test_M4_the_filter_of_ADR_figure_1_selects_price_decreases_of_one_stock(message, expected):
    filter_ = parse_filter(
        'class >* "finance/exchanges/" and exchange = "NYSE" and symbol = "DIS" and change < 0.0'
    )
    assert matches(filter_, parse_message(message)) is expected


@pytest.mark.parametrize(("k1", "k2"), [(1, 1), (1, 2), (2, 1), (-5, 5), (5, -5)])
@pytest.mark.parametrize("literal", ["{}", "{}.5", "@{}ns"])
def test_M7_greater_than_k1_covers_greater_than_k2_iff_k2_is_not_less(k1, k2, literal):
    wide, narrow = (parse_filter(f"x > {literal.format(k)}") for k in (k1, k2))
    assert covers(wide, narrow) is (k2 >= k1)


def test_M7_an_advertisement_covers_what_declares_less():
    assert advertisement_covers(LOGINS, parse_filter('what = "login"'))
    assert not advertisement_covers(parse_filter('what = "login"'), LOGINS)
