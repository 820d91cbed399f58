"""Page *Profile* over made profiles: what it answers, compares, and says where something is missing."""

from __future__ import annotations

import csv
import io
from dataclasses import fields, replace

import pytest
from dash.exceptions import PreventUpdate

from dashboard.app import create_app, page_and_links
from dashboard.pages.profile import OUTPUTS, PICKED, asked_query, page_props
from dashboard.sweep_axes import AXES
from dashboard.tables.profiles import difference_rows
from dashboard.views.profiles.choice import ProfileChoice, query_from_profile_choice
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.profiles.words import bars_of_call
from results.rows import ERROR_OF_CEILINGS

THIN = "\N{NARROW NO-BREAK SPACE}"
GPU = "?machine=gpu-01&batch=16&provider=eager"
COMPARED = f"{GPU}&against=none&base=a1a1a1a1"


def props_of(store, query=GPU):
    return page_props(profile_drawing_of(store, query=query), is_from_url=True)


def text_of(props):
    return str(props).replace(THIN, " ").replace(r"\u202f", " ")


def answer_of(props):
    return props["answer"][0].children[-1].replace(THIN, " ")


def asked(store, *, query=GPU, **changes):
    props = props_of(store, query)
    picked = {name: props["axes"][name]["value"] for name in props["axes"]}
    picked |= {name: props["selects"][name]["value"] for name in props["selects"]}
    picked |= {"project": props["project"]["value"], "side": props["side"]}
    assert set(picked) == set(PICKED)
    trigger = f"profile-{next(iter(changes), 'url')}"
    return asked_query(query, picked={**picked, **changes}, shown=props["shown"], triggered=trigger)


def shape_of(outputs, values):
    """Keys of `values` as deep as `outputs` has keys."""
    if not isinstance(outputs, dict):
        return None
    return {name: shape_of(outputs.get(name), inner) for name, inner in values.items()}


@pytest.mark.parametrize("query", [GPU, COMPARED, "?machine=desk", "?machine=gpu-01&batch=256"])
def test_the_callback_returns_what_it_declares(profiled_store, query):
    assert shape_of(OUTPUTS, props_of(profiled_store(), query)) == shape_of(OUTPUTS, OUTPUTS)


def test_every_axis_is_a_field_of_the_choice_and_is_in_its_url(profiled_store):
    names = {field.name for field in fields(ProfileChoice)}
    assert {axis.column for axis in AXES} <= names
    view = profile_drawing_of(profiled_store(), query=COMPARED).view
    again = profile_drawing_of(profiled_store(), query=query_from_profile_choice(view.choice)).view
    assert again.choice == view.choice
    assert again.problems == ()


def test_it_answers_how_long_a_call_takes_and_what_most_of_it_goes_to(profiled_store):
    props = props_of(profiled_store())
    assert answer_of(props) == "eager takes 112 µs at 16 rows: 55 % products above the floor."
    assert "the device computes it in 98.0 µs" in text_of(props["answer"])
    assert "= 112 µs" in text_of(props["graphs"]["times"]["note"])


@pytest.mark.parametrize(("factor", "is_explained"), [(0.5, False), (1.0, False), (1.05, True)])
def test_a_floor_that_takes_longer_than_the_call_is_explained(profiled_store, factor, is_explained):
    call = profile_drawing_of(profiled_store(), query=GPU).call
    point = call.point._replace(floor_s=factor * call.point.latency_s)
    bars = bars_of_call(replace(call, call=replace(call.call, point=point)))
    [note] = [bar.note for bar in bars if bar.is_floor]
    assert note.startswith("least time by the machine's ceilings")
    assert (ERROR_OF_CEILINGS in note) is is_explained


def test_the_fastest_provider_is_shown_unless_the_url_names_one(profiled_store):
    assert props_of(profiled_store(), "?machine=gpu-01")["selects"]["provider"]["value"] == "fused"


