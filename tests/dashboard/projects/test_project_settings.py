"""Pages judge by a project's settings as the commands do: its thresholds, and which direction is better."""

from __future__ import annotations

import contextlib
from urllib.parse import urlencode

import pytest

from dashboard.app import create_app, footer_of
from dashboard.pages.compare import _figure
from dashboard.tables.changes import summary_of
from dashboard.tables.findings import state_badge
from dashboard.tables.ratios import ratio_of, rows_from_values
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from dashboard.views.judged_histories import known_histories
from dashboard.views.overview import overview_of
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.views.settings import better_of, judge_by
from results.files.settings import Settings, Threshold, settings_from_bytes
from results.judgement.findings import Turn
from results.judgement.thresholds import NO_SETTINGS
from results.judgement.verdicts import judge
from results.metrics import Direction
from results.store import open_store
from tests.made_values import A, B, row

THROUGHPUT = "suite.track_rows_per_s"
HIGHER = f'[[tool.fusebench.threshold]]\nbenchmark = "{THROUGHPUT}"\nbetter = "higher"\n'
WITH_HIGHER = settings_from_bytes(HIGHER.encode(), path="pyproject.toml")
COMMITS = [f"{number:02x}" * 20 for number in range(1, 31)]


@pytest.fixture
def store(tmp_path, write_asv_run):
    """Thirty commits of a throughput that halves at the twentieth, and of a time that is 8 % longer from there."""
    for number, commit in enumerate(COMMITS):
        is_before, wobble = number < 20, 1 + 0.002 * (number * 7 % 5)
        results = {
            THROUGHPUT: {"result": [(4000.0 if is_before else 2000.0) * wobble]},
            "suite.time_it": {"result": [(1e-3 if is_before else 1.08e-3) * wobble]},
        }
        write_asv_run(tmp_path / "results", results, commit=commit, date=1_700_000_000_000 + number * 86_400_000)
    with contextlib.closing(open_store(str(tmp_path / "x.db"))) as opened:
        opened.ingest([tmp_path / "results"])
        yield opened


def compared(store):
    query = [("along", "commit"), ("commit", COMMITS[5]), ("commit", COMMITS[25]), ("metric", "track")]
    return compare_drawing_of(store, query="?" + urlencode(query))


def turns(store):
    found = regressions_drawing_of(store, query="?turn=all").found
    return {one.finding.benchmark: one.finding.turn for one in found}


def test_without_settings_a_throughput_has_only_changed(store):
    create_app(store)
    assert turns(store) == {THROUGHPUT: Turn.CHANGED, "suite.time_it": Turn.SLOWER}
    assert "better direction unknown" in note_of_lines(explored(store))


def explored(store, **chosen):
    return explore_drawing_of(store, query="?" + urlencode({"benchmark": THROUGHPUT, **chosen}), waits=True)


def test_a_throughput_that_fell_is_a_regression_in_regressions_and_explore(store):
    create_app(store, settings=WITH_HIGHER)
    assert turns(store)[THROUGHPUT] is Turn.SLOWER
    drawing = explored(store)
    assert drawing.chart.ordinate.better == "higher is better"
    assert [one.kind for one in drawing.chart.change_points] == ["bad"]
    assert explored(store, relative=COMMITS[3]).chart.ordinate.better == "higher is better"


@pytest.mark.parametrize(("settings", "outcomes"), [(NO_SETTINGS, {"changed"}), (WITH_HIGHER, {"regression"})])
def test_the_overview_compares_the_newest_two_commits_by_the_settings(fallen, settings, outcomes):
    create_app(fallen, settings=settings)
    (comparison,) = overview_of(fallen).comparisons
    assert {str(one.outcome) for one in comparison.judgement.verdicts} == outcomes


@pytest.fixture
def fallen(tmp_path, write_asv_run):
    """Twelve commits of a throughput that halves at the last."""
    for number, commit in enumerate(COMMITS[:12]):
        value = (4000.0 if number < 11 else 2000.0) * (1 + 0.002 * (number * 7 % 5))
        date = 1_700_000_000_000 + number * 86_400_000
        write_asv_run(tmp_path / "results", {THROUGHPUT: {"result": [value]}}, commit=commit, date=date)
    with contextlib.closing(open_store(str(tmp_path / "fallen.db"))) as opened:
        opened.ingest([tmp_path / "results"])
        yield opened


