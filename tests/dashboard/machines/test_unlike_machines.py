"""Machines beside each other: one with a single commit, one that measured something else, one with many providers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.pages.compare import page_props
from dashboard.tables.map_drawing import map_card
from dashboard.tables.winner_map import winner_maps_of
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_drawing import answer_of_changes, explore_drawing_of, note_of_changes
from dashboard.views.overview import overview_of
from dashboard.views.regressions_drawing import regressions_drawing_of

CPU, GPU = "bench-01", "h100"


@pytest.fixture
def store(journal_store, journals):
    """A CPU with a history in which another provider comes to lead, and a GPU that measured one later commit."""
    old = journals.history(5, operations=("mlp",))
    cpu = [replace(one, slowdowns={("mlp", "fused"): 2.0}) if i < 2 else one for i, one in enumerate(old[:4])]
    gpu = replace(old[4], machine=GPU, device="cuda", states={("mlp", "compiled"): "crashed"})
    return journal_store([*cpu, gpu])


def text_of(component):
    return str(component.to_plotly_json() if hasattr(component, "to_plotly_json") else component)


def test_flips_are_those_of_the_chosen_machine(store):
    assert {one.since.machine for one in regressions_drawing_of(store, query="").flips} == {CPU}
    assert regressions_drawing_of(store, query=f"?machine={CPU}").flips
    assert regressions_drawing_of(store, query=f"?machine={GPU}").flips == ()


def test_of_a_machine_with_one_commit_it_is_said_why_there_is_no_finding(store):
    told = regressions_drawing_of(store, query=f"?machine={GPU}").answer
    assert told == f"No finding yet: one commit has been measured on {GPU}"
    assert "one commit" not in regressions_drawing_of(store, query=f"?machine={CPU}").answer


def test_machines_that_measured_nothing_in_common_are_told_and_no_empty_figure_is_drawn(store):
    drawing = compare_drawing_of(store, query="?along=machine")
    assert drawing.names == (GPU, CPU)
    assert not drawing.is_comparable
    (problem,) = drawing.problems
    assert problem == (
        f"{CPU} did not measure commit {drawing.choice.commit[0][:10]} in py3.11-cuda-t2; "
        "choose a commit and environment that they share, if any."
    )
    assert page_props(drawing, is_from_url=True)["found"] == {"display": "none"}
    commits = compare_drawing_of(store, query=f"?machine={CPU}")
    assert commits.problems == ()
    assert page_props(commits, is_from_url=True)["found"] == {}


def test_the_first_sides_state_stands_in_place_of_a_value(store):
    drawing = compare_drawing_of(store, query=f"?along=provider&machine={GPU}&provider=compiled&provider=eager")
    rows = page_props(drawing, is_from_url=True)["rows"]
    assert "crashed" in str([cell.children for part in rows for cell in part._traverse() if hasattr(cell, "children")])


def test_at_first_a_history_is_of_a_machine_that_measured_several_commits(store):
    assert explore_drawing_of(store, query="?benchmark=mlp").view.choice.machine == CPU
    assert explore_drawing_of(store, query=f"?benchmark=mlp&machine={GPU}").view.choice.machine == GPU


def test_machines_on_which_something_got_worse_come_first(journal_store, journals):
    sweeps = [
        replace(one, machine=machine, slowdowns={("mlp", "fused"): 1.5} if (machine, i) == ("z", 1) else {})
        for machine in ("a", "b", "z")
        for i, one in enumerate(journals.history(1 if machine == "a" else 2, operations=("mlp",)))
    ]
    found = overview_of(journal_store(sweeps)).comparisons
    assert [(one.machine, one.tone.word) for one in found] == [("z", "Yes"), ("b", "No"), ("a", "Not known")]


def test_that_not_all_providers_are_compared_at_first_is_said(journal_store, journals):
    names = ("eager", *(f"ours-{i}" for i in range(9)))
    store = journal_store(journals.history(1, operations=("mlp",), providers=names))
    note = page_props(compare_drawing_of(store, query="?along=provider"), is_from_url=True)["note"]
    assert "8 of 10 providers, others to be chosen above" in note
    chosen = compare_drawing_of(store, query="?along=provider&" + "&".join(f"provider={name}" for name in names[:8]))
    assert "8 of 10" in page_props(chosen, is_from_url=True)["note"]
    few = journal_store(journals.history(1, operations=("mlp",)))
    assert "providers," not in page_props(compare_drawing_of(few, query="?along=provider"), is_from_url=True)["note"]


def test_a_metric_that_is_not_judged_is_told_by_its_name_for_people(store):
    drawing = explore_drawing_of(store, query=f"?machine={GPU}&benchmark=mlp&metric=device_time_s")
    assert note_of_changes(drawing) == "device time explains other metrics and is not judged"
    assert answer_of_changes(drawing) == "mlp, device time: explains other metrics and is not judged"


@pytest.mark.parametrize(
    ("n", "told"), [(4, "a = b = c = d"), (5, "a = b = c and 2 others"), (9, "a = b = c and 6 others")]
)
def test_a_cell_names_the_first_of_many_that_are_tied_and_all_of_them_to_who_points_at_it(point, n, told):
    names = "abcdefghi"[:n]
    rows = [point(provider=name, latency_s=1e-3 * (1 + i / 1e4)) for i, name in enumerate(names)]
    (one,) = winner_maps_of(rows, order={rows[0].commit: 0})
    cells = [cell for cell in map_card(one)._traverse() if getattr(cell, "className", "") == "figure"]
    assert [cell.children for cell in cells] == [told]
    titles = [cell.title for cell in map_card(one)._traverse() if isinstance(getattr(cell, "title", None), str)]
    assert any(", ".join(names) in title for title in titles)