def test_expected_stands_beside_seen_and_a_difference_in_counts_is_marked(profiled_store):
    said = text_of(props_of(profiled_store())["expected"])
    assert "Kernel launches" in said
    assert "'+1', className='tone doubt'" in said
    assert "Unexpected: expected 3 kernels, saw 4: extra copy." in text_of(props_of(profiled_store())["answer"])


def test_kernels_are_listed_with_what_their_names_say(profiled_store, made_profiles):
    rows = props_of(profiled_store())["grids"]["kernels"]["table"]["props"]["rowData"]
    assert [row["name"] for row in rows] == [
        made_profiles.SLOWER_GEMM, made_profiles.SECOND_GEMM, made_profiles.GELU, made_profiles.COPY,
    ]  # fmt: skip
    assert rows[0]["words"].startswith("matrix product · cuBLAS · bfloat16 · tile 64x64x64")
    assert [row["kind"] for row in rows] == ["matrix product", "matrix product", "pointwise", "copy"]


def test_the_difference_of_two_commits_names_exactly_what_was_planted(profiled_store, made_profiles):
    """The made second commit runs the first product with another tile, 12 µs slower, and a copy of 6 µs more."""
    drawing = profile_drawing_of(profiled_store(), query=COMPARED)
    changed = [row for row in drawing.difference.work if row.kind != "same"]
    assert {(str(row.kind), row.name, row.before, round(row.change_s * 1e6, 6)) for row in changed} == {
        ("renamed", made_profiles.SLOWER_GEMM, made_profiles.GEMM, 12.0),
        ("added", made_profiles.COPY, None, 6.0),
    }
    props = props_of(profiled_store(), COMPARED)
    assert answer_of(props) == "b2b2b2b2b2 takes 23.1 % more time than a1a1a1a1a1: 112 µs against 91.0 µs."
    said = text_of(props["answer"])
    assert "tile 128x64x64 → 64x64x64, stages 3 → 5 (12 µs of the 21 µs more)" in said
    assert "(copy (DtoD) · CUDA) is launched in addition (6 µs of the 21 µs more); other parts take 3 µs more" in said
    assert "Ruled out: method: ruler 3 at both" in said
    assert "aten::gelu" not in said
    assert text_of(props["difference"]["note"]) == (
        "91.0 µs + 12.0 µs matrix product · cuBLAS + 6.00 µs copy (DtoD) · CUDA + 3.00 µs the device is idle = 112 µs"
    )
    rows = difference_rows(drawing.difference)
    assert [row["kind"] for row in rows[:2]] == ["renamed", "added"]
    assert {row["kind"] for row in rows[3:]} == {"same"}


def test_two_providers_are_compared_and_their_parts_sum(profiled_store):
    drawing = profile_drawing_of(profiled_store(), query=f"{GPU}&against=fused")
    difference = drawing.difference
    assert sum(part.change_s for part in difference.parts) == pytest.approx(difference.change_s)
    kinds = {str(row.kind) for row in difference.work}
    assert kinds == {"added", "removed"}
    assert drawing.explanation is None
    assert "added (+52.0 µs)" in text_of(props_of(profiled_store(), f"{GPU}&against=fused")["answer"])
    assert props_of(profiled_store(), f"{GPU}&against=fused")["difference"]["names"] == "from fused to eager"


def test_a_profile_is_not_compared_with_itself(profiled_store):
    props = props_of(profiled_store(), f"{GPU}&against=eager")
    assert props["difference"]["box"] == {"display": "none"}
    assert "compared with itself" in text_of(props["problems"])


def test_choosing_nothing_to_compare_with_ends_the_comparison(profiled_store):
    query = asked(profiled_store(), query=COMPARED, against="none")
    assert "against" not in query
    assert "base" not in query
    assert "against=fused" in asked(profiled_store(), against="fused")


def test_the_url_we_wrote_ourselves_draws_nothing_again(profiled_store):
    store = profiled_store()
    with pytest.raises(PreventUpdate):
        asked(store, query=props_of(store)["shown"]["query"])


