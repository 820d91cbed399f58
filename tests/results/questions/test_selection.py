"""What a person may type to choose rows, and what is said where it makes no sense."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from results.commands.export import export
from results.commands.selection import point_filter_from, selection_from_texts, series_filter_from, states_from
from results.commands.show import show
from results.errors import ResultsError, UnknownParameter
from results.exit_codes import ExitCode
from results.output.export import suffix_of_units
from results.rows import Between
from results.store import open_store


def points(*texts):
    return point_filter_from(selection_from_texts(texts))


def series(*texts, parameters=("n", "kind")):
    return series_filter_from(selection_from_texts(texts), parameters=parameters)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, write_asv_run, timed, journals):
    """A store of a sweep and of the asv project `other`, whose parameters have every type."""
    folder = tmp_path_factory.mktemp("mixed")
    tree = folder / "other" / "results"
    grid = {
        "result": [float(i) for i in range(8)],
        "params": [["1", "1000"], ["True", "False"], ["'a'", "2"]],
        "version": "g",
    }
    size = {"result": [5.0], "params": [], "version": "s"}
    write_asv_run(tree, {"s.track_grid": grid, "s.track_speed": size, "s.time_it": timed(1e-3)})
    described = {
        "s.track_grid": {"type": "track", "unit": "rows", "param_names": ["n", "flag", "kind"], "version": "g"},
        "s.track_speed": {"type": "track", "unit": "GB/s", "param_names": [], "version": "s"},
    }
    (tree / "benchmarks.json").write_text(json.dumps(described))
    (folder / "other" / "asv.conf.json").write_text('{\n"project": "other"\n}')
    journals.write_journals(folder / "sweep", journals.history(2, operations=("mlp",)))
    with open_store(str(folder / "x.db")) as store:
        store.ingest([folder])
        yield store.name


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


def shown(db, *where):
    options = [part for text in where for part in ("--where", text)]
    return json.loads(run(show, "--db", db, "--format", "json", *options).stdout)


def test_values_of_one_name_add_up_and_names_narrow_down():
    assert points("batch=64", "batch=128", "dtype=float32") == {"batch": [64, 128], "dtype": ["float32"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64..1024", Between(64, 1024)), ("64..", Between(64, None)),
        ("..1e3", Between(None, 1000)), ("1..1", Between(1, 1)),
    ],
)  # fmt: skip
def test_a_range_may_be_open_at_either_end(text, expected):
    assert points(f"batch={text}") == {"batch": expected}
    assert series(f"n={text}")["parameters"] == {"n": expected}


def test_a_text_with_dots_is_a_text():
    assert set(series("n=../data")["parameters"]["n"]) == {"../data"}


def test_a_number_may_be_meant_as_a_number_or_as_a_text():
    assert set(series("n=64")["parameters"]["n"]) == {64, "64"}
    assert set(series("kind='a b'")["parameters"]["kind"]) == {"'a b'", "a b"}


def test_what_a_value_has_besides_parameters_is_chosen_by_name():
    assert series("benchmark=x", "unit=s", "n=1")["benchmark"] == ["x"]
    assert states_from(selection_from_texts(["state=ok", "state=failed"])) == {"ok", "failed"}


def test_an_operation_is_a_benchmark_of_its_series_unless_a_parameter_is_called_so():
    assert series("operation=mlp")["benchmark"] == ["mlp"]
    assert series("operation=mlp", "benchmark=mlp", "benchmark=linear")["benchmark"] == ["mlp"]
    assert series("benchmark=linear", "operation=mlp")["benchmark"] == []
    assert series("operation=add", parameters=("operation",)) == {"parameters": {"operation": ["add"]}}


@pytest.mark.parametrize(
    ("choose", "texts", "said"),
    [
        (points, ["batch"], "'batch' is not NAME=VALUE or NAME=FROM..TO"),
        (points, ["batch=many"], r"a whole number or a range such as 64\.\.1024, not many"),
        (points, ["provder=x"], r"provder is not an axis \(did you mean provider\?\); the axes are .*provider"),
        (points, ["batch=1..2", "batch=64"], "give one range, or values"),
        (points, ["batch=64..1"], r"batch=64\.\.1 holds nothing; write the smaller end first"),
        (series, ["n=2.5..1"], r"n=2\.5\.\.1 holds nothing"),
        (series, ["knd=x"], r"no stored value has a knd \(did you mean kind\?\); the names are project, .*, kind, n$"),
        (lambda text: states_from(selection_from_texts([text])), ["state=bad"], "'bad' is not a state; "),
    ],
)
def test_what_makes_no_sense_is_told_with_what_there_is(choose, texts, said):
    with pytest.raises(UnknownParameter, match=said):
        choose(*texts)


def test_the_sweep_is_shown_and_the_other_project_named(mixed):
    answer = run(show, "--db", mixed)
    assert "mlp forward" in answer.stdout
    assert "Stored too: other (--where project=other)" in answer.stderr


def test_another_project_is_shown_when_it_or_its_parameters_are_named(mixed):
    assert len(shown(mixed, "project=other")) == 10
    assert [row["value"] for row in shown(mixed, "n=2..2000", "flag=True")] == [4.0, 5.0]
    assert {row["benchmark"] for row in shown(mixed, "unit=GB/s")} == {"s.track_speed"}


def test_ranges_and_states_choose_points(mixed):
    assert {row["batch"] for row in shown(mixed, "batch=2..")} == {64}
    assert run(show, "--db", mixed, "--where", "state=crashed").return_value == ExitCode.NOTHING_COMPARABLE


@pytest.mark.parametrize("command", [show, export])
def test_an_empty_choice_says_what_could_have_been_chosen(mixed, command):
    answer = run(command, "--db", mixed, "--where", "provider=fusd", "--where", "batch=64")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    (said,) = answer.stderr.splitlines()
    assert sorted(said.partition("provider is one of ")[2].split(", ")) == ["compiled", "eager", "fused"]
    assert "batch is one of" not in answer.stderr
    answer = run(command, "--db", mixed, "--where", "project=other", "--where", "n=7")
    assert "n is one of 1, 1000" in answer.stderr


@pytest.mark.parametrize("command", [show, export])
def test_an_unknown_project_is_refused_with_those_there_are(mixed, command):
    answer = run(command, "--db", mixed, "--where", "project=nobody")
    assert answer.exception.exit_code == ExitCode.WRONG_USAGE
    assert "no project nobody is stored; there are fusebench, other" in answer.exception.message


def test_units_in_column_names_are_words_and_never_meet():
    assert suffix_of_units(["", "%", "GB/s", "GB per s", "seconds"]) == {
        "": "", "%": "_percent", "GB/s": "_GB_per_s", "GB per s": "_GB per s", "seconds": "_seconds",
    }  # fmt: skip


@pytest.mark.parametrize("units", [["MB/s", "MB_per_s"], ["a b", "a_b"], ["a b", "a%b", "a_b", "a_b_"]])
def test_each_unit_has_columns_of_its_own(units):
    suffixes = suffix_of_units(units)
    assert list(suffixes) == units
    assert len(set(suffixes.values())) == len(units)


def test_an_export_has_a_column_for_each_unit_and_parameter(mixed):
    answer = run(export, "--db", mixed, "--where", "project=other")
    rows = list(csv.DictReader(io.StringIO(answer.stdout)))
    by_name = {row["benchmark"]: row for row in rows}
    assert by_name["s.track_speed"]["value_GB_per_s"] == "5.0"
    assert by_name["s.track_grid"]["value_rows"] == "7.0"
    assert {row["param_n"] for row in rows} == {"", "1", "1000"}
    assert "Not written: fusebench" in answer.stderr


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_keeps_types(mixed, tmp_path):
    parquet = importlib.import_module("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    run(export, "--db", mixed, "--where", "project=other", "--format", "parquet", "--output", path)
    table = parquet.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["param_n"], types["param_flag"], types["param_kind"]) == ("int64", "bool", "string")
    assert types["value_seconds"] == "double"
    assert types["commit_date"] == "timestamp[us, tz=UTC]"
    assert table.column("commit_date")[0].as_py() == datetime.fromtimestamp(1_700_000_000, tz=UTC)
    assert set(table.column("param_kind").to_pylist()) == {None, "a", "2"}


def test_a_failed_export_leaves_the_old_file(mixed, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail(*_arguments, **_options):
        raise OSError("no space left")

    monkeypatch.setattr("results.commands.export.write_table", fail)
    failed = run(export, "--db", mixed, "--output", path)
    assert isinstance(failed.exception, ResultsError)
    assert f"{path} cannot be written: no space left" in failed.exception.message
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
