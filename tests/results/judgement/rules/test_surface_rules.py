"""Changes of series as findings of surfaces: what is one finding, what it tells, and which come first."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from results.judgement.changes.detection import Change
from results.judgement.changes.surfaces import (
    EVERYTHING,
    LEAST_OF_FLOOR,
    Member,
    findings_from,
    timeline_of,
)
from results.judgement.findings import FindingClass, FindingState, Turn
from results.judgement.sides import surface_of
from results.metrics import Direction, metric_of
from results.rows import HistoryRun, HistoryTable, KnownChange, ParameterValue, SeriesRow

N = 20
STEP = Change(
    row=0,
    last_good=9,
    first_bad=10,
    jump=0.2,
    interval=(0.1, 0.3),
    p=1e-4,
    state=FindingState.CONFIRMED,
    confirmed_at=12,
)
TIME = metric_of("latency_s", unit="s", dtype=None)


def commit(number):
    return f"{number + 1:08x}" * 5


def series(number, *, provider="fused", batch=1, metric="latency_s"):
    parameters = {"provider": provider, "weights": "plain", "pass": "forward", "batch": batch}
    return SeriesRow(
        series_id=number, project="p", machine="m", environment="e", benchmark="mlp", metric=metric, unit="s",
        version="1", interval_level=None,
        parameters=tuple(ParameterValue(name=name, value=value) for name, value in parameters.items()),
    )  # fmt: skip


def table(rows, values, *, commits=None, positions=None):
    n = np.shape(values)[1]
    runs = zip(commits or map(commit, range(n)), positions or range(n), strict=True)
    return HistoryTable(
        project="p", machine="m", environment="e", series=tuple(rows),
        runs=tuple(HistoryRun(one, None, None, at, f"r{i}", None) for i, (one, at) in enumerate(runs)),
        values=np.asarray(values, dtype=float), disturbed=np.zeros(np.shape(values), dtype=bool),
    )  # fmt: skip


def acknowledged(number, at, note):
    return KnownChange(
        series_id=number, point_id=0, project="p", machine="m", environment="e", benchmark="mlp", metric="latency_s",
        parameters=(), commit=at, commit_date=None, decision="accepted", note=note, decided_by=None, decided_at=None,
    )  # fmt: skip


def member(number=0, *, metric=TIME, is_exact=False, everything="", **of_change):
    change = replace(STEP, row=number, **of_change)
    row = series(number, batch=2**number)
    levels = None if is_exact else np.zeros(N)
    return Member(change=change, series=row, metric=metric, levels=levels, everything=everything)


def found_in(*members, values=None, known=(), floors=lambda levels: np.full(len(levels), np.nan), **options):
    rows = [series(i, batch=2**i) for i in range(max(one.change.row for one in members) + 1)]
    measured = table(rows, np.ones((len(rows), N)) if values is None else values, **options)
    return findings_from(members, timeline_of(measured, known), floors_of=floors, has_controls=False)


def told(**of_change):
    [found] = found_in(member(**of_change))
    return found


class TestTimeline:
    def test_runs_of_one_commit_are_one_and_measured_is_what_any_of_them_has(self):
        nan = np.nan
        commits = ["a", "a", "b", "c", "c", "c"]
        measured = table([series(0), series(1)], [[nan, 1, nan, 2, 2, 2], [1, 1, 1, nan, nan, nan]], commits=commits)
        found = timeline_of(measured, [acknowledged(1, "b", "on purpose")])
        assert [one.run_id for one in found.commits] == ["r0", "r2", "r3"]
        assert found.commit_of_run.tolist() == [0, 0, 1, 2, 2, 2]
        assert found.measured.tolist() == [[True, False, True], [True, True, False]]
        assert found.rows == {surface_of(series(0)): [0, 1]}
        assert found.known == {(1, "b"): acknowledged(1, "b", "on purpose").reason}

    def test_runs_of_one_commit_alone_are_one(self):
        found = timeline_of(table([series(0)], [[1, 1]], commits=["a", "a"]), ())
        assert (len(found.commits), found.commit_of_run.tolist()) == (1, [0, 0])

    def test_without_runs_nothing_was_measured(self):
        found = timeline_of(table([series(0)], np.empty((1, 0))), ())
        assert (found.commits, found.measured.shape) == ((), (1, 0))

    def test_a_surface_shares_the_contender_and_the_pass(self):
        assert [one.name for one in surface_of(series(0)).shared] == ["pass", "provider", "weights"]


class TestWhatIsOneFinding:
    @pytest.mark.parametrize(("apart", "n"), [(0, 1), (1, 1), (2, 2)])
    def test_neighbouring_commits_of_one_surface_and_direction(self, apart, n):
        assert len(found_in(member(0), member(1, last_good=9 + apart, first_bad=10 + apart))) == n

    def test_other_directions_and_states_are_others(self):
        assert len(found_in(member(0), member(1, jump=-0.2))) == 2
        assert len(found_in(member(0), member(1, state=FindingState.SUSPECTED))) == 2
        assert len(found_in(member(0, jump=0.5), member(1))) == 1

    def test_the_largest_change_is_told_first_in_either_direction(self):
        for sign in (1, -1):
            jumps = [0.1, 0.3, 0.2]
            [found] = found_in(*(member(i, jump=sign * jump) for i, jump in enumerate(jumps)))
            assert [point[-1].value for point in found.points] == [2, 4, 1]
            assert found.ratio == pytest.approx(math.exp(sign * 0.3))

    def test_the_range_is_that_of_most_points_and_the_shortest_that_holds_of_these(self):
        [found] = found_in(
            member(0, last_good=8), member(1), member(2, last_good=7), member(3, last_good=10, first_bad=11, jump=0.1)
        )
        assert (found.last_good, found.first_bad) == (commit(9), commit(10))
        assert len(found.points) == 4

    def test_points_are_counted_that_were_measured_where_one_of_them_changed(self):
        values = np.ones((4, N))
        values[0, 11] = values[1, 10] = values[2, [10, 11]] = np.nan
        [found] = found_in(member(0), member(1, first_bad=11), member(3, jump=0.1), values=values)
        assert (len(found.points), found.n_points) == (3, 3), "never 3 of 2: points may be measured in turns"

    def test_what_moved_everything_has_no_points_and_is_of_all_series(self):
        [found] = found_in(member(1, everything="it was the machine"))
        assert (found.benchmark, found.metric, found.surface.shared) == (EVERYTHING, EVERYTHING, ())
        assert (found.points, found.n_points, found.why) == ((), 2, "it was the machine")
        assert (found.class_, found.turn) == (FindingClass.MACHINE, Turn.CHANGED)
        [exact] = found_in(member(1, everything="it was the machine", is_exact=True))
        assert exact.floor is None


class TestFloor:
    @pytest.mark.parametrize("sign", [1, -1])
    def test_what_is_less_than_half_of_it_is_not_told(self, sign):
        floor = 0.1
        least = LEAST_OF_FLOOR * math.log1p(floor)
        for jump, n in ((least, 1), (0.999 * least, 0), (1.001 * least, 1)):
            found = found_in(member(jump=sign * jump), floors=lambda levels: np.full(len(levels), floor))
            assert len(found) == n
            assert all(one.floor == floor for one in found)

    def test_it_is_of_the_largest_changes_levels_and_exact_changes_have_none(self):
        asked = []

        def floors(levels):
            asked.append(levels)
            return np.full(len(levels), np.nan)

        big = replace(member(1, jump=0.4), levels=np.ones(N))
        found = found_in(member(0), big, floors=floors)
        assert (asked[0].tolist(), found[0].floor) == ([[1.0] * N], None)
        [exact] = found_in(member(is_exact=True), floors=floors)
        assert (np.isnan(asked[1]).all(), asked[1].shape, exact.floor) == (True, (1, N), 0.0)


class TestOrder:
    def test_many_points_and_large_changes_come_first(self):
        def at(first_bad, number=0, **others):
            return member(number, last_good=first_bad - 1, first_bad=first_bad, **others)

        found = found_in(
            at(3, jump=0.1), at(6, jump=-0.5), at(9, jump=0.3), at(12, jump=0.2), at(12, 1, jump=0.2),
            at(15, jump=math.inf, is_exact=True),
        )  # fmt: skip
        assert [one.first_bad for one in found] == [commit(at) for at in (15, 6, 12, 9, 3)]
        assert [one.ratio is None for one in found] == [True, False, False, False, False]


class TestRange:
    @pytest.mark.parametrize(
        ("last", "first", "expected"), [(9, 10, 0), (9, 14, 4), (None, 14, None), (9, None, None), (14, 9, 0)]
    )
    def test_commits_between_that_nobody_measured(self, last, first, expected):
        positions = [*range(9), last, first, *range(30, 39)]
        [found] = found_in(member(), positions=positions)
        assert found.n_unmeasured == expected

    def test_of_those_between_what_crept_the_measured_ones_do_not_count(self):
        values = np.ones((1, N))
        values[0, 8] = np.nan
        positions = [3 * i for i in range(N)]
        [found] = found_in(member(is_exact=True, last_good=6), values=values, positions=positions)
        assert (found.n_unmeasured, found.why) == (
            9, "counted, not timed; within its tolerance from commit to commit, 2 measured ones between"
        )  # fmt: skip
        [timed] = found_in(member(last_good=6), values=values, positions=positions)
        assert timed.n_unmeasured == 11
        [all_of_it] = found_in(member(is_exact=True, last_good=6, first_bad=10, everything="x"), positions=positions)
        assert all_of_it.n_unmeasured == 11


@pytest.mark.parametrize(
    ("direction", "jump", "turn"),
    [
        (Direction.LOWER, 0.2, Turn.SLOWER),
        (Direction.LOWER, -0.2, Turn.FASTER),
        (Direction.HIGHER, 0.2, Turn.FASTER),
        (Direction.HIGHER, -0.2, Turn.SLOWER),
        (Direction.UNKNOWN, 0.2, Turn.CHANGED),
        (Direction.UNKNOWN, -0.2, Turn.CHANGED),
    ],
)
def test_the_turn_is_by_the_direction_that_is_better(direction, jump, turn):
    assert told(jump=jump, metric=replace(TIME, direction=direction)).turn is turn


class TestClass:
    @pytest.mark.parametrize(
        ("of_change", "expected"),
        [
            ({}, None),
            ({"is_exact": True}, FindingClass.CODE),
            ({"state": FindingState.SUSPECTED, "is_exact": True}, None),
            ({"n_before": 1}, None),
            ({"n_before": 2}, FindingClass.NOISE),
            ({"n_before": 3}, FindingClass.NOISE),
            ({"state": FindingState.WITHDRAWN, "ended_at": 12}, FindingClass.NOISE),
        ],
    )
    def test_without_controls(self, of_change, expected):
        assert told(**of_change).class_ is expected

    def test_with_controls_what_is_left_is_the_codes(self):
        measured = timeline_of(table([series(0)], np.ones((1, N))), ())
        for state, expected in ((FindingState.CONFIRMED, FindingClass.CODE), (FindingState.SUSPECTED, None)):
            [found] = findings_from(
                [member(state=state)], measured, floors_of=lambda _: np.array([np.nan]), has_controls=True
            )
            assert found.class_ is expected

    def test_noise_only_if_every_point_is(self):
        [found] = found_in(member(0, n_before=2), member(1))
        assert found.class_ is None


@pytest.mark.parametrize(
    ("of_change", "why"),
    [
        ({}, "certain 2 measured commits later"),
        ({"confirmed_at": None}, ""),
        ({"is_exact": True}, "counted, not timed"),
        (
            {"ended_at": 15, "state": FindingState.RECOVERED},
            f"certain 2 measured commits later; taken back at {commit(15)[:8]}",
        ),
        ({"n_before": 1}, "certain 2 measured commits later; a level this series had before"),
        (
            {"state": FindingState.SUSPECTED, "confirmed_at": None},
            "one measurement beyond all of the 60 before it: measure this commit again",
        ),
        (
            {"state": FindingState.WITHDRAWN, "ended_at": 12},
            f"one measurement far out; {commit(12)[:8]} did not bear it out",
        ),
        ({"state": FindingState.WITHDRAWN}, "certain 2 measured commits later"),
    ],
)
def test_why_in_words(of_change, why):
    assert told(**of_change).why == why


def test_an_interval_is_of_ratios_and_exact_changes_have_none():
    assert told().interval == pytest.approx((math.exp(0.1), math.exp(0.3)))
    assert told(interval=None).interval is None


@pytest.mark.parametrize(
    ("version", "state", "last", "is_told"),
    [("2", "confirmed", 14, True), ("2", "recovered", 14, False), ("2", "confirmed", 19, False),
     ("1", "confirmed", 14, False)],
)  # fmt: skip
def test_what_another_ruler_goes_on_with_is_not_told_as_if_still_there(version, state, last, is_told):
    one, values = series(0), np.ones((2, N))
    values[0, last + 1 :] = np.nan
    measured = timeline_of(table([one, replace(one, series_id=1, version=version)], values), ())
    ours = replace(member(state=FindingState(state)), series=one)
    [found] = findings_from([ours], measured, floors_of=lambda _: np.array([np.nan]), has_controls=False)
    told = (
        f"ruler 1 measured it last at {commit(14)[:8]}, and another since, so nothing tells whether it is still there"
    )
    assert found.why.endswith(told) is is_told
