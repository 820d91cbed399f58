from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.throughput import page_props
from dashboard.quantities import Quantity
from dashboard.scales import CommitSpacing, Scale
from dashboard.sweep_axes import AXES
from dashboard.views.axis_values import settled_axes
from dashboard.views.projects import ShownProject
from dashboard.views.throughput.choice import ThroughputChoice, query_from_choice, throughput_view_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from results.errors import ResultsError


@pytest.fixture(scope="module")
def points(point):
    """Two machines that measured different types, shapes that differ by operation, three providers."""
    shapes = [
        {"operation": operation, "batch": batch, "hidden": hidden, "dim": hidden // 4, "provider": provider}
        for operation, hiddens in (("linear", (64, 128)), ("mlp", (256, 1024)))
        for hidden in hiddens
        for batch in (1, 16, 64)
        for provider in ("eager", "compiled", "fused")
    ]
    on_gpu = {
        "machine": "gpu", "environment": "py3.12-cuda-t16", "dtype": "bfloat16", "batch": 4096, "threads": 16,
    }  # fmt: skip
    return [
        *[point(**shape) for shape in shapes],
        *[point(**{**shape, **on_gpu}) for shape in shapes if shape["batch"] == 64],
    ]


@pytest.fixture(scope="module")
def commits(commit):
    return [commit("abc1" + "0" * 36), commit("abc2" + "0" * 36), commit("def3" + "0" * 36)]


def choices_of(points, commits):
    """Choices that were measured."""
    return st.builds(
        lambda row, **rest: ThroughputChoice(
            **{axis.column: axis.value_of(row) for axis in AXES}, project=ShownProject(name=row.project), **rest
        ),
        row=st.sampled_from(points),
        commit=st.sampled_from([None, *[row.commit for row in commits]]),
        commits=st.just(()),
        providers=st.sampled_from([None, (), ("eager",), ("eager", "fused")]),
        quantity=st.sampled_from(Quantity),
        spacing=st.sampled_from(CommitSpacing),
        commits_scale=st.sampled_from(Scale),
        batch_scale=st.sampled_from(Scale),
    )


@given(data=st.data())
def test_a_choice_comes_back_from_its_url_unharmed(data, points, commits):
    choice = data.draw(choices_of(points, commits))
    view = throughput_view_of(query_from_choice(choice), points=points, commits=commits)
    assert view.choice == choice
    assert view.problems == ()


@given(query=st.text())
def test_no_query_string_is_too_strange_to_show_something(query, points, commits):
    choice = throughput_view_of(query, points=points, commits=commits).choice
    assert any(all(axis.value_of(row) == getattr(choice, axis.column) for axis in AXES) for row in points)


def test_every_axis_is_part_of_the_choice():
    assert {axis.column for axis in AXES} <= {field.name for field in fields(ThroughputChoice)}


def test_without_a_query_the_plain_variants_and_the_latest_commit_are_shown(points, commits):
    choice = throughput_view_of("", points=points, commits=commits).choice
    assert (choice.operation, choice.pass_, choice.cache, choice.commit, choice.providers) == (
        "mlp", "forward", "warm", None, None,
    )  # fmt: skip


def test_a_size_nobody_measured_is_replaced_by_the_nearest_and_said(points, commits):
    view = throughput_view_of("?operation=mlp&hidden=900", points=points, commits=commits)
    assert view.choice.hidden == 1024
    assert any("900" in problem and "256, 1024" in problem for problem in view.problems)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?operation=conv", "Operation conv was not measured"),
        ("?quantity=speed", "it can be rows_per_s, latency, speedup, flop_per_s"),
        ("?commit=abc", "2 measured commits begin with that"),
        ("?commit=77", "no measured commit begins with that"),
        ("?providers=eager,nobody", "No provider nobody here; there are eager, compiled, fused"),
        ("?color=red", "Unknown URL parameter color; this page knows operation"),
        ("?colour=red", "it can be provider, dtype, machine, commit"),
        ("?colour=dtype", "One dtype was measured of this shape"),
        ("?multiples=batch", "it can be none, hidden"),
        ("?commits=abc1,77", "asks for commit 77, but no measured commit begins with that; it is left out"),
    ],
)
def test_a_wrong_value_in_the_url_is_said(query, said, points, commits):
    assert any(said in problem for problem in throughput_view_of(query, points=points, commits=commits).problems)


def test_a_unique_beginning_is_enough_to_name_a_commit(points, commits):
    assert throughput_view_of("?commit=DEF", points=points, commits=commits).choice.commit == commits[2].commit


