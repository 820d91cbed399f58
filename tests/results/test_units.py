from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.units import (
    THIN_SPACE,
    alike,
    change_in_words,
    change_interval_in_words,
    percent,
    ratio,
    ratio_interval,
    rest_of,
    si,
    si_interval,
    signed,
    with_prefix,
    without_prefix,
)

PREFIXED = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@given(st.floats(min_value=1e-11, max_value=9e14))
def test_three_digits_are_kept_whatever_the_size(value):
    number, _, unit = si(value, "s").partition("\N{NARROW NO-BREAK SPACE}")
    assert float(number) * PREFIXED[unit.removesuffix("s")] == pytest.approx(value, rel=5.1e-3)
    assert 1 <= float(number) < 1000


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (5.214e-5, "s", "52.1 µs"),
        (999.6e-6, "s", "1.00 ms"),
        (64000, "rows/s", "64.0 k rows/s"),
        (12, "rows/s", "12.0 rows/s"),
        (4.53e10, "FLOP/s", "45.3 GFLOP/s"),
        (71000, "", "71.0 k"),
        (0, "s", "0 s"),
    ],
)
def test_a_prefix_joins_a_symbol_and_stands_before_a_word(value, unit, shown):
    assert si(value, unit).replace("\N{NARROW NO-BREAK SPACE}", " ") == shown


def test_an_interval_is_in_the_prefix_of_its_value():
    assert si_interval(1.01e-3, 998e-6, 1.03e-3) == "[1.00, 1.03]"


def test_a_factor_and_a_share_have_their_signs():
    assert ratio(1.834) == "1.83\N{MULTIPLICATION SIGN}"
    assert [percent(share).replace("\N{NARROW NO-BREAK SPACE}", " ") for share in (0.123, 0.0041)] == ["12 %", "0.4 %"]


@pytest.mark.parametrize(("value", "shown"), [(1.83, "[1.80, 1.90]"), (964.0, "[2, 2]")])
def test_the_interval_of_a_ratio_has_the_decimals_of_the_ratio(value, shown):
    assert ratio_interval(value, 1.8, 1.9) == shown
    assert len(ratio(value).partition(".")[2].rstrip("×")) == len(shown.partition(",")[0].partition(".")[2])


@pytest.mark.parametrize("change", [0.0, -0.0, 4e-4, -4e-4, -1e-300])
def test_a_change_that_rounds_to_zero_has_no_sign(change):
    assert change_in_words(1 + change) == "0.0 %"
    assert signed(100 * change) == "0.0"
    assert percent(change / 10) == f"0.0{THIN_SPACE}%"
    assert si_interval(1.0, change, 1.0) == "[0.00, 1.00]"


@pytest.mark.parametrize("ratio", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_change(ratio):
    assert change_in_words(ratio) == "–"


def test_a_change_keeps_its_sign():
    assert [change_in_words(ratio) for ratio in (1.0006, 0.9994, 2.0)] == ["+0.1 %", "-0.1 %", "+100 %"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123456, "0.01235"), (12.3456, "12.35"), (999.94, "999.9"), (999.96, "1,000"), (1198234.4, "1,198,234"),
        (-1200000.0, "-1,200,000"), (0.0, "0"), (2.5e12, "2.5e+12"), (float("inf"), "inf"),
    ],
)  # fmt: skip
def test_a_number_without_a_prefix_has_separators_of_thousands(value, text):
    assert without_prefix(value) == text


@pytest.mark.parametrize("value", [5e-324, 1e-200, 1e-16, 1e18, 1e200, 1.79e308])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_beyond_all_prefixes_is_short(value, sign):
    texts = [with_prefix(sign * value, "s"), si(sign * value, "s")]
    shown = pytest.approx(sign * value, rel=5e-3, abs=3e-324)
    assert [float(text.rstrip("s").strip()) for text in texts] == [shown] * 2
    assert max(len(text) for text in (*texts, change_in_words(value), signed(sign * value))) <= 12


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.06, "+6.0 %"), (0.94, "-6.0 %"), (1.9994, "+99.9 %"), (1.9996, "+100 %"),
        (2.97, "+197 %"), (47.16, "× 47.2"), (1 / 47.16, "÷ 47.2"),
        (5280.4, "× 5,280"), (2.1e5, "× 210,000"), (4.7e15, "× 4.7e+15"), (0.0, "-100 %"),
        (3.0000000000000036, "× 3"), (999.6, "× 1,000"), (2e9, "× 2e+09"),
    ],
)  # fmt: skip
def test_a_ratio_is_a_change_in_percent_or_beyond_three_a_factor(ratio, words):
    assert change_in_words(ratio) == words


@pytest.mark.parametrize(
    ("ratio", "interval", "words"),
    [
        (0.504, (0.206, 1.232), ("-79.4 %", "+23.2 %")),
        (47.2, (30.0, 60.0), ("× 30", "× 60")),
        (0.1, (0.05, 2.0), ("÷ 20", "× 2")),
        (3.5, (0.0, 4.0), ("-100 %", "+300 %")),
        (None, (0.9, 4.0), ("-10.0 %", "+300 %")),
    ],
)
def test_the_ends_of_an_interval_have_the_form_of_its_ratio(ratio, interval, words):
    assert change_interval_in_words(*interval, ratio=ratio) == words


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([5e-3, 5.1e-3 - 1e-4], ["5 ms", "5 ms"]),  # the same figure, one of them by a subtraction
        ([5e-3, 5.004e-3], ["5.00 ms", "5.00 ms"]),
        ([3e-3, 1.5e-3], ["3.00 ms", "1.50 ms"]),
        ([225e-6, 25e-6], ["225 µs", "25 µs"]),
        ([30.3e-6, 0.94e-6], ["30.3 µs", "940 ns"]),
        ([0.9996e-3, 0.5e-3], ["1.00 ms", "0.50 ms"]),
        ([2e-3, 12e-6], ["2.00 ms", "12 µs"]),
        ([0.0, 0.0], ["0 s", "0 s"]),
        ([-2.5e6, 1e6], ["-2.50 MB", "1.00 MB"]),
        ([1e30, 1.0], ["1e+30 s", "1 s"]),
        ([], []),
    ],
)
def test_numbers_that_are_read_together_have_the_same_prefix_and_digits(values, shown):
    assert alike(values, "B" if "MB" in "".join(shown) else "s") == shown


@given(st.floats(1e-9, 1e3), st.lists(st.floats(0, 1), max_size=2), st.booleans())
def test_what_is_written_of_parts_and_rest_adds_up_to_the_whole(whole, shares, is_less):
    whole = -whole if is_less else whole
    parts = [whole * share for share in shares]
    rest, words = rest_of(whole, parts, "s")
    number, unit = words.split(" ")
    prefix, decimals = PREFIXED[unit.removesuffix("s")], len(number.partition(".")[2])
    assert float(number) * prefix == pytest.approx(abs(rest))
    left = sum((whole, *(-part for part in parts)))
    if rest:
        written = [round(value / prefix, decimals) for value in (whole, *parts)]
        assert round(written[0] - sum(written[1:]), decimals) == pytest.approx(rest / prefix)
    else:
        assert abs(left) <= 0.01 * (len(parts) + 1) * max(map(abs, [whole, *parts]))


def test_beyond_all_prefixes_the_rest_is_as_it_is():
    assert rest_of(3e30, [1e30], "s") == (pytest.approx(2e30), "2e+30 s")
    assert rest_of(0.0, [], "s") == (0.0, "0 s")
