"""Who is ahead, by recorded timings."""

from dataclasses import replace

import pytest

from benchmarks.ruler.checks import fused_table
from benchmarks.ruler.checks.comparison import Comparison, Quantity, Standing, markdown, ratio, standing
from benchmarks.ruler.measure.statistics import MedianInterval
from benchmarks.ruler.plan.points import contender_from_name
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit


def outcome(samples_s, **changes):
    ordered = sorted(samples_s)
    return replace(
        TimingOutcome(
            state=State.OK,
            samples_s=tuple(samples_s),
            latency_s=ordered[len(ordered) // 2],
            latency_ci_low_s=ordered[0],
            latency_ci_high_s=ordered[-1],
        ),
        **changes,
    )


def compared(ours, rival, *, name="compiled", quantity=Quantity.WALL):
    return ratio(ours, rival, rival_name=name, quantity=quantity)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.01, 1.2, Standing.AHEAD),
        (0.99, 1.2, Standing.EVEN),
        (1.0, 1.2, Standing.EVEN),
        (0.8, 0.99, Standing.BEHIND),
    ],
)
def test_only_a_whole_interval_on_one_side_of_one_is_ahead_or_behind(low, high, expected):
    assert standing(MedianInterval(median=1.05, low=low, high=high)) is expected


def test_wall_times_are_compared_round_by_round_so_that_drift_cancels():
    drift = [1 + 0.5 * n for n in range(12)]
    ours, rival = outcome([1e-6 * d for d in drift]), outcome([2e-6 * d for d in drift])
    found = compared(ours, rival)
    assert found.low == pytest.approx(2.0) == pytest.approx(found.high)
    assert compared(rival, ours).median == pytest.approx(0.5)


def test_rounds_after_one_of_them_was_done_are_left_out():
    found = compared(outcome([1e-6] * 12), outcome([3e-6] * 12 + [99.0] * 20))
    assert found.high == pytest.approx(3.0)


def visited(of_visits, *, disturbed=()):
    """The outcome of a point whose visits took these samples; `disturbed`: the numbers of those that were."""
    visits = tuple(
        Visit(
            measured_at=str(i), n_samples=len(samples), median_s=samples[0],
            disturbed="a neighbour" if i in disturbed else None,
        )
        for i, samples in enumerate(of_visits)
    )  # fmt: skip
    return outcome([each for samples in of_visits for each in samples], visits=visits)


def test_rounds_are_paired_within_a_visit_however_many_each_contender_had():
    """Visits differ by their processes' speed: paired across visits, a ratio would be of two machines."""
    ours = visited([[1e-6] * 8, [2e-6] * 20, [1e-6] * 12])
    rival = visited([[3e-6] * 16, [6e-6] * 8, [3e-6] * 8])
    found = compared(ours, rival)
    assert found.median == pytest.approx(3.0)
    assert 2.9 < found.low < 3.0 < found.high < 3.1


def test_a_disturbed_visit_is_left_out_of_a_ratio_where_two_others_are_there():
    ours = visited([[1e-6] * 8] * 3)
    rival = visited([[3e-6] * 8, [99e-6] * 8, [3e-6] * 8], disturbed={1})
    assert compared(ours, rival).high < 3.1
    assert compared(ours, visited([[3e-6] * 8, [9e-6] * 8, [3e-6] * 8], disturbed={0, 1})).high >= 9.0


def test_a_visit_that_only_one_of_them_had_is_compared_with_nothing():
    assert compared(visited([[1e-6] * 8]), visited([[3e-6] * 8, [1.0] * 8])).high < 3.2


def test_against_the_baseline_which_takes_two_samples_a_round_the_recorded_speedup_counts():
    ours = outcome([1e-6] * 8, speedup_vs_eager=4.0, speedup_ci_low=3.9, speedup_ci_high=4.2)
    assert compared(ours, outcome([9e-6] * 16), name="eager") == MedianInterval(median=4.0, low=3.9, high=4.2)


def test_device_times_are_compared_by_the_widest_their_intervals_allow():
    ours = outcome([1.0], device_time_s=2e-6, device_time_ci_low_s=1e-6, device_time_ci_high_s=4e-6)
    rival = outcome([1.0], device_time_s=8e-6, device_time_ci_low_s=6e-6, device_time_ci_high_s=9e-6)
    found = compared(ours, rival, quantity=Quantity.DEVICE)
    assert (found.median, found.low, found.high) == pytest.approx((4.0, 1.5, 9.0))
    assert compared(outcome([1.0]), rival, quantity=Quantity.DEVICE) is None


