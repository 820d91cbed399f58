"""A provider's time in company, alone and by torch's Timer."""

from dataclasses import replace

import pytest

from benchmarks.ruler.checks.company import AXES, N_ROWS, OPERATION, PROVIDERS, ROUNDS, Case, Row, apart_from, report
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.timer_process import TimerProcess
from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import Settings


def row(company_s, alone_s, timer_s, **changes):
    timers_s = (timer_s, timer_s)
    named = Row(provider="eager", shape="mlp", company_s=company_s, alone_s=alone_s, timers_s=timers_s)
    return replace(named, **changes)


def often(*times, **changes):
    """Return rounds that differ by a thousandth."""
    return [row(times[0] * (1 + i / 1000), *times[1:], **changes) for i in (-1, 0, 1, 0)]


@pytest.mark.parametrize(
    ("times", "is_within"),
    [
        ((100e-6, 98e-6, 102e-6), True),
        ((100e-6, 96e-6, 100e-6), False),
        ((100e-6, 100e-6, 104e-6), False),
        ((100e-6, 104e-6, 100e-6), False),
        ((100e-6, 97.1e-6, 100e-6), None),
        ((100e-6, 100e-6, 103e-6), None),
        ((10e-6, 9.6e-6, 10.4e-6), True),
        ((10e-6, 9.4e-6, 10e-6), False),
    ],
)
def test_three_ways_agree_within_3_percent_and_5_of_a_short_call(times, is_within):
    assert Case(rounds=tuple(often(*times))).is_within is is_within
    kind = {True: Kind.PASS, False: Kind.FAIL, None: Kind.UNDECIDED}[is_within]
    assert report(often(*times))[1].kind is kind


def test_a_single_round_or_ones_that_lie_apart_tell_nothing():
    assert Case(rounds=(row(1e-4, 1e-4, 1e-4),)).is_within is None
    scattered = [row(1e-4 * by, 1e-4, 1e-4) for by in (0.9, 1.1, 0.93, 1.07)]
    assert Case(rounds=tuple(scattered)).is_within is None
    lines, found = report([*often(1e-4, 1e-4, 1e-4), *(replace(one, shape="linear") for one in scattered)])
    assert "cannot be told" in lines[2]
    assert "1 of 1 within 3 % of both" in found.words
    assert "the rounds lie too far apart to tell, 1 of 2 cases not counted" in found.words


def test_an_interval_is_students_of_the_logarithms():
    middle, low, high = apart_from([1.02, 1.04, 1.00, 1.02])
    assert middle == pytest.approx(0.02, abs=1e-3)
    half = 3.182 * 0.01633 / 2  # of 3 degrees of freedom; Student, 1908
    assert (low, high) == pytest.approx((0.02 - half, 0.02 + half), abs=1e-3)
    assert str(apart_from([1.02])) == "+2.0 %"


def test_nothing_measured_is_no_pass():
    assert report([])[1].kind is Kind.UNDECIDED


WAITED = "other processes used 1.0 cores while this was measured, which waited for a processor 50 % of the time"


@pytest.mark.parametrize(
    ("doubt", "said"),
    [
        ({"taken": WAITED}, WAITED),
        ({"timers_s": (92e-6, 108e-6)}, "the Timer moved by +17.4 %"),
        ({"speeds": (0.95, 0.75)}, "the machine ran at 95 % of its best, and alone at 75 %"),
        ({"speeds": (0.95, None)}, "the machine's speed is not known"),
    ],
)
def test_what_was_disturbed_or_the_timer_itself_does_not_repeat_is_shown_and_not_counted(doubt, said):
    apart = row(100e-6, 50e-6, 100e-6, shape="linear", **doubt)
    lines, found = report([*often(1e-4, 1e-4, 1e-4), apart, apart])
    assert lines[2].endswith(f"not counted: {said}")
    assert str(found) == (
        "pass: 1 of 1 within 3 % of both (5 % below 20 µs); the machine was disturbed, 1 of 2 cases not counted"
    )
    assert report([apart])[1].kind is Kind.UNDECIDED


def test_a_machine_that_is_slow_throughout_is_the_same_machine_and_counted():
    slow = often(100e-6, 90e-6, 100e-6, speeds=(0.71, 0.70))
    assert report(slow)[1].kind is Kind.FAIL


def test_rounds_in_which_the_machine_was_another_do_not_count():
    taken = [row(1e-4, 2e-4, 2e-4, taken=WAITED)] * 3
    lines, found = report([*taken, *often(1e-4, 1e-4, 1e-4)])
    assert found.kind is Kind.PASS
    assert lines[1].endswith("within, 4 of 7 rounds counted")
    assert report([*taken, *often(1e-4, 0.9e-4, 1e-4)])[1].kind is Kind.FAIL
    assert report(taken)[1].kind is Kind.UNDECIDED


def test_what_all_shapes_of_a_provider_say_together_stands_below():
    shapes = [one for i in range(3) for one in often(1e-4, 1e-4, (1 + i / 100) * 1e-4, shape=f"batch {i}")]
    *_, last = report(shapes)[0]
    assert last.startswith("eager          3 shapes")
    assert "-1.0 % (" in last


def test_a_round_without_a_time_fails_the_check():
    failed = Row(provider="eager", shape="mlp", failure="crashed: ended")
    assert report([*often(1e-4, 1e-4, 1e-4), failed])[1].kind is Kind.FAIL


def test_a_provider_without_a_time_fails_the_check():
    lines, found = report([*often(1e-4, 1e-4, 1e-4), Row(provider="fused", shape="mlp", failure="wrong: implausible")])
    assert lines[2].endswith("wrong: implausible")
    assert found.kind is Kind.FAIL
    assert "1 have no time" in found.words


def test_as_many_rows_are_announced_as_are_measured():
    shapes = groups(AXES, operation=OPERATION, device=DeviceKind.CPU)
    assert len(shapes) * ROUNDS * len(PROVIDERS) == N_ROWS


def test_the_timer_times_a_provider_in_a_process_of_its_own_again_and_again(shape):
    assert shape.operation is Operation.MLP
    settings = Settings(threads=1, is_uncommitted=True)
    with TimerProcess(settings, "fused:packed") as packed, TimerProcess(settings, "fused-single") as unavailable:
        found = [packed.seconds(each) for each in (shape, replace(shape, batch=2 * shape.batch), shape)]
        assert all(0 < each < 0.1 for each in found)
        assert unavailable.seconds(shape) is None


def test_a_timer_that_died_is_said_to_have(shape):
    with TimerProcess(Settings(threads=1, is_uncommitted=True), "eager") as timer:
        timer._process.kill()
        timer._process.wait()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="ended with exit code -9"):
                timer.seconds(shape)
