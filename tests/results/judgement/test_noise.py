from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.judgement.changes.detection import standardised
from results.judgement.changes.evidence import are_steps, step_at
from results.judgement.changes.floors import noise_floors
from results.judgement.changes.segments import last_changes, newest_begins
from results.judgement.noise import Evidence, Observation, can_be_tested, difference_between
from results.metrics import Direction, Precision, Role, metric_of

CHANGES = {Evidence.SAMPLES, Evidence.INTERVALS, Evidence.RATIO_ONLY}
values = st.floats(min_value=1e-9, max_value=1e3)


def observation(value, *, half_width=0.01, samples=()):
    interval = None if half_width is None else (value * (1 - half_width), value * (1 + half_width))
    return Observation(value=value, interval=interval, samples=tuple(samples) or None)


@given(values, st.floats(0, 0.5))
def test_nothing_differs_from_itself(value, half_width):
    one = observation(value, half_width=half_width)
    assert difference_between(one, one) is Evidence.SAME


@given(values, values, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_difference_does_not_depend_on_which_is_which(one, other, width, other_width):
    first, second = observation(one, half_width=width), observation(other, half_width=other_width)
    assert difference_between(first, second) is difference_between(second, first)


@given(values, st.floats(0.1, 10), st.floats(0.001, 1000))
def test_a_difference_does_not_depend_on_the_unit(value, ratio, scale):
    one, other = observation(value), observation(value * ratio)
    scaled = observation(value * scale), observation(value * ratio * scale)
    edges_touch = math.isclose(one.interval[1], other.interval[0]) or math.isclose(other.interval[1], one.interval[0])
    assert edges_touch or difference_between(one, other) is difference_between(*scaled)


def test_intervals_that_touch_are_no_difference():
    one, other = observation(1.0, half_width=0.1), observation(1.2, half_width=0.1)
    assert difference_between(one, other) is Evidence.SAME


def test_intervals_that_are_apart_are_a_difference():
    assert difference_between(observation(1.0), observation(1.5)) is Evidence.INTERVALS


def test_samples_that_overlap_overrule_intervals_that_are_apart():
    samples = [1.0, 1.5] * 10
    one, other = observation(1.0, samples=samples), observation(1.5, samples=samples)
    assert difference_between(one, other) is Evidence.SAME


def test_an_interval_without_an_end_cannot_tell():
    endless = Observation(value=1.0, interval=(-math.inf, math.inf), samples=None)
    assert difference_between(endless, observation(9.0)) is Evidence.TOO_FEW


def test_without_any_noise_known_only_the_ratio_speaks():
    assert difference_between(observation(1, half_width=None), observation(2, half_width=None)) in CHANGES


@pytest.mark.parametrize(("n", "expected"), [(3, False), (6, False), (7, True), (30, True)])
def test_few_samples_are_not_put_to_a_test_they_cannot_pass(n, expected):
    assert can_be_tested(n, n) is expected


@pytest.mark.parametrize(
    ("name", "unit", "direction"),
    [
        ("time", "seconds", Direction.LOWER),
        ("peakmemory", "bytes", Direction.LOWER),
        ("track", "bytes", Direction.LOWER),
        ("track", "unit", Direction.UNKNOWN),
        ("track", "rows/s", Direction.UNKNOWN),
        ("speedup_vs_eager", "", Direction.HIGHER),
        ("latency_s", "s", Direction.LOWER),
    ],
)
def test_a_direction_is_known_only_where_somebody_said_it(name, unit, direction):
    assert metric_of(name, unit=unit).direction is direction


def test_counts_are_exact_and_only_latency_of_the_times_is_judged():
    assert metric_of("kernel_launches", unit="").precision is Precision.EXACT
    assert metric_of("host_time_s", unit="s").role is Role.CONTEXT
    assert metric_of("latency_s", unit="s").role is Role.JUDGED


KINDS = st.sampled_from(["white", "rounded", "constant", "outliers", "wandering", "two levels"])


def levels(kind, rng, rows, n):
    x = 0.01 * rng.standard_normal((rows, n))
    return {
        "white": x,
        "rounded": np.round(x, 2),
        "constant": np.zeros((rows, n)),
        "outliers": x + 0.5 * (rng.random((rows, n)) < 0.05),
        "wandering": np.cumsum(x, axis=1),
        "two levels": x + 0.05 * (rng.random((rows, n)) < 0.4),
    }[kind]


@given(kind=KINDS, seed=st.integers(0, 2**32 - 1), n=st.integers(20, 80), step=st.floats(0.0, 0.5))
def test_steps_of_many_series_are_those_of_each(kind, seed, n, step):
    x = levels(kind, np.random.default_rng(seed), 6, n)
    x[:, n - 5 :] += step
    z = standardised(x)
    assert newest_begins(z, since=1).tolist() == last_changes(z)[:, -1].tolist()
    begins = newest_begins(z, since=n - 7)
    assert begins.tolist() == [at if at >= n - 7 else 0 for at in last_changes(z)[:, -1]]
    for at in range(n - 7, n - 2):
        assert are_steps(x, at).tolist() == [step_at(row, at, least_change=0.0) is not None for row in x]


def test_noise_floors_cost_a_few_times_what_finding_the_levels_costs():
    x = levels("white", np.random.default_rng(4), 250, 200)

    def cpu_s(call):
        begun = time.process_time()
        call()
        return time.process_time() - begun

    of_levels, of_floors = (
        min(cpu_s(call) for _ in range(3)) for call in (lambda: last_changes(x), lambda: noise_floors(x))
    )
    assert of_floors < 15 * of_levels
