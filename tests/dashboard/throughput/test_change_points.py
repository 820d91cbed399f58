"""Change points over commits: what Regressions lists of the drawn curves, and nothing judged otherwise."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from dashboard.app import create_app
from dashboard.pages.throughput_cards import commits_figure
from dashboard.quantities import Quantity
from dashboard.views.change_points import LOOKING
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from dashboard.views.judged_histories import judged_histories, known_histories
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.throughput.notes import note_of_commits
from results.store import open_store

N, AT = 40, 25
SHOWN = {"query": "", "marked": "no"}
SHOWN_BY = {"throughput": {**SHOWN, "providers": [], "settled": [], "colour": "provider"}, "explore": SHOWN}
POINT = "?operation=mlp&hidden=256&batch=16"


@pytest.fixture(scope="module")
def planted(tmp_path_factory, journals):
    """A store of 40 commits in which mlp's fused is 6 % slower from the 26th on, and nothing else changes."""
    sweeps = journals.history(N, operations=("linear", "mlp"), batches=(1, 16, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({(o, p): wobble for o in sweep.operations for p in sweep.providers})
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = 1.06 * wobble
    folder = tmp_path_factory.mktemp("planted")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        yield store


def drawn(store, query="", **options):
    return throughput_drawing_of(store, query=POINT + query, **options)


def test_the_curves_come_before_anything_is_judged_and_their_marks_once_it_is(planted):
    with open_store(planted.engine.url.database) as store:
        first = drawn(store)
        assert (first.is_marked, first.commits_chart.change_points) == (False, ())
        assert LOOKING in note_of_commits(first)
        lines = explore_drawing_of(store, query="?benchmark=mlp")
        assert LOOKING in note_of_lines(lines)
        assert known_histories(store) is None
        marked = drawn(store, waits=True)
        assert marked.is_marked
        assert LOOKING not in note_of_commits(marked)
        assert LOOKING not in note_of_lines(explore_drawing_of(store, query="?benchmark=mlp"))
        assert drawn(store).commits_chart == marked.commits_chart


def test_a_planted_step_is_marked_with_its_size_commit_and_certainty(planted, journals):
    drawing = drawn(planted, "&quantity=latency", waits=True)
    (point,) = drawing.commits_chart.change_points
    short = journals.commit_hash(AT)[:7]
    assert point.at == short
    assert point.kind == "bad"
    who, at = point.text.split("\n")
    assert who.startswith("fused ")
    assert float(who.split()[-2]) == pytest.approx(6, abs=1)
    assert at == f"at {short}"
    for part in ("[+", "confirmed", f"Change number {AT}"):
        assert part in point.note
    shapes = [shape.name for shape in go.Figure(commits_figure(drawing)).layout.shapes if shape.name]
    assert shapes == [f"change point {point.text}"]
    assert f"{who} at {short} (without what moved eager there, too)" in note_of_commits(drawing)


def test_the_marks_are_the_findings_of_regressions(planted):
    found = {one.finding.first_bad for one in judged_histories(planted) if one.finding.benchmark == "mlp"}
    drawing = drawn(planted, waits=True)
    marked = {point.at for point in drawing.commits_chart.change_points}
    assert marked == {commit[:7] for commit in found}
    assert len(marked) == 1


def test_a_rate_falls_where_the_latency_rises(planted):
    (point,) = drawn(planted, "&quantity=rows_per_s", waits=True).commits_chart.change_points
    assert "-5.7 %" in point.text
    assert point.kind == "bad"
    assert "+6.0 %" in point.note


@pytest.mark.parametrize("query", ["&providers=eager,compiled", "&quantity=operators", "&operation=linear"])
def test_a_finding_about_other_curves_is_not_marked(planted, query):
    assert drawn(planted, query, waits=True).commits_chart.change_points == ()


@pytest.mark.parametrize("quantity", Quantity)
def test_what_follows_from_the_latency_is_judged_by_it_and_the_rest_by_its_own_metric(quantity):
    own = "speedup_vs_eager" if quantity is Quantity.SPEEDUP else quantity.metric
    assert quantity.judged_as == (own or "latency_s")
    assert quantity.is_rate == (own is None and quantity is not Quantity.LATENCY)


@pytest.mark.parametrize("page", ["throughput-commits-note", "explore-note"])
def test_where_nothing_changed_only_the_words_that_it_is_looked_for_go(tmp_path, journals, page):
    journals.write_journals(tmp_path, journals.history(3, operations=("mlp",), batches=(1,), hiddens=(256,)))
    with open_store(str(tmp_path / "fusebench.db")) as store:
        store.ingest([tmp_path])
        app = create_app(store)
        name = next(name for name in app.callback_map if f"{page}.children@" in name)
        outputs = [one.partition("@")[0].rpartition(".") for one in name.strip(".").split("...")]
        payload = {
            "output": name,
            "outputs": [{"id": component, "property": one} for component, _, one in outputs],
            "inputs": [{**one, "value": SHOWN_BY[page.partition("-")[0]]} for one in app.callback_map[name]["inputs"]],
            "state": [],
            "changedPropIds": [],
        }
        answer = app.server.test_client().post("/_dash-update-component", json=payload)
        assert answer.status_code == 200, answer.text
        [(component, props)] = answer.json["response"].items()
        assert (component, props.keys()) == (page, {"children"})
        assert "3 commits" in props["children"]
        assert LOOKING not in props["children"]
