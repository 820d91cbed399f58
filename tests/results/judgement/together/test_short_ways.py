"""What is told of thousands of series in a short way is what the long one tells."""

from __future__ import annotations

import math
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from results.judgement import series_verdicts
from results.judgement.comparison.moderation import Prior
from results.judgement.sides import pairs_of, sides_of
from results.judgement.verdicts import judge
from results.rows import ProcessValue
from tests.made_values import A, B, failed, row

PLACES = [(metric, batch) for metric in ("time", "latency_s", "peakmemory", "operator_count") for batch in range(8)]
numbers = st.sampled_from([1.0, 1.01, 1.02, 1.04, 1.06, 1.3, 0.7, 1e-9, 0.0, -1.0, math.inf])
ends = st.sampled_from([(0.99, 1.01), (0.5, 2.0), (None, None), (-math.inf, math.inf)])
reasons = st.sampled_from([None, None, None, "stolen time", "the machine ran at 80 % of its best"])


@st.composite
def runs(draw, place, commit):
    metric, batch = place
    found = []
    for number in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3]))):
        run = f"{commit[0]}{number}"
        if draw(st.integers(0, 9)) == 0:
            found.append(failed(metric=metric, batch=batch, commit=commit, run=run))
            continue
        value, (low, high) = draw(numbers), draw(ends)
        interval = {"ci_low": low and low * value, "ci_high": high and high * value}
        made = row(value, metric=metric, batch=batch, commit=commit, run=run, disturbed=draw(reasons), **interval)
        found.append(made if draw(st.booleans()) and metric == "latency_s" else made._replace(processes=()))
    return found


@st.composite
def commits(draw):
    level = draw(st.sampled_from([1.0, 1.3]))  # of eager, whose move forbids all verdicts
    eager = [
        [row(value, provider="eager", batch=batch, commit=at) for batch in range(8)]
        for value, at in ((1.0, A), (level, B))
    ]
    found = ([one for place in PLACES for one in draw(runs(place, commit))] for commit in (A, B))
    return tuple([*some, *controls] for some, controls in zip(found, eager, strict=True))


def told(one):
    """The same run, which tells its only process."""
    if one.processes or one.value is None:
        return one
    return one._replace(processes=(ProcessValue(one.run_id, 0, one.value, one.ci_low, one.ci_high, one.reason),))


@given(rows=commits())
@settings(max_examples=200, deadline=None)
def test_a_number_is_paired_as_the_only_process_of_its_run(rows):
    short, long = (
        [
            (side, after[key])
            for before, after in [[sides_of(map(way, side)) for side in rows]]
            for key, side in before.items()
            if key in after and side.is_ok and after[key].is_ok
        ]
        for way in (lambda one: one, told)
    )
    assert pairs_of(short) == pairs_of(long)


@given(rows=commits(), is_paired=st.booleans(), least_change=st.sampled_from([0.0, 0.02, 0.05]), seed=st.integers(0, 2))
@settings(max_examples=200, deadline=None)
def test_what_hardly_moved_is_judged_as_all_else(rows, is_paired, least_change, seed):
    ids = {one.series_id for side in rows for one in side}
    spreads = {one: Prior(sd=0.01, dof=20.0) for one in ids if (one + seed) % 3 == 0}
    how = {"base_commit": A, "head_commit": B, "is_paired": is_paired, "least_change": least_change, "spreads": spreads}
    found = judge(*rows, **how)
    with mock.patch.object(series_verdicts, "_is_plainly_unchanged", return_value=False):
        assert judge(*rows, **how) == found
