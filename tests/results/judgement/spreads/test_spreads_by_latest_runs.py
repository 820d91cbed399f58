"""The spread of a series by its latest runs is that by all of them, or is not told."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from results.judgement.comparison.moderation import LEAST_SD
from results.judgement.run_spreads import LEAST_RUNS, MOST_RUNS, run_spreads
from results.rows import RunValues
from tests.made_values import A, B

N_COMMITS = 130


def spread_of_all(one, without, control=None):
    """Standard deviation and steps of a series by numpy's own functions and all of its runs; None of too few."""
    of_run = {} if control is None else logs_of(control, without)
    ours = logs_of(one, without).items()
    logs = [log - of_run[run] if of_run else log for run, log in ours if not of_run or run in of_run]
    if sum(not math.isnan(log) for log in logs) < LEAST_RUNS:
        return None
    steps = np.abs(np.diff(logs[-MOST_RUNS:]))
    steps = steps[~np.isnan(steps)]
    if not len(steps):
        return None
    return max(1.4826 * np.median(steps) / math.sqrt(2), np.quantile(steps, 0.9) / 2.326, LEAST_SD), len(steps)


def logs_of(one, without):
    columns = zip(one.run_ids, one.commits, one.values, strict=True)
    return {run: math.nan if commit == without else math.log(value) for run, commit, value in columns if value > 0}


def made_series(chance, series_id, runs, *, share):
    """A series of `runs`, each its own commit, with values in that share of them; now and then one is not positive."""
    kept = [run for run in runs if chance.random() < share]
    values = tuple(0.0 if chance.random() < 0.05 else math.exp(chance.gauss(0, 0.1)) for _ in kept)
    return RunValues(series_id=series_id, run_ids=tuple(kept), commits=tuple(kept), values=values)


def latest_of(one, runs):
    """The series as it is read of these runs alone."""
    places = [i for i, run in enumerate(one.run_ids) if run in runs]
    columns = [tuple(column[i] for i in places) for column in one[1:4]]
    return RunValues(one.series_id, *columns, is_whole=False)


@pytest.mark.parametrize("seed", range(40))
def test_the_spread_by_the_latest_runs_is_that_of_all_or_is_not_told(seed):
    chance = random.Random(seed)
    runs = [str(i) for i in range(N_COMMITS)]
    ours = made_series(chance, 1, runs, share=chance.choice([1.0, 0.9, 0.3, 0.05]))
    control = made_series(chance, 2, runs, share=chance.choice([1.0, 0.7])) if chance.random() < 0.5 else None
    without = chance.choice(runs)
    beside = {"controls": {1: 2}, "control_series": [control]} if control else {}
    expected = spread_of_all(ours, without, control)
    found = run_spreads([ours], without=without, **beside).get(1)
    assert (found and (found.sd, found.dof)) == (expected and (expected[0], max(2.0, 0.37 * expected[1])))
    told = 0
    for n in (20, MOST_RUNS, MOST_RUNS + 20, N_COMMITS):
        latest = set(runs[-n:])
        if control:
            beside["control_series"] = [latest_of(control, latest)]
        partly = run_spreads([latest_of(ours, latest)], without=without, **beside)
        told += len(partly)
        assert partly.get(1, found) == found
    if len(ours.run_ids) == N_COMMITS and not control:
        assert told >= 1, "else nothing would be saved"


def by_hand(logs, *, n_judged, is_whole=True):
    """A series of these logs, oldest first, after which the judged commit B was run so many times."""
    commits = (A,) * len(logs) + (B,) * n_judged
    values = tuple(map(math.exp, [*logs, *[9.0] * n_judged]))
    return RunValues(1, tuple(map(str, range(len(values)))), commits, values, is_whole=is_whole)


@pytest.mark.parametrize(("n_judged", "is_told"), [(52, True), (53, False), (60, False)])
def test_runs_of_what_is_judged_fill_the_latest_and_tell_nothing(n_judged, is_told):
    """Sixty runs that end with B's: eight before it are enough; of a whole series older ones are counted, too."""
    logs = [0.1 * (i % 2) for i in range(MOST_RUNS - n_judged)]
    assert (1 in run_spreads([by_hand(logs, n_judged=n_judged, is_whole=False)], without=B)) is is_told
    older = [0.0] * 20
    assert (1 in run_spreads([by_hand([*older, *logs], n_judged=n_judged)], without=B)) is (len(logs) > 1)


def test_of_fifty_nine_runs_that_are_not_all_nothing_is_told():
    logs = [0.1 * (i % 2) for i in range(MOST_RUNS - 1)]
    assert run_spreads([by_hand(logs, n_judged=0, is_whole=False)], without=B) == {}
    assert 1 in run_spreads([by_hand(logs, n_judged=0)], without=B)