def test_a_wrong_value_in_the_url_is_said(profiled_store):
    props = props_of(profiled_store(), "?machine=gpu-01&provider=nobody&commit=fffff&side=moon&colour=red")
    said = text_of(props["problems"])
    for words in ("nobody was not measured", "fffff, but no measured commit", "side is moon", "parameter colour"):
        assert words in said


def test_a_trace_is_drawn_and_saved_and_its_absence_has_a_reason(profiled_store):
    store = profiled_store()
    props = props_of(store)
    assert [trace.name for trace in props["graphs"]["timeline"]["figure"].data][-1] == "gaps"
    assert "idle for 9.00 µs in 3 gaps" in text_of(props["graphs"]["timeline"]["note"])
    client = create_app(store).server.test_client()
    with client.get(props["trace"]["href"]) as answer:
        assert answer.status_code == 200
        assert "attachment" in answer.headers["Content-Disposition"]
    without = props_of(store, "?machine=gpu-01&batch=256")
    assert "FUSEBENCH_TRACES=256" in without["graphs"]["timeline"]["note"]
    assert without["trace"]["style"] == {"display": "none"}
    assert client.get("/profile-trace?machine=gpu-01&batch=256").status_code == 404


def test_tables_are_saved_as_csv_with_si_numbers(profiled_store):
    client = create_app(profiled_store()).server.test_client()
    for table, first in (("kernels", "words"), ("operators", "name"), ("difference", "kind")):
        text = client.get(f"/profile-{table}.csv{COMPARED}").get_data(as_text=True)
        rows = list(csv.DictReader(io.StringIO(text)))
        assert next(iter(rows[0])) == first
    assert float(rows[0]["change_s"]) == pytest.approx(12e-6)
    assert client.get(f"/profile-difference.csv{GPU}").status_code == 404


def test_on_a_cpu_there_are_no_kernels_and_one_flame_graph(profiled_store):
    props = props_of(profiled_store(), "?machine=desk&provider=eager&batch=16&side=device")
    assert props["grids"]["kernels"]["box"] == {"display": "none"}
    assert props["side_style"] == {"display": "none"}
    assert props["graphs"]["flames"]["figure"].data[0].name == "host stacks"
    assert "no operator ran" in props["graphs"]["timeline"]["note"]


def test_columns_that_nothing_is_known_of_are_left_out_and_no_expectation_is_said(journal_store, journals):
    props = props_of(journal_store(journals.history(1)), "?operation=mlp&provider=fused")
    columns = [column["field"] for column in props["grids"]["operators"]["table"]["props"]["columnDefs"]]
    assert columns == ["name", "count", "self_time_s", "total_time_s", "computes"]
    assert "Nothing was expected of this call" in text_of(props["missing"])


def test_a_point_that_failed_says_why_and_shows_nothing_else(journal_store, journals):
    store = journal_store(journals.history(1, states={("mlp", "compiled"): "crashed"}))
    props = props_of(store, "?operation=mlp&provider=compiled")
    assert answer_of(props) == "compiled is crashed here: compiled is crashed in this test."
    assert props["content_style"] == {"display": "none"}


def test_a_store_without_profiles_says_what_to_do(journal_store, journals, tmp_path):
    sweep = journals.history(1)[0]
    folder = tmp_path / "timed"
    (path,) = journals.write_journals(folder, [sweep])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"kind": "timing"' in line))
    store = journal_store([])
    store.ingest([folder])
    props = props_of(store, "?operation=mlp&provider=fused")
    assert "did not profile it" in text_of(props["answer"])
    assert "The page Throughput shows the commands that measure it again" in text_of(props["answer"])
    assert props["grids"]["operators"]["box"] == {"display": "none"}
    assert "No stacks of this call are stored" in props["graphs"]["flames"]["note"]


def test_without_a_sweep_there_is_no_profile_page(tmp_path, journal_store):
    store = journal_store([])
    assert "Nothing has been measured yet" in str(page_and_links("/profile", store)[0])
    client = create_app(store).server.test_client()
    assert client.get("/profile-trace").status_code == 404
