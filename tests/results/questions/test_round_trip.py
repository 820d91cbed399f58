from __future__ import annotations

import itertools
import json
import math
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from results.errors import UnreadableFile
from results.files.asv_results import asv_run_from_bytes
from results.files.parameters import typed_from_repr, typed_from_value, value_from_typed
from results.queries import history_of, series_where, values_at

numbers = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
ends = st.one_of(numbers, st.just(math.inf), st.just(-math.inf))
scalars = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
)
names = st.from_regex(r"[a-z]{1,6}\.[A-Z][a-z]{1,6}\.(time|track|peakmem)_[a-z]{1,6}", fullmatch=True)
COLUMNS = {
    "stats_ci_99_a": ends,
    "stats_ci_99_b": ends,
    "stats_q_25": numbers,
    "stats_q_75": numbers,
    "stats_number": st.integers(1, 10**6),
    "stats_repeat": st.integers(1, 1000),
    "samples": st.lists(numbers, max_size=4),
}


@st.composite
def benchmarks(draw):
    """One benchmark's columns as asv writes them: entries of the same length, or null altogether."""
    axes = draw(st.lists(st.lists(scalars, min_size=1, max_size=3, unique_by=repr), max_size=2))
    length = math.prod(map(len, axes))

    def column(entries):
        return draw(st.none() | st.lists(st.none() | entries, min_size=length, max_size=length))

    result = column(numbers | st.just(math.nan))
    return {
        "result": result,
        "params": [[repr(value) for value in axis] for axis in axes],
        "version": draw(st.text("0123456789abcdef", min_size=4, max_size=8)),
        "started_at": draw(st.none() | st.integers(0, 4_000_000_000_000)),
        "duration": draw(st.none() | numbers),
        **{name: column(entries) for name, entries in COLUMNS.items()},
    }


def expected_rows(name, columns):
    """What the store must answer for a benchmark, in the order of its combinations."""
    axes = [[value_of(text) for text in axis] for axis in columns["params"]]
    for i, combination in enumerate(itertools.product(*axes)):

        def at(column, i=i):
            return None if columns[column] is None else columns[column][i]

        value = at("result")
        yield {
            "benchmark": name,
            "parameters": list(combination),
            "state": "failed" if value is None else "skipped" if math.isnan(value) else "ok",
            "value": None if value is None or math.isnan(value) else float(value),
            "ci_low": at("stats_ci_99_a"),
            "ci_high": at("stats_ci_99_b"),
            "q25": at("stats_q_25"),
            "q75": at("stats_q_75"),
            "sample_count": at("stats_repeat"),
            "calls_per_sample": at("stats_number"),
            "samples": tuple(at("samples")) if at("samples") else None,
        }


def moment_from(milliseconds):
    """A moment to the millisecond, as asv writes it."""
    return None if milliseconds is None else datetime.fromtimestamp(0, tz=UTC) + timedelta(milliseconds=milliseconds)


def value_of(text):
    typed = typed_from_repr(text)
    return value_from_typed(typed.type, typed.text, typed.number)


def found_rows(rows):
    for row in sorted(rows, key=lambda row: row.series_id):
        yield {
            "benchmark": row.benchmark,
            "parameters": [parameter.value for parameter in row.parameters],
            "state": row.state,
            "value": row.value,
            "ci_low": row.ci_low,
            "ci_high": row.ci_high,
            "q25": row.q25,
            "q75": row.q75,
            "sample_count": row.sample_count,
            "calls_per_sample": row.calls_per_sample,
            "samples": row.samples,
        }