def test_times_on_cold_weights_are_compared_with_such_alone():
    of_cold = {"device_time_cold_s": 4e-6, "device_time_cold_ci_low_s": 4e-6, "device_time_cold_ci_high_s": 4e-6}
    warm = {"device_time_s": 1e-6, "device_time_ci_low_s": 1e-6, "device_time_ci_high_s": 1e-6}
    ours, rival = outcome([1.0], **warm, **of_cold), outcome([1.0], **warm, **of_cold)
    found = compared(ours, replace(rival, device_time_cold_s=8e-6), quantity=Quantity.COLD)
    assert found.median == pytest.approx(2.0)
    assert compared(ours, outcome([1.0], **warm), quantity=Quantity.COLD) is None


def test_what_has_no_time_is_compared_with_nothing():
    crashed = TimingOutcome(state=State.CRASHED, reason="it raised")
    assert compared(outcome([1e-6]), crashed) is None
    assert compared(crashed, outcome([1e-6])) is None


@pytest.fixture
def recorded(shape, timing_line):
    """Timings of `fused` and three rivals at two shapes: ahead of compiled at one of them, behind at the other."""
    rounds = 12
    times_s = {
        8: {"fused": 1e-6, "eager": 4e-6, "compiled": 3e-6, "liger": None},
        16: {"fused": 2e-6, "eager": 4e-6, "compiled": 1e-6, "liger": None},
    }
    lines = {}
    for batch, of_batch in times_s.items():
        for name, time_s in of_batch.items():
            if time_s is None:
                made = TimingOutcome(state=State.UNAVAILABLE, reason="needs a GPU")
            else:
                speedup = 4e-6 / of_batch["fused"]
                made = outcome(
                    [time_s] * rounds, speedup_vs_eager=speedup, speedup_ci_low=speedup, speedup_ci_high=speedup
                )
            key = (replace(shape, batch=batch), contender_from_name(name))
            lines[key] = replace(timing_line, outcome=made, floor_s=5e-7)
    return lines


def test_the_table_has_ratios_with_intervals_the_part_of_the_floor_and_who_leads(recorded):
    lines = markdown(recorded, Comparison(ours="fused", rivals=("eager", "compiled", "liger"), quantity=Quantity.WALL))
    rows = [line for line in lines if line.startswith("| mlp")]
    assert [row.split(" | ")[1:] for row in rows] == [
        ["1.0", "50 %", "4.00 (4.00–4.00)", "3.00 (3.00–3.00)", "unavailable", "3.00 (3.00–3.00) ahead |"],
        ["2.0", "25 %", "2.00 (2.00–2.00)", "0.50 (0.50–0.50)", "unavailable", "0.50 (0.50–0.50) behind |"],
    ]
    assert [row.split(" | ")[0] for row in rows] == ["| mlp gelu 8, 16, 32", "| mlp gelu 16, 16, 32"]
    counts = next(line for line in lines if line.startswith("| shapes"))
    assert counts == (
        "| shapes | | | 2 ahead, 0 even, 0 behind | 1 ahead, 0 even, 1 behind | 0 ahead, 0 even, 0 behind | "
        "1 ahead, 0 even, 1 behind |"
    )


def test_a_time_that_beats_its_floor_has_no_percentage(recorded):
    fast = {key: replace(line, floor_s=1.2e-6) for key, line in recorded.items()}
    lines = markdown(fast, Comparison(ours="fused", rivals=("eager",), quantity=Quantity.WALL))
    cells = [line.split(" | ")[2] for line in lines if line.startswith("| mlp")]
    assert cells == ["ceiling not valid", "60 %"]


def test_one_of_us_that_was_nowhere_measured_has_no_table(recorded):
    assert markdown(recorded, Comparison(ours="fused-captured", rivals=("eager",), quantity=Quantity.WALL)) == []


def test_a_rival_without_a_line_is_not_measured_and_never_beaten(recorded):
    comparison = Comparison(ours="fused", rivals=("compiled-cudagraphs",), quantity=Quantity.WALL)
    row = next(line for line in markdown(recorded, comparison) if line.startswith("| mlp"))
    assert row.endswith("| not measured | – |")


def test_the_fused_table_is_behind_only_where_the_interval_of_the_ratio_to_the_best_does_not_reach_one():
    noisy = [1e-6, 3e-6] * 6
    found = {
        "eager": outcome([9e-6] * 12),
        "compiled": outcome([2e-6] * 12),
        "fused": outcome([1e-9] * 12),
        "fused:packed": outcome(noisy, speedup_vs_eager=4.0, speedup_ci_low=3.0, speedup_ci_high=9.0),
    }
    written, is_behind = fused_table._against_the_best(found)
    assert not is_behind
    assert written == "1.33 (0.67–2.00) compiled"
    slow = {**found, "fused:packed": outcome([2.1e-6] * 12)}
    assert fused_table._against_the_best(slow)[1]
    nothing = {**found, "fused:packed": TimingOutcome(state=State.CRASHED, reason="it raised")}
    assert fused_table._against_the_best(nothing) == ("–", True)