def test_an_axis_offers_only_what_was_measured_at_the_choices_before_it(points, commits):
    view = throughput_view_of("?operation=linear&machine=gpu", points=points, commits=commits)
    assert view.options["hidden"] == (64, 128)
    assert view.options["dtype"] == ("bfloat16",)
    assert view.options["batch"] == (4096,)


def test_the_baseline_leads_the_providers(points, commits):
    assert throughput_view_of("", points=points, commits=commits).providers == ("eager", "compiled", "fused")


def test_a_layout_of_weights_is_a_contender_of_its_own(point):
    points = [point(provider="eager"), point(provider="fused"), point(provider="fused", weights="packed")]
    assert throughput_view_of("", points=points, commits=[]).providers == ("eager", "fused", "fused:packed")


def test_an_open_page_whose_sweep_is_gone_is_told_to_reload():
    with pytest.raises(ResultsError, match="no point of a sweep is stored any more; reload the page"):
        settled_axes([], AXES, wanted={}, problems=[])


@pytest.fixture
def partly_measured(journal_store, journals):
    """A store whose second commit measured other batches than the first, the usual one of 64 not among them."""
    first, second = journals.history(2, operations=("mlp",), batches=(1, 64), hiddens=(256,))
    return journal_store([first, journals.replace(second, batches=(1, 48, 512))])


@pytest.mark.parametrize(("asked", "problem"), [("", False), ("&batch=64", True)])
def test_a_commit_that_lacks_the_batch_is_shown_at_the_nearest_that_it_has(partly_measured, journals, asked, problem):
    commit = journals.commit_hash(1)
    drawing = throughput_drawing_of(partly_measured, query=f"?commit={commit[:12]}{asked}")
    assert drawing.view.choice.batch == 48
    told = f"Batch 64 was not measured at commit {commit[:10]}; showing 48. Measured: 1, 48, 512."
    assert drawing.view.problems == ((told,) if problem else ())
    answer = page_props(drawing, is_from_url=True)["answer"]
    assert "at 48" in str(answer)
    assert "Nothing was measured" not in str(answer)


def test_a_commit_that_has_the_batch_is_shown_at_it(partly_measured, journals):
    drawing = throughput_drawing_of(partly_measured, query=f"?commit={journals.commit_hash(0)[:12]}&batch=64")
    assert (drawing.view.choice.batch, drawing.view.problems) == (64, ())


def gated(point, *, activation, hidden, batch, provider="eager"):
    return point(
        operation="gated_mlp", activation=activation, hidden=hidden, dim=hidden // 4, batch=batch, provider=provider
    )


def test_an_axis_that_is_left_open_takes_what_those_named_after_it_were_measured_with(point, commits):
    """As a link to a hidden dim of one activation, which is not the default one."""
    few = [gated(point, activation="gelu_tanh", hidden=256, batch=batch) for batch in (1, 64, 512)]
    wide = [gated(point, activation="silu", hidden=14336, batch=512)]
    view = throughput_view_of("?operation=gated_mlp&hidden=14336", points=[*few, *wide], commits=commits)
    assert (view.choice.activation, view.choice.hidden, view.choice.batch) == ("silu", 14336, 512)
    assert view.problems == ()
    assert view.options["activation"] == ("gelu_tanh", "silu")
    view = throughput_view_of("?hidden=14336", points=[*few, *wide, point()], commits=commits)
    assert (view.choice.operation, view.problems) == ("gated_mlp", ())
    view = throughput_view_of("?activation=gelu_tanh&hidden=14336", points=[*few, *wide], commits=commits)
    assert (view.choice.activation, view.choice.hidden) == ("gelu_tanh", 256)
    assert len(view.problems) == 1
    view = throughput_view_of("?hidden=7&batch=512", points=[*few, *wide], commits=commits)
    assert (view.choice.hidden, view.choice.batch, len(view.problems)) == (256, 512, 1)


def test_the_activation_with_the_most_points_is_shown_first_as_on_the_maps(point, commits):
    rows = [gated(point, activation="gelu_tanh", hidden=256, batch=1)]
    rows += [gated(point, activation="silu", hidden=5632, batch=batch) for batch in (1, 64)]
    assert throughput_view_of("", points=rows, commits=commits).choice.activation == "silu"
    assert throughput_view_of("", points=rows[:2], commits=commits).choice.activation == "gelu_tanh"


def test_what_a_url_asks_for_is_named_and_cut_where_it_is_long(points, commits):
    long = "z" * 5000
    view = throughput_view_of(f"?{long}=1&commit={long}&spacing={long}", points=points, commits=commits)
    assert len(view.problems) == 3
    assert all("zzz" in problem and len(problem) < 500 for problem in view.problems)