@given(suite=st.dictionaries(names, benchmarks(), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_asv_writes_comes_back_from_the_queries(opened, tmp_path, write_asv_run, executions, suite):
    commit = uuid.uuid4().hex  # one store for all examples: each is a project of its own in it
    folder = tmp_path / commit
    write_asv_run(folder, suite, commit=commit)
    report = opened.ingest([folder], project=commit)
    assert not report.problems
    found = sorted(found_rows(values_at(opened, commit=commit)), key=repr)
    expected = [row for name, columns in suite.items() for row in expected_rows(name, columns)]
    assert repr(found) == repr(sorted(expected, key=repr))
    ran = {row.name: (row.version, row.started_at, row.duration_s) for row in executions(opened, commit)}
    assert ran == {
        name: (columns["version"], moment_from(columns["started_at"]), columns["duration"])
        for name, columns in suite.items()
    }
    # The same again by the other way of asking: series by series.
    chosen = [row.series_id for row in series_where(opened, project=commit)]
    values = {h.series.series_id: h.values for h in history_of(opened, series_ids=chosen)}
    assert all(len(of_series) == 1 for of_series in values.values())
    by_series = {row.series_id: row for row in values_at(opened, commit=commit)}
    assert {
        i: (v[0].state, v[0].reason, v[0].value, v[0].ci_low, v[0].q75, v[0].sample_count) for i, v in values.items()
    } == {i: (row.state, row.reason, row.value, row.ci_low, row.q75, row.sample_count) for i, row in by_series.items()}


@given(scalars)
def test_a_parameters_value_survives_its_typing(value):
    typed = typed_from_value(value)
    back = value_from_typed(typed.type, typed.text, typed.number)
    if isinstance(value, int) and typed.type == "other":
        assert back == hex(value)
    else:
        assert (type(back), repr(back)) == (type(value), repr(value))


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("64", "int", 64.0),
        ("1e3", "float", 1000.0),
        ("inf", "float", math.inf),
        ("True", "bool", 1.0),
        ("None", "none", None),
        ("'float32'", "str", None),
        ("np.float64(2.5)", "float", 2.5),
        ("<class 'int'>", "other", None),
        ("(1, 2)", "other", None),
        ("'\\x00'", "other", None),
        ("'\\ud800'", "other", None),
    ],
)
def test_a_repr_is_read_as_what_it_is(text, kind, number):
    typed = typed_from_repr(text)
    assert (typed.type, typed.number) == (kind, number)


def test_two_spellings_of_a_number_are_the_same_number():
    assert typed_from_repr("1e3").number == typed_from_repr("1000").number


@given(st.binary(max_size=200))
def test_no_bytes_at_all_do_more_than_be_refused(content):
    with pytest.raises(UnreadableFile):
        asv_run_from_bytes(content, path="x.json", machine=None)


def test_a_text_that_holds_nan_is_left_as_it_is(write_asv_run, tmp_path):
    columns = {"result": [math.nan, 1.0], "params": [["'a, NaN, b'", "'-Infinity'"]], "version": "v"}
    path = write_asv_run(tmp_path, {"s.time_it": columns})
    (result,) = asv_run_from_bytes(path.read_bytes(), path="x", machine=None).results
    assert result.parameters == (("'a, NaN, b'", "'-Infinity'"),)
    assert math.isnan(result.values[0])


def test_a_result_list_that_is_too_short_is_read_as_far_as_it_goes(write_asv_run, tmp_path):
    columns = {"result": [1.0], "params": [["1", "2"]], "version": "v"}
    path = write_asv_run(tmp_path, {"s.time_it": columns})
    (result,) = asv_run_from_bytes(path.read_bytes(), path="x", machine=None).results
    assert result.values == [1.0, None]


def test_dropped_columns_and_unknown_ones_are_told_apart(write_asv_run, tmp_path):
    path = write_asv_run(tmp_path, {"s.time_it": {"result": [1.0]}})
    content = json.loads(path.read_text())
    content["result_columns"][3] = "weather"
    with pytest.raises(UnreadableFile, match="unknown column 'weather'"):
        asv_run_from_bytes(json.dumps(content).encode(), path="x", machine=None)


def test_the_moment_a_benchmark_started_is_utc(write_asv_run, tmp_path, timed):
    path = write_asv_run(tmp_path, {"s.time_it": timed(1.0)})
    (result,) = asv_run_from_bytes(path.read_bytes(), path="x", machine=None).results
    assert result.started_at == datetime.fromtimestamp(1_700_000_100, tz=UTC)
