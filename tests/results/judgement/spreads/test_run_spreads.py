"""How series vary from run to run, by their histories: by hand, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from results.judgement.comparison import evidence
from results.judgement.comparison.evidence import observe
from results.judgement.comparison.processes import Pair, Process
from results.judgement.run_spreads import LEAST_RUNS, MOST_RUNS, run_spreads
from results.rows import RunValues
from tests.made_values import A, B


def series(logs, *, series_id=1, judged=(), runs=None):
    """A series by the logarithms of its values, None where it has none; judged: places of the runs of commit B."""
    places = [i for i, log in enumerate(logs) if log is not None]
    return RunValues(
        series_id=series_id,
        run_ids=tuple(str(i) if runs is None else runs[i] for i in places),
        commits=tuple(B if i in judged else f"{i:040x}" for i in places),
        values=tuple(math.exp(logs[i]) for i in places),
    )


def spread(*arguments, **options):
    return run_spreads([series(*arguments, **options)], without=B).get(1)


ALTERNATING = [0.0, 0.1] * 20


def test_the_spread_of_a_steady_noise_is_by_the_median_of_its_steps():
    """Forty runs, steps of 0.1 each: 1.4826·0.1/√2 is more than 0.1/2.326; 0.37·39 degrees of freedom."""
    found = spread(ALTERNATING)
    assert found.sd == pytest.approx(1.4826 * 0.1 / math.sqrt(2))
    assert found.dof == pytest.approx(0.37 * 39)


def test_the_spread_of_a_rare_noise_is_by_the_largest_tenth_of_its_steps():
    """Of ten steps the two largest are 1: their 90 % quantile is 1, their median 0."""
    found = spread([0.0] * 9 + [1.0, 0.0])
    assert found.sd == pytest.approx(1 / 2.326)
    assert found.dof == pytest.approx(0.37 * 10)


def test_no_series_is_steadier_than_rounding_and_few_runs_have_few_degrees_of_freedom():
    found = spread([0.0] * LEAST_RUNS)
    assert (found.sd, found.dof) == (5e-4, pytest.approx(0.37 * 7))
    only = spread([0.0, *[0.0] * 7], judged=(1, 3))
    assert only is None


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("place", [0, 5, 40])
def test_a_value_that_has_no_logarithm_is_no_run_at_any_place(value, place):
    whole = series(ALTERNATING, judged=(2, 3))
    values = (*whole.values[:place], value, *whole.values[place:])
    commits = (*whole.commits[:place], A, *whole.commits[place:])
    spoilt = whole._replace(values=values, commits=commits, run_ids=tuple(map(str, range(41))))
    assert run_spreads([spoilt], without=B) == run_spreads([whole], without=B) != {}


def test_runs_of_which_no_two_follow_each_other_tell_nothing_and_one_step_is_enough():
    assert spread([0.0] * 17, judged=range(1, 17, 2)) is None
    found = spread([0.0] * 17 + [0.1], judged=range(1, 17, 2))
    assert (found.sd, found.dof) == (pytest.approx(1.4826 * 0.1 / math.sqrt(2)), 2.0)


@pytest.mark.parametrize(("n", "is_known"), [(8, True), (7, False), (0, False)])
def test_eight_runs_are_needed(n, is_known):
    assert (spread([0.1 * (i % 2) for i in range(n)]) is not None) is is_known


def test_at_least_two_degrees_of_freedom():
    """Nine known runs with gaps between most of them: three steps, of which 0.37 each would be 1.1."""
    logs = [0.0, 0.1, 0.0, 0.1] + [0.0] * 10
    found = spread(logs, judged=(4, 6, 8, 10, 12))
    assert found.dof == 2.0


def test_only_the_last_sixty_runs_count():
    assert spread([5.0 * (i % 2) for i in range(30)] + [0.0] * MOST_RUNS).sd == 5e-4
    assert spread([5.0 * (i % 2) for i in range(30)] + [0.0] * 40).sd > 1
    found = spread([9.0] + [0.0] * MOST_RUNS)
    assert found.dof == pytest.approx(0.37 * 59)
    assert MOST_RUNS == 60


@pytest.mark.parametrize("odd", [None, -math.inf])
def test_what_failed_and_what_has_no_logarithm_is_left_out(odd):
    assert spread([odd, *ALTERNATING]) == spread(ALTERNATING)


def test_many_series_at_once_have_the_spread_that_each_has_alone():
    """By numpy's own median and quantile of each, whatever its length, gaps and steps."""
    rng = np.random.default_rng(3)
    many = [
        series(list(rng.normal(0, rng.choice([0.0, 0.01, 1.0]), n)), series_id=n, judged=set(rng.integers(0, n, 3)))
        for n in range(11, 90)
    ]
    found = run_spreads(many, without=B)
    assert found == {one.series_id: run_spreads([one], without=B)[one.series_id] for one in many}
    for one in many:
        logs = [math.nan if at == B else math.log(value) for at, value in zip(one.commits, one.values, strict=True)]
        steps = np.abs(np.diff(logs[-MOST_RUNS:]))
        steps = steps[~np.isnan(steps)]
        sds = (1.4826 * np.median(steps) / math.sqrt(2), np.quantile(steps, 0.9) / 2.326, 5e-4)
        assert found[one.series_id].sd == max(sds)
        assert found[one.series_id].dof == max(2.0, 0.37 * len(steps))


