"""A change of one series beside many small ones."""

from __future__ import annotations

import pytest

from results.files.settings import Threshold
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.findings import Turn
from tests.results.judgement.test_changes_of_place import series, table, times


@pytest.mark.parametrize("thresholds", [(), (Threshold(benchmark="m0.*", least_change=0.01),)])
def test_what_is_relevant_of_one_series_alone_hides_no_change_of_others(thresholds):
    """Small steps of many modules, below what counts of them, are none that all move by: one is slower by a third."""
    rows = [series(i, benchmark=f"m{i}.time_it", metric="time") for i in range(13)]
    values = times(13, slow=range(13), by=1.04) ** 0.5
    values[12, 60:] *= 1.3
    told = changes_of_place(table(rows, values), thresholds=thresholds).findings
    assert [one.surface.benchmark for one in told if one.turn is Turn.SLOWER and one.ratio > 1.2] == ["m12.time_it"]


def test_what_another_suite_calls_provider_is_its_own_code_and_tells_no_surfaces_apart():
    given = {"benchmark": "s.time_it", "metric": "time"}
    rows = [series(i, provider=name, n=i, **given) for i, name in enumerate(["eager"] * 8 + ["graph"] * 12)]
    place = changes_of_place(table(rows, times(20, slow=range(8))))
    [found] = place.findings
    assert (found.benchmark, len(found.points), found.n_points) == ("s.time_it", 8, 20)
    assert (found.surface.shared, place.n_controls) == ((), 0)


def test_some_benchmarks_of_some_modules_are_not_everything():
    """Two benchmarks of two modules, of 80 in eight, and all the single benchmarks of two of eight modules."""
    for n_of_module, slow in ((10, (0, 1)), (1, (0, 1))):
        n = 8 * n_of_module
        rows = [series(i, benchmark=f"m{i % 8}.time_{i}", metric="time") for i in range(n)]
        found = changes_of_place(table(rows, times(n, slow=slow))).findings
        assert {one.benchmark for one in found} == {"m0.time_0", "m1.time_1"}
        assert {one.turn for one in found} == {Turn.SLOWER}
