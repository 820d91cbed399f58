"""Histories of a place → findings: surfaces, ranges, controls, what moved everything, what a person declared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from results.files.settings import Threshold
from results.judgement.changes import judged
from results.judgement.changes.detection import changes_in
from results.judgement.changes.floors import noise_floors
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.findings import FindingClass, FindingState, Turn
from results.metrics import Direction
from results.rows import HistoryRun, HistoryTable, KnownChange, ParameterValue, SeriesRow

N = 100


def commit(number):
    return f"{number:040x}"


def series(number, *, benchmark="mlp", metric="latency_s", unit="s", **parameters):
    return SeriesRow(
        series_id=number,
        project="p",
        machine="m",
        environment="e",
        benchmark=benchmark,
        metric=metric,
        unit=unit,
        version="1",
        interval_level=0.95,
        parameters=tuple(ParameterValue(name=name, value=value) for name, value in parameters.items()),
    )


def table(rows, values, *, positions=None, commits=None):
    values = np.asarray(values, dtype=float)
    n = values.shape[1]
    positions = positions or [None] * n
    commits = commits or [commit(i) for i in range(n)]
    return HistoryTable(
        project="p",
        machine="m",
        environment="e",
        series=tuple(rows),
        runs=tuple(
            HistoryRun(commit=one, commit_date=None, commit_subject=None, position=at, run_id=f"r{i}", measured_at=None)
            for i, (one, at) in enumerate(zip(commits, positions, strict=True))
        ),
        values=values,
        disturbed=np.zeros(values.shape, dtype=bool),
    )


def times(n_series, *, n=N, seed=0, slow=(), by=1.2, since=60):
    """Return values with 1 % of noise, of which the rows `slow` are slower from `since` on; [series, n]."""
    values = np.exp(0.01 * np.random.default_rng(seed).standard_normal((n_series, n)))
    values[np.ix_(list(slow), range(since, n))] *= by
    return values


def points(n, *, provider="fused", start=0, **given):
    return [series(start + i, provider=provider, batch=2**i, **given) for i in range(n)]


def test_points_that_change_at_one_commit_are_one_finding_of_their_surface():
    rows = [*points(6), *points(6, provider="compiled", start=6)]
    [found] = changes_of_place(table(rows, times(12, slow=range(4)))).findings
    assert (found.benchmark, found.metric) == ("mlp", "latency_s")
    assert [one.value for one in found.surface.shared] == ["fused"]
    assert (len(found.points), found.n_points) == (4, 6)
    assert (found.last_good, found.first_bad) == (commit(59), commit(60))
    assert found.ratio == pytest.approx(1.2, rel=0.02)
    assert found.interval[0] < 1.2 < found.interval[1] + 0.02
    assert (found.turn, found.state, found.class_) == (Turn.SLOWER, FindingState.CONFIRMED, None)
    assert 0.005 < found.floor < 0.06


def test_the_worst_point_comes_first_and_the_widest_surface_before_it():
    rows = [*points(4), *points(4, benchmark="linear", start=4)]
    values = times(8, slow=[0, 1, 4])
    values[1, 60:] *= 1.2
    first, second = changes_of_place(table(rows, values)).findings
    assert (first.benchmark, second.benchmark) == ("mlp", "linear")
    assert [{p.name: p.value for p in point}["batch"] for point in first.points] == [2, 1]


@pytest.mark.parametrize(("unit", "metric", "turn"), [("s", "time", Turn.SLOWER), ("ops", "track", Turn.CHANGED)])
def test_what_is_worse_follows_the_metric(unit, metric, turn):
    [found] = changes_of_place(table([series(0, metric=metric, unit=unit)], times(1, slow=[0]))).findings
    assert found.turn is turn


def test_commits_between_that_nobody_measured_are_counted():
    positions = [*range(1, 61), *range(101, 141)]
    ours = table([series(0)], times(1, slow=[0]), positions=positions)
    [found] = changes_of_place(ours).findings
    assert found.n_unmeasured == 40
    [found] = changes_of_place(replace(ours, beside=(None, 1, 60, 61, 100, 101))).findings
    assert found.n_unmeasured == 38, "two were measured on another branch"
    [unknown] = changes_of_place(table([series(0)], times(1, slow=[0]))).findings
    assert unknown.n_unmeasured is None


def test_what_moves_the_controls_is_the_machines_and_ours_are_judged_without_it():
    rows = [*points(8, provider="eager"), *points(8, start=8)]
    place = changes_of_place(table(rows, times(16, slow=range(16))))
    [found] = place.findings
    assert (found.benchmark, found.class_, found.turn) == ("*", FindingClass.MACHINE, Turn.CHANGED)
    assert "machine or torch" in found.why
    assert place.n_controls == 8
    [ours] = changes_of_place(table(rows, times(16, slow=range(8, 16)))).findings
    assert (ours.class_, len(ours.points)) == (FindingClass.CODE, 8)


def test_controls_of_other_suites_are_named_by_patterns():
    rows = [series(i, benchmark=f"{'calibration' if i < 6 else 'sparse'}.time_{i}", metric="time") for i in range(12)]
    measured = table(rows, times(12, slow=range(12)))
    [found] = changes_of_place(measured, controls=["calibration.*"]).findings
    assert found.class_ is FindingClass.MACHINE


def test_without_controls_what_begins_in_many_modules_at_once_is_told_as_one():
    rows = [series(i, benchmark=f"module{i % 12}.time_{i}", metric="time") for i in range(36)]
    [found] = changes_of_place(table(rows, times(36, slow=range(0, 36, 2)))).findings
    assert (found.benchmark, found.class_) == ("*", FindingClass.MACHINE)
    assert "18 series up and 0 down at once, of 36, in 6 of 12 modules" in found.why
    of_one_module = changes_of_place(table(rows, times(36, slow=range(0, 36, 12)))).findings
    assert {one.benchmark.partition(".")[0] for one in of_one_module} == {"module0"}


def test_a_count_is_compared_exactly_and_memory_with_its_tolerance():
    rows = [
        series(0, metric="operator_count", unit="", provider="fused"),
        series(1, metric="peak_memory_bytes", unit="bytes", provider="fused"),
    ]
    values = np.array([[3.0] * 4 + [4.0] * 2, [1000.0] * 4 + [1005.0] * 2])
    [found] = changes_of_place(table(rows, values)).findings
    assert (found.metric, found.first_bad, found.class_) == ("operator_count", commit(4), FindingClass.CODE)
    assert found.interval is None


def test_memory_that_crept_tells_the_range_and_which_commits_in_it_nobody_measured():
    values = np.array([[1000.0, 1000.0, 1004.0, 1008.0, 1012.0, 1012.0]])
    memory = [series(0, metric="peak_memory_bytes", unit="bytes", provider="fused")]
    [found] = changes_of_place(table(memory, values, positions=[1, 2, 3, 5, 9, 10])).findings
    assert (found.last_good, found.first_bad, found.n_unmeasured) == (commit(1), commit(4), 4)
    assert found.ratio == pytest.approx(1.012)
    assert found.why == "counted, not timed; within its tolerance from commit to commit, 2 measured ones between"
    [jumped] = changes_of_place(table(memory, np.array([[1000.0, 1000.0, 1012.0]]), positions=[1, 5, 9])).findings
    assert (jumped.n_unmeasured, jumped.why) == (3, "counted, not timed")


@pytest.mark.parametrize(("metric", "unit"), [("latency_s", "s"), ("kernel_launches", "")])
def test_a_fusion_gained_and_lost_is_told_as_slower(metric, unit):
    values = times(1) if metric == "latency_s" else np.full((1, N), 5.0)
    values[0, 40:70] /= 5
    place = changes_of_place(table([series(0, metric=metric, unit=unit, provider="fused")], values))
    loss = next(one for one in place.findings if one.turn is Turn.SLOWER)
    assert (loss.last_good, loss.first_bad) == (commit(69), commit(70))
    assert (loss.state, loss.class_ is FindingClass.NOISE) == (FindingState.CONFIRMED, False)
    [gain] = [one for one in place.findings if one is not loss]
    assert (gain.turn, gain.state) == (Turn.FASTER, FindingState.RECOVERED)


def test_a_throughput_gained_and_lost_is_told_as_slower_and_one_lost_and_regained_is_not():
    threshold = Threshold(metric="track", better=Direction.HIGHER)
    for by, turns in ((1.3, {Turn.FASTER, Turn.SLOWER}), (1 / 1.3, {Turn.SLOWER})):
        values = times(1)
        values[0, 40:70] *= by
        measured = table([series(0, metric="track", unit="rows/s")], values)
        found = changes_of_place(measured, thresholds=[threshold]).findings
        assert {one.turn for one in found} == turns
        assert len(found) == len(turns)


def test_a_regression_made_again_is_told_and_what_goes_to_and_fro_is_noise():
    values = times(1, n=300)
    for start in (60, 140, 220):
        values[0, start : start + 40] *= 1.2
    found = {one.first_bad: one for one in changes_of_place(table([series(0)], values)).findings}
    assert [(at, one.class_) for at, one in sorted(found.items())] == [
        (commit(60), None),
        (commit(140), None),
        (commit(220), FindingClass.NOISE),
    ]
    assert "before" in found[commit(140)].why


def test_what_goes_back_in_many_modules_at_once_is_the_machines_though_little_of_it_is_for_the_worse():
    rows = [series(i, benchmark=f"module{i % 12}.time_{i}", metric="time") for i in range(36)]
    values = times(36)
    for module, by in enumerate((1.2, 1.2, 1 / 1.2)):
        values[module::12, 40:70] *= by
    found = changes_of_place(table(rows, values)).findings
    assert {one.first_bad for one in found} == {commit(40), commit(70)}
    assert {one.class_ for one in found} == {FindingClass.MACHINE}


def test_a_level_at_disturbed_values_only_counts_where_there_is_no_other():
    values = times(1, n=2 * N)
    commits = [commit(i // 2) for i in range(2 * N)]
    values[0, 121::2] *= 1.5
    measured = table([series(0)], values, commits=commits)
    measured.disturbed[0, 121::2] = True
    assert changes_of_place(measured).findings == ()
    measured.disturbed[:] = True
    assert [one.first_bad for one in changes_of_place(measured).findings] == [commit(60)]


def test_a_change_that_a_person_declared_is_acknowledged_with_the_reason():
    known = KnownChange(
        series_id=0,
        point_id=0,
        project="p",
        machine="m",
        environment="e",
        benchmark="mlp",
        metric="latency_s",
        parameters=(),
        commit=commit(60),
        commit_date=None,
        decision="accepted",
        note="pays for accuracy",
        decided_by=None,
        decided_at=None,
    )
    measured = table(points(2), times(2, slow=[0]))
    [found] = changes_of_place(measured, known=[known]).findings
    assert (found.state, "pays for accuracy" in found.why) == (FindingState.ACKNOWLEDGED, True)
    [other] = changes_of_place(measured, known=[replace(known, commit=commit(61))]).findings
    assert other.state is FindingState.CONFIRMED


def test_a_suspicion_that_the_next_commit_did_not_bear_out_is_withdrawn():
    values = times(40)
    values[3, 97] *= 1.09
    [found] = changes_of_place(table(points(40), values)).findings
    assert (found.state, found.class_) == (FindingState.WITHDRAWN, FindingClass.NOISE)
    assert (found.last_good, found.first_bad) == (commit(96), commit(97))
    assert commit(98)[:8] in found.why
    values[3, 98:] *= 1.09
    [kept] = changes_of_place(table(points(40), values)).findings
    assert kept.state is FindingState.CONFIRMED


def test_what_is_less_than_half_the_noise_floor_is_not_told(monkeypatch):
    measured = table(points(1), times(1, slow=[0], by=1.05))
    assert len(changes_of_place(measured).findings) == 1
    monkeypatch.setattr(judged, "noise_floors", lambda x: np.full(len(x), 0.11))
    assert changes_of_place(measured).findings == ()


def test_values_that_have_no_logarithm_are_no_values():
    values = times(1)
    values[0, :3] = [0.0, -1.0, np.inf]
    assert changes_of_place(table([series(0)], values)).findings == ()


def test_the_noise_floor_follows_the_noise_and_is_unknown_for_short_histories():
    rng = np.random.default_rng(1)
    quiet, noisy = (sigma * rng.standard_normal(N) for sigma in (0.002, 0.02))
    short = np.where(np.arange(N) < 15, 0.0, np.nan)
    floors = noise_floors(np.stack([quiet, noisy, short]))
    assert 0 < floors[0] < 0.02 < floors[1] < 0.15
    assert np.isnan(floors[2])


def test_a_step_of_twice_the_noise_floor_is_found_and_one_of_a_quarter_is_not():
    floors = noise_floors(0.03 * np.random.default_rng(2).standard_normal((40, N)))
    rng = np.random.default_rng(3)

    def share(factor):
        x = 0.03 * rng.standard_normal((40, 65))
        x[:, 60:] += np.log1p(factor * floors)[:, None]
        return len({change.row for change in changes_in(x, least_change=0.001)}) / 40

    assert share(2.0) >= 0.8
    assert share(0.25) <= 0.2


@pytest.mark.parametrize(("before", "after"), [(0.3, np.finfo(float).max), (1e-200, 1e200), (1e200, 1e-200)])
@pytest.mark.parametrize("metric", ["time", "track", "peakmemory"])
def test_a_number_that_stands_for_none_is_a_change_as_large_as_one_can_be(metric, before, after):
    values = np.full((2, 30), 1.0)
    values[0, :15], values[0, 15:] = before, after
    rows = [series(1, benchmark="s.one", metric=metric), series(2, benchmark="s.other", metric="time")]
    [found] = changes_of_place(table(rows, values)).findings
    assert (found.benchmark, found.first_bad) == ("s.one", commit(15))
    assert found.ratio == pytest.approx(np.exp(700.0 if after > before else -700.0))