def test_other_settings_for_the_same_store_count_at_once(store):
    """Nothing is shown that was judged, or answered, by those before."""
    create_app(store)
    assert (turns(store)[THROUGHPUT], compared(store).means[0].n_worse) == (Turn.CHANGED, 0)
    create_app(store, settings=WITH_HIGHER)
    assert known_histories(store) is None
    assert (turns(store)[THROUGHPUT], compared(store).means[0].n_worse) == (Turn.SLOWER, 1)
    assert known_histories(store) is not None


def test_an_axis_tells_no_direction_that_some_series_has_not(store):
    """Of metric `track` a threshold says higher, and one in seconds is better lower all the same."""
    judge_by(Settings(thresholds=(Threshold(metric="track", better=Direction.HIGHER),)), store=store)
    rates, seconds = (row(1.0, metric="track", unit=unit) for unit in ("rows", "s"))
    assert better_of(store, [rates, rates]) is Direction.HIGHER
    assert better_of(store, [rates, seconds]) is None
    assert better_of(store, [seconds]) is Direction.LOWER


def test_what_is_relevant_is_told_by_each_ones_own_limit():
    values = [row([1.0, 1.001, 1.002], batch=batch, provider=name) for batch, name in ((1, "eager"), (2, "fused"))]
    heads = [one._replace(commit=B) for one in values]

    def told(*thresholds):
        return summary_of(judge(values, heads, base_commit=A, head_commit=B, thresholds=thresholds))

    own = Threshold(provider="fused", least_change=0.3)
    assert told().endswith("(counted from 5 % and beyond the noise)")
    assert told(own).endswith("(counted from its own limit, 5 to 30 %, and beyond the noise)")
    assert told(own, Threshold(least_change=0.3)).endswith("(counted from 30 % and beyond the noise)")


def test_every_page_says_by_which_file_it_judges_without_its_folder(store):
    assert footer_of(store, is_kept=False, settings=Settings(path="/home/me/pyproject.toml")) == []
    (note,) = footer_of(store, is_kept=False, settings=settings_from_bytes(HIGHER.encode(), path="/home/me/x.toml"))
    assert note.children[0].children == "[tool.fusebench] in x.toml"


@pytest.mark.parametrize(("settings", "colour"), [(NO_SETTINGS, "gray"), (WITH_HIGHER, "red")])
def test_a_confirmed_change_is_red_only_where_it_is_known_to_be_worse(store, settings, colour):
    judge_by(settings, store=store)
    (found,) = [one for one in regressions_drawing_of(store, query="?turn=all").found if "track" in str(one.finding)]
    assert state_badge(found.finding).color == colour


def test_settings_of_another_store_are_none_of_this_one(store, tmp_path):
    with contextlib.closing(open_store(str(tmp_path / "y.db"))) as other:
        judge_by(WITH_HIGHER, store=other)
        assert turns(store)[THROUGHPUT] is Turn.CHANGED


def test_a_least_change_of_the_project_counts_on_the_pages_as_in_the_commands(store):
    create_app(store, settings=Settings(thresholds=(Threshold(benchmark="suite.time_it", least_change=0.2),)))
    assert "suite.time_it" not in turns(store)


def test_values_beside_each_other_are_held_against_the_settings_too():
    base, head = (
        row([99.0, 100.0, 101.0], unit="rows", metric="track"),
        row([49.0, 50.0, 51.0], unit="rows", metric="track", commit=B),
    )
    (found,) = rows_from_values([{1: base}, {1: head}], thresholds=[Threshold(metric="track", better=Direction.HIGHER)])
    assert (found.ratios[0].word, found.ratios[0].kind) == ("worse", "bad")
    assert ratio_of(base, head).word == "differs"
    near = {1: row([93.0, 93.1, 93.2], unit="rows", metric="track", commit=B)}
    for least_change, is_significant in ((0.05, True), (0.2, False)):
        (found,) = rows_from_values([{1: base}, near], least_change=least_change)
        assert found.ratios[0].is_significant is is_significant


def test_comparing_commits_calls_it_worse_and_its_axis_says_which_way_is_better(store):
    create_app(store, settings=WITH_HIGHER)
    drawing = compared(store)
    figure, _ = _figure(drawing)
    assert (drawing.means[0].n_worse, drawing.means[0].n_changed) == (1, 0)
    assert "higher is better" in figure["layout"]["yaxis"]["title"]["text"]
