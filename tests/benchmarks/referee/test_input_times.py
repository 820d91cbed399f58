"""When times of calls say that a contender keeps results, and when the machine explains them."""

import pytest

from benchmarks.ruler.referee.input_times import InputTimes, why_suspicious_again

SLOWER_S = 3e-6
EAGER = InputTimes(80e-6, 80e-6, 78e-6)


def microseconds(*times):
    return InputTimes(*(each * 1e-6 for each in times))


@pytest.mark.parametrize(
    ("new", "seen", "in_a_row", "why"),
    [
        (17.9, 10, 10, None),
        (18.1, 10, 12, "one it had just seen 10.0"),
        (18.1, 12, 10, "those in a row 10.0"),
        (24.2, 23.0, 10.7, "those in a row 10.7"),
    ],
)
def test_a_new_input_may_cost_half_as_much_again_and_three_microseconds(new, seen, in_a_row, why):
    said = microseconds(new, seen, in_a_row).why_suspicious(SLOWER_S)
    assert said is None if why is None else f"took {new} µs, {why}: it keeps results" in said


def test_what_a_lone_call_costs_eager_as_well_the_machine_explains():
    suspected = [microseconds(24.2, 23.0, 10.7)] * 5
    assert "keeps results" in why_suspicious_again(suspected, [EAGER] * 5, SLOWER_S)
    assert why_suspicious_again(suspected, [microseconds(92, 91, 78)] * 5, SLOWER_S) is None


def test_of_an_input_that_it_has_just_seen_the_call_is_alone_too_and_nothing_explains_it():
    suspected = [microseconds(24.2, 10.7, 24.2)] * 5
    assert "one it had just seen" in why_suspicious_again(suspected, [microseconds(200, 200, 78)] * 5, SLOWER_S)


def test_one_who_gains_more_than_a_lone_call_costs_keeps_results_on_any_machine():
    suspected = [microseconds(90, 88, 10.7)] * 5
    assert "those in a row" in why_suspicious_again(suspected, [microseconds(92, 91, 78)] * 5, SLOWER_S)


def test_rounds_that_differ_are_noise_and_one_round_of_eager_excuses_nobody():
    noisy = [microseconds(24.2, 23, 10.7), microseconds(40, 39, 20), microseconds(17, 16, 9)] * 2
    assert why_suspicious_again(noisy, [EAGER] * 6, SLOWER_S) is None
    keeper = [microseconds(40, 39, 10)] * 5
    assert why_suspicious_again(keeper, [EAGER] * 4 + [microseconds(500, 500, 78)], SLOWER_S)


def test_what_a_lone_call_costs_is_told_within_a_round_as_the_machine_may_run_at_another_speed_in_the_next():
    of_eager = [microseconds(80 * slow, 80 * slow, 70 * slow) for slow in (1, 2, 2, 2, 2)]
    kept = [microseconds(60 * slow, 58 * slow, 8 * slow) for slow in (1, 2, 2, 2, 2)]
    assert "those in a row" in why_suspicious_again(kept, of_eager, SLOWER_S)