def test_small_values_count_as_others_do():
    assert spread([log - 50 for log in ALTERNATING]).sd == pytest.approx(spread(ALTERNATING).sd)


def test_the_step_that_is_judged_is_no_noise_of_its_history_even_in_its_middle():
    """Nine runs about 1, the judged commit, nine about 1.3: the series itself does not vary by 30 %."""
    rng = np.random.default_rng(8)
    logs = [rng.normal(level, 0.01) for level in [0.0] * 9 + [0.3] * 10]
    assert spread(logs, judged=(9,)).sd < 0.02
    assert spread(logs).sd < spread([*logs, 0.0]).sd


class TestControls:
    """What the control series of the same run did is taken out."""

    RNG = np.random.default_rng(1)
    MACHINE = RNG.normal(0, 0.3, 20)
    OWN = [0.0, 0.01] * 10

    def both(self, *, controls=None, **options):
        ours = series([m + o for m, o in zip(self.MACHINE, self.OWN, strict=True)])
        control = series(list(self.MACHINE), series_id=2, **options)
        found = run_spreads(
            [ours], without=B, controls={1: 2} if controls is None else controls, control_series=[control]
        )
        return found[1]

    def test_of_the_same_run(self):
        assert self.both().sd == pytest.approx(1.4826 * 0.01 / math.sqrt(2))

    def test_without_one_the_machines_part_stays(self):
        assert self.both(controls={}).sd > 0.1
        assert self.both(controls={1: 3}).sd > 0.1

    def test_runs_that_the_control_lacks_are_left_out(self):
        runs = [str(i) if i != 5 else "another" for i in range(20)]
        found = self.both(runs=runs)
        assert found.sd == pytest.approx(1.4826 * 0.01 / math.sqrt(2), rel=0.01)
        assert found.dof == pytest.approx(0.37 * 18)

    @pytest.mark.parametrize("value", [0.0, -1.0, math.inf])
    def test_a_run_in_which_the_control_has_no_logarithm_is_left_out(self, value):
        ours, control = series([*ALTERNATING, 5.0]), series([0.0] * 41, series_id=2)
        control = control._replace(values=(*control.values[:-1], value))
        found = run_spreads([ours], without=B, controls={1: 2}, control_series=[control])
        assert found[1] == spread(ALTERNATING)

    @pytest.mark.parametrize(("n_judged", "is_known"), [(2, True), (3, False)])
    def test_eight_runs_are_needed_beside_those_that_are_judged(self, n_judged, is_known):
        ours, control = series([0.0] * 10, judged=range(n_judged)), series([0.0] * 10, series_id=2)
        found = run_spreads([ours], without=B, controls={1: 2}, control_series=[control])
        assert (1 in found) is is_known

    def test_a_control_without_any_number_takes_nothing_out(self):
        control = series([0.0] * 40, series_id=2)._replace(values=(0.0,) * 40)
        found = run_spreads([series(ALTERNATING)], without=B, controls={1: 2}, control_series=[control])
        assert found[1] == spread(ALTERNATING)

    def test_a_series_without_a_control_has_none_of_anothers(self):
        other = series(list(np.linspace(0, 9, 40)), series_id=1)
        found = run_spreads([series(ALTERNATING)], without=B, controls={}, control_series=[other])
        assert found[1] == spread(ALTERNATING)


def test_what_lies_between_two_hosts_of_a_fleet_is_noise_of_the_series():
    """Twelve commits, each measured by a host and repeated by another one that is as fast, or 2 % slower."""
    noise = np.random.default_rng(20).normal(0, 0.003, 24)
    assert spread(list(noise)).sd < 0.006
    assert 0.01 < spread([log + 0.02 * (i % 2) for i, log in enumerate(noise)]).sd < 0.03


