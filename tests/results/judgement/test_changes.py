"""Changes of level in histories: what is found, when, and what is not."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from results.judgement.changes import segments
from results.judgement.changes.arrays import median_of
from results.judgement.changes.control import LEAST_CONTROLS, by_commit, common_effect
from results.judgement.changes.detection import changes_in
from results.judgement.findings import FindingState

PERCENT = 0.01
seeds = st.integers(0, 2**32 - 1)


def noise(seed, n=120, rows=1, scale=PERCENT):
    return scale * np.random.default_rng(seed).standard_normal((rows, n))


def stepped(seed, *, at=80, n=120, by=0.10):
    x = noise(seed, n)
    x[:, at:] += np.log1p(by)
    return x


@given(seed=seeds, by=st.sampled_from([0.10, -0.10, 0.5, 9.0, -0.9]))
def test_a_step_that_lasts_is_confirmed_where_it_began(seed, by):
    [change] = changes_in(stepped(seed, by=by))
    assert abs(change.first_bad - 80) <= 2
    assert change.last_good == change.first_bad - 1
    assert change.state is FindingState.CONFIRMED
    assert np.expm1(change.jump) == pytest.approx(by, rel=0.2)
    assert change.interval[0] < np.log1p(by) + 0.02
    assert change.interval[1] > np.log1p(by) - 0.02
    assert 80 < change.confirmed_at <= 85


@given(seed=seeds)
def test_a_faster_copy_of_a_slowdown_is_the_same_change_mirrored(seed):
    up, down = changes_in(stepped(seed)), changes_in(-stepped(seed))
    assert [(one.first_bad, one.jump, one.state) for one in up] == [(o.first_bad, -o.jump, o.state) for o in down]


@given(seed=seeds, unit=st.sampled_from([1e-9, 1.0, 1e6]))
def test_the_unit_of_a_series_does_not_matter(seed, unit):
    x = stepped(seed)
    one, other = changes_in(x), changes_in(x + np.log(unit))
    assert [(c.first_bad, c.state) for c in one] == [(c.first_bad, c.state) for c in other]


@given(seed=seeds)
def test_commits_that_were_not_measured_are_named_as_the_range_of_the_change(seed):
    x = stepped(seed)
    x[0, 70:90] = np.nan
    [change] = changes_in(x)
    assert (change.last_good, change.first_bad) == (69, 90)


@given(seed=seeds)
def test_a_series_is_judged_as_if_it_were_alone_unless_its_newest_value_is_suspect(seed):
    x = np.vstack([stepped(seed), noise(seed + 1), stepped(seed, by=0.3)])
    together = {c.row: c.first_bad for c in changes_in(x) if c.state is not FindingState.SUSPECTED}
    alone = {
        row: c.first_bad
        for row in range(3)
        for c in changes_in(x[row : row + 1])
        if c.state is not FindingState.SUSPECTED
    }
    assert together == alone


def test_strays_slopes_and_waves_are_no_changes():
    stray = noise(1)
    stray[0, [10, 50, 51, 90, 119]] += [1.0, 0.7, 1.4, 1.2, 0.9]
    slope = noise(2) + np.linspace(0, 0.10, 120)
    wave = noise(3) + 0.015 * np.sin(np.arange(120) / 15)
    assert changes_in(np.vstack([stray, slope, wave])) == []


@pytest.mark.parametrize("worse", [1, 0])
def test_a_slowdown_that_is_mended_is_recovered_and_its_end_is_no_second_finding(worse):
    x = stepped(4)
    x[0, 100:] -= np.log1p(0.10)
    change, end = changes_in(x, worse=np.array([worse]))
    assert change.state is FindingState.RECOVERED
    assert abs(change.ended_at - 100) <= 2
    assert (change.is_return, end.is_return) == (False, True)


@pytest.mark.parametrize("commits", [8, 40])
def test_a_slowdown_that_is_more_than_mended_is_recovered_and_the_gain_is_a_finding(commits):
    x = stepped(4, n=100 + commits)
    x[0, 100:] -= np.log1p(0.35)
    slowdown, gain = changes_in(x, worse=np.array([1]))
    assert (slowdown.state, slowdown.ended_at) == (FindingState.RECOVERED, 100)
    assert (gain.state, gain.first_bad, gain.is_return) == (FindingState.CONFIRMED, 100, False)
    assert np.expm1(gain.jump) == pytest.approx(1 / 1.35 - 1, abs=0.03)


def test_a_gain_that_is_lost_is_a_slowdown_of_its_own():
    x = -stepped(4)
    x[0, 100:] += np.log1p(0.10)
    gain, loss = changes_in(x, worse=np.array([1]))
    assert (gain.state, loss.state, loss.is_return) == (FindingState.RECOVERED, FindingState.CONFIRMED, False)
    assert abs(loss.first_bad - 100) <= 2
    assert loss.jump > 0


@example(seed=72, levels=[0, 1, 0, 1], worse=1)  # a stray just before a step
@example(seed=21495, levels=[0, 1, 0, 1], worse=1)  # neighbours resemble each other by chance
@given(seed=seeds, levels=st.lists(st.integers(0, 2), min_size=2, max_size=6), worse=st.sampled_from([1, -1]))
def test_every_step_for_the_worse_is_a_finding_and_the_last_one_is_open(seed, levels, worse):
    levels = [level for i, level in enumerate(levels) if i == 0 or level != levels[i - 1]]
    x = noise(seed, 40 * len(levels), scale=0.002) + np.log1p(0.3) * np.repeat(levels, 40)
    found = [one for one in changes_in(x, worse=np.array([worse])) if not one.is_return]
    steps = [40 * i for i in range(1, len(levels)) if (levels[i] - levels[i - 1]) * worse > 0]
    assert [one.first_bad for one in found if one.jump * worse > 0] == steps
    if steps and steps[-1] == 40 * (len(levels) - 1):
        assert found[-1].ended_at is None


@pytest.mark.parametrize("n_high", [3, 4, 5, 8])
def test_a_level_of_few_commits_is_recovered_and_not_confirmed(n_high):
    x = noise(14, 150)
    x[0, 100 : 100 + n_high] += np.log1p(0.10)
    change, _ = changes_in(x)
    assert (change.first_bad, change.ended_at) == (100, 100 + n_high)
    assert change.state is FindingState.RECOVERED


def test_how_often_a_step_was_made_before_is_counted():
    x = noise(5, 300)
    for start in (60, 140, 220):
        x[0, start : start + 40] += np.log1p(0.2)
    found = [one for one in changes_in(x) if not one.is_return]
    assert [one.n_before for one in found] == [0, 1, 2]
    assert [one.state for one in found] == [FindingState.RECOVERED] * 3
    found = [one for one in changes_in(x[:, :250]) if not one.is_return]
    assert found[-1].state is FindingState.CONFIRMED


def test_a_loss_is_no_step_that_the_series_made_before():
    x = noise(5, 200)
    x[0, 60:140] -= np.log1p(0.10)
    _, loss = changes_in(x, worse=np.array([1]))
    assert loss.n_before == 0


def test_two_steps_up_are_two_findings():
    x = stepped(6, at=50, n=150)
    x[0, 100:] += np.log1p(0.2)
    assert [change.state for change in changes_in(x)] == [FindingState.CONFIRMED] * 2


@pytest.mark.parametrize(
    ("n", "steps", "share"),
    [
        pytest.param(40, [(25, 0.06), (33, -0.09)], 0.75, id="soon made good and more"),
        pytest.param(300, [(60, 0.10), (130, 0.10), (210, 0.10)], 0.9, id="three times worse"),
        pytest.param(
            300, [(60, 0.1), (90, -0.1), (130, 0.1), (160, -0.1), (210, 0.1), (240, -0.1)], 0.9, id="again and again"
        ),
    ],
)
def test_steps_of_one_series_do_not_hide_each_other(n, steps, share):
    x = noise(5, n, rows=100)
    for at, by in steps:
        x[:, at:] += math.copysign(np.log1p(abs(by)), by)
    found = changes_in(x)
    for at, by in steps:
        rows = {change.row for change in found if abs(change.first_bad - at) <= 2 and change.jump * by > 0}
        assert len(rows) >= share * len(x)


def test_the_newest_value_alone_is_suspected_if_the_machine_knows_no_strays():
    x = noise(7, rows=60)
    x[3, -1] += 0.08
    [change] = changes_in(x)
    assert (change.row, change.state, change.first_bad) == (3, FindingState.SUSPECTED, 119)
    x[::2, 100] += 0.3
    assert changes_in(x) == [], "half the series had strays: one value proves nothing"


def test_a_series_without_noise_shows_a_step_of_the_least_change():
    x = np.zeros((1, 40))
    x[0, 30:] = np.log1p(0.031)
    assert [change.first_bad for change in changes_in(x)] == [30]
    x[0, 30:] = np.log1p(0.029)
    assert changes_in(x) == []


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0), (3, 1), (3, 4)])
def test_histories_too_short_to_judge_have_no_changes(shape):
    assert changes_in(np.zeros(shape)) == []
    assert changes_in(np.full(shape, np.nan)) == []


def test_what_moves_the_controls_is_taken_out_and_what_slows_all_of_ours_is_not():
    run = 0.02 * np.random.default_rng(8).standard_normal(120)
    controls, ours = noise(9, rows=20) + run, noise(10, rows=30) + run
    ours[:, 100:] += np.log1p(0.06)
    found = changes_in(ours - common_effect(controls))
    assert len({change.row for change in found if abs(change.first_bad - 100) <= 2}) == 30
    assert changes_in(noise(11, rows=30) + run - common_effect(controls)) == []


def test_too_few_controls_say_nothing():
    assert common_effect(noise(12, rows=LEAST_CONTROLS - 1)) is None
    controls = noise(13, rows=LEAST_CONTROLS)
    controls[0, 50:] = np.nan
    effect = common_effect(controls)
    assert np.isfinite(effect).all()
    assert (effect[50:] == effect[49]).all(), "the last run that had enough"


def test_all_runs_of_a_commit_count():
    x = np.log([[1.0, 2.0, 1.0, 1.0, 4.0, np.nan]])
    assert np.exp(by_commit(x, np.array([0, 1, 1, 1, 2, 3]))).tolist()[0][:3] == pytest.approx([1.0, 1.0, 4.0])
    assert np.isnan(by_commit(x, np.array([0, 1, 1, 1, 2, 3]))[0, 3])


@pytest.mark.parametrize(
    ("stray", "begins"), [((19, -0.4), [20]), ((20, 1.4), [20]), ((19, 0.8), [19]), ((20, 0.2), [21])]
)
def test_a_value_at_the_edge_of_a_level_belongs_to_the_nearer_one(stray, begins):
    x = np.repeat([0.0, 1.0], 20)
    x[stray[0]] = stray[1]
    for guess in (19, 20, 21):
        assert segments.with_nearer_level(x, [guess]) == begins
    assert segments.with_nearer_level(np.repeat([0.0, 1.0], 3), [4]) == [4]


@given(seed=seeds)
def test_segments_are_the_cheapest_of_all(seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((1, 9)) + np.where(np.arange(9) >= rng.integers(9), 8.0, 0.0)
    levels = segments._levels(z.astype(np.float32))[0]

    def cost(edges):
        parts = [z[0, a:b] for a, b in zip((0, *edges), (*edges, 9), strict=True)]
        losses = [min(np.minimum((part - level) ** 2, segments.BOUND**2).sum() for level in levels) for part in parts]
        return sum(losses) + segments.PENALTY * len(edges)

    found = segments.boundaries(segments.last_changes(z)[0], 9)
    least = min(cost(edges) for n in range(4) for edges in combinations(range(1, 9), n))
    assert cost(found) == pytest.approx(least, rel=1e-4)


@given(st.lists(st.floats(allow_infinity=False) | st.integers(-3, 3).map(float), max_size=9))
def test_the_median_of_a_few_values_is_numpys(values):
    x = np.array(values)
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of none numpy warns
        expected = float(np.median(x))
    with np.errstate(over="ignore"):
        found = median_of(x)
    assert found == expected or (np.isnan(found) and np.isnan(expected))
    assert list(x) == values or np.isnan(x).any()


@pytest.mark.parametrize("n_before", [5, 8])
@pytest.mark.parametrize("n_after", [3, 4, 5, 6])
def test_a_large_step_is_found_though_the_series_is_young_and_stays_so(n_before, n_after):
    """Of five commits before a step of 40 %, in 1 % noise, nobody asks how far the series goes by itself."""
    x = noise(3, n=n_before + n_after, rows=200)
    assert not changes_in(x)
    x[:, n_before:] += np.log(1.4)
    assert len({change.row for change in changes_in(x) if abs(change.first_bad - n_before) <= 1}) >= 185


@pytest.mark.parametrize(
    ("levels", "starts"),
    [((1.2, 1.5), (60, 68)), ((0.7, 0.85), (60, 68)), ((1.2, 1.5, 1.0, 1.2), (60, 90, 105, 112))],
    ids=["worse twice", "a gain half lost", "mended and made again"],
)
def test_a_step_soon_after_another_is_found_as_earlier_levels_tell_the_noise(levels, starts):
    """One of 15 % or more in 1 % noise, though the level before it has eight commits or seven."""
    x = noise(1, n=140, rows=100)
    for level, start, end in zip(levels, starts, (*starts[1:], 140), strict=True):
        x[:, start:end] += np.log(level)
    began, waits = {row: set[int]() for row in range(100)}, []
    for change in changes_in(x):
        began[change.row].add(change.first_bad)
        waits.append((change.confirmed_at or 140) - change.first_bad)
    assert np.median(waits) <= 5
    n_found = sum(all(any(abs(at - start) <= 1 for at in each) for start in starts) for each in began.values())
    assert n_found >= 95
    assert sum(len(each) for each in began.values()) <= 100 * len(starts) + 2
