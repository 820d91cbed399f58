"""Runs of a series at one commit as one value; pairs, controls, surfaces; what the head was not asked for."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from results.judgement.sides import (
    controls_among,
    is_control,
    pairs_of,
    sides_of,
    surface_parameters,
    with_controls,
)
from results.rows import MeasuredAxes, ProcessValue
from tests.made_values import A, B, failed, row


def side(*rows):
    [found] = sides_of(rows).values()
    return found


def plain(value, **changes):
    """A run that tells no processes of its own."""
    return row(value, **changes)._replace(processes=(), ci_low=None, ci_high=None)


class TestSides:
    """All runs of a commit count."""

    def test_of_one_run_the_row_is_shown_as_it_is(self):
        one = row([1.0, 5.0, 2.0], run="a", disturbed="stolen time")
        found = side(one)
        assert found.row is one
        assert (found.n_runs, found.n_failed, found.values, len(found.processes)) == (1, 0, (2.0,), 3)
        assert (found.is_ok, found.has_value, found.is_repeated) == (True, True, True)
        assert not side(row(1.0)).is_repeated
        assert side(row([1.0, 2.0])).is_repeated

    def test_of_several_runs_the_value_is_the_median_of_all_processes(self):
        found = side(row([1.0, 2.0], run="a"), row([9.0], run="b"), row([3.0, 9.5], run="c"))
        assert found.row.value == 3.0
        assert found.row.run_id == "c"  # the newest is shown
        assert found.values == (1.5, 9.0, 6.25)

    def test_of_two_runs_without_processes_each_run_is_one(self):
        found = side(plain(1.0, run="a"), plain(3.0, run="b"))
        assert found.row.value == 2.0
        assert [(one.run_id, one.visit, one.value) for one in found.processes] == [("a", 0, 1.0), ("b", 0, 3.0)]

    def test_disturbed_processes_count_only_where_there_is_no_other(self):
        calm, wild = row([1.0, 2.0], run="a"), row([8.0, 9.0], run="b", disturbed="stolen time")
        found = side(calm, wild)
        assert (found.row.value, found.row.reason) == (1.5, None)
        both = side(wild._replace(run_id="a"), wild)
        assert (both.row.value, both.row.reason) == (8.5, "stolen time")

    def test_a_run_that_failed_is_shown_with_how_often(self):
        found = side(
            failed(run="a"), row(1.0, run="b"), failed("wrong", run="c")._replace(reason=None), row(1.0, run="d")
        )
        assert (found.row.state, found.row.reason) == ("wrong", "no reason given (in 2 of 4 runs)")
        assert (found.is_ok, found.has_value, found.n_failed, found.values) == (False, True, 2, (1.0, 1.0))
        assert side(failed(run="a"), row(1.0, run="b")).row.reason == "crashed in this test (in 1 of 2 runs)"

    def test_of_runs_that_all_failed_the_newest_is_shown_as_it_is(self):
        newest = failed("wrong", run="b")
        found = side(failed(run="a"), newest)
        assert found.row is newest
        assert (found.is_ok, found.has_value) == (False, False)

    def test_a_run_that_is_ok_without_a_value_counts_for_none(self):
        found = side(row(1.0, run="a")._replace(value=None, processes=()), row(2.0, run="b"))
        assert (found.values, len(found.processes), found.row.value) == ((2.0,), 1, 2.0)
        wild = [row(each, run=str(each), disturbed="stolen time") for each in (2.0, 4.0)]
        found = side(row(1.0, run="a")._replace(value=None, processes=()), *wild)
        assert (found.row.value, found.row.reason) == (3.0, "stolen time")


def pair(base, head, **changes):
    return pair_of(side(row(base, **changes)), side(row(head, commit=B, **changes)))


def pair_of(base, head):
    found = pairs_of([(base, head)])
    return found[0] if found else None


class TestPairs:
    """Two sides of one series, with what is known of their noise."""

    @pytest.mark.parametrize(
        ("base", "head"),
        [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), ([1.0, 0.0], 1.0), (1.0, [1.0, -1.0]), (1.0, math.inf)],
    )
    def test_numbers_that_are_not_all_positive_are_no_pair(self, base, head):
        assert pair(base, head) is None

    @pytest.mark.parametrize(
        ("changes", "has_control", "is_control"),
        [
            ({"provider": "fused"}, True, False),
            ({"provider": "eager"}, False, True),
            ({"parameters": {"batch": 1}}, False, False),
            ({"metric": "time", "provider": "eager"}, False, False),
            ({"metric": "time", "provider": "fused"}, False, False),
            ({"parameters": {"provider": "eager", "weights": "packed"}}, True, False),
            ({"parameters": {"provider": "eager", "weights": "plain"}}, False, True),
        ],
    )
    def test_a_provider_of_the_sweep_has_eager_for_its_control(self, changes, has_control, is_control):
        found = pair(1.0, 2.0, **changes)
        assert (found.control is not None, found.is_control) == (has_control, is_control)

    @pytest.mark.parametrize(("metric", "level"), [("latency_s", 0.95), ("time", 0.99)])
    def test_samples_tell_the_standard_error_within_a_process(self, metric, level):
        process = ProcessValue("r", 2, 4.0, 3.0, 7.0, None)
        found = pair_of(side(row(4.0, metric=metric)._replace(processes=(process,))), side(row(1.0, metric=metric)))
        [one] = found.base
        assert one.log == math.log(4.0)
        assert one.within_sd == pytest.approx(2.0 / 4.0 / NormalDist().inv_cdf((1 + level) / 2))
        assert (one.run, one.visit, one.is_disturbed) == ("r", 2, False)

    @pytest.mark.parametrize("edges", [(None, 7.0), (3.0, None), (None, None), (-math.inf, 7.0), (3.0, math.inf)])
    def test_without_an_interval_nothing_is_known_within(self, edges):
        process = ProcessValue("r", 0, 4.0, *edges, "stolen time")
        found = pair_of(side(row(4.0)._replace(processes=(process,))), side(row(1.0)))
        assert (found.base[0].within_sd, found.base[0].is_disturbed) == (0.0, True)

    def test_each_pair_has_the_control_of_its_own_shape(self):
        rows = [row(1.0, provider=p, batch=b, commit=B) for p in ("eager", "fused", "compiled") for b in (1, 2)]
        rows.append(row(1.0, provider="fused", batch=3, commit=B))
        pairs = [pair_of(side(each), side(each)) for each in rows]
        found = with_controls(pairs, {each.series_id: each for each in rows})
        ids = [each.series_id for each in rows]
        assert [one.control for one in found] == [None, None, ids[0], ids[1], ids[0], ids[1], None]

    def test_controls_are_found_for_those_that_are_asked_for(self):
        rows = [row(1.0, provider=p, batch=b) for p in ("eager", "fused") for b in (1, 2)]
        others = [
            row(1.0, metric="time", provider="fused", batch=1),
            row(1.0, parameters={"batch": 1, "hidden": 256, "pass": "forward"}),
            row(1.0, provider="fused", batch=9),
        ]
        eager1, eager2, fused1, fused2 = (each.series_id for each in rows)
        wanted = [fused1, *(each.series_id for each in others)]
        assert controls_among([*rows, *others], wanted) == {fused1: eager1}
        assert controls_among([*others, *rows[::-1]], [fused1, fused2]) == {fused1: eager1, fused2: eager2}

    def test_eager_is_a_control_in_the_sweep_with_plain_weights_only(self):
        assert is_control(row(1.0, provider="eager"))
        assert not is_control(row(1.0, provider="eager", metric="time"))
        assert not is_control(row(1.0, parameters={"provider": "eager", "weights": "packed"}))
        assert not is_control(row(1.0, provider="fused"))

    def test_a_surface_is_told_by_provider_weights_and_pass_of_the_sweep(self):
        parameters = {"weights": "packed", "provider": "fused", "batch": 1, "pass": "forward"}
        found = [one.name for one in surface_parameters(row(1.0, parameters=parameters))]
        assert found == ["pass", "provider", "weights"]
        assert surface_parameters(row(1.0, metric="time", parameters=parameters)) == ()


class TestOtherAxes:
    """A series of the base that the head has not: was it asked for?"""

    @pytest.mark.parametrize(
        ("missing", "head", "expected"),
        [
            ({}, [], True),  # the head measured nothing there
            ({"parameters": {}}, [], True),
            ({}, [{"provider": "eager"}], False),  # a provider vanished
            ({"batch": 4}, [{"batch": 1}], True),
            ({"batch": 4}, [{"batch": 1}, {"batch": 4, "provider": "eager"}], False),
            ({"benchmark": "linear"}, [{}], True),  # an operation
            ({}, [{"version": "4"}], True),
            ({}, [{"version": "4"}, {"provider": "eager"}], False),
            (
                {"parameters": {"provider": "fused", "weights": "packed"}},
                [{"parameters": {"provider": "fused"}}],
                False,
            ),
            (
                {"metric": "time", "benchmark": "s.gone", "parameters": {}},
                [{"benchmark": "s.other", "parameters": {}}],
                False,
            ),
            ({"metric": "time", "parameters": {"n": 1}}, [{"metric": "time", "parameters": {"n": 2}}], True),
            (
                {"metric": "time", "parameters": {"weights": "a"}},
                [{"metric": "time", "parameters": {"weights": "b"}}],
                True,
            ),
            ({"metric": "time", "parameters": {"n": 1}}, [{"metric": "time", "parameters": {"n": 1, "m": 2}}], False),
        ],
    )
    def test_as_far_as_that_can_be_told(self, missing, head, expected):
        found = MeasuredAxes([row(1.0, commit=B, **each) for each in head]).have(row(1.0, commit=A, **missing))
        assert found is not expected


@pytest.mark.parametrize(
    ("disturbed", "speed"),
    [(None, 0.7), ("the machine ran at 70 % of its best", 0.7), ("other processes used 0.9 cores", None)],
)
def test_the_speed_of_a_process_counts_where_nothing_else_disturbed_it(disturbed, speed):
    process = ProcessValue("r", 0, 1.0, None, None, disturbed, 0.7)
    base, head = (sides_of([row(1.0, commit=at)._replace(processes=(process,))]) for at in (A, B))
    pair = pair_of(*base.values(), *head.values())
    assert [(one.speed, one.is_head) for one in (*pair.base, *pair.head)] == [(speed, False), (speed, True)]