def processes(logs, run, *, is_disturbed=False):
    return tuple(
        Process(run=run, visit=i, log=log, within_sd=0.001, is_disturbed=is_disturbed, is_head=run == "head")
        for i, log in enumerate(logs)
    )


def moved(name, move, *, n=3, is_control=False, is_disturbed=False):
    logs = [0.002 * (i % 2) + 0.001 * i for i in range(n)]
    head = processes([log + move for log in logs], "head", is_disturbed=is_disturbed)
    return Pair(
        name=name, testbed="t", surface="eager" if is_control else "ours", base=processes(logs, "base"), head=head,
        is_control=is_control,
    )  # fmt: skip


@pytest.mark.parametrize("n_controls", [10, 13])
def test_what_a_run_does_beyond_its_visits_is_what_undisturbed_controls_show_of_it(n_controls, monkeypatch):
    """By hand, and only for what was repeated: a process that was alone has its spread from elsewhere."""
    moves = [0.01 * 1.3**i for i in range(n_controls)]
    controls = [moved(i, move, n=4 if i > n_controls // 2 - 2 else 3, is_control=True) for i, move in enumerate(moves)]
    disturbed = moved("disturbed", 3.0, is_control=True, is_disturbed=True)
    lone = moved("one more", 0.1, n=2)
    lone = lone._replace(head=lone.head[:1])  # one degree of freedom
    pairs = [*controls, disturbed, moved("ours", 0.1), lone, moved("slower", 0.4, n=5), moved("alone", 0.1, n=1)]
    found = observe(pairs)
    monkeypatch.setattr(evidence, "LEAST_SERIES", 100)
    of_visits = observe(pairs).statistics
    of_controls = found.effects[:n_controls]
    middle = np.median(of_controls)
    assert abs(middle) > 1e-3, "else it would not matter whether it is taken off"
    variance = (1.4826 * np.median(np.abs(of_controls - middle))) ** 2
    excess = variance - np.median(of_visits.se[:n_controls] ** 2)
    assert excess > 0
    squares = of_visits.se[:-1] ** 2
    np.testing.assert_allclose(found.statistics.se[:-1] ** 2, squares + excess)
    of_runs = excess**2 / (0.37 * (n_controls - 1))
    np.testing.assert_allclose(
        found.statistics.dof[:-1], (squares + excess) ** 2 / (squares**2 / of_visits.dof[:-1] + of_runs)
    )
    assert (found.statistics.se[-1], found.statistics.dof[-1]) == (of_visits.se[-1], of_visits.dof[-1])


def test_of_nine_control_series_nothing_is_taken_for_what_runs_do():
    pairs = [moved(i, 0.01 * 1.3**i, is_control=True) for i in range(9)] + [moved("ours", 0.1)]
    still = [moved(i, 0.01, is_control=True) for i in range(9)] + [moved("ours", 0.1)]
    np.testing.assert_allclose(observe(pairs).statistics.se, observe(still).statistics.se)


@pytest.mark.parametrize(
    ("moves", "middle"),
    [
        ([2**-9] * 9 + [2**-6, 3 * 2**-6] + [1.0] * 9, 2**-6),  # far apart: what did not move tells
        ([2**-9] * 9 + [2**-6, 2**-5] + [1.0] * 9, 1.5 * 2**-6),  # twice as far is a neighbour still
        ([2**-9] * 9 + [2**-7, 2**-6, 2**-5] + [1.0] * 9, 2**-6),
    ],
)
def test_of_single_processes_the_noise_is_by_the_middle_of_all_moves(moves, middle):
    pairs = [moved(i, move, n=1) for i, move in enumerate(moves)]
    pairs = [one._replace(base=(one.base[0]._replace(within_sd=0.0),), head=(one.head[0]._replace(within_sd=0.0),))
             for one in pairs]  # fmt: skip
    assert observe(pairs).statistics.se[0] == pytest.approx(middle / stdtrit(6.0, 0.75))


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf])
def test_a_value_that_has_no_logarithm_is_no_run(value):
    """The spread is that of the others, of the series as of its control."""
    one = series(ALTERNATING)
    odd = one._replace(run_ids=(*one.run_ids, "odd"), commits=(*one.commits, A), values=(*one.values, value))
    assert run_spreads([odd], without=B) == run_spreads([one], without=B)
    controls = {"controls": {1: 2}, "control_series": [odd._replace(series_id=2)]}
    assert run_spreads([odd], without=B, **controls)[1].sd == 5e-4
